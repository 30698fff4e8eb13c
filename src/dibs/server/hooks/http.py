"""Hooks over HTTP: ``POST /hooks/{agent}`` answers as ``dibs hook`` does, without starting a process.

Nothing in a request proves which session sent it: an agent's shell has the token, too. So the connection must
belong to the process of a session that its command hook has recorded (on Linux, on this machine), or the
token must belong to the session's agent. Otherwise a tool call is denied, and other events have no effect.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from anyio import to_thread
from starlette.responses import Response
from starlette.routing import Route

from dibs.core.toolcalls.values import EventKind, HookReply
from dibs.errors import BadInput, DibsError, NotAllowed, NotFound
from dibs.guard.agents.program import FAILED
from dibs.guard.agents.projects import base_project, split_by_project
from dibs.guard.dialects import NAMES, dialect
from dibs.local.processes import RunningProcess, is_there
from dibs.server.hooks.owner import owner_of
from dibs.server.projects import project_id
from dibs.server.security.identity import IDENTITY, PEER, TokenScope
from dibs.server.security.refusals import answer as refuse
from dibs.services.guard.liveness import Liveness
from dibs.services.state.sessions import get_session, session_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import Receive, Send
    from starlette.types import Scope as HttpScope

    from dibs.project.project import Project
    from dibs.server.resident import Resident
    from dibs.server.security.identity import RequestIdentity

#: The key of what is known about a connection in the scope of its requests.
CONNECTION = "dibs.connection"
_PROCESS = "process"
_UNKNOWN = (
    "dibs: blocked because this session is not known; the command hook must run at SessionStart, "
    "in the process that sends this request"
)


class HookCall(NamedTuple):
    """One call over HTTP."""

    agent: str
    given: bytes
    payload: dict[str, Any]

    def text(self, name: str) -> str:
        """Return a field of the payload if it is text."""
        found = self.payload.get(name)
        return found if isinstance(found, str) else ""

    @property
    def event(self) -> str:
        """The name of the event."""
        return self.text("hook_event_name")


class HttpHooks:
    """Answers hooks over HTTP."""

    def __init__(self, resident: Resident) -> None:
        self._resident = resident

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        from starlette.requests import Request

        request = Request(scope, receive)
        try:
            call = _call(request.path_params["agent"], await request.body())
            said, confirm = await to_thread.run_sync(self._answer, call, scope)
        except DibsError as error:
            await refuse(error, scope, send)
            return
        body = _body(said, call.event)
        await Response(body, media_type="application/json")(scope, receive, send)
        await self._finish(request, confirm)

    async def _finish(self, request: Request, confirm: Callable[[], None] | None) -> None:
        """Confirm the briefing in an answer that was sent, and serve the call's project."""
        if confirm is not None and not await request.is_disconnected():
            await to_thread.run_sync(confirm)
        await to_thread.run_sync(self._resident.hooks.add_projects)

    def _answer(self, call: HookCall, scope: HttpScope) -> tuple[HookReply, Any]:
        identity: RequestIdentity = scope[IDENTITY]
        try:
            heard = dialect(call.agent).parse(call.payload, call.event)
        except BadInput as error:
            return HookReply(stderr=FAILED.format(error.message), status=2), None
        base = base_project({heard.cwd: None} if os.path.isabs(heard.cwd) else {}, os.environ)
        place = next((one for one, _ in split_by_project(heard, base, os.environ)), None)
        if place is None:
            return HookReply(), None  # outside of any project
        id_ = project_id(place.repository.state)
        if identity.project and id_ != identity.project:
            raise NotAllowed(
                "the token is for another project",
                code="NOT_YOU",
                hint="use a token for this project",
            )
        projects = self._resident.projects
        served = projects.get(id_) if projects.has(id_) else projects.add(place.repository.root)
        process = self._process(served.project(), call, scope)
        if not process:
            before = heard.moment == EventKind.BEFORE
            return HookReply(stderr=_UNKNOWN, status=2 if before else 0), None
        return self._resident.hooks.judge([call.agent], call.given, os.environ, "", process)

    def _process(
        self, project: Project, call: HookCall, scope: HttpScope
    ) -> int | RunningProcess | None:
        """Return the process of the session that sent a request; None if that is not certain."""
        if PEER in scope:
            return int(scope[PEER].pid)
        identity: RequestIdentity = scope[IDENTITY]
        if identity.scope == TokenScope.AGENT:
            key = session_key(call.agent, call.text("session_id"))
            session = project.store.look(lambda rows: get_session(rows, key))
            if session is None or session.id != identity.caller.id:
                return None
            return RunningProcess(session.pid, session.born)
        facts = scope.get(CONNECTION, {})
        known = facts.get(_PROCESS)
        if known is None or not is_there(known.pid, known.born):
            found = Liveness(project.store).processes()
            candidates = {(one.pid, one.born) for one in found}
            known = owner_of(scope.get("client"), scope.get("server"), candidates)
            facts[_PROCESS] = known
        return known  # type: ignore[no-any-return]


def hook_routes(resident: Resident) -> list[Route]:
    """Return the route of hooks."""
    return [Route("/hooks/{agent}", HttpHooks(resident), methods=["POST"])]


def _call(agent: str, given: bytes) -> HookCall:
    if agent not in NAMES:
        raise NotFound("no such agent", code="NO_ROUTE", hint=f"one of {', '.join(NAMES)}")
    try:
        payload = json.loads(given)
    except ValueError:
        payload = {}
    return HookCall(agent, given, payload if isinstance(payload, dict) else {})


def _body(said: HookReply, event: str) -> bytes:
    """Return a reply as JSON; a denial by exit status becomes a decision: HTTP has no status for it."""
    if said.stdout:
        return said.stdout.encode()
    if said.status:
        decision = {"permissionDecision": "deny", "permissionDecisionReason": said.stderr}
        return json.dumps(
            {"hookSpecificOutput": {"hookEventName": event or "PreToolUse", **decision}}
        ).encode()
    return json.dumps({"systemMessage": said.stderr} if said.stderr else {}).encode()
