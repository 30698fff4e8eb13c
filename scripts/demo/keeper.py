"""Run a command until standard input ends, then stop it.

The demo's server runs below this process, so it stops even if the demo is killed. Then the sample
repository is removed here, too: the demo writes a line if it does that itself.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Seconds that the command has to stop.
GRACE = 5.0
#: Seconds after which files that commands still write are left in place.
LONGEST = 60.0


def main(folders: list[str], command: list[str]) -> None:
    """Run ``command``; remove ``folders`` if standard input ends without a line."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the demo decides when this ends
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as server:
        sys.stdout.close()  # only the server writes to it
        orderly = sys.stdin.read()
        # A server whose code has changed has replaced itself with a process that is not a child.
        with contextlib.suppress(subprocess.TimeoutExpired):
            stop = [command[0], "serve", "stop"]
            subprocess.run(stop, check=False, capture_output=True, timeout=GRACE)
        server.terminate()
        try:
            server.wait(GRACE)
        except subprocess.TimeoutExpired:
            server.kill()
    if not orderly:
        for folder in folders:
            remove(Path(folder))


def remove(folder: Path) -> None:
    """Remove a folder, even if an interrupted command still writes to it."""
    until = time.monotonic() + LONGEST
    while folder.exists() and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)


if __name__ == "__main__":
    before = sys.argv.index("--")
    main(sys.argv[1:before], sys.argv[before + 1 :])
