"""Find the Dibs commands that a shell command runs, directly or as text for another program.

Pure; never raises. Best effort: it finds nothing in script files, or in text that a program assembles. The
process that runs such a command is checked instead (``local/people.py`` and ``services/claims/callers.py``).
"""

from __future__ import annotations

from dibs.core.claims.commands import FILTERS, human_only
from dibs.core.shell.options import base
from dibs.core.shell.runners import SHELLS
from dibs.core.shell.syntax import StepKind, parse
from dibs.core.shell.words import DECLARES, Scene, expand, value
from dibs.core.text.names import is_namesake
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.core.shell.syntax import ShellStep

_NAME = "DIBS_AGENT"
_DIBS = "dibs"
#: The script that agents' settings run as their hook, as its path ends.
_HOOK = "dibs/guard/run.py"
_DEEPEST = 6
_LONGEST = 50_000
#: Programs that only read, print, or store the text that they are given.
_KEEPS = frozenset({
    "echo", "printf", "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "rg", "ag",
    "ack", "ls", "cd", "pushd", "git", "gh", "glab", "hub", "jj", "sed", "awk", "gawk", "tee", "wc",
    "diff", "man", "which", "type", "whereis", "test", "[", "[[", "jq", "cut", "sort", "uniq", "tr",
    "touch", "mkdir", "cp", "mv", "rm", "read", "true", "false", ":", "set", "logger", "notify-send",
    "curl", "wget", "apply_patch", "patch", "ed", "pgrep", "pip", "stat", "file", "find-string",
    "basename", "dirname", "sleep", "exit", "return",
})  # fmt: skip
#: Programs that run the command in their arguments.
_RUNS = SHELLS | {
    "env", "sudo", "doas", "su", "runuser", "nice", "ionice", "timeout", "gtimeout", "flock", "stdbuf",
    "nohup", "setsid", "exec", "command", "builtin", "time", "eval", "watch", "xargs", "parallel",
    "find", "strace", "ssh", "tmux", "screen", "zellij", "script", "unbuffer", "expect", "unshare",
    "nsenter", "chroot", "bwrap", "firejail", "systemd-run", "at", "batch", "crontab", "daemonize",
    "start-stop-daemon", "pipx", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "rye", "npx", "busybox",
    "docker", "podman", "kubectl", "xterm", "dtach", "abduco", "reptyr", "setpriv", "taskset",
    "chronic", "coproc", "trap",
}  # fmt: skip
#: Programs that run code in which a command is a string or a list of strings.
_INTERPRETS = (
    *("python", "pypy", "node", "bun", "deno", "perl", "ruby", "php", "lua", "tclsh", "pwsh"),
    "osascript",
)
#: Options of ``agent stop`` whose value is the next word.
_STOP_VALUES = frozenset({"--reason", "--agent", "--repo"})


class DibsCall(Record):
    """A Dibs command that a shell command runs."""

    words: tuple[str, ...] = ()
    #: The value of DIBS_AGENT for this command; None if it keeps the agent's own.
    named: str | None = None


def refused_call(command: str, own: str, names: Sequence[str] = ()) -> tuple[str, str]:
    """Return the part that a guarded agent may not run, and why; empty if it may run the whole command.

    ``own`` is the agent, and ``names`` are its subagents.
    """
    if _DIBS not in command.lower():
        return "", ""
    found = (_refused(call, own, names) for call in find_calls(command[:_LONGEST]))
    return next((one for one in found if one), ("", ""))


