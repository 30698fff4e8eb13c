"""The turns of an agent at its task: prompt it, execute its text commands, and wait for an explicit result.

A turn that ends without a result is asked about once; then the attempt has failed.
"""

from __future__ import annotations

import time
from contextlib import suppress

from dibs.core.claims.agents import Caller
from dibs.core.crew.presets import DriverName
from dibs.core.crew.prompts import PromptFacts, reminder, task_prompt, with_replies
from dibs.core.crew.restarts import exit_cause
from dibs.core.tasks.rules import Status
from dibs.crew import control
from dibs.crew.drivers.base import TurnEnd, TurnOutcome
from dibs.crew.listener import RunnerListener
from dibs.errors import DibsError, NotFound, Unavailable, Unknown
from dibs.services.crew.text_commands import TextCommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.core.crew.members import Member
    from dibs.core.crew.roles import CrewRole
    from dibs.crew.drivers.base import Driver
    from dibs.crew.logs import AgentLog
    from dibs.crew.processes import AgentProcesses
    from dibs.crew.workplace import Workplace
    from dibs.project.project import Project
    from dibs.services.crew.service import CrewMembers
    from dibs.services.tasks.values import TaskView

#: How often the state of the task is checked during a turn, in seconds.
_LOOK = 0.5
#: How long an agent may continue after its task has ended, and how long it has to end a cancelled turn.
_AFTER, _CANCEL = 60.0, 10.0
#: The same if the whole agent is stopped: its processes are ended step by step anyway.
_STOPPING = 0.5
_NO_RESULT = "the turn ended without a result"
#: The most turns for one task: an agent may print commands forever, and each reply starts another turn.
_MOST_TURNS = 50


class AgentCrashed(Exception):
    """The agent's process ended during a turn."""

    def __init__(self, cause: str, status: int | None = None) -> None:
        super().__init__(cause)
        self.cause, self.status = cause, status


