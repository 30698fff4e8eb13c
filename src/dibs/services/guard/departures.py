"""End turns and sessions: the agent ended them, or its process died.

Claims on committed or unchanged files are released. Claims on files with uncommitted changes stay with the
agent at the end of a turn; at the end of a session copies are saved, too, and the next owner is notified
(see services/state/ownership.py). A subagent transfers them to its parent. An agent of the crew outlives its
sessions: the end of one is the end of a turn.
"""

from __future__ import annotations

import time
from contextlib import suppress

from dibs.core.claims.agents import CONTINUES, PROCESS_DIED, AgentStatus, Caller
from dibs.core.claims.ledger import Kind
from dibs.errors import DibsError
from dibs.services.claims.agents import end_agent
from dibs.services.claims.holdings import give_back
from dibs.services.claims.transfer import hand_over
from dibs.services.guard.sessions import forget_process, is_heir
from dibs.services.guard.subagents import UNDER
from dibs.services.guard.uncommitted.before_call import TreeSnapshots
from dibs.services.state.facts import work_of
from dibs.services.state.own_claims import claims_of
from dibs.services.state.ownership import adopt_left, record_left
from dibs.services.state.presence import arrive, note_rest
from dibs.services.state.sessions import (
    drop_session,
    get_session,
    gone_sessions,
    is_in_crew,
    put_session,
    sessions,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.local.repository import Repository
    from dibs.services.state.own_claims import Filed
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store


class Departures:
    """Ends turns and sessions of agents."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._repository = repository

    def rest(self, session: SessionRow) -> list[str]:
        """End a turn: release unchanged files; return the files that are still held and uncommitted."""
        return self._store.apply(lambda rows: _give_back_clean(rows, session))

    def told(self, key: str, what: str) -> bool:
        """Record what an agent was shown at the end of a turn; return whether it is new."""

        def step(rows: Rows) -> bool:
            session = get_session(rows, key)
            if session is None or session.told == what:
                return False
            put_session(rows, key, session._replace(told=what))
            return True

        return self._store.apply(step)

    def end(self, key: str) -> list[str]:
        """End a session with its subagents, or one subagent; return the agents that ended.

        Uncommitted files stay claimed until the claim expires or the process dies.
        """

        def look(rows: Rows) -> list[tuple[str, SessionRow]]:
            return [
                (row, session)
                for row, session in sessions(rows, key)
                if f"{row}/".startswith(f"{key}/")
            ]

        left: list[str] = []
        for one in reversed(self._store.look(look)):
            left += self._end_several([one], "its session ended", gone=False)
        return left

    def gone(
        self, names: Iterable[str] | None = None, *, within: float = 3_600.0, at_once: int = 1
    ) -> list[str]:
        """End this machine's agents whose process is dead: all of them, or only ``names``.

        Stop after ``within`` seconds: a backup of many files takes time. One transaction ends ``at_once``.
        """
        until = time.monotonic() + within
        wanted = None if names is None else set(names)
        found = self._store.look(lambda rows: gone_sessions(rows, wanted))[::-1]
        left: list[str] = []
        for start in range(0, len(found), at_once):
            left += self._end_several(found[start : start + at_once], PROCESS_DIED, gone=True)
            if time.monotonic() >= until:
                break
        return left

    def inherit(self, key: str, heir: SessionRow) -> None:
        """Transfer the claims of an earlier session of the same process, whose context was cleared."""

        def step(rows: Rows) -> list[str]:
            before = []
            for row, session in sessions(rows):
                if row == key or not is_heir(heir, session):
                    continue
                if session.id == heir.id:
                    drop_session(rows, row, session)
                    continue
                if rows.beat(session.id) is not None:
                    arrive(rows, Caller(session.id, "agent"))  # expired claims are not transferred
                filed = claims_of(rows, session.id)
                try:
                    if filed:
                        hand_over(rows, session.id, "agent", filed, heir.id)
                        adopt_left(rows, session.id, heir.id)
                except DibsError:
                    continue  # its claims stay until they expire
                _leave(rows, row, session, f"{heir.id} {CONTINUES}")
                before.append(session.id)
            return before

        if self._store.look(
            lambda rows: any(is_heir(heir, session) for _, session in sessions(rows))
        ):
            for before in self._store.apply(step):
                self._writes_pass(before, heir)

    def _writes_pass(self, before: str, heir: SessionRow) -> None:
        """Let an agent have made the changes of one whose claims it takes over."""
        tree = self._repository._replace(root=heir.root or self._repository.root)
        with suppress(OSError):
            TreeSnapshots(tree).inherit(before, heir.id)

    def _end_several(
        self, found: Sequence[tuple[str, SessionRow]], why: str, *, gone: bool
    ) -> list[str]:
        """End agents in one transaction; what they leave uncommitted is saved first."""
        crew: set[str] = set()

        def end(rows: Rows, row: str, session: SessionRow) -> bool:
            now = get_session(rows, row)
            if now is None or (now.pid, now.born, now.id) != (
                session.pid,
                session.born,
                session.id,
            ):
                return False  # it came back, or another process ended it first
            agent = rows.agent(now.id)
            if not gone and agent is not None and agent.status == AgentStatus.TERMINATED:
                put_session(rows, row, now._replace(over=True))
                return False  # its process still runs, and may not start again as another agent
            if is_in_crew(rows, now.id):
                if not gone:
                    _give_back_clean(rows, now)
                drop_session(rows, row, now)
                crew.add(now.id)
                return True
            if not gone and _give_back_clean(rows, now, ends=True) and self._stays(rows, row, now):
                return False
            _leave(rows, row, now, why)
            return True

        ended = self._store.apply(lambda rows: [one for row, one in found if end(rows, row, one)])
        for session in ended:
            if session.parent:
                self._writes_pass(session.id, session._replace(id=session.parent))
            if gone:  # until then, commands below the process are the agent's, and not a human's
                forget_process(self._repository.state, session)
        return [session.id for session in ended if session.id not in crew]

    def _stays(self, rows: Rows, row: str, session: SessionRow) -> bool:
        """Leave uncommitted files with the agent and return True, or transfer a subagent's to its parent."""
        if not session.parent:
            put_session(rows, row, session._replace(over=True))
            return True
        filed = claims_of(rows, session.id)
        lent = [f for f in filed if rows.pattern(f[1].pattern).scheme == UNDER]
        give_back(rows, session.id, arrive(rows, Caller(session.id, "agent")), lent)
        filed = [f for f in filed if f not in lent]
        try:
            if filed:
                hand_over(rows, session.id, "agent", filed, session.parent)
        except DibsError:
            put_session(rows, row, session._replace(over=True))
            return True
        return False


def _give_back_clean(rows: Rows, session: SessionRow, *, ends: bool = False) -> list[str]:
    """Release the claims on files without uncommitted changes; return the uncommitted files.

    Named resources stay claimed, and so does everything if git fails. If the session ``ends``, copies of the
    changes are saved.
    """
    if rows.beat(session.id) is None:
        return []
    beat = arrive(rows, Caller(session.id, "agent"))
    clean: list[Filed] = []
    paths: dict[str, None] = {}
    for key, claim in claims_of(rows, session.id):
        work = work_of(rows, claim, copy=ends and not session.parent and not session.over)
        if ends and not session.parent and work:
            record_left(rows, session.id, work)
        found = [claim.pattern] if work is None else [one.path for one in work]
        paths |= dict.fromkeys(found)
        if not found and not claim.task and rows.pattern(claim.pattern).scheme in {"", UNDER}:
            clean.append((key, claim))
    give_back(rows, session.id, beat, clean)
    if not ends:
        note_rest(rows, session.id)
    return list(paths)


def _leave(rows: Rows, row: str, session: SessionRow, why: str) -> None:
    """End an agent and release everything it holds."""
    agent = rows.agent(session.id)
    if agent is None or rows.beat(session.id) is None:
        drop_session(rows, row, session)
        return
    beat = arrive(rows, Caller(session.id, agent.role))
    give_back(rows, session.id, beat, claims_of(rows, session.id))
    drop_session(rows, row, session)
    end_agent(rows, agent, AgentStatus.EXITED, why)
    if why == PROCESS_DIED and not (session.over or session.parent):
        summary = f"{session.id}'s process died in the middle of a session"
        rows.emit(session.id, agent.role, Kind.AGENT_CRASHED, summary, pid=session.pid)
    rows.emit(
        session.id,
        agent.role,
        Kind.AGENT_EXITED,
        f"{session.id} exited: {why}",
        status=AgentStatus.EXITED,
    )
