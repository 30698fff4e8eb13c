"""What is asked of the merge queue, and what it answers."""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.changes.merges import Outside
    from dibs.git.merge_tree import MergeConflict


class End(metaclass=TextEnum):
    """What became of a branch."""

    MERGED = "merged"
    WOULD_MERGE = "would_merge"
    CONTAINED = "contained"
    SCOPE = "scope"
    HELD = "held"
    CONFLICT = "conflict"
    TESTS = "tests"
    DIRTY = "dirty"
    MOVED = "moved"


#: The ends that are no refusal.
FINE = frozenset({End.MERGED, End.WOULD_MERGE, End.CONTAINED})


class MergeRequest(Record):
    """How branches are to be merged."""

    branches: tuple[str, ...] = ()
    into: str = ""
    #: Whether all branches of agents are meant that have something to merge.
    all: bool = False
    #: The test command; None for the configured one, empty for none.
    test: str | None = None
    wait: object = 600
    message: str = ""
    allow_unclaimed: bool = False
    dry_run: bool = False


class Branch(Record):
    """A branch that is to be merged, and the agent that answers for it."""

    name: str
    agent: str


class Candidate(Record):
    """A branch merged in the chain: the commit that does it, and what that changes."""

    branch: Branch
    tip: str
    commit: str
    paths: tuple[str, ...]
    #: Who may hold a path without standing in the way.
    allowed: dict[str, set[str]]
    notes: tuple[str, ...] = ()


class Rules(Record):
    """What the project's settings say of merges."""

    #: Whether changes without a claim are only told.
    lenient: bool
    #: Whether files that steer tools are kept from agents.
    guards: bool


class Run(Record):
    """One run of the test command."""

    ok: bool
    #: How it ended, in words.
    how: str
    log: str
    #: The last lines that it wrote.
    tail: tuple[str, ...] = ()


class MergeVerdict(Record):
    """What became of one branch."""

    branch: str
    end: str
    #: Whose branch it is.
    agent: str = ""
    #: The commit that merged it.
    commit: str = ""
    paths: tuple[str, ...] = ()
    outside: tuple[Outside, ...] = ()
    clashes: tuple[MergeConflict, ...] = ()
    #: Who changed on the other side what clashes.
    others: tuple[str, ...] = ()
    #: The task that was made of it.
    task: str = ""
    run: Run | None = None
    #: What else the reader should know; one line each.
    notes: tuple[str, ...] = ()
    #: Whether its agent has to mend it: then it becomes a task.
    theirs: bool = False


class MergeReport(Record):
    """The answer of a merge."""

    into: str
    old: str
    new: str
    verdicts: tuple[MergeVerdict, ...]
    #: The working tree that was brought forward.
    tree: str = ""
    notes: tuple[str, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether nothing was refused."""
        return all(verdict.end in FINE for verdict in self.verdicts)
