"""What a machine knows of its remote and of its own commits, and time without a shared clock.

Every commit carries the engine's time at its writer. A machine that sees one with time E, at a reading m of
its clock since boot, knows that it is E or later, and that time goes on from there. So engine time is the
reading plus the largest ``E - m`` that was seen during this boot. It never runs ahead of the time that has
truly passed, so no claim ends early; a new machine sees time pass only from its own first look. Wall clocks
are never compared.
"""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.shared.clock import Sources


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


def tick(head: Head, sources: Sources) -> tuple[Head, float]:
    """Return what has to be remembered, and the time."""
    reading, boot = sources.since_boot(), sources.boot()
    if head.boot != boot or reading < head.reading:  # another boot: what was asked is long ago
        start = max(head.latest, head.time)
        offset = start - reading if start else None
        head = head._replace(offset=offset, boot=boot, asked=-1.0, rival=-1e9, won=-1e9)
    if head.offset is None:
        head = head._replace(offset=max(sources.wall(), head.latest) - reading)
    assert head.offset is not None
    now = max(reading + head.offset, head.latest)
    return head._replace(reading=reading, latest=now), now


def observe(head: Head, time: float, sources: Sources) -> Head:
    """Take in that the remote has a commit with this time on it; 0 if it carries none."""
    if not time:
        return head
    if not head.anchored:
        # Until now this machine was alone with its wall clock, and nothing of that was ever kept.
        head = head._replace(offset=None, latest=0.0, boot="")
    reading, boot = sources.since_boot(), sources.boot()
    fresh = head.boot != boot or head.offset is None or reading < head.reading
    offset = time - reading
    if not fresh and head.offset is not None:
        offset = max(offset, head.offset)
    elif head.latest:
        offset = max(offset, head.latest - reading)
    return head._replace(offset=offset, anchored=True, boot=boot, reading=reading)
