"""Find the files that a PowerShell command writes, as far as its text shows. Pure; never raises."""

from __future__ import annotations

from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.effects import ShellEffects


def _kinds(**names: str) -> dict[str, str]:
    return {name: kind for kind, some in names.items() for name in some.split()}


#: What a cmdlet does to its paths. One that copies or moves writes the second.
CMDLETS = _kinds(
    write="set-content add-content clear-content out-file new-item tee-object export-csv export-clixml "
    "set-itemproperty sc ac ni",
    delete="remove-item ri del erase rd rm rmdir",
    copy="copy-item copy cp cpi",
    move="move-item rename-item move mv mi ren rni",
)
_PATHS = frozenset({"path", "literalpath", "filepath", "destination", "newname", "pspath", "name"})
_SWITCHES = frozenset(
    {"force", "recurse", "append", "confirm", "whatif", "nonewline", "noclobber", "passthru"}
)
_GOES = frozenset({"cd", "set-location", "sl", "push-location", "chdir"})
_ENDS = frozenset(";|&\n{}()")


def names_cmdlet(text: str) -> bool:
    """Return whether a text contains the name of a cmdlet that writes, so that it may be PowerShell."""
    folded = text.casefold()
    return any(name in folded for name in CMDLETS if "-" in name)


def look(to: ShellEffects, text: str) -> None:
    """Collect what a PowerShell command writes."""
    words: list[str] = []
    for word in [*_words(text), ";"]:
        if len(word) == 1 and word in _ENDS:
            _command(to, words)
            words = []
        else:
            words.append(word)


def _words(text: str) -> list[str]:
    """Return words and separators of commands; a redirection is a word ``>``."""
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
    """Record what one command writes."""
    rest = []
    given = iter(words)
    for word in given:
        if word == ">":
            _touch(to, next(given, ""), How.WRITE)
        else:
            rest.append(word)
    if len(rest) > 1 and rest[0].casefold() in _GOES:
        to.go(Arg(_slashes(rest[1]), sure="$" not in rest[1]))
    if rest and rest[0].casefold() in CMDLETS:
        _paths(to, rest[0].casefold(), rest[1:])


def _parameters(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the named path parameters, and the positional arguments."""
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


def _paths(to: ShellEffects, name: str, words: list[str]) -> None:
    """Collect the paths of a cmdlet, by parameter name and by position."""
    if name in {"new-item", "ni"} and "directory" in map(str.casefold, words):
        return
    kind = CMDLETS[name]
    named, loose = _parameters(words)
    first = named.get("path") or (loose.pop(0) if loose else "")
    if kind in {"write", "delete"}:
        for path in first.split(","):
            _touch(to, path, How.WRITE if kind == "write" else How.DELETE)
        return
    other = named.get("destination") or named.get("newname") or (loose[0] if loose else "")
    if kind == "move":
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
