"""What a settling says, and how rows and the index are shown as files and verdicts: values only."""

from __future__ import annotations

from dibs.core.tasks.rules import Status
from dibs.core.text.names import printable
from dibs.services.state.tasks import digest
from dibs.services.tasks.values import HandEditVerdict
from dibs.taskfile.writing import edit, stamp
from dibs.workdir.files import TaskFileTarget
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.services.board.commits import BoardCommits
    from dibs.services.state.tasks import Past, Stored
    from dibs.workdir.index import Index

#: What is said of a file that may be half written, and that nobody reads before it is whole.
HALF_WRITTEN = (
    "the file ends within a line, as if it were half written;"
    " add the line end, or run `dibs task fmt`"
)

#: Keys that commands write into a task's file.
_WRITTEN = frozenset(
    {
        "id",
        "status",
        "agent",
        "assigned_to",
        "created_at",
        "created_by",
        "assigned_at",
        "started_at",
    }
    | {"completed_at", "result", "error", "reason"}
)


class BoardReport:
    """What a command did to the board's files besides what it was asked for."""

    def __init__(self, unread: str = "") -> None:
        #: Why files could not be taken in now.
        self.unread = unread
        #: Agents that have a folder on the board.
        self.agents: list[str] = []
        self.accepted: list[HandEditVerdict] = []
        #: Every file that stands aside now, also from before.
        self.aside: list[HandEditVerdict] = []
        #: Files that were gone or spoiled, and were written back.
        self.restored: list[str] = []
        #: How many files were written or moved to show their rows.
        self.pulled = 0
        #: Hand-made files that had to make way, and where they are kept.
        self.kept: list[str] = []
        #: What was committed at the end, if that is wished.
        self.commits: BoardCommits | None = None

    def remarks(self, *, aside: bool = True) -> Iterator[str]:
        """Yield what the caller should know, line by line; with ``aside`` how many files stand aside."""
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


def target_of(stored: Stored) -> TaskFileTarget:
    """Return how and where the file of a task shall be."""
    return TaskFileTarget(
        stored.place, stored.file, stored.text, digest(stored.text), stored.version
    )


def ended_text(text: str, past: Past, *, older: bool) -> str:
    """Return a task's text as it is archived; one from before its end says where the rest is."""
    changes: dict[str, Any] = {"status": Status.ARCHIVE}
    if older:
        changes["agent"] = past.agent or None
        changes["completed_at"] = stamp(past.completed)
        if past.status == Status.DONE:
            said = "done; its last text is in the archive of another machine"
            changes["result"] = {"summary": said, "completed_at": stamp(past.completed)}
    return edit(text, changes)


def asides_of(index: Index) -> list[HandEditVerdict]:
    """Return every file that stands aside."""
    return [
        HandEditVerdict(stem(path.rpartition("/")[2]), path.rpartition("/")[0], None, *aside[2:6])
        for path, aside in sorted(index.asides.items())
    ]


def by_people(text: str) -> set[str]:
    """Return the lines of a task's text that the board does not write itself."""
    found, theirs = set(), True
    for line in text.split("\n"):
        if line[:1] not in {"", " ", "-", "#"}:
            theirs = line.partition(":")[0] not in _WRITTEN
        if theirs and line:
            found.add(line)
    return found
