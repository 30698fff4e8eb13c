"""Server processes that never outlive the tests, and their ports."""

from __future__ import annotations

import atexit
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress

import psutil

#: Below the kernel's ephemeral ports, so that a stopped server finds its port available again; port
#: + 10,000, which cluster nodes use among themselves, is below them too.
PORTS = range(11_000, 22_000)
#: Seconds after which a server that does not respond counts as failed.
READY = 20.0

# pytest-randomly seeds `random` equally in all workers, which would make them all try the same ports.
_CHANCE = random.SystemRandom()

#: Outlives this process briefly: when its standard input ends, it kills the remaining process groups, and
#: then removes the remaining folders and shared memory. A server's children may be in groups of their own.
_KEEPER = """
import sys
kept = set()
for line in sys.stdin:
    kind, what = line[1:-1].split(" ", 1)
    (kept.add if line[0] == "+" else kept.discard)((kind, what))
sys.path += sys.argv[1:]
import os, psutil, shutil, signal, subprocess
for group in [int(what) for kind, what in kept if kind == "group"]:
    try:
        os.killpg(group, signal.SIGSTOP)
        for child in psutil.Process(group).children(recursive=True):
            child.kill()
    except (OSError, psutil.Error):
        pass
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
for kind, what in kept:
    if kind == "folder":
        shutil.rmtree(what, ignore_errors=True)
    elif kind == "memory":
        subprocess.run(["ipcrm", "-m", what], check=False, stderr=subprocess.DEVNULL)
"""


def free_port() -> int:
    """Return an unused port of 127.0.0.1, which may be taken again at any time."""
    while True:
        port = _CHANCE.choice(PORTS)
        with suppress(OSError), closing(listener(port)):
            return port


def listener(port: int = 0) -> socket.socket:
    """Return a socket that listens on ``port``, or on any unused port."""
    while True:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port or _CHANCE.choice(PORTS)))
            sock.listen(128)
        except OSError:
            sock.close()
            if port:
                raise
        else:
            return sock


class ServerError(Exception):
    """A server did not start or did not respond."""


class ServerProcess:
    """One server, in its own process group."""

    #: The signal that asks it to exit.
    ending = signal.SIGTERM

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        os.makedirs(self.folder, exist_ok=True)
        #: 0 until the first start; kept across restarts.
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        """Return the command that serves on ``port``."""
        raise NotImplementedError

    def launch_options(self) -> dict[str, object]:
        """Return how to run the command, as arguments of ``Popen``."""
        return {"cwd": self.folder, "env": clean_environment()}

    def answers(self) -> bool:
        """Return whether the server is ready."""
        raise NotImplementedError

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self.process is not None
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive, stopped or not."""
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> str:
        """The server's output."""
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self) -> ServerProcess:
        """Start on the last port, or on an unused one, and wait until the server responds."""
        if self.port:
            self._begin()
            return self
        for attempt in range(5):
            self.port = free_port()
            try:
                self._begin()
            except ServerError:  # most likely, another process took the port first
                self.port = 0
                if attempt == 4:
                    raise
            else:
                break
        return self

    def _begin(self) -> None:
        assert not self.running
        with open(os.path.join(self.folder, "log"), "ab") as log:
            try:
                self.process = subprocess.Popen(
                    self.command(),
                    **self.launch_options(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except FileNotFoundError as error:
                raise ServerError(f"{error.filename} is missing; `make test` installs it") from None
        keep("group", self.process.pid)
        deadline = time.monotonic() + READY
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ServerError(f"{self.command()[0]} does not answer: {self.log[-2000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Ask it to exit, as an operator does; kill it if it does not."""
        if self.running:
            self.resume()
            self.process.send_signal(self.ending)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        self.kill()

    def kill(self) -> None:
        """Kill the process and its children."""
        if self.process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # A killed child may briefly keep the socket that its parent listened on.
        until(lambda: not _members(self.process.pid), f"the end of group {self.process.pid}")
        let_go("group", self.process.pid)
        self.process = None

    def restart(self) -> None:
        """Stop it if it runs, and start it with the same port and folder."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze it: the kernel still accepts connections, but no one answers."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Unfreeze it."""
        os.killpg(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it permanently."""
        self.kill()

    def __enter__(self):
        """Start it, unless it already runs."""
        return self if self.running else self.start()

    def __exit__(self, *_: object) -> None:
        """End it permanently."""
        self.close()


def clean_environment() -> dict[str, str]:
    """Return the environment without variables that influence git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def until(condition, what: str, seconds: float = READY) -> None:
    """Wait until ``condition()`` is true; fail with ``what`` if it never is."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise ServerError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.02)


def _members(group: int) -> list[int]:
    """Return the running processes of ``group``, without zombies."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


_keeper: list[subprocess.Popen[str]] = []


def keep(kind: str, what: object) -> None:
    """Remove a "group" of processes, a "folder", or shared "memory" when this process ends in any way."""
    if not _keeper:
        _keeper.append(
            subprocess.Popen(
                [sys.executable, "-S", "-c", _KEEPER, *filter(None, sys.path)],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        atexit.register(_end)
    _tell(f"+{kind} {what}\n")


def let_go(kind: str, what: object) -> None:
    """Forget what ``keep`` was given."""
    _tell(f"-{kind} {what}\n")


def _tell(line: str) -> None:
    _keeper[0].stdin.write(line)
    _keeper[0].stdin.flush()


def _end() -> None:
    _keeper[0].stdin.close()  # kills what is left
    _keeper[0].wait(10)
