"""Set up where the agents work: one machine with two worktrees, or two machines that share an engine."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from machines import DemoError, Machine, git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = (
    "src/auth/login.py",
    "src/auth/session.py",
    "src/api/routes.py",
    "src/web/page.ts",
    "docs/api.md",
)
AUTHOR = ("-c", "user.name=Demo", "-c", "user.email=demo@example.com")
#: How many ports to try if another process takes the first one.
TRIES = 5
READY = 10.0


class Stage(NamedTuple):
    """Where each agent works; the human uses the first machine."""

    machines: tuple[Machine, ...]
    places: dict[str, Machine]
    #: What the machines share, and the setting that users write for it.
    shared: str = ""
    setting: str = ""
    #: The repository that both machines cloned.
    origin: Path | None = None

    @property
    def watcher(self) -> Machine:
        """The human's machine."""
        return self.machines[0]


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[Stage]:
    """One machine: a repository with two worktrees."""
    main, hotfix = folder / "shop", folder / "shop-hotfix"
    _make_repository(main)
    git(main, "worktree", "add", "-q", "-b", "hotfix", str(hotfix))
    machine = Machine("", main, own_files(folder / "home"))
    places = dict.fromkeys(("alice", "bob", "carol", "dave"), machine)
    yield Stage((machine,), {**places, "erin": machine._replace(tree=hotfix)})


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[Stage]:
    """Two machines that share a Redis server."""
    with _redis_server(folder / "redis") as port:
        stage = _two_machines(folder, {"DIBS_ENGINE": f"redis://127.0.0.1:{port}/0"})
        shared = f"the Redis server at 127.0.0.1:{port}"
        yield stage._replace(shared=shared, setting='engine = "redis://host:6379/0"')


@contextlib.contextmanager
def on_git(folder: Path) -> Iterator[Stage]:
    """Two machines that share only a git remote."""
    stage = _two_machines(folder, {"DIBS_ENGINE": "git:origin", "DIBS_GIT_POLL": "1s"})
    shared = "their remote, the bare repository shop.git"
    yield stage._replace(shared=shared, setting='engine = "git:origin"')


def _two_machines(folder: Path, engine: dict[str, str]) -> Stage:
    first, origin = folder / "first", folder / "shop.git"
    _make_repository(first)
    git(folder, "clone", "-q", "--bare", str(first), str(origin))
    # Do not leave a process running in the background.
    git(origin, "config", "receive.autogc", "false")
    machines = []
    for name in ("office", "laptop"):
        home = folder / name
        variables = {**own_files(home), **engine}
        git(folder, "clone", "-q", str(origin), str(home / "shop"))
        machines.append(Machine(name, home / "shop", variables))
    store, laptop = machines
    places = dict.fromkeys(("alice", "bob", "carol"), store) | dict.fromkeys(
        ("dave", "erin"), laptop
    )
    return Stage((store, laptop), places, origin=origin)


def own_files(home: Path) -> dict[str, str]:
    """Return variables that keep a machine's commands and its server away from the user's files."""
    home.mkdir(exist_ok=True)
    return {"HOME": str(home)}


def _make_repository(tree: Path) -> None:
    for name in FILES:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n", "utf-8")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, *AUTHOR, "commit", "-qm", "Begin")


@contextlib.contextmanager
def _redis_server(folder: Path) -> Iterator[int]:
    """Run a server in ``folder`` and yield its port."""
    if not shutil.which("redis-server"):
        raise DemoError("redis-server is not installed (run: scripts/setup redis)")
    folder.mkdir()
    for _ in range(TRIES):
        port = _free_port()
        with _started(folder, port) as server:
            if _answers(server, port):
                yield port
                return
    log = (folder / "log").read_text("utf-8", "replace").strip().splitlines()
    raise DemoError(f"redis-server does not start: {log[-1] if log else 'its log is empty'}")


@contextlib.contextmanager
def _started(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield server
    finally:
        server.kill()
        server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until this server responds; return whether it does."""
    until = time.monotonic() + READY
    while server.poll() is None and time.monotonic() < until:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=1) as connection,
        ):
            connection.sendall(b"PING\r\n")
            if connection.recv(16).startswith(b"+PONG"):
                return server.poll() is None
        time.sleep(0.02)
    return False
