"""Find settings in a repository's configuration that name a program, and disable them.

Anyone who can write to a git directory (an unpacked archive, an agent) can write such settings there. The
user's global and system files are trusted, and so is a setting that they contain with the same value. An
included file counts like the file that includes it. Git LFS is trusted in the form that it writes itself.
"""

from __future__ import annotations

import os

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.calls import GitCalls

#: The scopes of the repository's own configuration.
_ITS_OWN = frozenset(("local", "worktree"))
_OF_ONE = frozenset(("core.worktree", "extensions.worktreeconfig"))
_BOOLEANS = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))

#: Git uses the first value of these, so they cannot be overridden: with one of them, the network is off.
_FIRST_COUNTS = ""
#: Each setting that names a program, and a value that disables it. If no value means "none", the value is a
#: program that fails, so that a call that needs it fails instead of giving another result.
_SWITCHES = {
    "alias.*": "",
    "alias.*.command": "",
    "browser.*.cmd": "false",
    "browser.*.path": "false",
    "core.alternaterefscommand": "true",
    "core.askpass": "",
    "core.editor": ":",
    "core.fsmonitor": "false",
    "core.gitproxy": "",
    "core.hookspath": "/dev/null",
    "core.pager": "cat",
    "core.sshcommand": "false",
    "credential.*.helper": "",
    "credential.helper": "",
    "diff.*.command": "false",
    "diff.*.textconv": "cat",
    "diff.external": "false",
    "difftool.*.cmd": "false",
    "difftool.*.path": "false",
    "filter.*.clean": "",
    "filter.*.process": "",
    "filter.*.smudge": "",
    "gpg.*.program": "false",
    "gpg.program": "false",
    "gpg.ssh.defaultkeycommand": "false",
    "guitool.*.cmd": "false",
    "hook.*.command": "false",
    "imap.tunnel": "false",
    "init.templatedir": "",
    "instaweb.browser": "false",
    "instaweb.httpd": "false",
    "interactive.difffilter": "cat",
    "lfs.*.clean": "false",
    "lfs.*.path": "false",
    "lfs.*.smudge": "false",
    "man.*.cmd": "false",
    "man.*.path": "false",
    "merge.*.driver": "false",
    "mergetool.*.cmd": "false",
    "mergetool.*.path": "false",
    "pager.*": "false",
    "remote.*.receivepack": _FIRST_COUNTS,
    "remote.*.uploadpack": _FIRST_COUNTS,
    "remote.*.vcs": _FIRST_COUNTS,
    "sendemail.*.cccmd": "false",
    "sendemail.*.headercmd": "false",
    "sendemail.*.sendmailcmd": "false",
    "sendemail.*.tocmd": "false",
    "sendemail.cccmd": "false",
    "sendemail.headercmd": "false",
    "sendemail.sendmailcmd": "false",
    "sendemail.tocmd": "false",
    "sequence.editor": ":",
    "submodule.*.update": "none",
    "tar.*.command": "false",
    "trailer.*.cmd": "true",
    "trailer.*.command": "true",
    "uploadpack.packobjectshook": "",
    "web.browser": "false",
}
#: What `git lfs install --local` writes.
_LFS = frozenset(
    (f"filter.lfs.{name}", f"git-lfs {words}{end}")
    for name, words, end in (
        ("clean", "clean", " -- %f"),
        ("smudge", "smudge", " -- %f"),
        ("smudge", "smudge --skip", " -- %f"),
        ("process", "filter-process", ""),
        ("process", "filter-process --skip", ""),
    )
)
#: Sections in which any name can be a program.
_FREE = frozenset(("alias", "pager"))


class Executing(Record):
    """A setting that names a program, and the file that contains it."""

    key: str
    value: str
    scope: str
    origin: str


