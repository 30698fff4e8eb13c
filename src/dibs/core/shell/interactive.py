"""Commands that open a shell, an interpreter, or an editor, and then wait for someone to type. Pure.

Codex can type into a running command, and runs no hook for it. Other input comes from the command line, a
pipe, or a file, and is read with the command.
"""

# On the path of hooks: import no slow module, such as re or shlex.

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "csh", "tcsh", "pwsh"))
#: Without the version at their end.
_INTERPRETERS = frozenset((
    *("python", "pypy", "ipython", "bpython", "perl", "ruby", "irb", "lua", "node", "nodejs", "deno"),
    *("php", "tclsh", "julia", "ghci", "R"),
))  # fmt: skip
_EDITORS = frozenset((
    *("vi", "vim", "nvim", "nano", "pico", "emacs", "ed", "ex", "joe", "micro"),
))  # fmt: skip
#: Programs that open a shell if nothing is named, and those that run the command after them.
_OPENERS = frozenset(("su", "script", "tmux", "screen"))
_SUPER = frozenset(("sudo", "doas"))
_BEFORE = _SUPER | frozenset((
    *("env", "exec", "command", "builtin", "nohup", "nice", "time", "setsid", "stdbuf", "unbuffer", "rlwrap"),
    *("timeout", "ionice", "do", "then", "else", "!"),
))  # fmt: skip
#: Options of interpreters that do not name a program to run.
_PLAIN = frozenset("iquBsSIEO")
_SEPARATORS, _VERSION = ";&|()\n", "0123456789."
_PIPES = frozenset(("|", "|&"))


def waits_for_input(command: str) -> str:
    """Return the program in a command that waits for someone to type; empty if there is none."""
    return next((words[0] for words in _simple(command) if words and _waits(words)), "")


def _simple(command: str) -> Iterator[list[str]]:
    """Yield the words of each simple command whose input is the terminal."""
    words: list[str] = []
    fed = False
    for word in (*_words(command), ";"):
        if word in {"<<", "<<-"}:
            return  # the rest is text
        if word[0] not in _SEPARATORS:
            fed = fed or word.startswith("<")
            words.append(word)
            continue
        if not fed:
            yield _program(words)
        words, fed = [], word in _PIPES


def _words(command: str) -> Iterator[str]:
    """Yield words without their quotes, separators, and redirections."""
    word, quote, at = "", "", 0
    while at < len(command):
        char = command[at]
        at += 1
        if quote:
            quote, word = ("", word) if char == quote else (quote, word + char)
        elif char in "'\"":
            quote = char
            word += "\0"  # so that a quoted text is neither empty nor a separator
        elif char == "\\":
            word += command[at : at + 1]
            at += 1
        elif char in " \t":
            yield from _word(word)
            word = ""
        elif char in _SEPARATORS or char in "<>":
            if char not in "<>" or not word.isdigit():  # such as 2>
                yield from _word(word)
            word = ""
            kind = "<>-&" if char in "<>" else _SEPARATORS
            end = at
            while end < len(command) and command[end] in kind and char != "\n":
                end += 1
            yield command[at - 1 : end]
            at = end
        else:
            word += char
    yield from _word(word)


def _word(word: str) -> Iterator[str]:
    text = word.replace("\0", "")
    if word:
        yield text if text and text[0] not in _SEPARATORS else f"\0{text}"


def _program(words: list[str]) -> list[str]:
    """Return a command without what comes before it: variables, and programs that run it."""
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
    given = [word for at, word in enumerate(given) if not _redirects(given, at)]
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


def _redirects(words: list[str], at: int) -> bool:
    return words[at][0] in "<>" or (at > 0 and words[at - 1][0] in "<>")


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
