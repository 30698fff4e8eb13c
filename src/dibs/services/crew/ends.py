"""How agents of the crew end: they crash and are started again, are stopped, or end by themselves.

A change names the member's ``nonce``, so that a runner that was replaced changes nothing. Claims are released
only when the agent's processes have ended.
"""

from __future__ import annotations

from secrets import token_hex

from dibs.core.claims.agents import NEVER, AgentStatus, Caller, check_acts_for, family
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import check_text
from dibs.core.crew.members import Member, MemberState
from dibs.core.crew.restarts import counted, restart_after
from dibs.core.text.names import plural, quote
from dibs.core.text.untrusted import clean
from dibs.errors import NotFound
from dibs.local.processes import realm
from dibs.services.claims.agents import end_agent
from dibs.services.claims.holdings import give_back
from dibs.services.state.own_claims import claims_of
from dibs.services.state.presence import arrive
from dibs.services.state.serving import crew as crewrows
from dibs.services.state.task_index import running
from dibs.services.state.tasks import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: Who acts for the supervisor in the ledger.
SUPERVISOR = "dibs-crew"
#: Why the supervisor itself ends an idle agent.
RETIRED = "it was idle, and its place is needed"
_OUTPUT = 2_000


class MemberEnds:
    """Records how agents end; the base of ``CrewMembers``."""

    def __init__(self, store: Store, here: str = "") -> None:
        self._store = store
        self.here = here or realm()

    def crashed(self, agent: str, nonce: str, cause: str, output: str = "") -> Member | None:
        """Record a crash: start the agent again after a pause, or give up at the limit.

        It keeps its claims, its task, and its worktree. Returns None if this start was replaced or ended.
        """

        def act(rows: Rows, member: Member) -> Member:
            if member.is_over or member.state == MemberState.CRASHED:
                return member
            if member.state == MemberState.STOPPING:  # the supervisor records its end
                return member._replace(pid=0, born=0)
            task = next(iter(held_tasks(rows, agent)), "")
            stored = load(rows, task) if task else None
            # A person who retries a task gives it as many starts as a new one.
            counted_for = f"{task}/{stored.task.retries}" if stored is not None else task
            crashes = counted(crewrows.get_crashes(rows, member.role, counted_for), rows.now)
            crewrows.put_crashes(rows, member.role, counted_for, crashes)
            said = f"{agent} crashed: {cause}" + (f" (task {task})" if task else "")
            facts = {
                "cause": cause,
                "task": task,
                "output": clean(output[-_OUTPUT:], _OUTPUT, lines=True),
            }
            rows.emit(agent, member.role, Kind.ERROR, said, **facts)
            rows.emit(agent, member.role, Kind.AGENT_CRASHED, said, pid=member.pid, **facts)
            pause = restart_after(crashes)
            changed = member._replace(cause=cause, since=rows.now, pid=0, born=0)
            if pause is None:
                limit = f"{agent} crashed {plural(crashes.times, 'time')}; it is not started again"
                rows.emit(
                    agent, member.role, Kind.AGENT_RESTART_LIMIT, limit, task=task, cause=cause
                )
                return changed._replace(state=MemberState.CRASHED, restart_at=NEVER)
            return changed._replace(state=MemberState.CRASHED, restart_at=rows.now + pause)

        return self._update(agent, nonce, act)

    def restarted(self, agent: str, nonce: str) -> Member | None:
        """Record that a crashed agent is started again, as a new start of the same agent."""

        def act(rows: Rows, member: Member) -> Member:
            said = f"{agent} was started again after: {member.cause or 'a request'}"
            number = member.restarts + 1
            rows.emit(agent, member.role, Kind.AGENT_AUTO_RESTARTED, said, restarts=number)
            return member._replace(
                nonce=token_hex(8), state=MemberState.STARTING, since=rows.now, restarts=number,
                again=False, stop_by="", stop_why="", realm=self.here, pid=0, born=0,
            )  # fmt: skip

        return self._update(agent, nonce, act)

    def stop(
        self,
        by: Caller,
        agents: Sequence[str],
        *,
        reason: str = "",
        again: bool = False,
    ) -> list[Member]:
        """Ask to stop agents and all their subagents; the supervisor ends their processes.

        With ``again``, they are started again. An agent may only stop itself and its subagents.
        """
        why = check_text(reason, "reason") if reason else ""

        def step(rows: Rows) -> list[Member]:
            known = {one.agent: one for one in crewrows.members(rows)}
            parents = {one.id: one.parent for one in rows.agents()}
            parents |= {one.agent: one.parent for one in known.values()}
            chosen: dict[str, Member] = {}
            for agent in agents:
                if agent not in known:
                    raise no_member(agent)
                check_acts_for(by, agent, parents, f"dibs agent stop {agent}")
                for name in [agent] if again else family(agent, parents):
                    if name in known and not known[name].is_over:
                        chosen[name] = known[name]
            for member in chosen.values():
                now = member._replace(
                    state=MemberState.STOPPING, stop_by=by.issuer, stop_why=why, again=again,
                    since=member.since if member.state == MemberState.STOPPING else rows.now,
                )  # fmt: skip
                crewrows.put_member(rows, now)
            if chosen:
                names = ", ".join(chosen)
                said = f"{by.issuer} {'restarts' if again else 'stops'} {names}" + (
                    f": {why}" if why else ""
                )
                rows.emit(by.issuer, by.role, Kind.CREW_CHANGED, said, agents=list(chosen))
            return list(chosen.values())

        return self._store.apply(step)

    def stopped(self, agent: str, nonce: str) -> Member | None:
        """Record that the processes of a stopped agent have ended, and release what it held."""

        def act(rows: Rows, member: Member) -> Member:
            changed = member._replace(pid=0, born=0, since=rows.now)
            if member.again:
                return changed._replace(state=MemberState.CRASHED, restart_at=rows.now, cause="")
            by = member.stop_by or SUPERVISOR
            if member.stop_why == RETIRED and by == SUPERVISOR:
                self._end(rows, agent, AgentStatus.EXITED, RETIRED)
                rows.emit(
                    agent,
                    member.role,
                    Kind.AGENT_EXITED,
                    f"{agent} exited: {RETIRED}",
                    status="exited",
                )
                return changed._replace(state=MemberState.EXITED)
            parents = {one.id: one.parent for one in rows.agents()}
            for name in reversed(family(agent, parents)):
                if name == agent or crewrows.get_member(rows, name) is None:
                    self._end(rows, name, AgentStatus.TERMINATED, member.stop_why or f"by {by}")
            said = f"{by} stopped {agent}" + (f": {member.stop_why}" if member.stop_why else "")
            rows.emit(by, "human", Kind.AGENT_TERMINATED, said, toAgentId=agent, toRole=member.role)
            return changed._replace(state=MemberState.STOPPED, current="")

        return self._update(agent, nonce, act)

    def ended(
        self, agent: str, nonce: str, *, failed: bool = False, why: str = ""
    ) -> Member | None:
        """Record that an agent ended by itself or failed, and release what it held."""

        def act(rows: Rows, member: Member) -> Member:
            status = AgentStatus.FAILED if failed else AgentStatus.EXITED
            if self._end(rows, agent, status, why):
                said = f"{agent} {status}" + (f": {why}" if why else "")
                rows.emit(agent, member.role, Kind.AGENT_EXITED, said, status=status)
            state = MemberState.FAILED if failed else MemberState.EXITED
            return member._replace(
                state=state, pid=0, born=0, since=rows.now, cause=why or member.cause
            )

        return self._update(agent, nonce, act)

    # -- parts

    def _update(
        self, agent: str, nonce: str, act: Callable[[Rows, Member], Member]
    ) -> Member | None:
        def step(rows: Rows) -> Member | None:
            member = crewrows.get_member(rows, agent)
            if member is None or member.nonce != nonce:
                return None
            changed = act(rows, member)
            if changed != member:
                crewrows.put_member(rows, changed)
            return changed

        return self._store.apply(step)

    def _end(self, rows: Rows, agent: str, status: str, why: str) -> bool:
        """Release an agent's claims and end it; return whether it had not ended."""
        known = rows.agent(agent)
        if known is None or rows.beat(agent) is None:
            return False
        beat = arrive(rows, Caller(agent, known.role))
        give_back(rows, agent, beat, claims_of(rows, agent))
        end_agent(rows, known, status, why)
        return True


def held_tasks(rows: Rows, agent: str) -> list[str]:
    """Return the tasks of the board that an agent has in progress."""
    return [id_ for _, id_, holder in running(rows) if holder == agent]


def no_member(agent: str) -> NotFound:
    return NotFound(
        f"{quote(agent)} is not in the crew",
        code="NO_AGENT",
        hint="`dibs crew ls` lists its agents",
    )
