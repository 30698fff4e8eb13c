"""Print a forecast: a matrix of agents, then the conflicting files and lines."""

from __future__ import annotations

import re

from dibs.cli.support.tables import page_width
from dibs.cli.support.text import bold, dim, green, printable, red, yellow
from dibs.core.text.names import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.changes.forecasts import Forecast, ForecastConflict, Pair

#: The most hunks shown per file and files per pair; --json has them all.
HUNKS, FILES = 4, 20
#: The most and the fewest letters of a name in the matrix.
_NAME, _SHORTEST = 18, 4
#: The largest number that fits in a cell of the matrix.
_MOST = 99


def show(forecast: Forecast) -> None:
    """Print a forecast."""
    for item in forecast.left:
        what = f" {printable(item.path)}" if item.path else ""
        print(yellow(f"skipped {printable(item.party)}{what}: {printable(item.why)}"))
    for pair in forecast.pairs:
        if pair.why:
            print(yellow(f"skipped {_names(pair)}: cannot be merged: {printable(pair.why)}"))
    pairs = [pair for pair in forecast.pairs if pair.clashes]
    if not pairs:
        print(f"{green('no conflicts')} ({_compared(forecast)})")
        return
    print("conflicting files for each pair:\n")
    print(*matrix(pairs, forecast.compared), "", sep="\n")
    for pair in pairs:
        tell(pair)


def _compared(forecast: Forecast) -> str:
    """Return how much was compared, such as ``2 branches with each other and with main``."""
    others, base = len(forecast.parties) - 1, printable(forecast.base)
    if not others:
        return f"no work besides {base}"
    what = "1 branch" if others == 1 else f"{others} branches with each other and"
    return f"compared {what} with {base}"


def matrix(pairs: Sequence[Pair], compared: Iterable[tuple[str, str]]) -> list[str]:
    """Return the number of conflicting files for each two agents, as lines of a matrix.

    Agents without conflicts are left out.
    """
    names = sorted({name for pair in pairs for name in pair.names}, key=_in_order)
    counts = dict.fromkeys(compared, 0) | {pair.names: len(pair.clashes) for pair in pairs}
    widest = len(str(len(names)))
    cell = max(3, widest + 1)
    room = page_width() - (widest + 1 + cell * len(names))
    label = min(_NAME, room, max(map(len, map(printable, names))))
    if room < _SHORTEST:
        return [bold(f"{len(pairs)} pairs among {len(names)} agents would conflict")]
    head = " " * (widest + 1 + label)
    lines = [bold(head + "".join(f"{place:>{cell}}" for place in range(1, len(names) + 1)))]
    for place, name in enumerate(names, 1):
        row = "".join(f"{_cell(counts, name, other):>{cell}}" for other in names)
        lines.append(f"{place:>{widest}} {cut(printable(name), label):<{label}}{row}".rstrip())
    return lines


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts a2 before a10."""
    pieces = re.split("([0-9]+)", name)
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in pieces]


def _cell(counts: dict[tuple[str, str], int], one: str, other: str) -> str:
    if one == other:
        return "-"
    count = counts.get((one, other), counts.get((other, one)))
    if count is None:
        return ""  # not compared
    return "." if not count else str(count) if count <= _MOST else "**"


def tell(pair: Pair) -> None:
    """Print the files in which a pair would conflict."""
    count = len(pair.clashes)
    files = f"{count} file{'s' if count > 1 else ''}"
    print(f"{red('conflict')} between {bold(_names(pair))}: {files}")
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
    """Return a range of lines; an empty one is a position before a line."""
    if not count:
        return f"before {first}"
    return str(first) if count == 1 else f"{first}-{first + count - 1}"
