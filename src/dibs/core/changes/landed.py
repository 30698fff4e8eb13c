"""Find lines that others committed and that a commit would undo. Pure.

Lines are compared without indentation and position, so that moved or indented lines are not missing.
"""

from __future__ import annotations

from collections import Counter

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class LandedChange(Record):
    """The lines that one commit added to a file and removed from it."""

    commit: str
    #: The agent behind it, or else its author's name.
    author: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: Whether git does not compare it line by line.
    binary: bool = False


def undone(
    landed: Sequence[LandedChange], last: Iterable[str], new: Iterable[str]
) -> list[tuple[LandedChange, frozenset[str]]]:
    """Return each change that ``new`` undoes, compared with ``last``, and its lines without indentation.

    A change is undone if an added line is missing, or a removed line is back.
    """
    before, after = Counter(map(str.strip, last)), Counter(map(str.strip, new))
    found = []
    for change in landed:
        gone = {line for line in map(str.strip, change.added) if after[line] < before[line]}
        back = {line for line in map(str.strip, change.removed) if after[line] > before[line]}
        lines = frozenset(filter(None, gone | back))
        if lines or change.binary:
            found.append((change, lines))
    return found


def changed_lines(diff: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the removed and the added lines of each hunk of a diff without context."""
    removed: list[str] = []
    added: list[str] = []
    inside = False
    for line in diff.split("\n"):
        if line.startswith("@@"):
            if inside:
                yield removed, added
            removed, added, inside = [], [], True
        elif inside and line[:1] in {"-", "+"}:
            (removed if line[0] == "-" else added).append(line[1:])
    if inside:
        yield removed, added


def both_versions(diff: str, lines: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the hunks of a diff that contain one of ``lines``: the lines before, and those after."""
    landed: list[str] = []
    made: list[str] = []
    for removed, added in changed_lines(diff):
        if not lines.isdisjoint(map(str.strip, (*removed, *added))):
            landed += removed
            made += added
    return landed, made
