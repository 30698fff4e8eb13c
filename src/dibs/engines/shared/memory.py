"""What a machine remembers of a store on a server, to detect that the store lost data or its clock jumped.

A server that lost its newest writes cannot know that. A machine that saw a later version, a higher
number, or an earlier clock can; it keeps these in a small file in the project's state folder.
"""

from __future__ import annotations

import json
import os
import time

from dibs.engines.shared.server_clock import STEP, clock_jump
from dibs.local.files import read_file, write_file
from dibs.local.locks import FileLock
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.shared.clock import Sources
    from dibs.engines.shared.link import Header
    from dibs.engines.shared.server_clock import ServerClock

FRESH = "this is its first life"
#: 2026-01-01 in seconds: lives are counted from here.
_FIRST_SECOND = 1_767_225_600
#: Numbers reserved per second; on average, a store writes fewer.
_PER_SECOND = 10_000
#: Numbers skipped for writes that were lost unseen.
_MARGIN = 10_000
#: Seconds after which an open handle stores what it saw, so a killed process loses little.
REMEMBER_EVERY = 5.0
#: Seconds to wait while another process stores what it saw.
_PATIENCE = 0.05


class StoreMemory(Record):
    """The latest values that this machine saw of one store."""

    life: str = ""
    version: int = 0
    nonce: str = ""
    newest: int = 0
    #: The engine's clock, in seconds, when this machine's monotonic clock showed ``since_boot``.
    now: float = 0.0
    boot: str = ""
    since_boot: float = 0.0
    #: The most that ``now`` can be too early: the duration of the request.
    slack: float = 0.0
    #: The cluster of servers, and its highest timeline.
    system: str = ""
    timeline: str = ""


#: The types that a remembered value may have, by the type of its default.
_KINDS: dict[type, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float)}


class LifeVerdict(Record):
    """What to do about the life that was found."""

    #: Why a new life starts; empty if the current one continues.
    why: str = ""
    #: How far the server's clock jumped, in seconds.
    jump: float = 0.0
    #: Whether only the store's run must be updated: the server restarted or changed, and lost nothing.
    adopt: bool = False


def recall(path: str) -> StoreMemory:
    """Return what was remembered; nothing if that is unreadable."""
    if not path:
        return StoreMemory()
    try:
        known = StoreMemory(**json.loads(read_file(path)))
    except (OSError, ValueError, TypeError):
        return StoreMemory()
    right = all(
        type(one) in _KINDS[type(two)] for one, two in zip(known, StoreMemory(), strict=True)
    )
    return known if right else StoreMemory()


def later(one: StoreMemory, other: StoreMemory) -> StoreMemory:
    """Return the later of two memories of one store: numbers only grow, even across lives.

    A server with a lower timeline was replaced by another; nothing that it adds counts, except its numbers.
    """
    if one.system == other.system and one.timeline != other.timeline:
        found = one if one.timeline > other.timeline else other
        return found._replace(newest=max(one.newest, other.newest))
    return other if (other.newest, other.version) >= (one.newest, one.version) else one


def remember(path: str, memory: StoreMemory, *, firmly: bool) -> None:
    """Store what was seen, unless a later memory is stored; ``firmly`` if a power failure must not undo it.

    If it cannot be written, the store still works, but this machine detects less.
    """
    if not path:
        return
    lock = FileLock(f"{path}.gate")  # stays, as those of a database do
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if lock.take(_PATIENCE):
            write_file(path, json.dumps(later(recall(path), memory)._asdict()), sync=firmly)
    except OSError:
        return
    finally:
        lock.release()


def base_of_life(wall: float, newest: int, memory: StoreMemory) -> int:
    """Return the number above which a new life counts: above every number that anyone may have seen.

    The wall clock is what all machines share; the numbers seen make up for a wrong one. Numbers
    that lost, unseen writes may have used are skipped.
    """
    seconds = max(0, int(wall - _FIRST_SECOND))
    return max(seconds * _PER_SECOND, newest + _MARGIN, memory.newest + _MARGIN)


def loss(header: Header, memory: StoreMemory, place: str) -> str:
    """Return why a store on a server or in a database is certainly not complete; empty if it may be."""
    if header.life is None:
        return f"the {place} was emptied" if memory.life else FRESH
    below = max(header.newest, header.base) < memory.newest
    return "its newest writes are missing" if below or header.status == "astray" else ""


def jumped(seconds: float) -> LifeVerdict:
    """Return what follows from a clock jump, or from none."""
    return LifeVerdict(f"the server's clock jumped by {seconds:+.1f} s" if seconds else "", seconds)


def wall() -> float:
    """Return the wall clock, which only anchors numbers; tests replace it."""
    return time.time()


def jump_since(clock: ServerClock, header: Header, memory: StoreMemory, sources: Sources) -> float:
    """Return how far the clock jumped since this machine, or any machine, last saw it."""
    now = header.now / 1e6
    back = now - header.latest / 1e6
    if header.latest and back < -STEP:
        return back
    passed = clock.answered - memory.since_boot
    if memory.life != header.life or memory.boot != sources.boot() or passed < 0:
        return 0.0
    # The reply was produced at some point between sending and reading, and so was the remembered one.
    low = memory.now + (clock.asked - memory.since_boot)
    return clock_jump(now, low, memory.now + memory.slack + passed, passed)
