"""Serve Dibs tools to agents over the Model Context Protocol (MCP).

The server talks to the agent that started it over standard input and output. `dibs serve` serves
many agents over HTTP, at http://127.0.0.1:7341/mcp; each has a token from `dibs token new`.

Examples:
  dibs mcp
  dibs mcp --agent alice

exit status: 0 the client disconnected, 78 the extra `mcp` is not installed
"""

from __future__ import annotations

from argparse import SUPPRESS

from dibs.cli.support.parsing import arg
from dibs.errors import BadUsage, Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

OPTIONS = (
    arg("--http", action="store_true", help="replaced by `dibs serve`, which serves MCP at /mcp"),
    # Options of the server that `dibs serve` replaced, so that its users learn what to run.
    *(
        arg(name, help=SUPPRESS, action="append")
        for name in ("--host", "--port", "--allow-host", "--token-file")
    ),
)


def run(args: Namespace) -> int:
    """Serve until the client disconnects or a signal arrives."""
    if args.http or args.host or args.port or args.allow_host or args.token_file:
        raise BadUsage(
            "mcp: `dibs serve` serves MCP over HTTP, at http://127.0.0.1:7341/mcp",
            hint="run `dibs serve`, and create a token with `dibs token new --agent NAME`",
        )
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
        from dibs.local.installation import install_command

        raise Misconfigured(
            "the MCP server needs the mcp package (2.3 or newer), which is not installed",
            code="EXTRA_MISSING",
            hint=f"run: {install_command('mcp')}",
        )
