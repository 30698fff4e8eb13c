"""Answer an agent's requests over the Agent Client Protocol: updates, permissions, and file writes."""

from __future__ import annotations

import os
import stat
from collections import deque

from acp import RequestError
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AllowedOutcome,
    DeniedOutcome,
    FileEditToolCallContent,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    WriteTextFileResponse,
)

from dibs.core.text.names import cut, few, printable
from dibs.core.toolcalls.values import How
from dibs.errors import BadInput, DibsError
from dibs.guard.dialects.tools import checked, target
from dibs.local.files import write_file
from dibs.local.paths import is_beneath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acp.schema import PermissionOption, ToolCall, ToolCallUpdate, Usage

    from dibs.crew.drivers.base import AgentListener

#: Kinds of tool calls that write no file.
_READING = frozenset(("read", "search", "fetch", "think"))
#: Kinds that name at least one file, and kinds that say what the tool does to it.
_EDITING = frozenset(("edit", "delete", "move"))
_PLAIN = _EDITING | {"execute"}
_ENDED = frozenset(("completed", "failed"))
_ALLOW = ("allow_once", "allow_always")
_REJECT = ("reject_once", "reject_always")
_NEW_MODE = 0o644
#: The most characters in a line of the log, tool calls in memory, and notes for one prompt.
_LINE, _CALLS, _NOTES = 300, 200, 20
_LOCKED, _INVALID, _FAILED = -32001, -32602, -32603


class AcpClient:
    """The client's side of one session. The SDK calls its methods in the driver's thread."""

    def __init__(self, cwd: str, listener: AgentListener) -> None:
        self._root = os.path.realpath(cwd)
        self._listener = listener
        self._calls: dict[str, _ToolCall] = {}
        self._context = self._estimate = 0
        #: Whether the turn was cancelled; the protocol demands that permissions then are, too.
        self.cancelled = False
        #: Why calls were blocked, for the next prompt: agents do not show their model a reason.
        self.notes: deque[str] = deque(maxlen=_NOTES)

    async def session_update(self, update: object, **_: object) -> None:
        """Pass on what the agent says, does, plans, and uses."""
        if isinstance(update, AgentMessageChunk):
            if isinstance(update.content, TextContentBlock):
                self._listener.heard(update.content.text)
        elif isinstance(update, ToolCallStart | ToolCallProgress):
            call = self._known(update)
            if call.paths or call.given or update.status in _ENDED:
                self._show(call)
            if update.status in _ENDED:
                self._calls.pop(update.tool_call_id, None)
        elif isinstance(update, AgentPlanUpdate):
            done = sum(entry.status == "completed" for entry in update.entries)
            now = [entry.content for entry in update.entries if entry.status == "in_progress"]
            self._note(" ".join((f"plan: {done} of {len(update.entries)} done", *now[:1])))
        elif isinstance(update, UsageUpdate):
            more = max(0, update.used - self._context)
            self._context = update.used
            self._estimate += more
            share = min(1.0, update.used / update.size) if update.size else -1.0
            self._listener.used(context=share, tokens=more)

    def end_turn(self, usage: Usage | None) -> None:
        """Report the tokens of the turn that were not reported as growth of the context."""
        if usage is not None and usage.total_tokens > self._estimate:
            self._listener.used(tokens=usage.total_tokens - self._estimate)
        self._estimate = 0

    async def request_permission(
        self, tool_call: ToolCallUpdate, options: Sequence[PermissionOption], **_: object
    ) -> RequestPermissionResponse:
        """Allow a tool call unless the claims forbid it."""
        call = self._known(tool_call)
        self._show(call)
        if self.cancelled:
            return _chosen(options, ())
        reason = "" if call.kind in _READING else self._refusal(call)
        if reason:
            self._refuse(self._description(call), reason)
        return _chosen(options, _REJECT if reason else _ALLOW)

    async def write_text_file(self, path: str, content: str, **_: object) -> WriteTextFileResponse:
        """Write a file of the agent's folder if the claims allow it."""
        try:
            real = self._inside(path)
        except BadInput as error:
            raise RequestError(_INVALID, error.message, {"path": path}) from error
        what = f"write {self._relative(real)}"
        reason = self._ask([real], "write", {"path": real})
        if reason:
            self._refuse(what, reason)
            raise RequestError(_LOCKED, f"LOCKED: {reason}", {"path": path})
        try:
            os.makedirs(os.path.dirname(real), exist_ok=True)
            write_file(real, content, mode=_mode(real))
        except OSError as error:
            raise RequestError(_FAILED, f"cannot {what}: {error.strerror}") from error
        self._note(what)
        return WriteTextFileResponse()

    # -- decisions

    def _refusal(self, call: _ToolCall) -> str:
        """Return why a call must not run, empty if it may."""
        try:
            paths = [
                os.path.join(self._root, path)
                for path in call.targets()
                if self._relative(path) != "."
            ]
        except BadInput as error:
            return error.message
        return self._ask(paths, call.tool, call.given if isinstance(call.given, dict) else {})

    def _ask(self, paths: Sequence[str], tool: str, arguments: Mapping[str, object]) -> str:
        try:
            return self._listener.may_write(paths, tool, arguments)
        except (DibsError, OSError) as error:
            return f"the claim check failed: {error}"

    def _refuse(self, what: str, reason: str) -> None:
        self._note(f"blocked: {what}: {reason}")
        note = f"Dibs blocked {_one_line(what)}: {reason}"
        if note not in self.notes:
            self.notes.append(note)

    def _inside(self, path: str) -> str:
        """Return the real path of a file in the agent's folder; refuse any other."""
        real = os.path.realpath(os.path.join(self._root, checked(path)))
        if not is_beneath(real, self._root) or real == self._root:
            raise BadInput(f"{printable(path)} is not in the working folder {self._root}")
        if ".git" in self._relative(real).lower().split("/"):
            raise BadInput(f"{printable(path)} is inside the git directory")
        return real

    # -- the log

    def _known(self, said: ToolCall | ToolCallUpdate) -> _ToolCall:
        """Return what is known about a call, with what the agent says about it now."""
        call = self._calls.get(said.tool_call_id)
        if call is None:
            if len(self._calls) >= _CALLS:
                del self._calls[next(iter(self._calls))]
            call = self._calls[said.tool_call_id] = _ToolCall()
        call.add(said)
        return call

    def _show(self, call: _ToolCall) -> None:
        if not call.shown:
            call.shown = True
            self._note(self._description(call))

    def _description(self, call: _ToolCall) -> str:
        given = call.given if isinstance(call.given, dict) else {}
        command = given.get("command")
        if isinstance(command, str) and call.kind == "execute":
            what = command
        else:
            what = few([self._relative(path) for path in call.paths]) or call.title.strip("` ")
        return f"{call.kind or 'call'} {what}".rstrip()

    def _relative(self, path: str) -> str:
        whole = os.path.normpath(os.path.join(self._root, path))
        return os.path.relpath(whole, self._root) if is_beneath(whole, self._root) else path

    def _note(self, line: str) -> None:
        self._listener.noted(_one_line(line))


