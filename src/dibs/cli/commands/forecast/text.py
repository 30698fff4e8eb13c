"""A forecast for people: a matrix of who meets whom, and below it the files and lines."""

from __future__ import annotations

import re

from dibs.cli.support.tables import page_width
from dibs.cli.support.text import bold, dim, green, printable, red, yellow
from dibs.core.text.names import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.changes.forecasts import Forecast, ForecastConflict, Pair

#: How many hunks of a file and how many files of a pair are shown; --json has them all.
HUNKS, FILES = 4, 20
#: How many letters of a name are shown in the matrix; with fewer nobody would know who is meant.
_NAME, _SHORTEST = 18, 4
#: Numbers above this are not spelled out in the matrix.
_MOST = 99


def show(forecast: Forecast) -> None:
    """Print a forecast."""
    for item in forecast.left:
        what = f" {printable(item.path)}" if item.path else ""
        print(yellow(f"left out: {printable(item.party)}{what}: {printable(item.why)}"))
    for pair in forecast.pairs:
        if pair.why:
            print(yellow(f"left out: {_names(pair)} cannot be merged: {printable(pair.why)}"))
    pairs = [pair for pair in forecast.pairs if pair.clashes]
    others = len(forecast.parties) - 1
    trees = f"{others} with work" if others != 1 else "1 with work"
    if not pairs:
        base = printable(forecast.base)
        print(f"{green('clear')}: nothing would conflict ({trees}, and {base})")
        return
    print(*matrix(pairs, forecast.compared), "", sep="\n")
    for pair in pairs:
        tell(pair)


def matrix(pairs: Sequence[Pair], compared: Iterable[tuple[str, str]]) -> list[str]:
    """Return who meets whom in how many files, as lines; only those who meet anybody are in it."""
    names = sorted({name for pair in pairs for name in pair.names}, key=_in_order)
    counts = dict.fromkeys(compared, 0) | {pair.names: len(pair.clashes) for pair in pairs}
    widest = len(str(len(names)))
    cell = max(3, widest + 1)
    room = page_width() - (widest + 1 + cell * len(names))
    label = min(_NAME, room, max(map(len, map(printable, names))))
    if room < _SHORTEST:
        return [bold(f"{len(pairs)} pairs of {len(names)} would conflict")]
    head = " " * (widest + 1 + label)
    lines = [bold(head + "".join(f"{place:>{cell}}" for place in range(1, len(names) + 1)))]
    for place, name in enumerate(names, 1):
        row = "".join(f"{_cell(counts, name, other):>{cell}}" for other in names)
        lines.append(f"{place:>{widest}} {cut(printable(name), label):<{label}}{row}".rstrip())
    return lines


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return by what names are sorted: a2 stands before a10."""
    pieces = re.split("([0-9]+)", name)
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in pieces]


def _cell(counts: dict[tuple[str, str], int], one: str, other: str) -> str:
    if one == other:
        return "-"
    count = counts.get((one, other), counts.get((other, one)))
    if count is None:
        return ""  # nobody asked
    return "." if not count else str(count) if count <= _MOST else "**"


def tell(pair: Pair) -> None:
    """Print the files in which two would conflict."""
    count = len(pair.clashes)
    files = f"{count} file{'s' if count > 1 else ''}"
    print(f"{red('conflict')} {bold(_names(pair))}: {files}")
    for clash in pair.clashes[:FILES]:
        print(f"  {printable(clash.path)} {dim(f'({printable(clash.kind)})')}{_lines(clash)}")
    if count > FILES:
        print(f"  and {count - FILES} more")


def _names(pair: Pair) -> str:
    return f"{printable(pair.one)} and {printable(pair.other)}"


def _lines(clash: ForecastConflict) -> str:
    if not clash.hunks:
        return ""
    shown = [f"{_span(a, n)} / {_span(b, m)}" for a, n, b, m in clash.hunks[:HUNKS]]
    more = f", and {len(clash.hunks) - HUNKS} more" if len(clash.hunks) > HUNKS else ""
    return f" lines {', '.join(shown)}{more}"


def _span(first: int, count: int) -> str:
    """Return a span of lines; none are a place before a line."""
    if not count:
        return f"before {first}"
    return str(first) if count == 1 else f"{first}-{first + count - 1}"
