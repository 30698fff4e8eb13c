"""Fixtures: a real server process with files of its own, and the application in this process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import dibs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")
PATIENCE = 30.0


class Reply(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


class RunningServer(NamedTuple):
    """A server process."""

    process: subprocess.Popen[str]
    url: str
    #: The Unix socket for HTTP.
    socket: str
    #: The server's folder, with ``server.json`` and its other files.
    folder: Path
    #: The project that it serves.
    repo: Path
    #: The environment of the server, for commands about it.
    environ: dict[str, str]
    #: The project that requests name, if the server has several.
    project: str = ""

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        *,
        tcp: bool = False,
    ) -> Reply:
        """Send one request over the Unix socket, or over TCP; a body that is not bytes is sent as JSON."""
        link = (
            http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
            if tcp
            else UnixConnection(self.socket)
        )
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        if self.project:
            path += f"{'&' if '?' in path else '?'}project={self.project}"
        try:
            link.request(method, path, sent, {**kind, **self._proof(), **(headers or {})})
            answer = link.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            link.close()

    def proven(self) -> RunningServer:
        """Return the server with a human's token, which counts without a terminal while agents run."""
        made = self.dibs("token", "new", "--scope", "human")
        assert made.returncode == 0, made.stderr
        return self._replace(environ={**self.environ, "DIBS_TOKEN": made.stdout.strip()})

    def _proof(self) -> dict[str, str]:
        token = self.environ.get("DIBS_TOKEN")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def dibs(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the server's project and environment."""
        return run_dibs(self.repo, {**self.environ, **environ}, *words)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def run_dibs(
    folder: Path, environ: dict[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def free_port() -> int:
    """Return a port below the ephemeral range, where a connecting client cannot occupy it."""
    for port in range(21000 + os.getpid() * 7 % 8000, 29999):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


def own_environment(base: Path, **more: str) -> dict[str, str]:
    """Return an environment in which nothing is shared with another test or user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_", "XDG_"))}
    for name in ("home", "state", "run"):
        (base / name).mkdir(mode=0o700, exist_ok=True)
    people = {
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    own = {
        "HOME": str(base / "home"),
        "XDG_STATE_HOME": str(base / "state"),
        "XDG_RUNTIME_DIR": str(base / "run"),
        "PYTHONPATH": str(Path(dibs.__file__).parents[1]),
    }
    return {**kept, **people, **own, **more}


def make_project(folder: Path, environ: dict[str, str]) -> Path:
    """Return a new repository with an initialized project."""
    folder.mkdir()
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        subprocess.run(["git", *words], cwd=folder, env=environ, check=True)
    done = run_dibs(folder, environ, "init", "--yes", "--agents", "none", "--no-git-gates")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def short_tmp(tmp_path_factory) -> Iterator[Callable[[], Path]]:
    """Create folders with short paths: those of Unix sockets have at most 107 bytes."""
    import shutil
    import tempfile

    made: list[Path] = []

    def make() -> Path:
        made.append(Path(tempfile.mkdtemp(prefix="dibs-", dir="/tmp")))
        return made[-1]

    yield make
    for one in made:
        shutil.rmtree(one, ignore_errors=True)


@pytest.fixture(scope="module")
def start_server(short_tmp) -> Iterator[Callable[..., RunningServer]]:
    """Start servers: ``start_server(*words, base=FOLDER, **environment)``; they end with the module."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, base: Path | None = None, **environ: str) -> RunningServer:
        where = base or short_tmp()
        variables = own_environment(where, **environ)
        repo = where / "repo"
        if not repo.exists():
            make_project(repo, variables)
        port = [] if "--port" in words else ["--port", str(free_port())]
        process = subprocess.Popen(
            [*PROGRAM, "serve", "--json", *port, *words],
            cwd=repo,
            env=variables,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the server did not start"
        told = json.loads(line)
        assert "error" not in told, told
        folder = where / "state" / "dibs" / "server"
        return RunningServer(process, told["url"], told["socket"], folder, repo, variables)

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
    for process in started:
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def server(start_server) -> RunningServer:
    """A server for the tests of one module; tests that stop servers start their own."""
    return start_server()


@pytest.fixture
def resident(short_tmp, monkeypatch) -> Iterator[Any]:
    """The state of a server in this process, with one project (``resident.repo``); parts are not started.

    ``dibs.server.app.build(resident)`` returns the application.
    """
    from dibs.server.resident import Resident

    base = short_tmp()
    for name, value in own_environment(base).items():
        monkeypatch.setenv(name, value)
    repo = make_project(base / "repo", dict(os.environ))
    found = Resident(str(base / "state" / "dibs" / "server"))
    found.repo = repo  # type: ignore[attr-defined]
    found.projects.add(str(repo))
    yield found
    found.stop()


def until(done: Callable[[], object], timeout: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + timeout
    while not done():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.01)
