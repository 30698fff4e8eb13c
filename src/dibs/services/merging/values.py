"""Requests to the merge queue, and their results."""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.changes.merges import Outside
    from dibs.git.merge_tree import MergeConflict


class End(metaclass=TextEnum):
    """The result for a branch."""

    MERGED = "merged"
    WOULD_MERGE = "would_merge"
    CONTAINED = "contained"
    SCOPE = "scope"
    HELD = "held"
    CONFLICT = "conflict"
    TESTS = "tests"
    DIRTY = "dirty"
    MOVED = "moved"


#: The results that are not refusals.
FINE = frozenset({End.MERGED, End.WOULD_MERGE, End.CONTAINED})


class MergeRequest(Record):
    """The branches to merge, and how."""

    branches: tuple[str, ...] = ()
    into: str = ""
    #: Merge every agent's branch that has unmerged commits.
    all: bool = False
    #: The test command; None means the configured one, an empty text means none.
    test: str | None = None
    wait: object = 600
    message: str = ""
    allow_unclaimed: bool = False
    dry_run: bool = False


class Branch(Record):
    """A branch to merge, and the agent responsible for it."""

    name: str
    agent: str


class Candidate(Record):
    """A branch in the chain: its merge commit, and the paths that it changes."""

    branch: Branch
    tip: str
    commit: str
    paths: tuple[str, ...]
    #: The agents whose claim on a path does not prevent the merge.
    allowed: dict[str, set[str]]
    notes: tuple[str, ...] = ()


class Rules(Record):
    """The project's settings for merges."""

    #: Report unclaimed changes instead of refusing them.
    lenient: bool
    #: Refuse agents' changes to files that configure tools.
    guards: bool


class Run(Record):
    """One run of the test command."""

    ok: bool
    #: How it ended, in words.
    how: str
    log: str
    #: The last lines of its output.
    tail: tuple[str, ...] = ()


class MergeVerdict(Record):
    """The result for one branch."""

    branch: str
    end: str
    #: The agent responsible for it.
    agent: str = ""
    #: The merge commit.
    commit: str = ""
    paths: tuple[str, ...] = ()
    outside: tuple[Outside, ...] = ()
    clashes: tuple[MergeConflict, ...] = ()
    #: Who changed the conflicting files on the integration branch.
    others: tuple[str, ...] = ()
    #: The task created for it.
    task: str = ""
    run: Run | None = None
    #: More lines for the reader.
    notes: tuple[str, ...] = ()
    #: Whether its agent must fix it, so that it becomes a task.
    theirs: bool = False


class MergeReport(Record):
    """The result of a merge."""

    into: str
    old: str
    new: str
    verdicts: tuple[MergeVerdict, ...]
    #: The working tree that was updated.
    tree: str = ""
    notes: tuple[str, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether nothing was refused."""
        return all(verdict.end in FINE for verdict in self.verdicts)
