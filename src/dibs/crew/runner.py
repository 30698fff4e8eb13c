"""The runner of one agent: a process that starts the agent, prompts it, and records how it ends.

It outlives the supervisor, and talks to it only through the store: a task that the agent holds on the board
is its assignment. What ends the runner ends the agent's processes first.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

from dibs.core.claims.agents import Caller, heartbeat_every
from dibs.core.crew.members import MemberState
from dibs.core.crew.restarts import exit_cause
from dibs.crew.drivers.base import AgentCommandError
from dibs.crew.folders import LOCK, agent_folder, config_in_force, record_crash, shown_output
from dibs.crew.logs import AgentLog
from dibs.crew.processes import adopt_orphans, oom_kills
from dibs.crew.turns import AgentCrashed, TaskTurns
from dibs.crew.workplace import Workplace
from dibs.errors import DibsError, Fenced, NotFound, Unavailable, Unknown
from dibs.local.locks import FileLock
from dibs.local.noted_agents import forget, note
from dibs.local.processes import running
from dibs.local.signals import SignalPipe
from dibs.project.project import open_project
from dibs.services.crew.service import CrewMembers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from dibs.core.crew.members import Member
    from dibs.core.crew.roles import CrewConfig
    from dibs.project.project import Project

    T = TypeVar("T")

#: How often an idle runner looks for a task without being woken, in seconds.
LOOK_EVERY = 2.0
#: The exit status if another runner has this agent, or this start was replaced.
REPLACED = 75
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Wakes a runner: there may be a task.
WAKE = signal.SIGUSR1


class Wakeup:
    """The signals that wake a runner or ask it to end."""

    def __init__(self) -> None:
        self._signals = SignalPipe()
        #: Whether the runner was asked to end.
        self.stopping = False
        for number in _SIGNALS:
            signal.signal(number, self._stop)
        signal.signal(WAKE, lambda *_: None)

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def wait(self, timeout: float) -> None:
        """Wait for a signal."""
        self._signals.wait(timeout)


class Runner:
    """Runs one agent from its start to its end."""

    def __init__(
        self, project: Project, config: CrewConfig, member: Member, wakeup: Wakeup
    ) -> None:
        self._project = project
        self._state = project.place.repository.state
        self._config = config
        self._role = config.role(member.role)
        self._member = member
        self._wakeup = wakeup
        self._crew = CrewMembers(project.store)
        self._caller = Caller(member.agent, member.role, member.realm.partition("/")[0])
        self._log = AgentLog(agent_folder(self._state, member.agent))
        self._turns: TaskTurns | None = None
        self._workplace: Workplace | None = None
        self._beat_at = 0.0

    def run(self) -> int:
        """Run until the agent ends; return the exit status of the runner."""
        pid = os.getpid()
        found = running(pid)
        born = found.born if found is not None else 0
        agent, nonce = self._member.agent, self._member.nonce
        if self._crew.started(agent, nonce, pid, born, self._role.model) is None:
            return REPLACED
        note(self._state, pid, born, agent)
        try:
            self._prepare()
            self._recover()
            while not self._wakeup.stopping:
                self._beat()
                held = self._patiently(lambda: self._crew.held(agent))
                if not held:
                    self._wakeup.wait(LOOK_EVERY)
                elif not self._work(held[0]):
                    return 0
            self._stopped()
        except AgentCrashed as crash:
            self._crashed(crash.cause)
        except AgentCommandError as error:
            self._crashed(error.message)
        except (DibsError, OSError) as error:
            self._crashed(f"the runner failed: {error}")
        finally:
            forget(self._state, pid, agent)
            self._end_processes()
            self._log.close()
        return 0

    def _prepare(self) -> None:
        """Create the worktree, and start what lives between turns."""
        self._workplace = Workplace(
            self._project, self._role, self._member, self._caller, self._log
        )
        self._member = self._workplace.prepare(self._crew)
        self._turns = TaskTurns(
            self._workplace, self._role, self._member, self._caller, self._log, self._crew
        )
        self._turns.start()

    def _recover(self) -> None:
        """Deliver a task that was done when an earlier runner of this agent died."""
        assert self._turns is not None
        assert self._workplace is not None
        task = self._member.current
        if not task or task in self._patiently(lambda: self._crew.held(self._member.agent)):
            return
        done = self._patiently(lambda: self._turns.finished(task) if self._turns else "")
        if done and self._config.merge:
            self._workplace.deliver(task, done)
        self._report(current="")

    def _work(self, task: str) -> bool:
        """Let the agent do a task, and deliver it; return False if the agent ended after it."""
        assert self._turns is not None
        assert self._workplace is not None
        self._report(state=MemberState.WORKING, current=task)
        self._workplace.catch_up()
        kills = oom_kills()
        try:
            done = self._turns.work(task, lambda: self._wakeup.stopping, self._beat)
        except AgentCrashed as crash:
            if crash.status is not None and oom_kills() > kills:
                crash.cause = exit_cause(crash.status, out_of_memory=True)
            raise
        if done and self._config.merge:
            self._workplace.deliver(task, done)
        if self._wakeup.stopping:
            return True
        if not done and self._workplace.has_changes():
            self._retire(f"its worktree has unfinished work for {task}")
            return False
        self._report(state=MemberState.IDLE, current="")
        return True

    def _retire(self, why: str) -> None:
        """End the agent, so that the next task starts in a clean tree; the work stays where it is."""
        self._end_processes()
        self._log.note(f"ended: {why}")
        self._crew.ended(self._member.agent, self._member.nonce, why=why)

    def _report(self, **changes: str) -> None:
        agent, nonce = self._member.agent, self._member.nonce
        self._patiently(lambda: self._crew.report(agent, nonce, **changes))

    def _patiently(self, act: Callable[[], T]) -> T:
        """Return what a call returns; while the store cannot be reached, wait for it."""
        told = False
        while True:
            try:
                return act()
            except (Unavailable, Unknown) as error:
                if self._wakeup.stopping:
                    raise
                if not told:
                    told = True
                    self._log.note(f"waiting for the store: {error.message}")
                self._wakeup.wait(LOOK_EVERY)

    def _beat(self) -> None:
        """Send a heartbeat if it is due."""
        config = self._project.config
        if time.monotonic() < self._beat_at:
            return
        self._beat_at = time.monotonic() + heartbeat_every(config.heartbeat, config.ttl) / 2
        with suppress(DibsError):
            self._crew.beat(self._member.agent, self._member.role)

    # -- ends

    def _end_processes(self) -> None:
        if self._turns is not None:
            self._turns.end()

    def _stopped(self) -> None:
        """Record the end after a signal: a stop that was asked for, or a crash of the runner."""
        self._end_processes()
        agent, nonce = self._member.agent, self._member.nonce
        if self._crew.member(agent).state != MemberState.STOPPING:
            self._crashed("the runner was terminated")
            return
        self._log.note("stopped")
        if not self._crew.member(agent).again:
            if self._workplace is not None:
                self._workplace.leave()
            release_tasks(self._project, self._crew, self._member)
        self._crew.stopped(agent, nonce)

    def _crashed(self, cause: str) -> None:
        self._end_processes()
        self._log.note(f"crashed: {cause}")
        agent, output = self._member.agent, shown_output(self._log.recent)
        held = self._crew.held(agent)
        claims = [held.claim.pattern for held in self._project.claims.all(agent)[0]]
        facts = {
            "cause": cause,
            "output": output,
            "tasks": held,
            "claims": claims,
            "tree": self._member.tree,
        }
        record_crash(self._state, agent, facts)
        self._crew.crashed(agent, self._member.nonce, cause, output)


def release_tasks(project: Project, crew: CrewMembers, member: Member) -> None:
    """Return the tasks of an agent whose processes have ended to the board."""
    for task in crew.held(member.agent):
        with suppress(NotFound, Fenced):
            project.tasks.release(Caller(member.agent, member.role), task)


def main(words: Sequence[str]) -> int:
    """Run the agent that the arguments name: the repository, the agent, and the nonce of its start."""
    root, agent, nonce = words
    wakeup = Wakeup()
    adopt_orphans()
    project = open_project(root)
    state = project.place.repository.state
    os.makedirs(agent_folder(state, agent), mode=0o700, exist_ok=True)
    lock = FileLock(os.path.join(agent_folder(state, agent), LOCK))
    if not lock.take(LOOK_EVERY):  # the one before may be about to end
        return REPLACED
    config = config_in_force(state, os.environ)
    member = CrewMembers(project.store).member(agent)
    if config is None or member.nonce != nonce:
        return REPLACED
    return Runner(project, config, member, wakeup).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
