"""The server: look up tools, check arguments, call services in threads, and shape answers.

A denial is a normal result. An error is a result marked as an error, with code, field, and hint. Only an
unknown tool is a protocol error.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import mcp_types as types
from anyio import to_thread
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from dibs import __version__
from dibs.errors import DibsError, Unavailable
from dibs.mcp.messages import failure, wrong_arguments
from dibs.mcp.registry import INSTRUCTIONS, TOOLS
from dibs.mcp.waiting import McpWaits

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from dibs.mcp.registry import ToolEntry
    from dibs.mcp.stdio import AgentProcess

    Context = ServerRequestContext[Any, Any]


def build(process: AgentProcess) -> Server[Any]:
    """Return the server of a project."""
    calls = _Calls(process)
    return Server(
        "dibs",
        version=__version__,
        title="Dibs",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=calls.schemas.get,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,
    )


class _Calls:
    """The handlers of one server."""

    def __init__(self, process: AgentProcess) -> None:
        self._process = process
        self._waiting = McpWaits()
        self._tools = [entry.described() for entry in TOOLS.values()]
        self.schemas = {tool.name: tool.input_schema for tool in self._tools}

    async def list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools)

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
            known = list(entry.takes.model_fields)
            return _result(wrong_arguments(entry.name, known, error), error=True)
        except DibsError as error:
            self._process.failed(error)
            return _result(failure(error), error=True)
        except OSError as error:
            what = f"operating system error: {error.strerror or error}"
            return _result(failure(Unavailable(what, code="SYSTEM")), error=True)
        return _result(answer)

    async def _perform(self, ctx: Context, entry: ToolEntry, asked: Any) -> Any:
        if entry.waits:
            dibs = await to_thread.run_sync(self._process.dibs, ctx)
            return await self._waiting.wait(ctx, dibs, asked)
        answer = await to_thread.run_sync(lambda: entry.act(self._process.dibs(ctx), asked))
        if isinstance(answer, tuple):
            answer, confirm = answer
            if confirm is not None:
                self._process.when_sent(ctx, lambda: _try(confirm))
        return answer


def _try(act: Callable[[], object]) -> None:
    """Run a follow-up. If it fails, a message is delivered again."""
    with suppress(DibsError, OSError):
        act()


def _result(shape: dict[str, Any], *, error: bool = False) -> types.CallToolResult:
    text = types.TextContent(type="text", text=json.dumps(shape, ensure_ascii=False))
    if error:
        return types.CallToolResult(content=[text], is_error=True)
    return types.CallToolResult(content=[text], structured_content=shape, is_error=False)
