"""What a machine knows about its remote and its own commits, and time without a shared clock.

Every commit carries its writer's engine time. A machine that sees a commit with time E, at a
reading m of its monotonic clock, knows that it is now at least E and that time continues from
there. So engine time is the reading plus the largest ``E - m`` seen during this boot. It never runs
ahead of the time that has really passed, so no claim expires early; a new machine sees time pass
only from its own first read. Wall clocks are never compared.
"""

from __future__ import annotations

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.shared.clock import Sources


class Head(Record):
    """This machine's knowledge. Readings are from its monotonic clock; times are engine times."""

    #: The commit that the rows reflect, and its tree; empty if the branch does not exist.
    tip: str = ""
    root: str = ""
    #: The number of the tip among this machine's commits, or 0 if the tip is on the remote.
    pending: int = 0
    newest: int = 0
    life: int = 0
    time: float = 0.0
    #: The remote's last known commit, and the newest number in it.
    remote: str = ""
    landed: int = 0
    #: Reading before the latest request that the remote answered, and the time then; -1 if there was none.
    asked: float = -1.0
    known_at: float = 0.0
    #: Engine time is ``reading + offset``; None if unknown.
    offset: float | None = None
    #: Whether this is based on a commit of the remote, and not only on this machine's wall clock.
    anchored: bool = False
    boot: str = ""
    reading: float = 0.0
    #: The latest time that was reported to any caller.
    latest: float = 0.0
    #: The highest number and life ever seen on the remote.
    seen: int = 0
    seen_life: int = 0
    #: Why a new life must start; empty if none must.
    broken: str = ""
    #: Readings when another machine's commit was last seen, and when our last push landed.
    rival: float = -1e9
    won: float = -1e9
    #: Reading when this machine started to push without a pause, and the duration of a push in seconds.
    burst: float = -1e9
    cost: float = 0.02
    #: Commits made since the repository was last packed.
    loose: int = 0

    @property
    def met(self) -> bool:
        """Whether this machine has ever seen the remote."""
        return self.asked >= 0 or bool(self.remote)


class CommitFate(metaclass=TextEnum):
    """The outcome of one of this machine's commits."""

    PENDING = "pending"
    LANDED = "landed"
    #: Another machine was first: the step runs again.
    DROPPED = "dropped"
    #: The remote was unreachable or refused it: it never happened.
    REFUSED = "refused"
    #: It may have landed; the next contact will tell.
    UNKNOWN = "unknown"


def tick(head: Head, sources: Sources) -> tuple[Head, float]:
    """Return the updated knowledge and the current time."""
    reading, boot = sources.since_boot(), sources.boot()
    if head.boot != boot or reading < head.reading:  # a reboot: the last contact is long ago
        start = max(head.latest, head.time)
        offset = start - reading if start else None
        head = head._replace(offset=offset, boot=boot, asked=-1.0, rival=-1e9, won=-1e9)
    if head.offset is None:
        head = head._replace(offset=max(sources.wall(), head.latest) - reading)
    assert head.offset is not None
    now = max(reading + head.offset, head.latest)
    return head._replace(reading=reading, latest=now), now


def observe(head: Head, time: float, sources: Sources) -> Head:
    """Record that the remote has a commit with this time; 0 if it carries none."""
    if not time:
        return head
    if not head.anchored:
        # So far, this machine used only its own wall clock, and nothing based on it was stored.
        head = head._replace(offset=None, latest=0.0, boot="")
    reading, boot = sources.since_boot(), sources.boot()
    fresh = head.boot != boot or head.offset is None or reading < head.reading
    offset = time - reading
    if not fresh and head.offset is not None:
        offset = max(offset, head.offset)
    elif head.latest:
        offset = max(offset, head.latest - reading)
    return head._replace(offset=offset, anchored=True, boot=boot, reading=reading)
