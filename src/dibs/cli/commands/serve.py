"""Run the server: hooks, REST, events, alerts, and schedules.

Examples:
  dibs serve                 run it in the foreground, at http://127.0.0.1:7341
  dibs serve start           run it in the background
  dibs serve status          show whether it is running, where, and which handlers of events fail
  dibs serve stop            stop it; hooks then answer on their own
  dibs serve --install       run it as a service (systemd or launchd)

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

    from dibs.local.server_files import ProcessLock, ServerInfo

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
    arg("--tls-cert", metavar="FILE", help="certificate chain, in PEM format"),
    arg("--tls-key", metavar="FILE", help="the certificate's private key"),
    arg(
        "--install", action="store_true", help="run it as a service, from now on and at each login"
    ),
    arg("--uninstall", action="store_true", help="stop and remove the service"),
    arg("--insecure", action="store_true", help="let other machines connect without TLS"),
)


def run(args: Namespace) -> int:
    """Run the server, or control the one that is running."""
    from dibs.local.server_files import running_server, server_folder

    if args.install or args.uninstall:
        return _service(args)
    if args.control == "status":
        found = running_server(server_folder())
        return _status(args, found) if found else _say(args, None)
    if args.control == "stop":
        return _stop(args)
    need_extra("serve")
    given = _given(args)
    if args.control == "start":
        return _start(args, given)
    _become_ours()
    return _run(args, given)


def _become_ours() -> None:
    """Restart as a process whose environment cannot change what it loads: hooks trust no other."""
    import dibs

    program = os.path.join(os.path.dirname(os.path.abspath(str(dibs.__file__))), "__main__.py")
    if sys.orig_argv[:3] != [sys.executable, "-I", program] and sys.executable:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-I", program, *sys.argv[1:]])  # noqa: S606


def _given(args: Namespace) -> dict[str, Any]:
    """Return the options that were given; a server that takes over keeps the others."""
    named = {
        "host": args.host,
        "port": args.port,
        "names": args.allow_host,
        "tls_cert": args.tls_cert and os.path.abspath(args.tls_cert),
        "tls_key": args.tls_key and os.path.abspath(args.tls_key),
        "insecure": args.insecure or None,
        "repo": os.path.abspath(args.repo or "."),
    }
    return {name: value for name, value in named.items() if value is not None}


def _run(args: Namespace, given: dict[str, Any]) -> int:
    from dibs.local.server_files import server_folder
    from dibs.server.process.logs import open_log
    from dibs.server.process.main import ServerProcess
    from dibs.server.process.options import options_from

    given["attached"] = True
    process = ServerProcess(given, lambda info: _shown(args, info, f"serving at {info.url}"))
    os.makedirs(server_folder(), mode=0o700, exist_ok=True)
    open_log(options_from(given))
    other = process.run()
    return 0 if other is None else _say(args, other, "already running")


def _service(args: Namespace) -> int:
    from dibs.cli.support.session import require_human
    from dibs.errors import BadUsage
    from dibs.server.process.service import install, is_installed, service_for, uninstall

    if args.control or (args.install and args.uninstall):
        raise BadUsage("serve: use one of start, status, stop, --install, and --uninstall")
    hint = f"ask a human to run: dibs serve --{'uninstall' if args.uninstall else 'install'}"
    require_human(args, "only a human may change services", hint=hint, everywhere=True)
    service = service_for(sys.platform, _words(args), os.environ, os.geteuid())
    if args.uninstall:
        changed = uninstall(service)
        text = f"removed {service.path}" if changed else "not installed"
    else:
        need_extra("serve")
        if not is_installed(service):
            _stop_other()
        changed = install(service)
        text = f"{'wrote' if changed else 'unchanged'}: {service.path}\n\n{service.content}"
    if args.json:
        _shown(args, _settled(started=args.install), "", service=service.path, changed=changed)
    else:
        print(text.rstrip())
    return 0


def _words(args: Namespace) -> list[str]:
    """Return the options for the service's command line."""
    given = _given(args)
    del given["repo"]
    found = ["--insecure"] if given.pop("insecure", False) else []
    for name in given.pop("names", ()):
        found += ["--allow-host", name]
    for name, value in given.items():
        found += [f"--{name.replace('_', '-')}", str(value)]
    return found


def _stop_other() -> None:
    """Stop a server that is not the service, which could not start otherwise."""
    from dibs.local.server_files import server_folder, server_lock

    _end(server_lock(server_folder()))


def _settled(*, started: bool) -> ServerInfo | None:
    """Return the running server; wait for one that the service manager has just started."""
    from dibs.local.server_files import running_server, server_folder

    until = time.monotonic() + PATIENCE
    while True:
        info = running_server(server_folder())
        if info is not None or not started or time.monotonic() > until:
            return info
        time.sleep(0.02)


def _start(args: Namespace, given: dict[str, Any]) -> int:
    try:
        return _say(args, start_server(given))
    except Unavailable as error:
        sys.stderr.write(f"dibs: {error.message}\n")
        return FAILED


def _stop(args: Namespace) -> int:
    from dibs.cli.support.serving import only_humans
    from dibs.local.server_files import server_folder, server_lock

    only_humans(args, "stop the server", "dibs serve stop")
    lock = server_lock(server_folder())
    process = _end(lock)
    if lock.holder() == process != 0:
        sys.stderr.write(f"dibs: process {process} still finishes its calls\n")
        return FAILED
    if args.json:
        _say(args, None)
    else:
        print("stopped" if process else "not running")
    return 0


def _end(lock: ProcessLock) -> int:
    """Ask the server to exit, and wait for it; return its process."""
    import signal
    from contextlib import suppress

    process = lock.holder()
    if process:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    while lock.holder() == process != 0 and time.monotonic() < until:
        time.sleep(0.02)
    return process


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
