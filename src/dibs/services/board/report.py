"""What a board command did to files besides what it was asked to do."""

from __future__ import annotations

from dibs.core.text.names import printable, quote
from dibs.errors import Unavailable
from dibs.services.tasks.values import HandEditVerdict
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.services.board.commits import BoardCommits
    from dibs.workdir.index import Index

#: The message about a file that may be half written, and is not read until it is complete.
HALF_WRITTEN = "the file does not end with a newline, so it may be half written; add the newline"


class BoardReport:
    """What one command found on the board, and what it did."""

    def __init__(self, unread: str = "") -> None:
        #: Why files could not be read.
        self.unread = unread
        #: Agents that have a folder on the board.
        self.agents: list[str] = []
        self.accepted: list[HandEditVerdict] = []
        #: Every file that is set aside, including earlier ones.
        self.aside: list[HandEditVerdict] = []
        #: Files that were missing or damaged, and were restored.
        self.restored: list[str] = []
        #: Files that are missing, found by a command that only reads.
        self.missing: list[str] = []
        #: How many files were written or moved to match their rows.
        self.pulled = 0
        #: Where hand edits were saved that had to be replaced.
        self.kept: list[str] = []
        #: What was committed at the end, if configured.
        self.commits: BoardCommits | None = None
        #: Whether the caller pushes the commits itself, later.
        self.pushes_later = False
        #: Why commits were not pushed.
        self.unpushed = ""

    def remarks(self, *, aside: bool = True) -> Iterator[str]:
        """Yield what the caller should know, line by line; with ``aside``, also count files set aside."""
        if self.unread:
            yield f"task files were not read: {self.unread}"
        for paths, said in (
            (self.missing, "is missing; the next command that changes the board restores it"),
            (self.restored, "was missing and has been restored"),
        ):
            for path in paths:
                id_ = printable(stem(path.rpartition("/")[2]))
                yield (
                    f"{printable(path)} {said}"
                    f" (to cancel the task: dibs task cancel {id_} --reason TEXT)"
                )
        for path in self.kept:
            yield f"your manual edit was saved to {printable(path)}"
        if aside and self.aside:
            count = len(self.aside)
            what = "1 task file is" if count == 1 else f"{count} task files are"
            yield f"{what} set aside (to see why: dibs task validate)"
        if self.commits is not None and self.commits.left:
            yield f"not committed: {self.commits.left}"
        if self.unpushed:
            yield f"not pushed: {self.unpushed}"


def asides_of(index: Index) -> list[HandEditVerdict]:
    """Return every file that is set aside."""
    return [
        HandEditVerdict(stem(path.rpartition("/")[2]), path.rpartition("/")[0], None, *aside[2:6])
        for path, aside in sorted(index.asides.items())
    ]


def closed(error: PermissionError) -> Unavailable:
    """Return the error for a folder of the board that cannot be accessed."""
    return Unavailable(
        f"cannot access {quote(error.filename or 'the folder')} of the board: {error.strerror}",
        code="STORAGE_READONLY",
        hint="nothing was changed; make the folder accessible, then try again",
    )


def vanished(error: FileNotFoundError) -> Unavailable:
    """Return the error for a folder of the board that was removed during a command."""
    return Unavailable(
        f"a folder of the board was removed meanwhile ({quote(error.filename or 'unknown')})",
        code="STORAGE_IO",
        hint="run the command again; the files of all tasks are restored",
    )
