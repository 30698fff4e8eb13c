"""Commands that certainly write no file: the tree is not compared before and after them. Pure.

Only a bare name counts, or one in a system folder: ``./test`` and ``bin/date`` are other programs. A command
that can start another program does not count, unless Dibs reads the other program's command line, too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.shell.words import Arg

#: Commands that only read (apart from writes in the rules table) or only start another command.
_LOOKS = frozenset({
    "ls", "cat", "head", "tail", "more", "nl", "wc", "diff", "cmp", "grep", "egrep",
    "fgrep", "rg", "ag", "echo", "printf", "cd", "pushd", "popd", "pwd", "true", "false",
    "test", "[", "[[", ":", "which", "type", "whereis", "file", "stat", "du", "df", "date",
    "sleep", "uniq", "cut", "tr", "jq", "ps", "whoami", "id", "uname", "hostname", "tree",
    "basename", "dirname", "realpath", "readlink", "seq", "column", "comm", "fold", "rev",
    "tac", "paste", "expr", "exit", "return", "break", "continue", "set", "shift", "wait",
    "jobs", "kill", "sudo", "nice", "timeout", "command", "builtin", "time", "xargs",
    "export", "local", "declare", "unset", "read", "sort",
})  # fmt: skip
#: Commands that only show what their arguments name.
SHOWS = frozenset({
    "echo", "cat", "ls", "wc", "head", "tail", "grep", "rg", "test", "[", "stat", "file", "du", "diff",
})  # fmt: skip
#: Folders whose programs are those of the system.
_SYSTEM = ("/bin", "/usr/bin")
#: The start of options with which a command writes a file, or runs a program that its words do not show.
_EXCEPT = {
    "rg": ("--pre", "--hostname-bin"),
    "ag": ("--pager",),
    "tree": ("-R", "-o"),
    "file": ("-C", "--compile"),
    "printf": ("-v",),
    "sudo": ("-e", "--edit", "-i", "--login", "-s", "--shell", "-A", "--askpass"),
    "diff": ("-l", "--paginate"),
    "git grep": ("-O", "--open-files-in-pager"),
    "git fetch": ("--upload-pack", "-u"),
    "git branch": ("--edit-description",),
    "git tag": ("-a", "--annotate", "-s", "--sign", "-u", "--local-user", "-e", "--edit", "-v", "--verify"),
    "git add": ("-e", "--edit", "-i", "--interactive", "-p", "--patch"),
    "git cat-file": ("--textconv", "--filters"),
    "git log": ("--ext-diff", "--textconv", "--show-signature"),
    "git show": ("--ext-diff", "--textconv", "--show-signature"),
    "git diff": ("--ext-diff", "--textconv"),
}  # fmt: skip
_GIT_LOOKS = frozenset({
    "status", "log", "diff", "show", "blame", "branch", "rev-parse", "ls-files", "ls-tree",
    "cat-file", "describe", "shortlog", "reflog", "grep", "rev-list", "merge-base",
    "name-rev", "for-each-ref", "remote", "config", "add", "fetch", "tag",
})  # fmt: skip
#: What makes ``git config`` and ``git remote`` only read.
_CONFIG_READS = frozenset({
    "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "get", "list",
})  # fmt: skip
_REMOTE_READS = frozenset({"-v", "--verbose", "get-url", "show"})
#: A sed script of these characters only prints lines.
_PRINTS = frozenset("0123456789,$;p ")


def is_read_only(args: Sequence[Arg]) -> bool:
    """Return whether a command certainly writes nothing itself; its name is the first argument."""
    folder, slash, name = args[0].text.rpartition("/")
    if slash and folder not in _SYSTEM:
        return False
    texts = [arg.text for arg in args[1:]]
    if name == "git":
        return _git_looks(texts)
    if name == "sed":
        script = "".join(texts[1:2])
        plain = not any(text.startswith("-") for text in texts[2:])
        return texts[:1] == ["-n"] and plain and _PRINTS.issuperset(script)
    if name == "sort":  # -o names an output file, --compress-program runs another program
        return not any(text.startswith("-") and "o" in text for text in texts)
    if name in {"read", "unset"} and any(may_start(text) for text in texts):
        return False
    return name in _LOOKS and not _has(texts, _EXCEPT.get(name))


def _git_looks(texts: Sequence[str]) -> bool:
    """Return whether a git command only reads, unless git is configured to run programs."""
    if not texts or texts[0] not in _GIT_LOOKS:
        return False
    verb, rest = texts[0], texts[1:]
    if verb == "config":
        return not rest or rest[0] in _CONFIG_READS or (len(rest) == 1 and "." in rest[0])
    if verb == "remote":
        return not rest or rest[0] in _REMOTE_READS
    return not _has(rest, _EXCEPT.get(f"git {verb}"))


def _has(texts: Sequence[str], options: tuple[str, ...] | None) -> bool:
    """Return whether one of these options is given; also if it is abbreviated: ``--upload-p=x``."""
    if options is None:
        return False
    names = [text.partition("=")[0] for text in texts if text.startswith("--") and text != "--"]
    short = any(option.startswith(name) for name in names for option in options)
    return short or any(text.startswith(options) for text in texts)


def may_start(variable: str) -> bool:
    """Return whether a variable may decide which program runs: PATH, PAGER, GIT_EXTERNAL_DIFF."""
    return variable.isupper() or variable == "path"


def hides_program(text: str) -> bool:
    """Return whether an array index or a prompt in a text may run a command: ``test -v 'a[$(make)]'``."""
    if "@P}" in text:
        return True
    at = text.find("[")
    while at >= 0:
        closing = text.find("]", at)
        inside = text[at:closing] if closing > 0 else text[at:]
        if "$(" in inside or "`" in inside:
            return True
        at = text.find("[", at + 1 + len(inside) if closing < 0 else closing)
    return False
