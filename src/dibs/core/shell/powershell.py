"""Which files a command of PowerShell writes, as far as its text tells. Pure; never raises."""

from __future__ import annotations

from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.effects import ShellEffects


class Cmdlet(Record):
    """What a cmdlet does to its paths."""

    how: str = How.WRITE
    #: Whether the second path is what is written; then the first is the source, which may go.
    second: bool = False
    moves: bool = False


_WRITE, _DELETE = Cmdlet(), Cmdlet(How.DELETE)
_COPY, _MOVE = Cmdlet(second=True), Cmdlet(second=True, moves=True)
CMDLETS = {
    "set-content": _WRITE, "add-content": _WRITE, "clear-content": _WRITE, "out-file": _WRITE,
    "new-item": _WRITE, "tee-object": _WRITE, "export-csv": _WRITE, "export-clixml": _WRITE,
    "set-itemproperty": _WRITE, "remove-item": _DELETE, "copy-item": _COPY, "move-item": _MOVE,
    "rename-item": _MOVE, "sc": _WRITE, "ac": _WRITE, "ni": _WRITE, "ri": _DELETE, "del": _DELETE,
    "erase": _DELETE, "rd": _DELETE, "rm": _DELETE, "rmdir": _DELETE, "copy": _COPY, "cp": _COPY,
    "cpi": _COPY, "move": _MOVE, "mv": _MOVE, "mi": _MOVE, "ren": _MOVE, "rni": _MOVE,
}  # fmt: skip
_PATHS = frozenset({"path", "literalpath", "filepath", "destination", "newname", "pspath", "name"})
_SWITCHES = frozenset(
    {"force", "recurse", "append", "confirm", "whatif", "nonewline", "noclobber", "passthru"}
)
_GOES = frozenset({"cd", "set-location", "sl", "push-location", "chdir"})
_ENDS = frozenset(";|&\n{}()")


def names_cmdlet(text: str) -> bool:
    """Tell whether a text has the name of a cmdlet that writes, and so may be PowerShell."""
    folded = text.casefold()
    return any(name in folded for name in CMDLETS if "-" in name)


def look(to: ShellEffects, text: str) -> None:
    """Note what a command of PowerShell writes."""
    words: list[str] = []
    for word in [*_words(text), ";"]:
        if len(word) == 1 and word in _ENDS:
            _command(to, words)
            words = []
        else:
            words.append(word)


def _words(text: str) -> list[str]:
    """Return words and the signs between commands; a redirection is a word ``>``."""
    found: list[str] = []
    at, end = 0, len(text)
    while at < end:
        c = text[at]
        if c in _ENDS:
            found.append(c)
            at += 1
        elif c.isspace():
            at += 1
        elif c == "#":
            newline = text.find("\n", at)
            at = end if newline < 0 else newline
        elif c == "@" and text[at + 1 : at + 2] in {"'", '"'}:
            closing = text.find(f"\n{text[at + 1]}@", at)
            at = end if closing < 0 else closing + 3
            found.append("…")
        elif c == ">" or (c in "123456*" and text[at + 1 : at + 2] == ">"):
            at += 1 if c == ">" else 2
            if text.startswith("&", at):
                at += 2
                continue
            at += text.startswith(">", at)
            found.append(">")
        else:
            word, at = _word(text, at)
            found.append(word)
    return found


def _word(text: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    end = len(text)
    while at < end:
        c = text[at]
        if c in "'\"":
            closing = text.find(c, at + 1)
            closing = end if closing < 0 else closing
            parts.append(text[at + 1 : closing])
            at = closing + 1
        elif c.isspace() or c in _ENDS or c == ">":
            break
        elif c == "`":
            parts.append(text[at + 1 : at + 2])
            at += 2
        else:
            parts.append(c)
            at += 1
    return "".join(parts), at


def _command(to: ShellEffects, words: list[str]) -> None:
    """Note what one command writes."""
    rest = []
    place = 0
    while place < len(words):
        if words[place] == ">":
            _touch(to, words[place + 1] if place + 1 < len(words) else "", How.WRITE)
            place += 1
        else:
            rest.append(words[place])
        place += 1
    if len(rest) > 1 and rest[0].casefold() in _GOES:
        to.go(Arg(_slashes(rest[1]), sure="$" not in rest[1]))
    cmdlet = CMDLETS.get(rest[0].casefold()) if rest else None
    if cmdlet is not None:
        _paths(to, cmdlet, rest[1:], rest[0].casefold())


def _parameters(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the paths that parameters name, and what is given without a name."""
    named: dict[str, str] = {}
    loose: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or len(word) == 1:
            loose.append(word)
            continue
        key, given, value = word[1:].partition(":")
        key = key.casefold()
        if key in _SWITCHES or key == "r":
            continue
        value = value if given else next(rest, "")
        if key in _PATHS:
            named["path" if key in {"literalpath", "filepath"} else key] = value
    return named, loose


def _paths(to: ShellEffects, cmdlet: Cmdlet, words: list[str], name: str) -> None:
    """Note the paths of a cmdlet, by the names of its parameters and by their order."""
    if name in {"new-item", "ni"} and "directory" in map(str.casefold, words):
        return
    named, loose = _parameters(words)
    first = named.get("path") or (loose.pop(0) if loose else "")
    if not cmdlet.second:
        for path in first.split(","):
            _touch(to, path, cmdlet.how)
        return
    other = named.get("destination") or named.get("newname") or (loose[0] if loose else "")
    if cmdlet.moves:
        _touch(to, first, How.DELETE)
    folder, slash, last = _slashes(first).rpartition("/")
    if name in {"rename-item", "ren", "rni"} and slash:
        other = f"{folder}/{other}"
    _touch(to, other, How.WRITE, into=last)


def _touch(to: ShellEffects, path: str, how: str, *, into: str = "") -> None:
    text = _slashes(path.strip())
    if not text or text.casefold() in {"$null", "nul"}:
        return
    sure = "$" not in text and text != "…"
    to.touch(Arg(text, any(c in text for c in "*?["), sure), how, deep=how == How.DELETE, into=into)


def _slashes(path: str) -> str:
    return path.replace("\\", "/")