class ConfigReading(Record):
    """The relevant parts of a repository's configuration."""

    executing: tuple[Executing, ...] = ()
    #: Hooks defined by settings (git 2.54 and newer), including the user's own.
    hooks: tuple[str, ...] = ()
    #: Whether objects may be missing until git fetches them.
    partial: bool = False
    #: The value of core.worktree.
    worktree: str = ""
    #: The default merge driver.
    merge_default: str = ""
    #: Whether all worktrees share this configuration.
    common: bool = True
    #: Whether it has conditional includes, which may differ by git directory or branch.
    conditional: bool = False
    #: The value of core.hooksPath in any file.
    hooks_path: str = ""
    #: The value of commit.gpgSign in any file.
    signs: str = ""


def read(git: GitCalls) -> ConfigReading:
    """Read the configuration as git sees it, including included files."""
    result = git.run("config", "--list", "-z", "--show-scope", "--show-origin")
    if result.code:
        git.fail("config", result)
    pieces = result.out.split(b"\0")
    found, hooks, own, every = [], [], {}, {}
    users: set[tuple[str, str]] = set()
    for scope, origin, entry in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=False):
        key, given, value = os.fsdecode(entry).partition("\n")
        setting = Executing(key, value, scope.decode(), os.fsdecode(origin).removeprefix("file:"))
        section, name, variable = parts(key)
        if section == "hook" and name and setting.scope != "command":
            hooks.append(name)
        if setting.scope != "command":  # our own -c settings
            every[key] = value if given else "true"
        if setting.scope not in _ITS_OWN:
            users.add((key, value))
            continue
        own[key] = value
        known = (key, value) in users or (key, value) in _LFS
        if not known and _switch(section, name, variable, value) is not None:
            found.append(setting)
    conditional = any(key.startswith("includeif.") for key in own)
    return ConfigReading(
        tuple(found),
        tuple(dict.fromkeys(hooks)),
        any(_is_promise(key, value) for key, value in own.items()),
        own.get("core.worktree", ""),
        own.get("merge.default", ""),
        not (conditional or _OF_ONE.intersection(own)),
        conditional,
        every.get("core.hookspath", ""),
        every.get("commit.gpgsign", ""),
    )


def parts(key: str) -> tuple[str, str, str]:
    """Split a key into its section, its subsection (any text, may be empty), and its variable."""
    section, _, rest = key.partition(".")
    name, _, variable = rest.rpartition(".")
    return section, name, variable


def neutral(found: Iterable[Executing]) -> tuple[tuple[str, str], ...]:
    """Return settings that disable the programs."""
    settings: list[tuple[str, str]] = []
    for setting in found:
        section, name, variable = parts(setting.key)
        value = _switch(section, name, variable, setting.value)
        if value is not None and section != "remote":
            settings.append((setting.key, value))
        if section == "filter":  # a required filter without a program is an error
            settings.append((f"filter.{name}.required", "false"))
        if section == "hook":
            settings.append((f"hook.{name}.enabled", "false"))
    return tuple(dict.fromkeys(settings))


def without_hooks(reading: ConfigReading) -> tuple[tuple[str, str], ...]:
    """Return settings that disable all hooks defined by settings."""
    return tuple((f"hook.{name}.enabled", "false") for name in reading.hooks)


def _switch(section: str, name: str, variable: str, value: str) -> str | None:
    """Return the value that disables a setting, or None if it does not run a program."""
    if section in _FREE and not name:
        variable = "*"
    if variable in {"*", "fsmonitor"} and value.lower() in _BOOLEANS:
        return None  # pager.log=false, core.fsmonitor=true: built into git
    if section in {"alias", "submodule"} and not value.startswith("!"):
        return None  # another git command
    if section == "lfs" and not name.startswith(("extension.", "customtransfer.")):
        return None
    if not value:
        return None
    exact = ".".join(part for part in (section, name, variable) if part)
    return _SWITCHES.get(exact, _SWITCHES.get(f"{section}.*.{variable}") if name else None)


def _is_promise(key: str, value: str) -> bool:
    section, _, variable = parts(key)
    if key == "extensions.partialclone":
        return True
    return (
        section == "remote" and variable == "promisor" and value.lower() not in {"false", "no", "0"}
    )
