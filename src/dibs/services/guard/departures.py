"""End turns and sessions: the agent ended them, or its process died.

Claims on committed or unchanged files are released. Claims on files with uncommitted changes stay with the
agent at the end of a turn; at the end of a session a backup is saved, and the next owner is notified (see
services/guard/unfinished.py). A subagent transfers them to its parent.
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
from dibs.services.guard.sessions import forget_process, is_heir
from dibs.services.guard.subagents import UNDER
from dibs.services.guard.unfinished import dirty_in
from dibs.services.salvage.files import keep
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import arrive
from dibs.services.state.sessions import (
    UnfinishedFile,
    drop_session,
    get_session,
    gone_sessions,
    put_left,
    put_session,
    sessions,
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
    """The files with uncommitted changes that an agent holds."""

    #: Path and working tree.
    files: tuple[tuple[str, str], ...] = ()
    #: Whether git failed: then everything counts as uncommitted.
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

    def rest(self, session: SessionRow) -> list[str]:
        """End a turn: release unchanged files; return the files that are still held and uncommitted."""
        dirt = self._dirt(session)
        self._store.apply(lambda rows: _give_back_clean(rows, session, dirt))
        return dirt.paths

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

        left = []
        for row, session in reversed(self._store.look(look)):
            left.append(self._end_one(row, session, "its session ended", gone=False))
        return [agent for agent in left if agent]

    def gone(self, names: Iterable[str] | None = None, *, within: float = 3_600.0) -> list[str]:
        """End this machine's agents whose process is dead: all of them, or only ``names``.

        Stop after ``within`` seconds: a backup of many files takes time.
        """
        until = time.monotonic() + within
        wanted = None if names is None else set(names)
        left = []
        for row, session in reversed(self._store.look(lambda rows: gone_sessions(rows, wanted))):
            left.append(self._end_one(row, session, "its process died", gone=True))
            if time.monotonic() >= until:
                break
        return [agent for agent in left if agent]

    def inherit(self, key: str, heir: SessionRow) -> None:
        """Transfer the claims of an earlier session of the same process, whose context was cleared."""

        def step(rows: Rows) -> None:
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
                except DibsError:
                    continue  # its claims stay until they expire
                _leave(rows, row, session, f"{heir.id} continues its session")

        if self._store.look(
            lambda rows: any(is_heir(heir, session) for _, session in sessions(rows))
        ):
            self._store.apply(step)

    def _end_one(self, row: str, session: SessionRow, why: str, *, gone: bool) -> str:
        """End one agent. Back up first: dying after that only leaves one backup too many."""
        dirt = self._dirt(session)
        half_done = [] if session.parent and not gone else self._kept(session, dirt)

        def step(rows: Rows) -> bool:
            now = get_session(rows, row)
            if now is None or (now.pid, now.born, now.id) != (
                session.pid,
                session.born,
                session.id,
            ):
                return False  # it came back, or another process ended it first
            for left in half_done:
                put_left(rows, pattern_of(left.path, fold_case=self._store.fold_case), left)
            if (dirt.files or dirt.unknown) and not gone and self._stays(rows, row, now, dirt):
                return False
            _leave(rows, row, now, why)
            return True

        if not self._store.apply(step):
            return ""
        forget_process(self._repository.state, session)
        return session.id

    def _stays(self, rows: Rows, row: str, session: SessionRow, dirt: Dirt) -> bool:
        """Leave uncommitted files with the agent and return True, or transfer a subagent's to its parent."""
        _give_back_clean(rows, session, dirt)
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

    def _kept(self, session: SessionRow, dirt: Dirt) -> list[UnfinishedFile]:
        """Back up what an agent leaves behind, one ref for each working tree."""
        if session.over or not dirt.files:
            return []
        at = self._store.now()
        found = []
        for root in dict.fromkeys(root for _, root in dirt.files):
            paths = [path for path, where in dirt.files if where == root]
            about = f"uncommitted changes of {session.id}"
            ref = keep(root, self._repository, session.id, paths, at=at, about=about)
            found += [UnfinishedFile(path, session.id, at, ref, root) for path in paths]
        return found

    def _dirt(self, session: SessionRow) -> Dirt:
        """Return an agent's uncommitted files in each working tree it wrote to."""

        def held(rows: Rows) -> list[str]:
            return [c.pattern for _, c in claims_of(rows, session.id) if c.mode == EXCLUSIVE]

        texts = self._store.look(held)
        patterns = [p for text in texts if not (p := self._pattern(text)).scheme]
        if not patterns:
            return Dirt()
        files: list[tuple[str, str]] = []
        for root in dict.fromkeys((session.root or self._repository.root, *session.also)):
            found = dirty_in(root, self._repository, patterns)
            if found is None:
                return Dirt(unknown=True)
            files += [(path, root) for path in found]
        return Dirt(tuple(files))

    def _pattern(self, text: str) -> Pattern:
        from dibs.core.patterns.pattern import parse

        return parse(text, fold_case=self._store.fold_case)


def _give_back_clean(rows: Rows, session: SessionRow, dirt: Dirt) -> None:
    """Release the claims on files without uncommitted changes; named resources stay claimed."""
    if dirt.unknown or rows.beat(session.id) is None:
        return
    beat = arrive(rows, Caller(session.id, "agent"))
    give_back(rows, session.id, beat, _clean(rows, claims_of(rows, session.id), dirt))


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


def _leave(rows: Rows, row: str, session: SessionRow, why: str) -> None:
    """End an agent and release everything it holds."""
    drop_session(rows, row, session)
    agent = rows.agent(session.id)
    if agent is None or rows.beat(session.id) is None:
        return
    beat = arrive(rows, Caller(session.id, agent.role))
    give_back(rows, session.id, beat, claims_of(rows, session.id))
    end_agent(rows, agent, AgentStatus.EXITED, why)
    rows.emit(
        session.id,
        agent.role,
        Kind.AGENT_EXITED,
        f"{session.id} exited: {why}",
        status=AgentStatus.EXITED,
    )
