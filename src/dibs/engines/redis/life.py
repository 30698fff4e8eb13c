"""Lives of a Redis store: when one starts.

A life ends when the server may have lost confirmed writes: it was emptied, rolled back, restarted
without having everything on disk, or replaced by another server. It also ends when the server's
clock jumps, because claims may have expired early. The new life's numbers start above all numbers
of the old one.
"""

from __future__ import annotations

from dibs.engines.redis import server
from dibs.engines.redis.connection import TORN
from dibs.engines.shared.memory import LifeVerdict, jump_since, jumped, loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.redis.connection import RedisConnection
    from dibs.engines.redis.server import Facts
    from dibs.engines.shared.clock import Sources
    from dibs.engines.shared.link import Header
    from dibs.engines.shared.memory import StoreMemory


def judge(
    link: RedisConnection,
    header: Header,
    found: Facts,
    memory: StoreMemory,
    sources: Sources,
    until: float,
) -> LifeVerdict:
    """Decide whether the life of the store continues."""
    why = _loss(header, memory)
    if not why and header.run != found.run_id:
        if server.is_durable(link.wire, found, until):
            return LifeVerdict(adopt=True)
        why = "the server restarted and may have lost its newest writes"
        if not found.was_never_a_replica:
            why = "another server took over and may lack the newest writes"
    return LifeVerdict(why) if why else jumped(jump_since(link.clock, header, memory, sources))


def _loss(header: Header, memory: StoreMemory) -> str:
    """Describe what is certainly lost."""
    if header.status == "damaged" or (header.life or "").startswith(TORN):
        return "some of its keys were deleted"
    return loss(header, memory, "server")
