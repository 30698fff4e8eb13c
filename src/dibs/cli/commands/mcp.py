"""Serve Dibs tools to agents over the Model Context Protocol (MCP).

Without options, the server talks to the agent that started it over standard input and output.
With --http, it serves many agents at http://127.0.0.1:8899/mcp; each request names its agent in
the header Dibs-Agent. An address that other machines can reach needs a token, from DIBS_MCP_TOKEN
or from --token-file.

Examples:
  dibs mcp
  dibs mcp --http --port 8899 --token-file ~/.config/dibs/tokens

exit status: 0 the client disconnected, 78 the extra `mcp` is not installed or the address
cannot be used
"""

from __future__ import annotations

from dibs.cli.support.parsing import arg, number
from dibs.errors import BadUsage, Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

_HOST, _PORT = "127.0.0.1", 8899


def _port(text: str) -> int:
    return 0 if text == "0" else number(text)


OPTIONS = (
    arg("--http", action="store_true", help="serve many agents over HTTP"),
    arg("--host", metavar="NAME", help=f"address to listen on (default: {_HOST})"),
    arg("--port", metavar="N", type=_port, help=f"port to listen on (default: {_PORT})"),
    arg(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name that clients may use; repeatable",
    ),
    arg(
        "--token-file",
        metavar="FILE",
        help="file with one token per line, optionally followed by its agent",
    ),
)


def run(args: Namespace) -> int:
    """Serve until the client disconnects or a signal arrives."""
    given = (args.host, args.port, args.allow_host, args.token_file)
    if not args.http and any(value not in (None, []) for value in given):
        raise BadUsage("mcp: --host, --port, --allow-host, and --token-file need --http")
    for option, value in (("--host", args.host), ("--token-file", args.token_file)):
        if value == "":  # an unset variable in a script must not open the server to everyone
            raise BadUsage(f"mcp: {option} is empty", hint="give a value, or omit the option")
    _need_extra()
    import os

    if args.agent is not None:
        from dibs.core.text.names import check_agent_id

        os.environ["DIBS_AGENT"] = check_agent_id(args.agent)
    if not args.http:
        from dibs.mcp.stdio import run as serve

        serve(args.repo)
        return 0
    from dibs.local.signals import leaving_on_end

    with leaving_on_end():
        _serve_http(args)
    return 0


def _serve_http(args: Namespace) -> None:
    import os

    from dibs.mcp.http import run as serve
    from dibs.mcp.tokens import load

    tokens = load(args.token_file or "", os.environ)
    port = _PORT if args.port is None else args.port
    serve(args.repo, args.host or _HOST, port, tokens, args.allow_host, _shown(args))


def _shown(args: Namespace) -> Callable[[str], None]:
    def show(address: str) -> None:
        if args.json:
            from dibs.cli.support.session import print_json

            print_json({"url": address})
        else:
            print(f"serving at {address}", flush=True)

    return show


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
