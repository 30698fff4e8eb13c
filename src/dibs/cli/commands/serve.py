"""Run the server: hooks, REST, events, alerts, and schedules.

Examples:
  dibs serve                 run it in the foreground, at http://127.0.0.1:7341
  dibs serve start           run it in the background
  dibs serve status          show whether it is running, where, and which handlers of events fail
  dibs serve stop            stop it; hooks then answer on their own

There is one server for each user, for any number of projects. It serves the project in which it is started,
and every project whose hooks it answers. With `auto = true` under [server] in dibs.toml, the first hook
starts it.

exit status: 0 done, or already running, 1 not running, 74 cannot be started, 77 only a human may do this,
78 the extra `server` is not installed or the address cannot be used
"""

from __future__ import annotations

import os
import sys
import time

from dibs.cli.support.parsing import arg
from dibs.cli.support.serving import PATIENCE, need_extra, port_number, start_server
from dibs.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from dibs.local.server_files import ServerInfo

FAILED = 74
#: What `--json` says about a running server; null if none is running.
_TOLD = ("pid", "url", "socket", "version", "started", "auto")


OPTIONS = (
    arg(
        "control",
        nargs="?",
        choices=("start", "status", "stop"),
        metavar="start|status|stop",
        help="start it in the background, show whether it is running, or stop it",
    ),
    arg("--host", metavar="NAME", help="address to listen on (default: 127.0.0.1)"),
    arg("--port", metavar="N", type=port_number, help="port to listen on (default: 7341; 0: any)"),
    arg(
        "--allow-host",
        action="append",
        metavar="NAME",
        help="another host name that clients may use; repeatable",
    ),
    arg("--insecure", action="store_true", help="let other machines connect without encryption"),
)


def run(args: Namespace) -> int:
    """Run the server, or control the one that is running."""
    from dibs.local.server_files import running_server, server_folder

    if args.control == "status":
        found = running_server(server_folder())
        return _status(args, found) if found else _say(args, None)
    if args.control == "stop":
        return _stop(args)
    need_extra("serve")
    given = _given(args)
    _ask_consent(args)
    if args.control == "start":
        return _start(args, given)
    return _run(args, given)


def _ask_consent(args: Namespace) -> None:
    """Ask whether what this project's ``dibs.toml`` starts may run; there may be no project here."""
    from dibs.cli.support.consent import ask_consent
    from dibs.errors import DibsError
    from dibs.local.repository import find

    asks = not args.json and sys.stdin.isatty() and sys.stdout.isatty()
    try:
        ask_consent(args, find(args.repo), asks=asks, agreed=False)
    except DibsError:
        return


def _given(args: Namespace) -> dict[str, Any]:
    """Return the options that were given."""
    named = {
        "host": args.host,
        "port": args.port,
        "names": tuple(args.allow_host or ()),
        "insecure": args.insecure,
        "repo": os.path.abspath(args.repo or "."),
    }
    return {name: value for name, value in named.items() if value is not None}


def _run(args: Namespace, given: dict[str, Any]) -> int:
    from dibs.local.server_files import server_folder
    from dibs.server.process.logs import open_log
    from dibs.server.process.main import ServerProcess
    from dibs.server.process.options import ServeOptions

    options = ServeOptions(server_folder(), attached=True, **given)
    process = ServerProcess(options, lambda info: _shown(args, info, f"serving at {info.url}"))
    os.makedirs(options.folder, mode=0o700, exist_ok=True)
    open_log(options)
    other = process.run()
    return 0 if other is None else _say(args, other, "already running")


def _start(args: Namespace, given: dict[str, Any]) -> int:
    try:
        return _say(args, start_server(**given))
    except Unavailable as error:
        sys.stderr.write(f"dibs: {error.message}\n")
        return FAILED


def _stop(args: Namespace) -> int:
    import signal
    from contextlib import suppress

    from dibs.cli.support.serving import only_humans
    from dibs.local.server_files import server_folder, server_lock

    only_humans(args, "stop the server", "dibs serve stop")
    lock = server_lock(server_folder())
    process = lock.holder()
    if process:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    while lock.holder() == process != 0 and time.monotonic() < until:
        time.sleep(0.02)
    if lock.holder() == process != 0:
        sys.stderr.write(f"dibs: process {process} still finishes its calls\n")
        return FAILED
    if args.json:
        _say(args, None)
    else:
        print("stopped" if process else "not running")
    return 0


def _status(args: Namespace, info: ServerInfo) -> int:
    from dibs.client.client import failing_handlers
    from dibs.core.text.names import printable
    from dibs.errors import DibsError

    try:
        failing = failing_handlers(info.socket, PATIENCE)
    except DibsError:
        return _say(args, info, "running, but does not answer")
    lines = [f"handler {one['name']} of {one['project']}: {one['failing']}" for one in failing]
    lines.insert(0, f"running at {info.url} (process {info.pid})")
    _shown(args, info, "\n".join(map(printable, lines)), failing=failing)
    return 0


def _say(args: Namespace, info: ServerInfo | None, text: str = "running") -> int:
    if info is None:
        _shown(args, None, "not running")
        return 1
    _shown(args, info, f"{text} at {info.url} (process {info.pid})")
    return 0


def _shown(args: Namespace, info: ServerInfo | None, text: str, **more: object) -> None:
    if args.json:
        from dibs.cli.support.session import print_json

        told = info._asdict() if info is not None else dict.fromkeys(_TOLD)
        print_json({"running": info is not None} | {name: told[name] for name in _TOLD} | more)
        sys.stdout.flush()
    else:
        print(text, flush=True)
