"""Run a private Redis or PostgreSQL server for the demo, on a free port."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from machines import DemoError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: How many ports to try if another process takes the first one.
TRIES = 5
#: Seconds that a server has to start, and to stop.
READY, GRACE = 20.0, 5.0


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """Run a server in ``folder`` and yield its port."""
    if not shutil.which("redis-server"):
        raise DemoError("redis-server is not installed (run: scripts/setup redis)")
    folder.mkdir()
    command = ["redis-server", "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    command += ["--appendonly", "yes", "--appendfsync", "always", "--port"]
    for _ in range(TRIES):
        port = _free_port()
        with _started([*command, str(port)], folder, signal.SIGKILL) as server:
            if _is_ready(server, lambda port=port: _answers(port)):
                yield port
                return
    raise _not_started("redis-server", folder)


@contextlib.contextmanager
def postgres_server(folder: Path) -> Iterator[tuple[int, str]]:
    """Run a server in ``folder`` and yield its port and the password of the user ``dibs``.

    It refuses to run as root, so root runs it as the user ``postgres``, in a folder that this user can reach.
    """
    programs, owner = _postgres_programs(), _postgres_owner()
    folder.mkdir()
    with contextlib.ExitStack() as cleaning:
        if owner:
            folder = Path(cleaning.enter_context(_folder_of(**owner)))
        options = {**owner, "env": _without_settings(folder)}
        password = secrets.token_hex(16)
        data = _make_database(programs, folder, password, options)
        command = [f"{programs}/postgres", "-D", str(data), "-c", "listen_addresses=127.0.0.1"]
        command += ["-c", "unix_socket_directories=", "-c", "shared_buffers=16MB", "-p"]
        for _ in range(TRIES):
            port = _free_port()
            # An immediate shutdown, which also ends all connections.
            with _started([*command, str(port)], folder, signal.SIGQUIT, **options) as server:
                if _is_ready(server, lambda: _accepts(data)):
                    yield port, password
                    return
        raise _not_started("postgres", folder)


def _postgres_programs() -> str:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    try:
        from setup import postgres_folder
    finally:
        sys.path.pop(0)

    folder: str = postgres_folder()
    if not folder:
        raise DemoError("PostgreSQL is not installed (run: scripts/setup postgres)")
    return folder


def _postgres_owner() -> dict[str, Any]:
    """Return arguments of ``Popen`` that run a program as a user other than root."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        message = "PostgreSQL does not run as root, and there is no user postgres"
        raise DemoError(f"{message} (run the demo as another user)") from None
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def _folder_of(user: int, group: int, **_: object) -> Iterator[str]:
    """Create a folder that another user owns; all its parents are open to everyone."""
    with tempfile.TemporaryDirectory(prefix="dibs-demo-", dir="/tmp") as folder:
        os.chown(folder, user, group)
        yield folder


def _without_settings(home: Path) -> dict[str, str]:
    """Return the environment without the user's settings for PostgreSQL's programs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    return {**kept, "HOME": str(home)}


def _make_database(programs: str, folder: Path, password: str, options: dict[str, Any]) -> Path:
    """Create the files of a database whose superuser ``dibs`` has a password."""
    data, secret = folder / "data", folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(password, "utf-8")
    if "user" in options:
        os.chown(secret, options["user"], options["group"])
    command = [f"{programs}/initdb", "-D", str(data), "-U", "dibs", f"--pwfile={secret}"]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"]
    done = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, **options
    )
    if done.returncode:
        raise DemoError(f"initdb failed: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    return data


@contextlib.contextmanager
def _started(
    command: list[str], folder: Path, ending: int, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server with a log in ``folder``; stop it with the signal ``ending``."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, **options,
        )  # fmt: skip
    try:
        yield server
    finally:
        server.send_signal(ending)
        try:
            server.wait(GRACE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_ready(server: subprocess.Popen[bytes], answers: Callable[[], bool]) -> bool:
    """Wait until this server responds; return whether it does."""
    until = time.monotonic() + READY
    while server.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError):
            if answers():
                return server.poll() is None
        time.sleep(0.02)
    return False


def _answers(port: int) -> bool:
    """Return whether a Redis server responds."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(16).startswith(b"+PONG")


def _accepts(data: Path) -> bool:
    """Return whether a PostgreSQL server accepts connections: its lock file says so."""
    return (data / "postmaster.pid").read_text("utf-8").rstrip().endswith("ready")


def _not_started(name: str, folder: Path) -> DemoError:
    log = (folder / "log").read_text("utf-8", "replace").strip().splitlines()
    return DemoError(f"{name} does not start: {log[-1] if log else 'its log is empty'}")
