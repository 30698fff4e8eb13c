"""Serve Dibs tools to agents over the Model Context Protocol (MCP).

The server talks to the agent that started it over standard input and output.

Examples:
  dibs mcp
  dibs mcp --agent alice

exit status: 0 the client disconnected, 78 the extra `mcp` is not installed
"""

from __future__ import annotations

from dibs.errors import Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

OPTIONS = ()


def run(args: Namespace) -> int:
    """Serve until the client disconnects or a signal arrives."""
    _need_extra()
    import os

    if args.agent is not None:
        from dibs.core.text.names import check_agent_id

        os.environ["DIBS_AGENT"] = check_agent_id(args.agent)
    from dibs.mcp.stdio import run as serve

    serve(args.repo)
    return 0


def has_extra() -> bool:
    """Return whether the packages that the server needs are installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("mcp", "mcp_types"))


def _need_extra() -> None:
    """Fail with one line if the packages are missing, before anything is sent to a client."""
    if not has_extra():
        raise Misconfigured(
            "the MCP server needs the mcp package (2.3 or newer), which is not installed",
            code="EXTRA_MISSING",
            hint="install dibs[mcp]",
        )
