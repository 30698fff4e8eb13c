"""The server: look up tools and resources, check arguments, call services in threads, and shape answers.

A denial is a normal result. An error is a result marked as an error, with code, field, and hint. Only an
unknown tool or resource is a protocol error.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import mcp_types as types
from anyio import to_thread
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from dibs import __version__
from dibs.core.text.untrusted import clean
from dibs.errors import DibsError, Unavailable
from dibs.mcp.messages import failure
from dibs.mcp.registry import INSTRUCTIONS, TOOLS
from dibs.mcp.resources import PAGES
from dibs.mcp.waiting import McpWaits

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from dibs.api.client import Dibs
    from dibs.mcp.registry import ToolEntry

    Context = ServerRequestContext[Any, Any]

#: How many characters of an unknown argument's name to show.
_FIELD = 80


class Surface(Protocol):
    """What a transport knows: who calls, and when an answer was sent."""

    def dibs(self, ctx: Context) -> Dibs:
        """Return the project as the caller of this request sees it; runs in a thread."""
        ...

    def failed(self, error: DibsError) -> None:
        """Record an error, after which the project may have to be reopened."""
        ...

    def begin(self) -> None:
        """Record that a call started."""
        ...

    def end(self) -> None:
        """Record that a call ended."""
        ...

    def after(self, ctx: Context, hear: Callable[[bool], object]) -> None:
        """Call ``hear`` at the end with whether the answer to this request was sent."""
        ...


def build(surface: Surface) -> Server[Any]:
    """Return the server of a project."""
    calls = _Calls(surface)
    return Server(
        "dibs",
        version=__version__,
        title="Dibs",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=calls.schemas.get,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,
        on_list_resources=calls.list_resources,
        on_read_resource=calls.read_resource,
    )


class _Calls:
    """The handlers of one server."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._waiting = McpWaits()
        self._tools = [entry.described() for entry in TOOLS.values()]
        self.schemas = {tool.name: tool.input_schema for tool in self._tools}

    async def list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools)

    async def list_resources(self, _: Context, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[page.described() for page in PAGES.values()])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        entry = TOOLS.get(params.name)
        if entry is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name[:80]!r}")
        try:
            asked = entry.takes.model_validate(params.arguments or {})
            answer = await self._perform(ctx, entry, asked)
        except ValidationError as error:
            return _result(_wrong(entry, error), error=True)
        except DibsError as error:
            self._surface.failed(error)
            return _result(failure(error), error=True)
        except OSError as error:
            what = f"operating system error: {error.strerror or error}"
            return _result(failure(Unavailable(what, code="SYSTEM")), error=True)
        return _result(answer)

    async def _perform(self, ctx: Context, entry: ToolEntry, asked: Any) -> Any:
        if entry.waits:
            dibs = await to_thread.run_sync(self._surface.dibs, ctx)
            answer, give_back = await self._waiting.wait(ctx, dibs, asked)
            self._surface.after(ctx, lambda left: None if left else _try(give_back))
            return answer

        def act() -> Any:
            self._surface.begin()
            try:
                return entry.act(self._surface.dibs(ctx), asked)
            finally:
                self._surface.end()

        # A call that has started runs to its end, even if its client is gone.
        answer = await to_thread.run_sync(act, abandon_on_cancel=True)
        if isinstance(answer, tuple):
            answer, confirm = answer
            if confirm is not None:
                self._surface.after(ctx, lambda left: _try(confirm) if left else None)
        return answer

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        page = PAGES.get(str(params.uri))
        if page is None:
            raise MCPError(types.INVALID_PARAMS, f"unknown resource {str(params.uri)[:80]!r}")
        try:
            text = await to_thread.run_sync(lambda: page.read(self._surface.dibs(ctx)))
        except DibsError as error:
            self._surface.failed(error)
            raise MCPError(
                types.INTERNAL_ERROR, f"{error.code}: see data", data=failure(error)["error"]
            ) from None
        contents = types.TextResourceContents(uri=params.uri, text=text, mime_type=page.kind)
        return types.ReadResourceResult(contents=[contents])


def _try(act: Callable[[], object]) -> None:
    """Run a follow-up. If it fails, a message is delivered again, or a claim expires."""
    with suppress(DibsError, OSError):
        act()


def _result(shape: dict[str, Any], *, error: bool = False) -> types.CallToolResult:
    text = types.TextContent(type="text", text=json.dumps(shape, ensure_ascii=False))
    if error:
        return types.CallToolResult(content=[text], is_error=True)
    return types.CallToolResult(content=[text], structured_content=shape, is_error=False)


def _wrong(entry: ToolEntry, error: ValidationError) -> dict[str, Any]:
    """Return an error for invalid arguments: the first wrong field, and the known ones."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = clean(".".join(map(str, first["loc"])), _FIELD) or "arguments"
    known = ", ".join(entry.takes.model_fields)
    hint = f"{entry.name} takes: {known}"
    message = f"{entry.name}: {first['msg']}: {field}"
    envelope = {
        "code": "BAD_INPUT", "message": message, "field": field, "hint": hint,
        "retryable": False, "request_id": None,
    }  # fmt: skip
    return {"error": envelope}
