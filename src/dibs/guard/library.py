"""Guarding tool calls inside of one's own process: for builders of agents, and for the Claude Agent SDK.

What a hook does for an agent that is a program of its own, a ``Guard`` does for one that is Python: it claims
what is free at the first write, passes what is the agent's own, and refuses what is another's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from secrets import token_hex

from dibs.core.toolcalls.values import PASSED, EventKind, Verdict, Word
from dibs.errors import BadInput, DibsError
from dibs.guard.dialects import dialect
from dibs.local.identity import VARIABLE
from dibs.project.project import open_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent
    from dibs.project.project import Project


class Guard:
    """Judges the tool calls of one session of an agent, and of subagents in it.

    Tools are named and shaped as Claude Code's are (``Write``, ``Edit``, ``Bash`` and so on); other names are
    judged by the paths in their input. Where nobody can be asked, a call is refused unless the setting
    ``guard.on_error`` says otherwise. May be used from several threads.
    """

    def __init__(
        self,
        repo: str = "",
        *,
        session: str = "",
        subagent: str = "",
        subagent_type: str = "",
        name: str = "",
        model: str = "",
    ) -> None:
        for what, text in (("session", session), ("subagent", subagent), ("name", name)):
            if not isinstance(text, str):
                raise BadInput(f"{what} is no text", code="GUARD_NAME", field=what)
        self._project: Project = open_project(repo)
        self._owner = True
        #: Not empty once the project is closed; guards of subagents share it.
        self._shut: list[bool] = []
        self.session = session or token_hex(8)
        self.subagent = subagent
        self._about = {"agent_type": subagent_type, "model": model}
        self._environ = {VARIABLE: name} if name else {}
        self._cwd = os.path.realpath(repo or os.getcwd())
        #: Briefings that were handed out, and are confirmed by the next call: who asks again has read them.
        self._told: list[Verdict] = []
        self._sessions: set[str] = set()

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def for_subagent(self, subagent: str, subagent_type: str = "") -> Guard:
        """Return a guard for a subagent of this session; it shares the open project."""
        made = object.__new__(Guard)
        made.__dict__.update(self.__dict__)
        made.subagent = subagent
        made._about = {**self._about, "agent_type": subagent_type}
        made._owner, made._told = False, []
        return made

    # -- moments

    def before(self, tool: str, given: Mapping[str, object], *, call: str = "") -> Verdict:
        """Judge a tool call that is about to be made; ``DENY`` in the answer means: do not make it."""
        return self._call("PreToolUse", tool, given, call)

    def after(self, tool: str, given: Mapping[str, object], *, call: str = "") -> Verdict:
        """Tell that a tool call was made, with the ``call`` that ``before`` was given."""
        return self._call("PostToolUse", tool, given, call)

    def started(self, source: str = "startup") -> Verdict:
        """Begin the session; the text of the answer is the briefing, for the model."""
        return self._say("SubagentStart" if self.subagent else "SessionStart", source=source)

    def prompted(self) -> Verdict:
        """Tell that the agent got something to do; the answer has what is new since last time."""
        return self._say("UserPromptSubmit")

    def stopped(self, *, again: bool = False) -> Verdict:
        """End a turn: files that are as they were are given back. ``again`` if the agent was just told so."""
        event = "SubagentStop" if self.subagent else "Stop"
        return self._say(event, stop_hook_active=again)

    def ended(self, reason: str = "other") -> Verdict:
        """End the session, and every other whose events were heard here."""
        if self.subagent:
            return self._say("SubagentStop", reason=reason)
        verdict = PASSED
        for session in sorted(self._sessions | {self.session}):
            payload = {"hook_event_name": "SessionEnd", "session_id": session, "reason": reason}
            verdict = self.hear(payload)[0]
        self._sessions.clear()
        return verdict

    def close(self) -> None:
        """Confirm what was handed out, and close the project; the session goes on until ``ended``.

        What is asked after that is refused.
        """
        if self._closed:
            return
        self._confirm()
        if self._owner:
            self._shut.append(True)
            self._project.close()

    @property
    def _closed(self) -> bool:
        return bool(self._shut)

    # -- the Claude Agent SDK

    def claude_hooks(self, *, timeout: float = 30.0) -> dict[str, list[Any]]:
        """Return what ``ClaudeAgentOptions(hooks=…)`` takes: every tool call of its sessions is guarded.

        Without the SDK the matchers are plain dicts with the same keys.
        """
        from dibs.guard.agent_sdk import hooks

        return hooks(self, timeout=timeout)

    def hear(self, payload: Mapping[str, object]) -> tuple[Verdict, HookEvent | None]:
        """Judge an event in the shape in which Claude Code and its SDK tell it; never raises for it."""
        if self._closed:
            return self._failed(None, BadInput("this guard is closed", code="GUARD_CLOSED")), None
        self._confirm()
        try:
            spoken = dialect("claude")
            heard = spoken.parse({"cwd": self._cwd, **payload}, "")
            heard = heard._replace(listens=spoken.can_tell(heard))
        except BadInput as error:
            return self._failed(None, error), None
        return self.judge(heard), heard

    def judge(self, heard: HookEvent) -> Verdict:
        """Judge what was heard."""
        from dibs.local.processes import running

        self._sessions.add(heard.session)
        process = running(os.getpid()) or 0
        try:
            verdict = self._project.guarding.hear(
                heard, process, self._environ, tells=heard.listens
            )
        except (DibsError, OSError) as error:
            return self._failed(heard, error)
        if verdict.delivery:
            self._told.append(verdict)
        return verdict

    # -- parts

    def _call(self, event: str, tool: str, given: Mapping[str, object], call: str) -> Verdict:
        # A model may send anything as its input: what is no mapping is refused where it is read.
        read = dict(given) if isinstance(given, Mapping) else given
        return self._say(event, tool_name=tool, tool_input=read, tool_use_id=call)

    def _say(self, event: str, **fields: object) -> Verdict:
        about = {key: value for key, value in self._about.items() if value}
        if self.subagent:
            about["agent_id"] = self.subagent
        payload = {"hook_event_name": event, "session_id": self.session, **about, **fields}
        return self.hear(payload)[0]

    def _confirm(self) -> None:
        """Confirm briefings that were handed out; one that cannot be is told again."""
        from dibs.core.claims.agents import Caller

        while True:
            try:
                verdict = self._told.pop()
            except IndexError:  # all are confirmed, maybe by another thread
                return
            try:
                self._project.briefings.delivered(Caller(verdict.reader), verdict.delivery)
            except DibsError:
                return

    def _failed(self, heard: HookEvent | None, error: DibsError | OSError) -> Verdict:
        """Answer as the settings want it where nobody could be asked."""
        from dibs.core.text.names import printable

        why = printable(" ".join(str(error).split()))[:400]
        asked = heard is None or heard.moment == EventKind.BEFORE
        if asked and self._project.config.guard_on_error == "deny":
            return Verdict(Word.DENY, f"refused, because it cannot be checked: {why}")
        return PASSED._replace(note=f"dibs: passed, though it cannot be checked: {why}")
