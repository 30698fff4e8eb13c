"""Answer hooks from a process that stays, which is faster; never needed.

Examples:
  dibs daemon status     does it run?
  dibs daemon start      not needed where guard.daemon is on: hooks start it
  dibs daemon stop       hooks answer by themselves then
  dibs daemon run        stay in the foreground, to see what it says

There is one for each user. It answers for projects whose dibs.toml says [guard] daemon = true, ends by itself
when nobody has asked for ten minutes, and where it is not there or is late, each hook answers by itself.

exit status: 0 done, 1 it does not run, 74 it could not be started
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.daemon.place import ProcessLock

#: How long it may take to begin or to end, in seconds.
PATIENCE = 10.0
FAILED = 74
VERBS = {
    "status": "tell whether it runs",
    "start": "start it, unless it runs",
    "stop": "end it; hooks answer by themselves then",
    "run": "stay in the foreground, to see what it says",
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
    """Do what the verb says."""
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
    return _say(
        args, process, path, f"it runs as process {process}" if process else "it does not run"
    )


def _start(args: Namespace, package: str, lock: ProcessLock, path: str) -> int:
    from dibs.guard.agents.wake import wake

    if not lock.holder():
        wake(package, again=0.0)
    until = time.monotonic() + PATIENCE
    while not (lock.holder() and os.path.exists(path)):
        if time.monotonic() > until:
            sys.stderr.write("dibs: it could not be started; see what `dibs daemon run` says\n")
            return FAILED
        time.sleep(0.02)
    process = lock.holder()
    return _say(args, process, path, f"it runs as process {process}")


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
    _say(args, lock.holder(), "", "it has ended" if process else "it does not run")
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
