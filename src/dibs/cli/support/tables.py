"""Tables that fit the terminal: long cells wrap, and where columns do not fit, rows become blocks."""

from __future__ import annotations

import os
import sys
from itertools import compress, zip_longest

from dibs.cli.support.text import bold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

#: The width where no terminal says otherwise.
PAGE = 80
_GAP = 2
#: No column is made narrower than this.
_NARROWEST = 10
_INDENT = "  "


def page_width(stream: TextIO | None = None) -> int:
    """Return the width of a stream's terminal (standard output's), or ``COLUMNS``, in columns."""
    try:
        named = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        named = 0
    if named > 0:
        return named
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or PAGE
    except (OSError, ValueError):
        return PAGE


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> list[str]:
    """Lay out ``rows`` under ``headings``, as lines. A cell is printable text, or one painted word."""
    page = page_width() if width is None else width
    headings, rows = _without_empty_columns(headings, rows)
    widths = [max(map(_columns, column)) for column in zip(headings, *rows, strict=True)]
    if not _shrink(widths, page - _GAP * (len(widths) - 1)):
        return [line for row in rows for line in _block(headings, row, page)]
    lines = [bold(_line(headings, widths))]
    for row in rows:
        cells = [wrapped(cell, room) for cell, room in zip(row, widths, strict=True)]
        lines += [_line(pieces, widths) for pieces in zip_longest(*cells, fillvalue="")]
    return lines


def _without_empty_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    used = [any(column) for column in zip(*rows, strict=True)] or [True] * len(headings)
    kept = [list(compress(row, used)) for row in rows]
    return list(compress(headings, used)), kept


def _shrink(widths: list[int], page: int) -> bool:
    """Narrow the widest columns until they fit on the page; tell whether they do."""
    while sum(widths) > page:
        if max(widths) <= _NARROWEST:
            return False
        widths[widths.index(max(widths))] -= 1
    return True


def _block(headings: Sequence[str], row: Sequence[str], page: int) -> list[str]:
    """Return a row as a line for its first cell and, indented, the other cells with their headings."""
    lines = [bold(piece) for piece in wrapped(f"{headings[0].lower()}: {row[0]}", page)]
    room = max(page - len(_INDENT), 1)
    line = ""
    for heading, cell in zip(headings[1:], row[1:], strict=True):
        if not cell:
            continue
        fact = f"{heading.lower()}: {cell}"
        if line and _columns(line) + _GAP + _columns(fact) > room:
            lines += [_INDENT + piece for piece in wrapped(line, room)]
            line = ""
        line = f"{line}{' ' * _GAP}{fact}" if line else fact
    return [*lines, *(_INDENT + piece for piece in wrapped(line, room) if line)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (room - _columns(cell)) for cell, room in zip(cells, widths, strict=True)
    )
    return (" " * _GAP).join(padded).rstrip()


def wrapped(text: str, room: int) -> list[str]:
    """Break ``text`` into pieces that fit, after a space or a slash if possible.

    Colors are dropped from a text that has to be broken: a code must not be cut, nor color the next cell.
    """
    if _columns(text) <= room:
        return [text]
    pieces = []
    text = _plain(text)
    while _columns(text) > room:
        end, used = 0, 0
        for character in text:
            used += _columns(character)
            if used > room:
                break
            end += 1
        end = max(end, 1)
        mark = max(text.rfind(" ", 0, end + 1), text.rfind("/", 0, end))
        if mark > room // 3:
            end = mark + 1
        pieces.append(text[:end].rstrip())
        text = text[end:]
    pieces.append(text)
    return pieces


def _plain(text: str) -> str:
    """Return a text without the colors that ``cli.support.text`` gives it."""
    if "\x1b" not in text:
        return text
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def fold(text: str, width: int) -> list[str]:
    """Break a text at spaces, but not inside backticks: a command stays on one line, to be pasted."""
    from textwrap import wrap

    parts = text.split("`")
    parts[1::2] = [part.replace(" ", "\xa0") for part in parts[1::2]]
    whole = {"break_long_words": False, "break_on_hyphens": False}
    lines = wrap("`".join(parts), max(_NARROWEST, width), **whole)  # type: ignore[arg-type]
    return [line.replace("\xa0", " ") for line in lines]


def _columns(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes."""
    text = _plain(text)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
