"""Compare versions of a file by how often each line occurs, not by where. Pure.

Lines are counted, so that a moved line is neither lost nor new, whatever else has changed around it.
"""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Lines = Counter[bytes]


def lines_of(text: bytes) -> list[bytes]:
    """Return the lines of a text; a newline at its end does not begin another one."""
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def counted(text: bytes) -> Lines:
    """Return how often each line occurs in a text."""
    return Counter(lines_of(text))


def dropped(head: Lines, source: Lines, commit: Lines) -> Lines:
    """Return the lines of the last commit and of the source that a commit does not have; must be empty."""
    return (head & source) - commit


def unlanded_added(copy: Lines, before: Lines, head: Lines, source: Lines) -> Lines:
    """Return the lines that a leftover added to ``before``, and that a commit of ``source`` would land."""
    return ((copy - before) - (head - before)) & (source - head)


def unlanded_removed(copy: Lines, before: Lines, head: Lines, source: Lines) -> Lines:
    """Return the lines that a leftover removed, and that a commit of ``source`` would remove."""
    return ((before - copy) - (before - head)) & (head - source)


def in_order(lines: Iterable[bytes], wanted: Lines, most: int) -> list[bytes]:
    """Return the ``wanted`` lines in the order in which a text has them, at most ``most``."""
    left, found = Counter(wanted), list[bytes]()
    for line in lines:
        if left[line] > 0 and len(found) < most:
            left[line] -= 1
            found.append(line)
    return found
