"""One cycle of the orchestrator as a value: what it did, in the words of the orchestration document."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.services.board.validate import Finding


class Cycle(Record):
    """What one cycle did. Everything is named by task, in the order in which it happened."""

    assigned: tuple[str, ...] = ()
    followups: tuple[str, ...] = ()
    #: Tasks that take too long, each with what was done about it.
    timeouts: tuple[tuple[str, str], ...] = ()
    #: Pairs of tasks in progress that are about the same files, each with such a path.
    conflicts: tuple[tuple[str, str, str], ...] = ()
    archived: tuple[str, ...] = ()
    #: Tasks whose agents are gone.
    returned: tuple[str, ...] = ()
    #: Files that cannot be taken onto the board, each with the reason.
    aside: tuple[Finding, ...] = ()
    #: What a human must see to: a task and why.
    troubles: tuple[tuple[str, str], ...] = ()
    #: Files that people made or changed, and files that were brought back.
    accepted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    #: Messages of the commits that were made, and why others wait.
    commits: tuple[str, ...] = ()
    left: str = ""

    @property
    def moved(self) -> bool:
        """Whether the cycle changed something that the ledger has to tell."""
        changed = (
            self.assigned, self.followups, self.timeouts, self.conflicts, self.archived, self.returned,
        )  # fmt: skip
        return any(changed)

    @property
    def busy(self) -> bool:
        """Whether there is anything to say about the cycle."""
        told = (self.aside, self.troubles, self.accepted, self.restored, self.left)
        return self.moved or any(told)

    def line(self) -> str:
        """Return the cycle in one line; what the document's line lacks is told when it is not zero."""
        text = (
            f"Coordinator cycle: {len(self.assigned)} assigned, {len(self.followups)} follow-ups,"
            f" {len(self.timeouts)} timeouts, {len(self.conflicts)} conflicts,"
            f" {len(self.archived)} archived"
        )
        for count, word in ((len(self.returned), "returned"), (len(self.aside), "set aside")):
            if count:
                text += f", {count} {word}"
        return text
