"""Tables that fit the terminal: a long cell continues on the next line."""

from __future__ import annotations

import os
import sys
from itertools import zip_longest

from dibs.cli.support.text import bold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The width to use if there is no terminal.
PAGE = 80
_GAP = 2
_NARROWEST = 8


def page_width() -> int:
    """Return the width of the terminal in columns."""
    try:
        named = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        named = 0
    if named > 0:
        return named
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or PAGE
    except (OSError, ValueError):
        return PAGE


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> list[str]:
    """Return the lines of a table; every cell must be printable."""
    page = page_width() if width is None else width
    widths = [max(map(_columns, column)) for column in zip(headings, *rows, strict=True)]
    _shrink(widths, page - _GAP * (len(widths) - 1))
    lines = [bold(_line(headings, widths))]
    for row in rows:
        cells = [_wrapped(cell, room) for cell, room in zip(row, widths, strict=True)]
        lines += [_line(pieces, widths) for pieces in zip_longest(*cells, fillvalue="")]
    return lines


def _shrink(widths: list[int], page: int) -> None:
    """Narrow the widest columns until all of them fit, or none can be narrowed."""
    while sum(widths) > page and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (room - _columns(cell)) for cell, room in zip(cells, widths, strict=True)
    )
    return (" " * _GAP).join(padded).rstrip()


def _wrapped(text: str, room: int) -> list[str]:
    """Break ``text`` into pieces that fit: after a space or a slash, else after other punctuation."""
    pieces = []
    while _columns(text) > room:
        end, used = 0, 0
        for character in text:
            used += _columns(character)
            if used > room:
                break
            end += 1
        end = max(end, 1)
        mark = max(text.rfind(" ", 0, end + 1), text.rfind("/", 0, end))
        if mark <= room // 3:
            mark = max(text.rfind(sign, 0, end) for sign in "._-")
        if mark > room // 3:
            end = mark + 1
        pieces.append(text[:end].rstrip())
        text = text[end:]
    pieces.append(text)
    return pieces


def _columns(text: str) -> int:
    """Return how many terminal columns ``text`` takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