class _ToolCall:
    """What an agent has said about a tool call; later messages add to it."""

    def __init__(self) -> None:
        self.kind = self.title = ""
        self.paths: list[str] = []
        self.given: object = None
        self.shown = False

    def add(self, said: ToolCall | ToolCallUpdate) -> None:
        """Add what a message says about the call."""
        self.kind = said.kind or self.kind
        self.title = said.title or self.title
        if said.raw_input:
            self.given = said.raw_input
        if self.kind == "execute" and isinstance(self.given, str):
            self.given = {"command": self.given}
        places = [place.path for place in said.locations or ()]
        diffs = [d.path for d in said.content or () if isinstance(d, FileEditToolCallContent)]
        self.paths = list(dict.fromkeys((*self.paths, *places, *diffs)))

    @property
    def tool(self) -> str:
        """The name by which the call's arguments are judged."""
        return self.kind if self.kind in _PLAIN else self.title or "other"

    def targets(self) -> list[str]:
        """Return the paths that the call may write."""
        try:
            touches = target(self.tool, self.given).touches
        except BadInput:
            if self.kind in _EDITING and not self.paths:
                raise
            touches = ()
        named = [touch.path for touch in touches if touch.how != How.READ]
        return list(dict.fromkeys((*self.paths, *named)))


def _chosen(options: Sequence[PermissionOption], kinds: Sequence[str]) -> RequestPermissionResponse:
    """Choose the option with the first of the kinds; cancel if there is none."""
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=chosen)
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return _NEW_MODE


def _one_line(text: str) -> str:
    return cut(printable(" ".join(text.split())), _LINE)
