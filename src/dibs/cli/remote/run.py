"""Run a command here while ``dibs run`` holds its claims on a server."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING

from dibs.cli.remote.acting import STARTED
from dibs.cli.remote.command import show
from dibs.cli.support.child import CannotStart, ChildProcess
from dibs.errors import BadUsage, Fenced

if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.remote.command import RemoteCommand

#: Seconds between looks at whether the claims are still held, and for the command to exit when they are lost.
LOOK, GRACE = 0.1, 10.0


def hold(remote: RemoteCommand, args: Namespace) -> int:
    """Wait for the claims, run the command, and release; return the command's exit status."""
    if not args.command:
        raise BadUsage("run: no command given", hint="dibs run --claim src/ -- COMMAND")
    for part in remote.parts():
        if STARTED in part.get("out", ""):
            break
        show(part)
    else:
        return remote.finish()
    claims = _RemoteClaims(remote, quiet=args.json)
    try:
        status = _run(claims, args)
    except CannotStart as error:
        print(f"dibs: {error}", file=sys.stderr)
        status = error.status
    claims.release()
    if args.json:
        print(json.dumps({**claims.report(), "status": status}), file=sys.stderr)
    return status


class _RemoteClaims:
    """The claims on the server, watched by a thread."""

    def __init__(self, remote: RemoteCommand, *, quiet: bool) -> None:
        self._remote = remote
        self._quiet = quiet
        self._told = ""
        self.lost = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for part in self._remote.parts():
            self._told += part.get("err", "")
            if not self._quiet:
                show(part)
        self.lost.set()

    def release(self) -> None:
        """Let the server release them, and wait until it has."""
        if not self.lost.is_set():
            self._remote.interrupt()
        self._reader.join(GRACE)

    def report(self) -> dict[str, object]:
        """Return what the server reported at the end."""
        lines = [line for line in self._told.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}


def _run(claims: _RemoteClaims, args: Namespace) -> int:
    with ChildProcess(args.command, os.environ) as child:
        while (status := child.wait(LOOK)) is None:
            if child.stopped:
                child.stop_with_it()
                child.go_on()
            if claims.lost.is_set() and args.on_lost == "stop":
                print("dibs: the claims are lost; stopping the command", file=sys.stderr)
                child.end(GRACE)
                return Fenced.exit_status
        return status
