"""How turns and sessions end: by their own word, or because their process is gone.

What is committed or unchanged is given back. What is not committed is half-done: at the end of a turn it
stays with its agent; at the end of a session a copy is kept, and whoever claims it next is told; see
services/guard/unfinished.py. A subagent hands it to its parent.
"""

from __future__ import annotations

import time

from dibs.core.claims.agents import AgentStatus, Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.plain_commits import pattern_of
from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.overlap import matches
from dibs.errors import DibsError
from dibs.services.claims.agents import end_agent
from dibs.services.claims.holdings import give_back
from dibs.services.claims.transfer import hand_over
from dibs.services.guard.backups import keep
from dibs.services.guard.sessions import forget_process, is_heir
from dibs.services.guard.subagents import UNDER
from dibs.services.guard.unfinished import dirty_in
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import arrive
from dibs.services.state.sessions import (
    UnfinishedFile,
    drop_seat,
    get_seat,
    gone_seats,
    put_left,
    put_seat,
    seats,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.local.repository import Repository
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store


class Dirt(Record):
    """The files that an agent holds and has not committed."""

    #: Path and the working tree that it lies in.
    files: tuple[tuple[str, str], ...] = ()
    #: Whether git could not tell: then all counts as not committed.
    unknown: bool = False

    @property
    def paths(self) -> list[str]:
        """The paths, each once."""
        return list(dict.fromkeys(path for path, _ in self.files))


class Departures:
    """Ends turns and sessions of agents."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._repository = repository

    def rest(self, key: str) -> tuple[SessionRow, list[str]] | None:
        """End a turn: give back what is not changed; return what is still held and not committed."""
        seat = self._store.look(lambda rows: get_seat(rows, key))
        if seat is None:
            return None
        dirt = self._dirt(seat)
        self._store.apply(lambda rows: _give_back_clean(rows, seat, dirt))
        return seat, dirt.paths

    def told(self, key: str, what: str) -> bool:
        """Note what an agent was told at the end of a turn; tell whether that is new to it."""

        def step(rows: Rows) -> bool:
            seat = get_seat(rows, key)
            if seat is None or seat.told == what:
                return False
            put_seat(rows, key, seat._replace(told=what))
            return True

        return self._store.apply(step)

    def end(self, key: str) -> list[str]:
        """End the session in a row, with all subagents in it, or one subagent; return who left.

        What is not committed stays with its agent until its ttl is over or its process is gone.
        """

        def look(rows: Rows) -> list[tuple[str, SessionRow]]:
            return [
                (row, seat) for row, seat in seats(rows, key) if f"{row}/".startswith(f"{key}/")
            ]

        left = []
        for row, seat in reversed(self._store.look(look)):
            left.append(self._end_one(row, seat, "its session ended", gone=False))
        return [agent for agent in left if agent]

    def gone(self, names: Iterable[str] | None = None, *, within: float = 3_600.0) -> list[str]:
        """End the agents of this machine whose process is gone; of these ``names``, or of all.

        After ``within`` seconds no other is begun: a copy of much work takes its time.
        """
        until = time.monotonic() + within
        wanted = None if names is None else set(names)
        left = []
        for row, seat in reversed(self._store.look(lambda rows: gone_seats(rows, wanted))):
            left.append(self._end_one(row, seat, "its process is gone", gone=True))
            if time.monotonic() >= until:
                break
        return [agent for agent in left if agent]

    def inherit(self, key: str, heir: SessionRow) -> None:
        """Let a session have what an earlier one of the same process left: its context was only cleared."""

        def step(rows: Rows) -> None:
            for row, seat in seats(rows):
                if row == key or not is_heir(heir, seat):
                    continue
                if seat.id == heir.id:
                    drop_seat(rows, row, seat)
                    continue
                if rows.beat(seat.id) is not None:
                    arrive(rows, Caller(seat.id, "agent"))  # what ran out is not handed on
                filed = claims_of(rows, seat.id)
                try:
                    if filed:
                        hand_over(rows, seat.id, "agent", filed, heir.id)
                except DibsError:
                    continue  # it stays protected until its ttl is over
                _leave(rows, row, seat, f"{heir.id} goes on in its place")

        if self._store.look(lambda rows: any(is_heir(heir, seat) for _, seat in seats(rows))):
            self._store.apply(step)

    def _end_one(self, row: str, seat: SessionRow, why: str, *, gone: bool) -> str:
        """End one agent. The copy is made first: whoever dies after that leaves one copy too many."""
        dirt = self._dirt(seat)
        half_done = [] if seat.parent and not gone else self._kept(seat, dirt)

        def step(rows: Rows) -> bool:
            now = get_seat(rows, row)
            if now is None or (now.pid, now.born, now.id) != (seat.pid, seat.born, seat.id):
                return False  # it came back meanwhile, or somebody else was faster
            for left in half_done:
                put_left(rows, pattern_of(left.path, fold_case=self._store.fold_case), left)
            if (dirt.files or dirt.unknown) and not gone and self._stays(rows, row, now, dirt):
                return False
            _leave(rows, row, now, why)
            return True

        if not self._store.apply(step):
            return ""
        forget_process(self._repository.state, seat)
        return seat.id

    def _stays(self, rows: Rows, row: str, seat: SessionRow, dirt: Dirt) -> bool:
        """Keep what is not committed with its agent, or a subagent's with its parent; tell which."""
        _give_back_clean(rows, seat, dirt)
        if not seat.parent:
            put_seat(rows, row, seat._replace(over=True))
            return True
        filed = claims_of(rows, seat.id)
        lent = [f for f in filed if rows.pattern(f[1].pattern).scheme == UNDER]
        give_back(rows, seat.id, arrive(rows, Caller(seat.id, "agent")), lent)
        filed = [f for f in filed if f not in lent]
        try:
            if filed:
                hand_over(rows, seat.id, "agent", filed, seat.parent)
        except DibsError:
            put_seat(rows, row, seat._replace(over=True))
            return True
        return False

    def _kept(self, seat: SessionRow, dirt: Dirt) -> list[UnfinishedFile]:
        """Keep copies of what an agent leaves behind, one for each working tree."""
        if seat.over or not dirt.files:
            return []
        at = self._store.look(lambda rows: rows.now)
        found = []
        for root in dict.fromkeys(root for _, root in dirt.files):
            paths = [path for path, where in dirt.files if where == root]
            about = f"left half-done by {seat.id}"
            ref = keep(root, self._repository, seat.id, paths, at=at, about=about)
            found += [UnfinishedFile(path, seat.id, at, ref, root) for path in paths]
        return found

    def _dirt(self, seat: SessionRow) -> Dirt:
        """Look at what an agent holds and has not committed, in each working tree that it wrote in."""

        def held(rows: Rows) -> list[str]:
            return [c.pattern for _, c in claims_of(rows, seat.id) if c.mode == EXCLUSIVE]

        texts = self._store.look(held)
        patterns = [p for text in texts if not (p := self._pattern(text)).scheme]
        if not patterns:
            return Dirt()
        files: list[tuple[str, str]] = []
        for root in dict.fromkeys((seat.root or self._repository.root, *seat.also)):
            found = dirty_in(root, self._repository, patterns)
            if found is None:
                return Dirt(unknown=True)
            files += [(path, root) for path in found]
        return Dirt(tuple(files))

    def _pattern(self, text: str) -> Pattern:
        from dibs.core.patterns.pattern import parse

        return parse(text, fold_case=self._store.fold_case)


def _give_back_clean(rows: Rows, seat: SessionRow, dirt: Dirt) -> None:
    """Give back the claims on files that are as the last commit has them; named resources stay."""
    if dirt.unknown or rows.beat(seat.id) is None:
        return
    beat = arrive(rows, Caller(seat.id, "agent"))
    give_back(rows, seat.id, beat, _clean(rows, claims_of(rows, seat.id), dirt))


def _clean(rows: Rows, filed: Sequence[Filed], dirt: Dirt) -> list[Filed]:
    found = []
    for key, claim in filed:
        pattern = rows.pattern(claim.pattern)
        if claim.task or pattern.scheme not in {"", UNDER}:
            continue
        dirty = any(matches(pattern, f"./{path}") for path in dirt.paths)
        if claim.mode != EXCLUSIVE or not dirty:
            found.append((key, claim))
    return found


def _leave(rows: Rows, row: str, seat: SessionRow, why: str) -> None:
    """End an agent: all that it holds is given back."""
    drop_seat(rows, row, seat)
    agent = rows.agent(seat.id)
    if agent is None or rows.beat(seat.id) is None:
        return
    beat = arrive(rows, Caller(seat.id, agent.role))
    give_back(rows, seat.id, beat, claims_of(rows, seat.id))
    end_agent(rows, agent, AgentStatus.EXITED, why)
    rows.emit(
        seat.id,
        agent.role,
        Kind.AGENT_EXITED,
        f"{seat.id} exited: {why}",
        status=AgentStatus.EXITED,
    )
