"""Time without a shared clock: the observed-change rule.

Every commit carries the engine's time at its writer. Who sees one with time E, at a reading m of the own
clock since boot, knows that it is E or later, and that time goes on from there. So engine time is
the reading plus the largest ``E - m`` that was seen during this boot. It never runs ahead of the time
that has truly passed, so no claim ends early; who has just arrived sees time pass only from its own
first look. Wall clocks of machines are never compared.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.git.head import Head
    from dibs.engines.shared.clock import Sources


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