class TaskTurns:
    """Drives one agent through its tasks."""

    def __init__(
        self,
        place: Workplace,
        role: CrewRole,
        member: Member,
        caller: Caller,
        log: AgentLog,
        crew: CrewMembers,
    ) -> None:
        self._place, self._role, self._member = place, role, member
        self._caller, self._log, self._crew = caller, log, crew
        self._nonce = member.nonce[:6] if role.nonce else ""
        self._listener = RunnerListener(place.project, caller, log, self._nonce)
        self._control = _Control(place.project)
        self._commands = TextCommands(place.project, caller, self._control)
        self._processes: AgentProcesses | None = None
        self._driver: Driver | None = None
        self._replies: list[str] = []

    def start(self) -> None:
        """Start what lives between turns."""
        self._processes = self._place.processes()
        self._driver = _driver(self._role, self._processes, self._listener, self._place.root)
        self._driver.start()

    def end(self) -> None:
        """End all processes of the agent."""
        if self._processes is not None and not self._processes.end():
            self._log.note("some processes of the agent could not be ended")
        if self._driver is not None:
            self._driver.close()

    def work(self, task: str, stopping: Callable[[], bool], beat: Callable[[], None]) -> str:
        """Drive the agent until its task has ended; return the title if it is done, else nothing."""
        assert self._driver is not None
        view = self._task(task)
        if view is None:
            return ""  # someone has just deleted it
        title = view.stored.task.title or task
        agent, role = self._caller.id, self._role.name
        facts = PromptFacts(agent, role, task, title, view.stored.text, self._nonce)
        self._log.note(f"task {task}: {title}")
        text, asked = task_prompt(self._role.prompt, facts), False
        for _ in range(_MOST_TURNS):
            self._driver.prompt(with_replies(self._replies, text))
            self._replies = []
            self._control.confirm()
            end = self._turn(task, stopping, beat)
            self._listener.ended()
            self._execute()
            if stopping():
                return ""
            text, asked = self._follow_up(facts, end, asked=asked)
            if not text:
                break
        else:
            self._fail(task, f"no result after {_MOST_TURNS} turns")
        return self.finished(task)

    def finished(self, task: str) -> str:
        """Return the title of a task if it is done, else nothing."""
        view = self._task(task)
        if view is None or view.stored.task.status != Status.DONE:
            return ""
        return view.stored.task.title or task

    def _follow_up(self, facts: PromptFacts, end: TurnEnd, *, asked: bool) -> tuple[str, bool]:
        """Return the next prompt, empty if the task has ended, and whether a result was asked for."""
        task = facts.task
        if not self._is_mine(task):
            return "", asked
        if end.outcome == TurnOutcome.EXITED:
            raise AgentCrashed(exit_cause(end.status), end.status)
        if end.status == 0 and self._role.done_on_exit:
            self._finish(task, "the command exited with status 0")
            return "", asked
        if self._replies:
            return "Continue with your task.", asked
        if asked:
            self._fail(task, f"{_NO_RESULT}, also after a reminder")
            return "", asked
        self._log.note(f"{_NO_RESULT}; asking once")
        return reminder(facts), True

    def _turn(self, task: str, stopping: Callable[[], bool], beat: Callable[[], None]) -> TurnEnd:
        """Wait for the end of a turn; execute text commands, and end a turn that takes too long."""
        driver = self._driver
        assert driver is not None
        limit = time.monotonic() + self._role.timeout
        ended_at = 0.0
        while True:
            end = driver.wait(_LOOK)
            self._execute()
            beat()
            if end is not None:
                return end
            now = time.monotonic()
            if stopping():
                return self._cancel(_STOPPING)
            if not self._is_mine(task):
                ended_at = ended_at or now
                if now > ended_at + _AFTER:
                    return self._cancel()
            if now > limit:
                self._cancel()
                raise AgentCrashed(exit_cause(1, timed_out=self._role.timeout))

    def _cancel(self, patience: float = _CANCEL) -> TurnEnd:
        """End the turn; if the agent does not, its processes are ended."""
        assert self._driver is not None
        assert self._processes is not None
        self._driver.cancel()
        end = self._driver.wait(patience)
        if end is None:
            self._processes.end()
        return end or TurnEnd(TurnOutcome.CANCELLED)

    def _execute(self) -> None:
        """Execute the agent's text commands, and answer them in the next prompt."""
        for command in self._listener.commands():
            reply = self._commands.execute(command)
            self._log.note(reply)
            self._replies.append(reply)
        tokens, context = self._listener.usage()
        if tokens or context >= 0:
            self._report_usage(tokens, context)

    def _report_usage(self, tokens: int, context: float) -> None:
        with suppress(Unavailable, Unknown):
            self._put_usage(tokens, context)

    def _put_usage(self, tokens: int, context: float) -> None:
        known = self._crew.member(self._member.agent)
        if tokens or abs(context - known.context) > 0.01:  # noqa: PLR2004 - one percent
            self._crew.report(
                known.agent, self._member.nonce, tokens=known.tokens + tokens, context=context
            )
            if context >= 0:
                self._place.project.agents.report(self._caller, context=min(context, 1.0))

    # -- the task on the board

    def _task(self, task: str) -> TaskView | None:
        try:
            return self._place.project.tasks.show(None, task)
        except NotFound:
            return None

    def _is_mine(self, task: str) -> bool:
        try:
            return task in self._crew.held(self._caller.id)
        except (Unavailable, Unknown):
            return True  # nothing says otherwise; the gate checks it at the end

    def _finish(self, task: str, summary: str) -> None:
        self._place.project.tasks.done(self._caller, task, summary=summary)

    def _fail(self, task: str, why: str) -> None:
        self._log.note(f"task {task} failed: {why}")
        try:
            self._place.project.tasks.fail(self._caller, task, message=why)
        except DibsError as error:
            self._log.note(f"cannot record that: {error.message}")


class _Control:
    """Lets text commands start and stop agents, and call tools."""

    def __init__(self, project: Project) -> None:
        self._project = project
        #: What to call once the agent has the replies: then a briefing counts as delivered.
        self._unsent: list[Callable[[], object]] = []

    def confirm(self) -> None:
        """Record that the agent has the replies; a briefing for which this fails is repeated."""
        unsent, self._unsent = self._unsent, []
        for act in unsent:
            with suppress(DibsError):
                act()

    def spawn(self, role: str, *, task: str, parent: str) -> str:
        return control.spawn(self._project, Caller(parent), role, task).agent

    def stop(self, agent: str, *, by: str, reason: str) -> list[str]:
        stopped = control.stop(self._project, Caller(by), [agent], reason)
        return [member.agent for member in stopped]

    def call_tool(self, caller: Caller, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        from dibs.mcp.calls import call_tool

        return call_tool(self._project, caller, name, arguments, self._unsent.append)


def _driver(
    role: CrewRole, processes: AgentProcesses, listener: RunnerListener, root: str
) -> Driver:
    if role.driver == DriverName.ACP:
        from dibs.core.crew.presets import fill
        from dibs.crew.drivers.acp import AcpDriver

        words, _ = fill(role.command, model=role.model)
        return AcpDriver(words, root, processes.spawn, listener)
    from dibs.crew.drivers.headless import HeadlessDriver

    return HeadlessDriver(role, processes.spawn, listener)
