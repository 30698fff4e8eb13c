"""Expand shell words: variables, braces, and tildes, if their values are known. Pure.

Marks separate quoted from unquoted text: ``MASK`` precedes a literal character; ``VAR``, ``QUOTED``, ``RUN``,
and ``RUN_QUOTED`` start what is expanded later, and ``END`` ends it. A ``HOLE`` is unknown.
"""

from __future__ import annotations

from itertools import islice

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MASK, VAR, QUOTED, RUN, END, HOLE, RUN_QUOTED = map(chr, range(7))
_EXPANDED = frozenset((VAR, QUOTED, RUN, RUN_QUOTED))
#: A word expands to at most this many arguments; the rest is unknown. A long word has fewer alternatives.
MOST_ARGS, MOST = 2000, 64
#: A longer value of a variable is treated as unknown.
_LONGEST = 4096
#: The root of the working tree, as git writes it.
TOP = ":/"
_TOPS = frozenset({"git rev-parse --show-toplevel"})
_GLOBS = frozenset("*?[")
#: Commands that set variables.
DECLARES = frozenset({"export", "local", "declare", "readonly", "typeset"})
#: A path outside the repository.
_ELSEWHERE = "/tmp"  # noqa: S108


class Arg(Record):
    """One argument that a command gets."""

    text: str
    #: Whether it is a pattern; a literal wildcard character in it is in brackets.
    glob: bool = False
    #: Whether all of it is known.
    sure: bool = True


class Scene(Record):
    """The context for expansion: variables with all their possible values, and folders."""

    variables: Mapping[str, tuple[str, ...]]
    home: str = ""
    place: str = ""
    #: Returns the output of a command in a substitution, where known.
    output: Callable[[str], str | None] | None = None


def from_top(path: str, root: str) -> str:
    """Return a path, absolute if it is relative to the root of the working tree."""
    return f"{root}/{path[len(TOP) :].lstrip('/')}".rstrip("/") if path.startswith(TOP) else path


def expand(word: str, scene: Scene) -> list[Arg]:
    """Return all arguments that a word may expand to."""
    found: list[Arg] = []
    for text, split in _put_in(word, scene):
        for piece in text.split() if split else [text]:
            for alternative in braces(piece):
                if len(found) >= (MOST if len(text) > _LONGEST else MOST_ARGS):
                    return [*found, Arg("", sure=False)]
                found.append(_finished(alternative, scene))
    return found


def value(word: str, scene: Scene) -> tuple[str, ...]:
    """Return the possible values of a variable that is set to this word."""
    return tuple(
        text if len(text) <= _LONGEST else HOLE for text, _ in _put_in(word[: 4 * _LONGEST], scene)
    )


def split_values(word: str, scene: Scene) -> list[str]:
    """Return the values of a loop's variable for this word: each name that a substitution prints is one."""
    splits = RUN in word
    found = [
        part
        for text, _ in _put_in(word[: 4 * _LONGEST], scene)
        for part in (text.split() if splits else [text])
    ]
    return [text if len(text) <= _LONGEST else HOLE for text in found]


def _put_in(word: str, scene: Scene) -> list[tuple[str, bool]]:
    """Expand variables and commands; return also whether the shell splits the result into words."""
    if _EXPANDED.isdisjoint(word):
        return [(word, False)]
    most = MOST if len(word) > _LONGEST else MOST_ARGS
    found: list[tuple[str, bool]] = [("", False)]
    at = 0
    while at < len(word):
        mark = word[at]
        if mark in _EXPANDED:
            stop = word.find(END, at)
            stop = len(word) if stop < 0 else stop
            name = word[at + 1 : stop]
            runs = mark in {RUN, RUN_QUOTED}
            values = _command(name, scene) if runs else _variable(name, scene)
            splits = mark in {VAR, RUN}
            at = stop + 1
        else:
            stop = at
            while stop < len(word) and word[stop] not in _EXPANDED:
                stop += 1
            values, splits, at = (word[at:stop],), False, stop
        more = (
            (old + new, split or (splits and any(map(str.isspace, new))))
            for old, split in found
            for new in values
        )
        found = list(islice(more, most))
    return found


