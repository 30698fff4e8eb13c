"""Notice that the code on disk is newer than the code that runs, and start a process with the new code."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dibs.local.server_files import ServerInfo
    from dibs.server.process.options import ServeOptions

PROGRAM = "server/run.py"
log = logging.getLogger("dibs.server")


def modules_stamp(package: str) -> str:
    """Return a digest of the name, modification time, and size of each source file of the package."""
    found = hashlib.sha256()
    for folder, folders, names in os.walk(package):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                try:
                    stat = os.stat(path)
                except OSError:
                    continue
                found.update(
                    f"{path}\0{stat.st_mtime_ns} {stat.st_size}\n".encode(errors="replace")
                )
    return found.hexdigest()[:16]


def replaces(running: ServerInfo, version: str, package: str, stamp: str) -> bool:
    """Return whether this code is newer than that of a running server."""
    if package == running.package:
        return stamp != running.stamp
    return _numbers(version) > _numbers(running.version)


def start_process(
    package: str, options: ServeOptions, given: dict[str, Any] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server; one that is not attached is independent of this process and its terminal.

    It takes the ``given`` options, and those of a server that it replaces; without any, all of ``options``.
    """
    silent = None if options.attached else subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 - our own program
        [
            sys.executable,
            "-I",
            f"{package}/{PROGRAM}",
            json.dumps(options._asdict() if given is None else given),
        ],
        stdin=subprocess.DEVNULL,
        stdout=silent,
        stderr=silent,
        start_new_session=not options.attached,
    )


class Renewal:
    """Looks for changed code, and starts a successor once the files no longer change."""

    def __init__(self, package: str, options: ServeOptions, stamp: str) -> None:
        self._package = package
        self._options = options
        #: What runs.
        self.stamp = self._seen = self._tried = stamp
        #: The successor that was started last.
        self.successor: subprocess.Popen[bytes] | None = None

    def look(self) -> bool:
        """Return whether the code on disk has changed; start a successor if it is complete."""
        now = modules_stamp(self._package)
        still, self._seen = now == self._seen, now
        if self.successor is not None and self.successor.poll() is not None:
            log.error(
                "the new version does not start; keeping this one until its files change again"
            )
            self.successor = None
        if now != self.stamp and still and now != self._tried:
            self._tried = now
            log.info("the code has changed; starting a process with the new code")
            self.successor = start_process(self._package, self._options)
        return now != self.stamp


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))
