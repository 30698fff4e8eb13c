"""What a board command did to files besides what it was asked for."""

from __future__ import annotations

from dibs.core.text.names import printable
from dibs.services.tasks.values import HandEditVerdict
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.services.board.commits import BoardCommits
    from dibs.workdir.index import Index

#: What is said of a file that may be half written, and that nobody reads before it is whole.
HALF_WRITTEN = (
    "the file ends within a line, as if it were half written;"
    " add the line end, or run `dibs task fmt`"
)


class BoardReport:
    """What one command found on the board, and what it did about it."""

    def __init__(self, unread: str = "") -> None:
        #: Why files could not be taken in now.
        self.unread = unread
        #: Agents that have a folder on the board.
        self.agents: list[str] = []
        self.accepted: list[HandEditVerdict] = []
        #: Every file that is set aside now, also from before.
        self.aside: list[HandEditVerdict] = []
        #: Files that were gone or spoiled, and were written back.
        self.restored: list[str] = []
        #: How many files were written or moved to show their rows.
        self.pulled = 0
        #: Where hand-made files are kept that had to make way.
        self.kept: list[str] = []
        #: What was committed at the end, if that is wished.
        self.commits: BoardCommits | None = None

    def remarks(self, *, aside: bool = True) -> Iterator[str]:
        """Yield what the caller should know, line by line; with ``aside`` how many files are set aside."""
        if self.unread:
            yield f"files are not taken in now: {self.unread}"
        for path in self.restored:
            yield (
                f"{printable(path)} was gone and is restored"
                " (`dibs task cancel` takes a task off the board)"
            )
        for path in self.kept:
            yield f"what a hand wrote is kept in {printable(path)}"
        if aside and self.aside:
            count = len(self.aside)
            what = "one file is" if count == 1 else f"{count} files are"
            yield f"{what} set aside (`dibs task validate` says why)"
        if self.commits is not None and self.commits.left:
            yield f"not committed: {self.commits.left}"


def asides_of(index: Index) -> list[HandEditVerdict]:
    """Return every file that is set aside."""
    return [
        HandEditVerdict(stem(path.rpartition("/")[2]), path.rpartition("/")[0], None, *aside[2:6])
        for path, aside in sorted(index.asides.items())
    ]
