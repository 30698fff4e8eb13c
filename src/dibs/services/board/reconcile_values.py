"""What a settling says, and how rows and the index are shown as files and verdicts: values only."""

from __future__ import annotations

from dibs.core.tasks.rules import Status
from dibs.services.state.tasks import digest
from dibs.services.tasks.values import HandEditVerdict
from dibs.startup.records import Record
from dibs.taskfile.writing import edit, stamp
from dibs.workdir.files import TaskFileTarget
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


class Settled(Record):
    """What a settling did."""

    accepted: list[HandEditVerdict]
    #: Every file that stands aside now, also from before.
    aside: list[HandEditVerdict]
    #: Files that were gone or spoiled, and were written back.
    restored: list[str]
    #: How many files were written or moved to show their rows.
    pulled: int
    #: Hand-made files that had to make way, and where they are kept.
    kept: list[str]


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
