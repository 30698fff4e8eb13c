"""Where a machine stands with its remote, and what becomes of its commits: the values."""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum


class Head(Record):
    """Where this machine stands. Readings are of its clock since boot, times are the engine's."""

    #: The commit that the rows are of, and its tree; empty where there is no branch.
    tip: str = ""
    root: str = ""
    #: The number of the tip among this machine's commits, 0 if the tip is on the remote.
    pending: int = 0
    newest: int = 0
    life: int = 0
    time: float = 0.0
    #: The commit that the remote was last seen at, and the newest number in it.
    remote: str = ""
    landed: int = 0
    #: Reading before the newest question that the remote answered, and the time then; -1: none yet.
    asked: float = -1.0
    known_at: float = 0.0
    #: Engine time is ``reading + offset``; None until there was any.
    offset: float | None = None
    #: Whether that rests on a commit of the remote; else it is only this machine's wall clock.
    anchored: bool = False
    boot: str = ""
    reading: float = 0.0
    #: The latest time that was told to anybody.
    latest: float = 0.0
    #: The highest number and life that were ever seen on the remote.
    seen: int = 0
    seen_life: int = 0
    #: Why a new life has to begin; empty if none has to.
    broken: str = ""
    #: Readings: when another machine's commit was last seen, and when a push of ours last landed.
    rival: float = -1e9
    won: float = -1e9
    #: Reading when this machine began to push without a pause, and seconds that a push takes.
    burst: float = -1e9
    cost: float = 0.02
    #: How the repository's objects are named.
    algorithm: str = "sha1"
    #: Commits made since the repository was last packed.
    loose: int = 0

    @property
    def met(self) -> bool:
        """Whether this machine has ever seen the remote."""
        return self.asked >= 0 or bool(self.remote)


class CommitFate(metaclass=TextEnum):
    """What became of a commit of this machine."""

    PENDING = "pending"
    LANDED = "landed"
    #: Another machine was first: the step runs again.
    DROPPED = "dropped"
    #: The remote could not be reached, or refused: it never happened.
    REFUSED = "refused"
    #: It may have landed; the next contact tells.
    UNKNOWN = "unknown"