def _variable(name: str, scene: Scene) -> tuple[str, ...]:
    """Return the values of ``$name`` or ``${…}``."""
    bare, bracket, index = name.partition("[")
    known = scene.variables.get(bare if bracket else name)
    if known:
        number = index.removesuffix("]")
        return known[int(number) :][:1] or known if number.isdecimal() else known
    usual = {"HOME": scene.home, "PWD": scene.place or ".", "TMPDIR": _ELSEWHERE}.get(name)
    if usual:
        return (usual,)
    for sign, cut in (("%", str.removesuffix), ("#", str.removeprefix)):
        bare, found, ending = name.partition(sign)
        if found and bare in scene.variables and _GLOBS.isdisjoint(ending):
            return tuple(cut(text, ending.lstrip(sign)) for text in scene.variables[bare])
    for sign in (":-", ":=", "-"):
        bare, found, other = name.partition(sign)
        if found and bare.isidentifier() and "$" not in other:
            return scene.variables.get(bare, (other.strip("\"'"),))
    return (HOLE,)


def _command(text: str, scene: Scene) -> tuple[str, ...]:
    """Return the output of a short command, if known."""
    words = text.split()
    command = " ".join(words)
    if command == "pwd":
        return (scene.place or ".",)
    if command in _TOPS:
        return (TOP,)
    if words[:1] == ["mktemp"]:
        return (f"{_ELSEWHERE}/mktemp",)
    if words[:1] == ["echo"] and not any(c in command for c in "$`\"'\\|;&<>*"):
        return (" ".join(words[1:]),)
    known = scene.output(text) if scene.output is not None and text else None
    return (HOLE if known is None else known,)


def braces(text: str) -> list[str]:
    """Return the alternatives of ``{a,b}``, the first of all before the rest."""
    pending = [text]
    found: list[str] = []
    while pending and len(found) < MOST:
        piece = pending.pop()
        parts = _alternatives(piece)
        if parts is None or len(pending) > MOST:
            found.append(piece)
        else:
            before, options, after = parts
            pending += [before + option + after for option in reversed(options)]
    return found


def _alternatives(text: str) -> tuple[str, list[str], str] | None:
    """Return the first braces with a comma, and the text before and after them."""
    opened = _find(text, "{", 0)
    while opened >= 0:
        level, commas, at = 0, [opened], opened
        for at in range(opened, len(text)):
            c = text[at]
            if c not in "{},":
                continue
            if at and text[at - 1] == MASK:
                continue
            level += {"{": 1, "}": -1}.get(c, 0)
            if c == "," and level == 1:
                commas.append(at)
            if not level:
                break
        if level:
            return None
        if len(commas) > 1:
            ends = [*commas[1:], at]
            options = [text[a + 1 : b] for a, b in zip(commas, ends, strict=True)]
            return text[:opened], options[:MOST], text[at + 1 :]
        opened = _find(text, "{", opened + 1)
    return None


def _find(text: str, sign: str, at: int) -> int:
    """Return the position of the first unquoted ``sign``."""
    while (at := text.find(sign, at)) > 0 and text[at - 1] == MASK:
        at += 1
    return at


def _finished(text: str, scene: Scene) -> Arg:
    """Return a word as an argument, with its tilde expanded and marks removed."""
    if text[:1] == "~" and text[1:2] in {"", "/"}:
        text = (scene.home or HOLE) + text[1:]
    sure = HOLE not in text
    if any(_find(text, sign, 0) >= 0 for sign in _GLOBS):
        return Arg(_as_pattern(text), True, sure)
    return Arg(text.replace(MASK, "").replace(HOLE, "…"), False, sure)


def _as_pattern(text: str) -> str:
    pieces = text.split(MASK)
    kept = [pieces[0]]
    kept += [f"[{p[:1]}]{p[1:]}" if p[:1] in _GLOBS else p for p in pieces[1:]]
    return "".join(kept).replace(HOLE, "…")
