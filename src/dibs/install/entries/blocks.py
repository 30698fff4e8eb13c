"""A block of text between two marks in a user's file."""

from __future__ import annotations

from dibs.errors import BadInput
from dibs.startup.records import Record


class BlockMarkers(Record):
    """The lines before and after a block."""

    begin: str
    end: str


def put(text: str, block: str, marks: BlockMarkers, name: str) -> str:
    """Return a text with the block: in place of the old one, or else at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = newline.join([marks.begin, *block.strip("\n").split("\n"), marks.end]) + newline
    place = find(text, marks, name)
    if place is not None:
        return text[: place[0]] + whole + text[place[1] :]
    if not text:
        return whole
    return f"{text}{newline}{whole}"  # an empty line, unless the last line has no end


def take(text: str, marks: BlockMarkers, name: str) -> str:
    """Return a text without the block, and without what ``put`` adds before it."""
    place = find(text, marks, name)
    if place is None:
        return text
    before, after = text[: place[0]], text[place[1] :]
    for empty in ("\r\n\r\n", "\n\n"):
        if before.endswith(empty):
            before = before[: -len(empty) // 2]
            break
    else:
        if not after:
            before = before.removesuffix("\n").removesuffix("\r")
    return before + after


def find(text: str, marks: BlockMarkers, name: str) -> tuple[int, int] | None:
    """Return where the block begins and ends, with its marks."""
    found: list[tuple[int, int]] = []
    begun = at = -1
    at = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        bare = line.strip()
        if bare in marks:
            if (bare == marks.begin) != (begun < 0) or (bare == marks.begin and found):
                raise _broken(name, number)
            if bare == marks.end:
                found.append((begun, at + len(line)))
            begun = at if bare == marks.begin else -1
        at += len(line)
    if begun >= 0:
        raise _broken(name, text.count("\n", 0, begun) + 1)
    return found[0] if found else None


def _broken(name: str, line: int) -> BadInput:
    return BadInput(
        f"{name}:{line}: a dibs:begin or dibs:end mark is missing or repeated",
        code="SETTINGS_INVALID",
        field=name,
        hint="remove the block of Dibs and its marks, then run this again",
    )
