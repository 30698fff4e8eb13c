"""Find the waits in ledger entries: from joining the queue to a grant, or to leaving it.

Pure. The entry that ends a wait names its ticket; taking any task ends the wait for the next one.
"""

from __future__ import annotations

from dibs.core.history.spans import WaitEnd, WaitSpan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dibs.core.claims.ledger import Entry

#: What a request for any task waits for; taking a task ends that wait.
NEXT_TASK = "@tasks/next"
_TASK_SCHEME = "task:"
#: How a wait ended, by the reason in its entry.
_WHY = {
    "it gave up": WaitEnd.GAVE_UP,
    "stopped waiting": WaitEnd.GAVE_UP,
    "it would deadlock": WaitEnd.DEADLOCK,
    "it holds it already": WaitEnd.GRANTED,
    "its waiter sent no heartbeat": WaitEnd.SILENT,
    "no heartbeat": WaitEnd.SILENT,
    "it did not claim in its turn": WaitEnd.MISSED_TURN,
    "its agent ended": WaitEnd.ENDED,
}
_REFUSED = " refused it"


class Waits:
    """The waits of a ledger, open and ended."""

    def __init__(self) -> None:
        self._ended: list[WaitSpan] = []
        self._open: dict[int, WaitSpan] = {}
        self._of: dict[str, set[int]] = {}

    def queued(self, entry: Entry, patterns: tuple[str, ...], holders: tuple[str, ...]) -> None:
        """Begin a wait for what others hold."""
        details, agent = entry.details, entry.agent
        mode = details.get("mode")
        self._open[entry.seq] = WaitSpan(
            agent, entry.seq, patterns, mode if isinstance(mode, str) else "",
            entry.at, None, WaitEnd.OPEN, holders, None,
            details.get("standing") is True,
        )  # fmt: skip
        self._of.setdefault(agent, set()).add(entry.seq)

    def turn(self, entry: Entry) -> None:
        """Note when it was an agent's turn."""
        number = entry.details.get("ticket")
        if isinstance(number, int) and number in self._open:
            self._open[number] = self._open[number]._replace(turn=entry.at)

    def unqueued(self, entry: Entry) -> None:
        """End a wait without a grant."""
        number, why = entry.details.get("ticket"), entry.details.get("why")
        if not isinstance(number, int) or number not in self._open:
            return
        reason = why if isinstance(why, str) else ""
        unlisted = WaitEnd.REFUSED if _REFUSED in reason else WaitEnd.UNKNOWN
        how = _WHY.get(reason, unlisted)
        self._end(number, entry.at, how)

    def granted(self, entry: Entry, patterns: tuple[str, ...]) -> None:
        """End the wait that a grant ends, if there is one."""
        own = self._of.get(entry.agent)
        if not own:
            return
        number = entry.details.get("ticket")
        if isinstance(number, int) and number in own:
            self._end(number, entry.at, WaitEnd.GRANTED)
            return
        got, mode = set(patterns), entry.details.get("mode")
        takes = any(pattern.startswith(_TASK_SCHEME) for pattern in patterns)
        for number in sorted(own):
            wait = self._open[number]
            same = wait.mode == mode and got.issubset(wait.patterns)
            if same or (takes and wait.patterns == (NEXT_TASK,)):
                self._end(number, entry.at, WaitEnd.GRANTED)
                return

    def _end(self, number: int, at: float, how: str) -> None:
        wait = self._open.pop(number)
        self._of[wait.agent].discard(number)
        self._ended.append(wait._replace(end=max(wait.begin, at), how=how))

    def spans(self, tickets: Collection[int] | None, last: Mapping[str, float]) -> list[WaitSpan]:
        """Return all waits; one without a ticket now has ended, with its agent's last entry at the latest."""
        found = list(self._ended)
        for number, wait in self._open.items():
            if tickets is not None and number not in tickets:
                end = max(wait.begin, last.get(wait.agent, wait.begin))
                wait = wait._replace(end=end, how=WaitEnd.UNKNOWN)  # noqa: PLW2901
            found.append(wait)
        return found
