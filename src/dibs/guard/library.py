"""Guard tool calls inside your own Python process, also with the Claude Agent SDK.

A ``Guard`` does for Python agents what a hook does for agent programs: it claims unclaimed files at the first
write, allows writes to the agent's own files, and denies writes to other agents' files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from secrets import token_hex

from dibs.core.toolcalls.values import PASSED, EventKind, Verdict, Word
from dibs.errors import BadInput, DibsError
from dibs.guard.dialects import dialect
from dibs.local.identity import VARIABLE
from dibs.project.engines import is_recorded
from dibs.project.project import open_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from dibs.core.toolcalls.values import HookEvent
    from dibs.project.project import Project


class Guard:
    """Checks the tool calls of one agent session and its subagents.

    Tools have Claude Code's names and inputs (``Write``, ``Edit``, ``Bash``, and so on); other tools are
    judged by the paths in their input. If the store is unreachable, a call is denied unless
    ``guard.on_error`` says otherwise. Thread-safe.
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
                raise BadInput(f"{what} must be a string", code="GUARD_NAME", field=what)
        self._project: Project = open_project(repo)
        self._owner = True
        #: Not empty once the project is closed; shared with subagents' guards.
        self._shut: list[bool] = []
        self.session = session or token_hex(8)
        self.subagent = subagent
        self._about = {"agent_type": subagent_type, "model": model}
        self._environ = {VARIABLE: name} if name else {}
        self._cwd = os.path.realpath(repo or os.getcwd())
        #: Returned briefings, to be confirmed by the next call: a caller that calls again has read them.
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
        """Return a guard for a subagent of this session, which shares the open project."""
        made = object.__new__(Guard)
        made.__dict__.update(self.__dict__)
        made.subagent = subagent
        made._about = {**self._about, "agent_type": subagent_type}
        made._owner, made._told = False, []
        return made

    # -- events

    def before(self, tool: str, given: Mapping[str, object], *, call: str = "") -> Verdict:
        """Check a tool call before it runs; if the verdict is ``DENY``, do not run it."""
        return self._call("PreToolUse", tool, given, call)

    def after(self, tool: str, given: Mapping[str, object], *, call: str = "") -> Verdict:
        """Report that a tool call ran; pass the same ``call`` as to ``before``."""
        return self._call("PostToolUse", tool, given, call)

    def started(self, source: str = "startup") -> Verdict:
        """Start the session; the verdict's text is the briefing for the model."""
        return self._say("SubagentStart" if self.subagent else "SessionStart", source=source)

    def prompted(self) -> Verdict:
        """Report a prompt; the verdict's text is what is new since last time."""
        return self._say("UserPromptSubmit")

    def stopped(self, *, again: bool = False) -> Verdict:
        """End a turn and release unchanged files; pass ``again`` if the last verdict was about this stop."""
        event = "SubagentStop" if self.subagent else "Stop"
        return self._say(event, stop_hook_active=again)

    def ended(self, reason: str = "other") -> Verdict:
        """End the session, and every other session whose events this guard handled."""
        if self.subagent:
            return self._say("SubagentStop", reason=reason)
        verdict = PASSED
        for session in sorted(self._sessions | {self.session}):
            payload = {"hook_event_name": "SessionEnd", "session_id": session, "reason": reason}
            verdict = self.hear(payload)[0]
        self._sessions.clear()
        return verdict

    def close(self) -> None:
        """Confirm returned briefings and close the project; the session continues until ``ended``.

        Later calls are denied.
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
        """Return hooks for ``ClaudeAgentOptions(hooks=…)``, which guard every tool call.

        Without the SDK, the matchers are plain dicts with the same keys.
        """
        from dibs.guard.agent_sdk import hooks

        return hooks(self, timeout=timeout)

    def hear(self, payload: Mapping[str, object]) -> tuple[Verdict, HookEvent | None]:
        """Handle an event in the JSON of Claude Code and its SDK; never raises for a bad event."""
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
        """Return the verdict on an event."""
        from dibs.local.processes import own_pid, running

        self._sessions.add(heard.session)
        process = running(own_pid()) or 0
        try:
            is_recorded(self._project.place)  # the clone may use another store by now
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
        # A model may send any input; the parser refuses what is not a mapping.
        read = dict(given) if isinstance(given, Mapping) else given
        return self._say(event, tool_name=tool, tool_input=read, tool_use_id=call)

    def _say(self, event: str, **fields: object) -> Verdict:
        about = {key: value for key, value in self._about.items() if value}
        if self.subagent:
            about["agent_id"] = self.subagent
        payload = {"hook_event_name": event, "session_id": self.session, **about, **fields}
        return self.hear(payload)[0]

    def _confirm(self) -> None:
        """Confirm returned briefings; one that cannot be confirmed is repeated later."""
        from dibs.core.claims.agents import Caller

        while True:
            try:
                verdict = self._told.pop()
            except IndexError:  # all confirmed, maybe by another thread
                return
            try:
                self._project.briefings.delivered(Caller(verdict.reader), verdict.delivery)
            except DibsError:
                return

    def _failed(self, heard: HookEvent | None, error: DibsError | OSError) -> Verdict:
        """Return the verdict that the settings prescribe if the check failed."""
        from dibs.core.text.names import printable

        why = printable(" ".join(str(error).split()))[:400]
        asked = heard is None or heard.moment == EventKind.BEFORE
        wrong_store = isinstance(error, DibsError) and error.code == "ENGINE_MISMATCH"
        if asked and (wrong_store or self._project.config.guard_on_error == "deny"):
            return Verdict(Word.DENY, f"blocked because the claim check failed: {why}")
        return PASSED._replace(note=f"dibs: allowed although the claim check failed: {why}")
