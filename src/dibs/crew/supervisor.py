"""The supervisor: compares the crew's rows with the processes that run, and acts on the difference.

It has no state that matters: everything is in rows and processes, so a new supervisor continues where an old
one died. Starting a runner twice is harmless, because only one can lock the agent's folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.crew.members import MemberState, host_of
from dibs.core.crew.restarts import STARTUP, exit_cause
from dibs.core.text.names import plural
from dibs.crew.assign import Assigner
from dibs.crew.folders import LOCK, agent_folder, config_in_force
from dibs.crew.processes import end_marked
from dibs.crew.runner import WAKE, release_tasks
from dibs.errors import BadInput, DibsError, Fenced, NotFound
from dibs.local.locks import FileLock
from dibs.local.processes import is_there
from dibs.services.crew.ends import RETIRED, SUPERVISOR
from dibs.services.crew.service import CrewMembers
from dibs.services.schedule.leases import Leases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.crew.members import CrewStatus, Member
    from dibs.core.crew.roles import CrewConfig
    from dibs.project.project import Project

#: How often the supervisor looks while there is a crew, and while there is none, in seconds.
LOOK_EVERY, IDLE_EVERY = 1.0, 60.0
#: How long a runner has to end its agent; then the supervisor kills both.
STOP_WITHIN = 20.0
#: Another supervisor on this machine takes over after this time, or at once if this one is dead.
_LEASE = 60.0
#: The supervisor in the ledger.
#: It acts for the human who started the crew.
CALLER = Caller(SUPERVISOR, "supervisor", by_human=True)


class Supervisor:
    """Looks after the crew of one project on this machine."""

    def __init__(self, root: str) -> None:
        self._root = root
        #: The runners that this process started, by nonce.
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._assigner = Assigner(self._wake)
        self._said = ""

    @property
    def waiting(self) -> tuple[tuple[str, str], ...]:
        """The tasks that wait, each with the reason."""
        return self._assigner.waiting

    def runners(self) -> list[subprocess.Popen[bytes]]:
        """Return the runners that this process started and has not collected."""
        return list(self._started.values())

    def tick(self, project: Project) -> float:
        """Look after every agent, and assign tasks; return the seconds until the next look."""
        crew = CrewMembers(project.store)
        state = crew.state()
        members = [one for one in crew.members() if not one.is_over]
        self._reap()
        if not state.up and not members:
            return LOOK_EVERY if self._started else IDLE_EVERY
        if not Leases(project.store).lead(f"crew-{host_of(crew.here)}", _LEASE):
            return LOOK_EVERY
        for member in members:
            self._look_after(project, crew, member)
        config = config_in_force(project.place.repository.state, os.environ)
        if state.up and not state.paused and config is not None:
            self._assign(project, crew, config, state)
        return LOOK_EVERY

    # -- one agent

    def _look_after(self, project: Project, crew: CrewMembers, member: Member) -> None:
        if member.state == MemberState.STARTING:
            self._starting(project, crew, member)
        elif member.state == MemberState.STOPPING:
            self._stopping(project, crew, member)
        elif member.state == MemberState.CRASHED:
            self._crashed(project, crew, member)
        elif not self._is_alive(crew, member):
            end_marked(member.nonce, 0, 0)
            crew.crashed(member.agent, member.nonce, self._runner_cause(member))

    def _starting(self, project: Project, crew: CrewMembers, member: Member) -> None:
        """Start the runner of a new agent, unless it is on its way."""
        process = self._started.get(member.nonce)
        if process is None:
            state = project.place.repository.state
            if not FileLock(os.path.join(agent_folder(state, member.agent), LOCK)).is_held():
                self.start(state, member)
        elif process.poll() is not None:
            crew.crashed(member.agent, member.nonce, self._runner_cause(member))
        elif project.store.now() > member.since + STARTUP:
            end_marked(member.nonce, process.pid, 0)

    def start(self, state: str, member: Member) -> None:
        """Start the runner of an agent, in a session of its own, so that it outlives this process."""
        folder = agent_folder(state, member.agent)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        words = [
            sys.executable,
            "-P",
            "-m",
            "dibs.crew.runner",
            self._root,
            member.agent,
            member.nonce,
        ]
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("DIBS_")
        }
        with open(os.path.join(folder, "runner.log"), "ab") as log:
            self._started[member.nonce] = subprocess.Popen(  # noqa: S603 - our own program
                words, cwd=self._root, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def _stopping(self, project: Project, crew: CrewMembers, member: Member) -> None:
        """Ask the runner to end; kill everything if it does not, then record the end."""
        if self._is_alive(crew, member):
            if crew.now() < member.since + STOP_WITHIN:
                _signal(member, signal.SIGTERM)
                return
            end_marked(member.nonce, member.pid, member.born)
        process = self._started.get(member.nonce)
        if process is not None and process.poll() is None and not member.pid:
            process.terminate()  # it has not recorded its process yet
            return
        if end_marked(member.nonce, 0, 0):
            if not member.again:
                release_tasks(project, crew, member)
            crew.stopped(member.agent, member.nonce)

    def _crashed(self, project: Project, crew: CrewMembers, member: Member) -> None:
        """Start an agent again when its pause is over, or give up: its task fails, and it ends."""
        if member.gave_up:
            self._give_up(project, crew, member)
        elif crew.now() >= member.restart_at and end_marked(member.nonce, 0, 0):
            again = crew.restarted(member.agent, member.nonce)
            if again is not None:
                self.start(project.place.repository.state, again)
        else:
            with suppress(DibsError):
                crew.beat(member.agent, member.role)

    def _give_up(self, project: Project, crew: CrewMembers, member: Member) -> None:
        caller = Caller(member.agent, member.role)
        for task in crew.held(member.agent):
            with suppress(NotFound, Fenced):
                why = f"{member.agent} crashed too often: {member.cause}"
                project.tasks.fail(caller, task, message=why)
        crew.ended(member.agent, member.nonce, failed=True, why=member.cause)
        children = [
            one.agent for one in crew.members() if one.parent == member.agent and not one.is_over
        ]
        if children:
            crew.stop(CALLER, children, reason=f"{member.agent} failed")

    def _is_alive(self, crew: CrewMembers, member: Member) -> bool:
        return (
            bool(member.pid)
            and member.is_same_boot(crew.here)
            and is_there(member.pid, member.born)
        )

    def _runner_cause(self, member: Member) -> str:
        process = self._started.get(member.nonce)
        status = process.poll() if process is not None else None
        return "the runner died" + (f" ({exit_cause(status)})" if status else "")

    def _wake(self, member: Member) -> None:
        _signal(member, WAKE)

    def _reap(self) -> None:
        """Forget the runners that have ended; ``poll`` collected them."""
        for nonce in [nonce for nonce, one in self._started.items() if one.poll() is not None]:
            del self._started[nonce]

    # -- tasks

    def _assign(
        self, project: Project, crew: CrewMembers, config: CrewConfig, state: CrewStatus
    ) -> None:
        limit = state.limit or config.max_agents
        planned = self._assigner.assign(project, crew, config, limit)
        if planned.retire:
            crew.stop(CALLER, planned.retire, reason=RETIRED)
        for role in planned.spawn:
            with suppress(BadInput, NotFound):  # the limit or the crew has just changed
                member = crew.spawn(config, config.role(role), CALLER)
                self.start(project.place.repository.state, member)
        reasons = {why for _, why in self.waiting}
        said = "; ".join(sorted(reasons))
        if said != self._said:
            self._said = said
            if said:
                line = f"{plural(len(self.waiting), 'task')} waiting: {said}"
                project.store.apply(
                    lambda rows: rows.emit(CALLER.id, CALLER.role, Kind.CREW_CHANGED, line)
                )


def _signal(member: Member, number: int) -> None:
    """Send a signal to a runner, if it is still that process."""
    if member.pid and is_there(member.pid, member.born):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(member.pid, number)
