"""Manage the background process that makes hooks faster (optional).

Examples:
  dibs daemon status     show whether it is running
  dibs daemon start      rarely needed: with guard.daemon = true, hooks start it
  dibs daemon stop       hooks then answer on their own
  dibs daemon run        run it in the foreground, to see its errors

There is one for each user. It serves projects with daemon = true under [guard] in dibs.toml, and exits after
ten idle minutes. If it does not answer in time, each hook answers on its own.

exit status: 0 done, 1 not running, 74 cannot be started
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.daemon.place import ProcessLock

#: Seconds that it may take to start or to exit.
PATIENCE = 10.0
FAILED = 74
VERBS = {
    "status": "show whether the daemon is running",
    "start": "start the daemon",
    "stop": "stop the daemon; hooks then answer on their own",
    "run": "run the daemon in the foreground, to see its errors",
}


def configure(parser: ArgumentParser) -> None:
    """Add the arguments of ``dibs daemon``."""
    from dibs.cli.support.parsing import common

    verbs = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", required=True, dest="verb"
    )
    for name, summary in VERBS.items():
        common(verbs.add_parser(name, help=summary, description=f"{summary.capitalize()}."))


def run(args: Namespace) -> int:
    """Run the subcommand."""
    import dibs
    from dibs.daemon.place import ProcessLock, private_folder
    from dibs.guard.agents.start import socket_of

    package = os.path.dirname(os.path.abspath(str(dibs.__file__)))
    path = socket_of(package)
    lock = ProcessLock(f"{path}.lock")
    if args.verb in {"start", "run"}:
        private_folder(os.path.dirname(path))
    if args.verb == "run":
        from dibs.daemon.server import main

        return main(package)
    if args.verb == "start":
        return _start(args, package, lock, path)
    if args.verb == "stop":
        return _stop(args, lock)
    process = lock.holder()
    return _say(args, process, path, f"running (process {process})" if process else "not running")


def _start(args: Namespace, package: str, lock: ProcessLock, path: str) -> int:
    from dibs.guard.agents.wake import wake

    if not lock.holder():
        wake(package, again=0.0)
    until = time.monotonic() + PATIENCE
    while not (lock.holder() and os.path.exists(path)):
        if time.monotonic() > until:
            sys.stderr.write("dibs: cannot start the daemon; to see why, run: dibs daemon run\n")
            return FAILED
        time.sleep(0.02)
    process = lock.holder()
    return _say(args, process, path, f"running (process {process})")


def _stop(args: Namespace, lock: ProcessLock) -> int:
    import signal

    process = lock.holder()
    if process:
        try:
            os.kill(process, signal.SIGTERM)
        except ProcessLookupError:
            process = 0
    until = time.monotonic() + PATIENCE
    while lock.holder() and time.monotonic() < until:
        time.sleep(0.02)
    _say(args, lock.holder(), "", "stopped" if process else "not running")
    return 0


def _say(args: Namespace, process: int, path: str, text: str) -> int:
    if args.json:
        import json

        print(
            json.dumps(
                {"running": bool(process), "pid": process, "socket": path if process else ""}
            )
        )
    else:
        print(text)
    return 0 if process else 1