def _refused(call: DibsCall, own: str, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the part of a call that an agent may not run, and why."""
    name, shown = human_only(call.words), " ".join(("dibs", *call.words[:2])).rstrip()
    if name:
        return f"dibs {name}", "it is reserved for humans"
    if call.words[:1] == ("hook",) and "--help" not in call.words:
        return "dibs hook", "only an agent's own hooks may send its events"
    other = _target(call.words)
    if other and other not in names and not is_namesake(own, other):
        return shown, f"{other} is not one of your subagents, so this is reserved for humans"
    wished = _option(call.words, "--agent") if FILTERS.isdisjoint(call.words[:1]) else None
    if wished is None:
        wished = call.named
    if wished is None or wished in names or is_namesake(own, wished):
        return None
    unset = f"you are {own}, so do not unset {_NAME} or pass an empty --agent"
    return shown, f"you are {own}, not {wished}" if wished else unset


def _target(words: Sequence[str]) -> str:
    """Return the agent that a command stops, or that it names as a parent; empty if there is none."""
    if tuple(words[:2]) == ("agent", "join"):
        return _option(words, "--parent") or ""
    if tuple(words[:2]) != ("agent", "stop"):
        return ""
    rest = iter(words[2:])
    for word in rest:
        if not word.startswith("-"):
            return word
        if word in _STOP_VALUES:
            next(rest, "")
    return ""


def _option(words: Sequence[str], name: str) -> str | None:
    """Return the value of an option; None without it."""
    for place, word in enumerate(words):
        if word == "--":
            break
        if word == name:
            return words[place + 1] if place + 1 < len(words) else ""
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :]
    return None


def find_calls(command: str) -> Iterator[DibsCall]:
    """Yield the Dibs commands that a shell command runs, as far as its text shows them."""
    yield from _Finder().script(command, 0)


class _Finder:
    """Follows a command's steps; an assignment of DIBS_AGENT applies to the steps after it."""

    def __init__(self) -> None:
        self._variables: dict[str, tuple[str, ...]] = {}
        self._named: str | None = None
        #: The output of the command before a pipe.
        self._printed = ""

    def script(self, text: str, depth: int) -> Iterator[DibsCall]:
        """Yield the calls in the text of a script."""
        if depth > _DEEPEST or _DIBS not in text.lower():
            return
        for step in parse(text)[0]:
            if step.kind == StepKind.COMMAND:
                yield from self._step(step, depth)

    def _step(self, step: ShellStep, depth: int) -> Iterator[DibsCall]:
        scene = Scene(self._variables)
        words, given = list(step.words), None
        while words:
            name, sign, word = words[0].partition("=")
            if not sign or not name.isidentifier():
                break
            found = value(word, scene)
            self._variables[name] = found
            given = (found[0] if found else "") if name == _NAME else given
            del words[0]
        args = [arg.text for word in words for arg in expand(word, scene)]
        if not args:
            self._named = given if given is not None else self._named
            return
        before, self._printed = (self._printed if step.piped else ""), ""
        if args[0] in DECLARES or args[0] == "unset":
            yield from self._set(args)
            return
        stdin = step.stdin or before
        for sign, word in step.redirects:
            if sign == "<<<":
                stdin = " ".join(arg.text for arg in expand(word, scene))
        if base(args[0]) in {"echo", "printf", "cat"}:
            self._printed = " ".join(args[1:]) if args[0] != "cat" else stdin
        yield from self._run(args, given if given is not None else self._named, stdin, depth)

    def _set(self, args: Sequence[str]) -> Iterator[DibsCall]:
        """Record what ``export`` and ``unset`` do to DIBS_AGENT; an export of it counts as a call."""
        for arg in args[1:]:
            name, sign, word = arg.partition("=")
            if name == _NAME:
                self._named = word if sign else "" if args[0] == "unset" else self._named
                if sign:
                    yield DibsCall((), word)

    def _run(
        self, args: Sequence[str], named: str | None, stdin: str, depth: int
    ) -> Iterator[DibsCall]:
        program = base(args[0])
        if program == _DIBS:
            yield from self._call(args[1:], named, depth)
            return
        if program in _KEEPS:
            return
        interprets = program.startswith(_INTERPRETS)
        texts = [arg for arg in args[1:] if _is_text(arg)]
        texts += [stdin] if stdin else []
        if interprets:
            if list(args[1:3]) == ["-m", _DIBS]:
                yield from self._call(args[3:], named, depth)
            if next((arg for arg in args[1:] if arg[:1] != "-"), "").endswith(_HOOK):
                yield DibsCall(("hook",), named)
            for text in texts:
                yield from self._code(text, depth)
        for text in texts if not interprets else ():
            inner = _Finder()
            inner._named = named
            # a line of a crontab begins with the time
            yield from inner.script(text, depth if program == "crontab" else depth + 1)
            yield from self._code(text, depth)
        if program in _RUNS or depth == 0:
            yield from self._inside(args, named, depth)

    def _inside(self, args: Sequence[str], named: str | None, depth: int) -> Iterator[DibsCall]:
        """Yield the call that begins in the middle of a command's arguments."""
        for place, arg in enumerate(args[1:], 1):
            if arg.startswith(f"{_NAME}="):
                named = arg[len(_NAME) + 1 :]
            elif arg in {"-i", "-", "--ignore-environment", f"--unset={_NAME}", f"-u{_NAME}"}:
                named = "" if base(args[0]) == "env" or "env" in args[:place] else named
            elif arg == _NAME and args[place - 1] in {"-u", "--unset"}:
                named = ""
            elif base(arg) == _DIBS:
                if args[place - 1] == "-m" or not _is_option_value(args, place):
                    yield from self._call(args[place + 1 :], named, depth)
                return

    def _call(self, words: Sequence[str], named: str | None, depth: int) -> Iterator[DibsCall]:
        yield DibsCall(tuple(words), named)
        if words[:1] and words[0] in {"run", "work", "exec"} and "--" in words:
            rest = list(words[words.index("--") + 1 :])
            if rest and depth < _DEEPEST:
                yield from self._run(rest, named, "", depth + 1)

    def _code(self, text: str, depth: int) -> Iterator[DibsCall]:
        """Yield the calls in the strings of a program's code."""
        import re

        for found in re.finditer(
            r"""['"](?:[\w./~-]*/)?dibs['"]((?:\s*,\s*['"][^'"]*['"])+)""", text
        ):
            yield DibsCall(tuple(re.findall(r"""['"]([^'"]*)['"]""", found[1])))
        for found in re.finditer(r"""(['"`])((?:[\w./~-]*/)?dibs\s[^'"`]*)\1""", text):
            yield from _Finder().script(found[2], depth + 1)


def _is_text(arg: str) -> bool:
    """Return whether an argument may be a command line, and not one word."""
    return _DIBS in arg.lower() and any(c in arg for c in " \t\n;|&(")


def _is_option_value(args: Sequence[str], place: int) -> bool:
    """Return whether the word is the value of an option of a program that is not known to run others."""
    return args[place - 1].startswith("-") and base(args[0]) not in _RUNS
