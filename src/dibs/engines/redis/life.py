"""The lives of a Redis store: when one begins, and why the one before cannot be trusted to the end.

A life ends when the server may have lost writes that were answered: it was emptied, set back, restarted
without having everything on disk, or another server took over; and when its clock jumped, because then claims
may have ended early. The new life counts above all numbers of the old one.
"""

from __future__ import annotations

import time

from dibs.engines.redis import server
from dibs.engines.redis.anchor import Anchor
from dibs.engines.redis.connection import STEP, TORN, clock_jump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.connection import Header, RedisConnection
    from dibs.engines.redis.server import Facts
    from dibs.engines.shared.clock import Sources


class LifeVerdict:
    """What to do about the life that was found."""

    __slots__ = ("adopt", "jump", "why")

    def __init__(self, why: str = "", *, jump: float = 0.0, adopt: bool = False) -> None:
        #: Why a new life begins; empty if the present one goes on.
        self.why = why
        #: How far the server's clock jumped, in seconds.
        self.jump = jump
        #: Whether only the server's run is to be noted: it was restarted and lost nothing.
        self.adopt = adopt


FRESH = "this is its first"


def judge(
    link: RedisConnection,
    header: Header,
    found: Facts,
    memory: Anchor,
    sources: Sources,
    until: float,
) -> LifeVerdict:
    """Decide whether the life of the store goes on."""
    why = _loss(header, memory)
    if not why and header.run != found.run_id:
        if server.forgets_nothing(link.wire, found, until):
            return LifeVerdict(adopt=True)
        why = "the server was restarted, and may have lost its newest writes"
        if not found.never_a_replica:
            why = "another server took over, which may lack the newest writes"
    if why:
        return LifeVerdict(why)
    jump = _jump(link, header, memory, sources)
    return (
        LifeVerdict(f"the server's clock jumped by {jump:+.1f} s", jump=jump)
        if jump
        else LifeVerdict()
    )


def _loss(header: Header, memory: Anchor) -> str:
    """Say what is lost for sure."""
    if header.status == "damaged" or (header.life or "").startswith(TORN):
        return "some of its keys were deleted"
    if header.life is None:
        return "the server was emptied" if memory.life else FRESH
    if header.status == "astray":
        return "its newest writes are gone"
    return ""


def _jump(link: RedisConnection, header: Header, memory: Anchor, sources: Sources) -> float:
    """Return how far the clock jumped since this machine, or anybody, last saw it."""
    now = header.now / 1e6
    back = now - header.latest / 1e6
    if header.latest and back < -STEP:
        return back
    if memory.life != header.life or memory.boot != sources.boot():
        return 0.0
    asked, read = link.asked
    passed = read - memory.since_boot
    if passed < 0:
        return 0.0
    # The answer was given somewhere between asking and reading, and so was the one that is remembered.
    low = memory.now + (asked - memory.since_boot)
    return clock_jump(now, low, memory.now + memory.slack + passed, passed)


def seen(link: RedisConnection, sources: Sources) -> Anchor:
    """Return what is worth remembering of a store."""
    return Anchor(
        link.life, max(0, link.replica.version), link.replica.nonce, max(link.newest, link.base),
        link.now(), sources.boot(), sources.since_boot(), link.slack,
    )  # fmt: skip


def wall() -> float:
    """Return the wall clock, which only anchors numbers."""
    return time.time()
