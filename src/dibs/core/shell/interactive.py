"""Commands that open a shell, an interpreter, or an editor, and then wait for someone to type. Pure.

Codex can type into a running command, and runs no hook for it. Other input comes from the command line, a
pipe, or a file, and is read with the command.
"""

from __future__ import annotations

from dibs.core.shell.runners import SHELLS
from dibs.core.shell.syntax import StepKind, parse
from dibs.core.shell.words import Scene, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.syntax import ShellStep

_SHELLS = SHELLS | {"pwsh"}
#: Names without the version at their end.
_INTERPRETERS = frozenset((
    *("python", "pypy", "ipython", "bpython", "perl", "ruby", "irb", "lua", "node", "nodejs", "deno"),
    *("php", "tclsh", "julia", "ghci", "R"),
))  # fmt: skip
_EDITORS = frozenset((
    *("vi", "vim", "nvim", "nano", "pico", "emacs", "ed", "ex", "joe", "micro"),
))  # fmt: skip
#: Programs that open a shell if they are not given a command, and those that run the command after them.
_OPENERS = frozenset(("su", "script", "tmux", "screen"))
_SUPER = frozenset(("sudo", "doas"))
_BEFORE = _SUPER | frozenset((
    *("env", "exec", "command", "builtin", "nohup", "nice", "time", "setsid", "stdbuf"),
    *("unbuffer", "rlwrap", "timeout", "ionice"),
))  # fmt: skip
#: Options of interpreters that do not name a program to run.
_PLAIN = frozenset("iquBsSIEO")
_VERSION = "0123456789."


def waits_for_input(command: str) -> str:
    """Return the program in a command that waits for someone to type; empty if there is none."""
    nothing = Scene({})
    for step in parse(command)[0]:
        if step.kind == StepKind.COMMAND and not _is_fed(step):
            words = _program([arg.text for word in step.words for arg in expand(word, nothing)])
            if words and _waits(words):
                return words[0]
    return ""


def _is_fed(step: ShellStep) -> bool:
    """Return whether a command's input is not the terminal."""
    redirected = any(sign.startswith("<") for sign, _ in step.redirects)
    return step.piped or step.stdin is not None or redirected


def _program(words: list[str]) -> list[str]:
    """Return a command without the variables and programs before it."""
    at, wrapped = 0, False
    while at < len(words):
        word, name = words[at], words[at].rpartition("/")[2]
        if name in _SUPER and not {"-i", "-s", "--login", "--shell"}.isdisjoint(words[at:]):
            return ["su"]
        variable = "=" in word and word.partition("=")[0].isidentifier()
        option = wrapped and (word.startswith("-") or _is_number(word))
        if name not in _BEFORE and not option and not variable:
            break
        wrapped = wrapped or name in _BEFORE
        at += 1
    return [words[at].rpartition("/")[2], *words[at + 1 :]] if at < len(words) else []


def _is_number(word: str) -> bool:
    """Return whether a word is a number or a duration."""
    return word.rstrip("smhd").replace(".", "").isdigit()


def _waits(words: list[str]) -> bool:
    name, *given = words
    if name in _SHELLS:
        return _shell_waits(given)
    if name in _EDITORS:
        return not any(word.startswith(("-", "+")) for word in given)
    if name in _OPENERS:
        return not any(word in {"-c", "--command"} or word[:1] != "-" for word in given)
    if name.rstrip(_VERSION) in _INTERPRETERS:
        return given[:1] == ["-i"] or all(map(_is_plain, given))
    return False


def _is_plain(word: str) -> bool:
    """Return whether an interpreter with this argument reads its program from standard input."""
    return word in {"-", "-a", "repl", "--interactive"} or (
        len(word) > 1 and word[0] == "-" and _PLAIN.issuperset(word[1:])
    )


def _shell_waits(given: list[str]) -> bool:
    """Return whether a shell gets neither a script nor a text to run, or is interactive."""
    asks, at = False, 0
    while at < len(given):
        word = given[at]
        if word[:1] not in {"-", "+"}:
            return asks
        long = word.startswith("--")
        if not long and "c" in word[1:]:
            return False
        asks = asks or word in {"--interactive", "--login"} or (not long and "i" in word[1:])
        takes = word in {"--rcfile", "--init-file"} or (not long and word[-1] in "oO")
        at += 2 if takes else 1
    return given not in (["--version"], ["--help"])
