"""Commands that change which hooks git runs, or the modes of files. Pure.

A change of git's configuration that can disable hooks counts as a write of ``.git/config``, even if another
file holds it: only humans may do either.
"""

from __future__ import annotations

from dibs.core.shell.words import TOP, Arg
from dibs.core.toolcalls.values import How
from dibs.core.toolcalls.wiring import GIT_SECTIONS, is_git_setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import ParsedOptions

CONFIG = Arg(f"{TOP}.git/config")
_GIT_DIR = Arg(f"{TOP}.git")
#: A key that decides which hooks ``git init`` adds.
_TEMPLATE = "init.templatedir"
#: Subcommands and options of ``git config`` that change something.
_CHANGES = "unset unset-all add replace-all"
_VERBS = frozenset({"set", "unset"})
_WHOLE = frozenset({"remove-section", "rename-section"})
#: Variables that name a file of settings, and what disables it.
_FILES = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"})
_NO_FILE = frozenset({"", "/dev/null"})
#: Variables that name the folder of the user's settings.
HOMES = ("HOME", "XDG_CONFIG_HOME")
_ALIAS, _HOOKS = "alias.", "hookspath"
#: Commands that run no hooks.
_LOOKS = frozenset({
    "status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "ls-tree", "cat-file", "describe",
    "config", "grep", "rev-list", "for-each-ref", "remote", "clone", "init", "version", "help",
})  # fmt: skip
#: Letters of chmod and chown that are options, not a mode.
_MODE_OPTIONS = frozenset("RcfvhHLP")
_BITS = {"r": 4, "x": 1}


def is_hook_key(key: str) -> bool:
    """Return whether a key can change which hooks git runs."""
    return is_git_setting(key) or key.lower() == _TEMPLATE


def overridden(to: ShellEffects, given: ParsedOptions, verb: str) -> None:
    """Record settings that ``git -c``, or another home folder, gives to one command that runs hooks."""
    if verb in _LOOKS:
        return
    named = [*given.of("c"), *given.of("config-env")]
    homes = {text for name in HOMES for text in to.variables.get(name, ())}
    if any(is_hook_key(arg.text.partition("=")[0]) for arg in named) or homes - {to.home}:
        to.touch(CONFIG)


def push(to: ShellEffects, given: ParsedOptions) -> None:
    """Record what the program on the other side does, which may be on this machine."""
    for program in given.of("receive-pack exec"):
        to.script(program.text)


def assigned(to: ShellEffects, name: str, values: Iterable[str]) -> None:
    """Record a variable whose value gives settings to git that can change which hooks run."""
    given = list(values)
    if name.startswith("GIT_CONFIG_KEY_"):
        found = not given or any(map(is_hook_key, given))
    elif name == "GIT_CONFIG_PARAMETERS":
        found = not given or any(_HOOKS in text.lower() for text in given)
    else:
        found = name in _FILES and not _NO_FILE.issuperset(given)
    if found:
        to.touch(CONFIG)


def change(to: ShellEffects, given: ParsedOptions) -> None:
    """Record that ``git config`` changes which hooks run."""
    texts = [arg.text for arg in given.operands]
    verb = texts[0] if texts[:1] and (texts[0] in _VERBS or texts[0] in _WHOLE) else ""
    names = texts[1:] if verb else texts
    if given.has("e edit") or texts[:1] == ["edit"]:
        to.touch(CONFIG)
        return
    if verb in _WHOLE or given.has("remove-section rename-section"):
        section = names[0].lower().partition(".")[0] if names else ""
        if section in {"core", *GIT_SECTIONS}:
            to.touch(CONFIG)
        return
    changes = bool(verb) or given.has(_CHANGES) or (len(names) > 1 and not _reads(given))
    hooks = bool(names) and names[0].lower().startswith(_ALIAS) and _HOOKS in str(names[1:]).lower()
    hooks = hooks or (bool(names) and is_hook_key(names[0]))
    if changes and names and (hooks or not given.operands[-len(names)].sure):
        to.touch(CONFIG)


def _reads(given: ParsedOptions) -> bool:
    first = given.operands[0].text if given.operands else ""
    return first in {"get", "list"} or given.has("get get-all get-regexp get-urlmatch l list")


def init(to: ShellEffects, given: ParsedOptions) -> None:
    """Record that ``git init`` moves the git directory, or adds hooks to it."""
    if given.has("separate-git-dir") and not given.operands:
        to.touch(_GIT_DIR, deep=True)
    elif given.has("template") and not given.operands:
        to.touch(CONFIG)


def change_mode(to: ShellEffects, given: ParsedOptions) -> None:
    """Record the files whose mode or owner changes; ``chmod -x FILE`` has its mode in an option."""
    options = [arg.text for arg in given.args[1:] if arg.text.startswith("-") and len(arg.text) > 1]
    modes = [
        text
        for text in options
        if not text.startswith("--") and not _MODE_OPTIONS.issuperset(text[1:])
    ]
    first = 0 if modes or given.has("reference") else 1
    modes += [arg.text for arg in given.operands[:first]]
    deep = given.has("R recursive")
    # A folder that its owner cannot read is as good as deleted.
    rights = "rx" if deep else "r"
    takes = given.args[0].text == "chmod" and any(_takes_rights(mode, rights) for mode in modes)
    for arg in given.operands[first:]:
        to.touch(arg, How.DELETE if takes else How.WRITE, deep=deep)


def _takes_rights(mode: str, rights: str) -> bool:
    """Return whether a mode removes one of the owner's ``rights``: to read files, or to run them."""
    if mode.isdigit():
        kept = int(mode.zfill(3)[-3])
        return any(not kept & _BITS[right] for right in rights)
    for clause in mode.split(","):
        who, sign, named = next(
            (clause.partition(one) for one in "-=+" if one in clause), ("", "", "")
        )
        if who and not {"u", "a"}.intersection(who):
            continue
        if sign == "-" and set(rights).intersection(named):
            return True
        if sign == "=" and not set(rights).issubset(named.replace("X", "x")):
            return True
    return False
