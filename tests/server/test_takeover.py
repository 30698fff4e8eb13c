"""A newer server takes over the sockets of an older one; calls do not notice."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.guard.hooking import PACKAGE
from tests.server.conftest import (
    PATIENCE,
    UnixConnection,
    free_port,
    make_project,
    own_environment,
    until,
)

import dibs

PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from dibs.cli import program; program()"


class Installation:
    """A copy of Dibs that a test can change, with a project."""

    def __init__(self, base: Path, name: str = "one") -> None:
        self.base = base
        self.package = base / name / "dibs"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("hooks.*.pack*"))
        self.environ = own_environment(base)
        del self.environ["PYTHONPATH"]
        self.repo = base / "repo"
        if not self.repo.exists():
            make_project(self.repo, own_environment(base))
            self.dibs("claim", "held.py", "--agent", "bob", "--ttl", "1h")
        self.started: list[subprocess.Popen[str]] = []

    def words(self, *words: str) -> list[str]:
        return [sys.executable, "-c", PROGRAM, str(self.package.parent), *words]

    def dibs(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words), cwd=self.repo, env=self.environ, capture_output=True, text=True, check=False
        )  # fmt: skip

    def serve(self) -> subprocess.Popen[str]:
        """Run a server in the foreground."""
        before = self.info()["pid"]
        process = subprocess.Popen(
            self.words("serve", "--port", str(free_port())), cwd=self.repo, env=self.environ,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.started.append(process)
        until(lambda: process.poll() is not None or self.info()["pid"] not in {None, before})
        return process

    def info(self) -> dict[str, object]:
        """Return what the running server says about itself."""
        file = self.base / "state" / "dibs" / "server" / "server.json"
        try:
            return json.loads(file.read_text())
        except (OSError, ValueError):
            return {"pid": None}

    def status(self) -> int:
        """Send one request, and return its status."""
        with closing(UnixConnection(self.info()["socket"])) as link:
            link.request("GET", "/api/v1/status")
            return link.getresponse().status

    def replace(self, path: str, old: str, new: str) -> None:
        """Change a source file."""
        file = self.package / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def hook(self, path: str, session: str) -> bool:
        """Run a hook; return whether the call is blocked."""
        call = {
            "session_id": session,
            "cwd": str(self.repo),
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": str(self.repo / path), "content": "x"},
        }
        said = subprocess.run(
            [sys.executable, "-I", "-S", str(self.package / "guard" / "run.py"), "claude"],
            input=json.dumps(call).encode(), cwd=self.repo, env=self.environ,
            capture_output=True, check=False,
        )  # fmt: skip
        assert said.returncode == 0, said
        return b'"deny"' in said.stdout


@pytest.fixture
def installation(short_tmp):
    found = Installation(short_tmp())
    yield found
    found.dibs("serve", "stop")
    for process in found.started:
        process.wait(PATIENCE)


class Load:
    """Hooks and HTTP calls in threads, while ``with`` lasts."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._socket = str(installation.info()["socket"])
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._hooks, args=(one,)) for one in range(2)]
        for kept in (True, True, True, False):
            self._threads.append(threading.Thread(target=self._calls, kwargs={"kept": kept}))
        #: What should not have happened.
        self.wrong: list[object] = []
        #: How many hooks and calls were answered.
        self.answered = [0, 0]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _hooks(self, number: int) -> None:
        while not self._over.is_set():
            paths = ("held.py", f"{number}.py")
            blocked = [self._installation.hook(path, f"s{number}") for path in paths]
            if blocked != [True, False]:
                self.wrong.append(blocked)
            self.answered[0] += 1

    def _calls(self, *, kept: bool) -> None:
        """Call with one connection for each request, or with one that the server may close."""
        link = UnixConnection(self._socket)
        while not self._over.is_set():
            try:
                link.request("GET", "/api/v1/status")
                answer = link.getresponse()
                answer.read()
                if answer.status != 200:
                    self.wrong.append(answer.status)
                self.answered[1] += 1
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(error)
            if not kept or self.wrong:
                link.close()  # the next request opens it again
            time.sleep(0.02 if kept else 0.002)
        link.close()


def test_an_upgrade_under_load_refuses_and_loses_no_call(installation):
    first = installation.serve()
    info = installation.info()

    with Load(installation) as load:
        installation.replace("core/toolcalls/messages.py", "Dibs blocked this", "That will not be")
        until(lambda: installation.info()["pid"] != info["pid"])
        before = list(load.answered)
        until(lambda: all(now > then + 5 for now, then in zip(load.answered, before, strict=True)))
        until(lambda: "waiter" in Path(f"/proc/{first.pid}/cmdline").read_text())

    assert load.wrong == []
    assert installation.info()["url"] == info["url"]
    assert first.poll() is None, "the process in the terminal must not end"
    first.send_signal(signal.SIGTERM)
    assert first.wait(PATIENCE) == 0
    assert installation.info()["pid"] is None


def test_new_code_that_does_not_start_changes_nothing(installation):
    installation.serve()
    info = installation.info()
    log = installation.base / "state" / "dibs" / "server" / "server.log"

    installation.replace("server/app.py", "def build(", "def built(")

    until(lambda: "does not start" in log.read_text())
    assert installation.info() == info
    assert installation.status() == 200


def test_only_a_newer_version_takes_over_from_another_installation(installation):
    other = Installation(installation.base, "two")
    first = installation.serve()
    url = installation.info()["url"]

    assert "already running" in other.dibs("serve").stdout
    other.replace("__init__.py", dibs.__version__, "999.0.0")
    second = other.serve()

    assert first.wait(PATIENCE) == 0
    info = other.info()
    assert info["pid"] == second.pid
    assert info["version"] == "999.0.0"
    assert info["url"] != url, "it asked for another port"
    assert "already running" in installation.dibs("serve").stdout
    assert installation.hook("held.py", "s1"), "hooks of the older installation answer on their own"
    assert other.hook("held.py", "s1")
    second.terminate()
    assert second.wait(PATIENCE) == 0


def test_a_killed_server_leaves_nothing_that_hinders_the_next(installation):
    first = installation.serve()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()

    second = installation.serve()

    assert installation.info()["pid"] == second.pid
    assert installation.status() == 200


def test_websockets_are_closed_with_a_request_to_reconnect(installation):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import unix_connect

    installation.serve()
    info = installation.info()
    with unix_connect(str(info["socket"]), "ws://localhost/ws") as link:
        link.recv(timeout=PATIENCE)
        installation.replace("core/toolcalls/messages.py", "Dibs blocked this", "That will not be")
        with pytest.raises(ConnectionClosed) as closed:
            drain(link)
    assert closed.value.rcvd.code == 1012
    with unix_connect(str(info["socket"]), "ws://localhost/ws") as link:
        link.recv(timeout=PATIENCE)


def drain(link):
    """Receive until the connection is closed."""
    while True:
        link.recv(timeout=PATIENCE)
