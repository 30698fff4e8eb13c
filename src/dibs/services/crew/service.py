"""The crew: start agents, assign tasks to them, record how they end, and stop them.

Every change is one transaction on the rows; processes are started and stopped by crew/supervisor.py, which
compares the rows with what runs. A change names the member's ``nonce``, so that a runner that was replaced
changes nothing.
"""

from __future__ import annotations

from secrets import token_hex

from dibs.core.claims.agents import Agent, AgentStatus, Caller, family
from dibs.core.claims.ledger import Kind
from dibs.core.crew.members import CrewStatus, Member, MemberState, host_of, next_name
from dibs.core.crew.restarts import restart_after
from dibs.core.crew.roles import check_limit
from dibs.core.text.names import check_agent_id, plural
from dibs.errors import BadInput, NotFound
from dibs.services.crew.ends import SUPERVISOR, MemberEnds, held_tasks, no_member
from dibs.services.state.presence import admit, arrive, offer_work
from dibs.services.state.serving import crew as crewrows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.crew.roles import CrewConfig, CrewRole
    from dibs.services.state.rows import Rows


class CrewMembers(MemberEnds):
    """The crew of one project on this machine; rows of other machines are shown, not changed."""

    def now(self) -> float:
        """Return the time on the engine's clock."""
        return self._store.now()

    # -- the whole crew

    def state(self) -> CrewStatus:
        """Return whether the crew is up, and its limit."""
        return self._store.look(lambda rows: crewrows.get_crew(rows, host_of(self.here)))

    def change(self, caller: Caller, what: str, **changes: Any) -> CrewStatus:
        """Change the state of the crew; ``what`` says in the ledger what was done."""
        if "limit" in changes:
            check_limit(changes["limit"])

        def step(rows: Rows) -> CrewStatus:
            host = host_of(self.here)
            before = crewrows.get_crew(rows, host)
            after = before._replace(by=caller.id, since=rows.now, **changes)
            if changes.get("up"):
                crewrows.forget_crashes(rows)
            crewrows.put_crew(rows, host, after)
            summary = f"{caller.id} {what}"
            rows.emit(caller.id, caller.role, Kind.CREW_CHANGED, summary, host=host, **changes)
            return after

        return self._store.apply(step)

    def members(self, *, everywhere: bool = False) -> list[Member]:
        """Return the agents of the crew here, or on all machines, the live ones first."""
        found = self._store.look(lambda rows: list(crewrows.members(rows)))
        mine = [one for one in found if everywhere or one.is_on(self.here)]
        return sorted(mine, key=lambda one: (one.is_over, one.agent))

    def member(self, agent: str) -> Member:
        """Return one agent of the crew."""
        found = self._store.look(lambda rows: crewrows.get_member(rows, agent))
        if found is None:
            raise no_member(agent)
        return found

    def below(self, agent: str) -> list[str]:
        """Return the live agents of the crew among an agent and its subagents, here."""

        def step(rows: Rows) -> list[str]:
            live = {one.agent: one for one in crewrows.members(rows) if not one.is_over}
            parents = {one.id: one.parent for one in rows.agents()}
            parents |= {one.agent: one.parent for one in live.values()}
            names = family(agent, parents)
            return [name for name in names if name in live and live[name].is_on(self.here)]

        return self._store.look(step)

    def held(self, agent: str) -> list[str]:
        """Return the tasks that an agent has in progress."""
        return self._store.look(lambda rows: held_tasks(rows, agent))

    def failed_roles(self, roles: Sequence[str]) -> list[str]:
        """Return the roles whose agents crashed too often before they had a task."""

        def step(rows: Rows) -> list[str]:
            counts = {role: crewrows.get_crashes(rows, role, "") for role in roles}
            return [
                role for role, one in counts.items() if one.times and restart_after(one) is None
            ]

        return self._store.look(step)

    # -- one agent

    def spawn(
        self, config: CrewConfig, role: CrewRole, by: Caller, *, parent: str = "", task: str = ""
    ) -> Member:
        """Record a new agent, whose runner the caller starts; refuse it at the limit (``LIMIT``)."""
        if parent:
            check_agent_id(parent)

        def step(rows: Rows) -> Member:
            known = [one for one in crewrows.members(rows) if one.is_on(self.here)]
            live = [one for one in known if not one.is_over]
            state = crewrows.get_crew(rows, host_of(self.here))
            if by.id == SUPERVISOR and (state.paused or not state.up):
                raise NotFound("the crew was stopped or paused", code="NO_CREW")
            limit = state.limit or config.max_agents
            _check_room(live, limit, role)
            taken = [*(one.agent for one in known), *(one.id for one in rows.agents())]
            name = next_name(role.name, taken)
            member = Member(
                name, role.name, self.here, token_hex(8), parent=parent, since=rows.now, wanted=task
            )
            crewrows.put_member(rows, member)
            said = f"{by.id} started {name}"
            rows.emit(by.id, by.role, Kind.CREW_CHANGED, said, agent=name, role=role.name)
            return member

        return self._store.apply(step)

    def started(
        self, agent: str, nonce: str, pid: int, born: int, model: str = ""
    ) -> Member | None:
        """Record the runner's process, and let its agent join; None if another start replaced this one."""

        def act(rows: Rows, member: Member) -> Member:
            known = rows.agent(agent)
            if rows.beat(agent) is None:
                parent = member.parent if rows.agent(member.parent) is not None else ""
                host = host_of(self.here)
                joined = Agent(
                    agent, agent, member.role, parent, host, pid, rows.now, AgentStatus.IDLE, model
                )
                admit(rows, joined)
            else:
                arrive(rows, Caller(agent, member.role))
                assert known is not None
                rows.put_agent(known._replace(pid=pid))
            offer_work(rows, agent)
            return member._replace(
                pid=pid, born=born, state=MemberState.IDLE, since=rows.now, restart_at=0.0
            )

        return self._update(agent, nonce, act)

    def report(self, agent: str, nonce: str, **changes: Any) -> Member | None:
        """Change fields of a member, such as its state; None if another start replaced this one."""

        def act(rows: Rows, member: Member) -> Member:
            state = changes.get("state", member.state)
            if state != member.state:
                if member.state == MemberState.STOPPING:
                    return member._replace(**{**changes, "state": member.state})
                _set_status(rows, agent, state)
                if state == MemberState.IDLE:  # the supervisor waits for this
                    rows.emit(
                        agent, member.role, Kind.STATUS_CHANGE, f"{agent}: idle", status=state
                    )
                return member._replace(**changes, since=rows.now)
            return member._replace(**changes)

        return self._update(agent, nonce, act)

    def beat(self, agent: str, role: str) -> None:
        """Send a heartbeat for an agent of the crew whose runner is alive."""
        self._store.apply(lambda rows: arrive(rows, Caller(agent, role)))


def _set_status(rows: Rows, agent: str, state: str) -> None:
    known = rows.agent(agent)
    status = AgentStatus.RUNNING if state == MemberState.WORKING else AgentStatus.IDLE
    if known is not None and rows.beat(agent) is not None and known.status != status:
        rows.put_agent(known._replace(status=status))


def _check_room(live: Sequence[Member], limit: int, role: CrewRole) -> None:
    if len(live) >= limit:
        raise BadInput(
            f"the crew already has {plural(len(live), 'agent')}, and its limit is {limit}", code="LIMIT",
            field="limit", hint=f"raise it: dibs crew scale {min(limit + 1, 20)}",
        )  # fmt: skip
    same = sum(one.role == role.name for one in live)
    if same >= role.limit:
        raise BadInput(
            f"the crew already has {plural(same, 'agent')} with the role {role.name}", code="LIMIT",
            field="role", hint="raise the role's limit in crew.toml, then run: dibs crew up",
        )  # fmt: skip
