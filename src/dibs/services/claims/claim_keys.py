"""Claims as plain keys that people read, for an engine that offers them: ``claim:<file>`` in Redis.

A key exists while a claim on its pattern is live. Its value is the owner, or the owners of a shared claim,
and it expires when the claim does.
"""

from __future__ import annotations

from dibs.core.claims.rules import deadline
from dibs.errors import Unavailable
from dibs.services.state.keys import AT, BEAT, IN
from dibs.services.state.rows import claim_at
from dibs.startup.quickjson import raw_decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.engines.base import Mirrored

    Lookup = Callable[[str], str | None]

#: The keys of all claims start with this, as in the Redis document.
PREFIX = "claim:"
_FILED = (AT, IN)
#: Heartbeats within this many seconds extend an agent's keys once.
_ONCE = 0.05
#: An agent with more claims than this has its keys extended at most ten times per ttl.
_MANY, _TIMES = 16, 10


def claim_keys(rows: Mapping[str, str | None], old: Lookup, ahead: float = 0.0) -> Mirrored:
    """Return which claims ended, which agents sent a heartbeat, and which claims began or changed.

    ``old`` returns the previous value of a row. The engine's clock is ``ahead`` of the one by which keys
    expire. A damaged row has no key.
    """
    ended: list[str | int] = []
    heard: list[str | int] = []
    begun: list[str | int] = []
    for key, value in rows.items():
        try:
            if key.startswith(_FILED):
                text = old(key) if value is None else value
                if text is None or '"token"' not in text:  # a pattern that a ticket waits for
                    continue
                claim = claim_at(key, raw_decode(text)[0])
                beat = f"{BEAT}{claim.agent}"
                seen = _seen(old(beat) if value is None else rows.get(beat) or old(beat))
                ends = int((deadline(claim, seen) - ahead) * 1000)
                if value is None:
                    ended += claim.agent, claim.pattern, ends
                else:
                    since, hard = claim.since - ahead, claim.hard - ahead
                    times = f" {int(claim.ttl * 1000)} {int(since * 1000)} {int(hard * 1000)}"
                    begun += claim.agent, claim.pattern, ends, times
            elif key.startswith(BEAT) and value is not None and _is_due(value, old(key)):
                heard += key[len(BEAT) :], int((_seen(value) - ahead) * 1000)
        except (ValueError, TypeError, OverflowError, Unavailable):
            continue
    return ended, heard, begun


def _seen(beat: str | None) -> float:
    """Return when a heartbeat was sent; its row is an array that starts with this."""
    return float(beat[1 : beat.index(",")]) if beat else 0.0


def _is_due(beat: str, last: str | None) -> bool:
    """Return whether a heartbeat extends keys: whether it is the first one in its time slot."""
    now, before = _seen(beat), _seen(last)
    if now // _ONCE == before // _ONCE:
        return False
    _, ttl, _, claims, *_ = raw_decode(beat)[0]
    slot = ttl / _TIMES if claims > _MANY else _ONCE
    return bool(now // slot != before // slot)
