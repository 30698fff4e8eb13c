"""The server answers as hooks do, and nothing depends on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.guard.hooking import PACKAGE, call, command, environment, hook, project, refused
from tests.server.conftest import until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import unix_connect

ON = "[server]\nauto = true\n"


@contextmanager
def folder():
    """A folder for the socket; socket paths must be short."""
    made = tempfile.mkdtemp(prefix="dibs", dir="/tmp")
    yield Path(made)
    server("stop", Path(made))
    shutil.rmtree(made)


@pytest.fixture
def runtime():
    """A folder of one test, in which no server runs."""
    with folder() as made:
        yield made


@pytest.fixture(scope="module")
def shared():
    """A folder for several tests."""
    with folder() as made:
        yield made


@pytest.fixture
def served(shared):
    """The folder of a server that runs."""
    assert server("start", shared)
    return shared


@pytest.fixture
def repo(tmp_path):
    return project(tmp_path / "repo", ON)


def around(runtime, **more):
    """Return the environment of hooks and of the server."""
    return environment(**own(runtime), **more)


def server(verb, runtime):
    """Run ``dibs serve``; return the number of its process, 0 if it is not running.

    The hooks make this process an agent, and only a human may run ``dibs serve stop``.
    """
    if verb == "stop":
        pid = server("status", runtime)
        if pid:
            os.kill(pid, signal.SIGTERM)
            until(lambda: server("status", runtime) == 0)
        return 0
    port = ["--port", "0"] if verb == "start" else []
    words = [sys.executable, "-m", "dibs", "serve", verb, *port, "--json"]
    done = subprocess.run(words, env=around(runtime), capture_output=True, check=False)
    return json.loads(done.stdout)["pid"] or 0


def asked(repo, runtime, path, session="s1", **more):
    return hook(repo, call(repo, path, session), **own(runtime), **more)


def own(runtime):
    return {"XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(runtime / "state")}


def socket_in(runtime):
    found = list((runtime / "dibs").glob("*.sock"))
    return found[0] if found else None


def test_it_answers_like_a_hook_alone(repo, runtime):
    paths = ("held.py", "free.py")
    without = [asked(repo, runtime, path, DIBS_SERVER_AUTO="false").stdout for path in paths]
    assert not server("status", runtime)
    assert server("start", runtime)
    calls = counted(runtime)

    with_it = [asked(repo, runtime, path).stdout for path in paths]

    assert b"held by bob" in with_it[0]
    timeless = [
        [re.sub(rb"expires in \w+", b"", one) for one in some] for some in (with_it, without)
    ]
    assert timeless[0] == timeless[1]
    assert counted(runtime) > calls


def test_a_refusal_that_cannot_be_printed_blocks_by_its_exit_status(repo, served):
    calls = counted(served)
    words, surroundings = command(), around(served)

    found = []
    for path in ("held.py", "free.py"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                words,
                input=call(repo, path, "s1"),
                cwd=repo,
                env=surroundings,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        found.append((done.returncode, done.stderr.count(b"dibs: blocked")))

    assert found == [(2, 1), (0, 0)]
    assert counted(served) > calls


def counted(runtime):
    """Return the CPU time of the process, which grows when it answers."""
    pid = server("status", runtime)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    switches = [int(line.split()[1]) for line in lines if "ctxt_switches" in line]
    return int(fields[11]) + int(fields[12]) + sum(switches)


def test_a_hook_starts_it_if_enabled_and_answers_on_its_own_meanwhile(repo, runtime):
    assert refused(asked(repo, runtime, "held.py"))
    assert refused(asked(repo, runtime, "held.py"))

    until(lambda: server("status", runtime))
    assert refused(asked(repo, runtime, "held.py"))


def test_a_project_without_the_setting_never_starts_it(runtime, tmp_path):
    other = project(tmp_path / "other")
    assert refused(asked(other, runtime, "held.py"))
    assert not (runtime / "dibs").exists()

    assert server("start", runtime)
    assert refused(asked(other, runtime, "held.py"))
    assert not refused(asked(other, runtime, "free.py"))


def test_a_killed_server_is_not_missed_and_is_replaced(repo, runtime):
    first = server("start", runtime)
    assert refused(asked(repo, runtime, "held.py"))
    os.kill(first, signal.SIGKILL)
    until(lambda: not server("status", runtime))
    assert socket_in(runtime) is not None

    assert refused(asked(repo, runtime, "held.py"))
    word = next((runtime / "dibs").glob("*.woken"))
    os.utime(word, (0, 0))  # as if the last attempt was long ago
    assert not refused(asked(repo, runtime, "free.py"))

    until(lambda: server("status", runtime) not in {0, first})
    assert refused(asked(repo, runtime, "held.py"))


def test_of_several_that_start_at_once_one_remains(repo, runtime):
    words = [sys.executable, "-I", str(PACKAGE / "server" / "run.py")]
    surroundings = around(runtime)
    started = [subprocess.Popen(words, env=surroundings) for _ in range(3)]
    until(lambda: [process.poll() for process in started].count(0) == 2)

    (left,) = (process for process in started if process.poll() is None)
    assert server("status", runtime) == left.pid
    assert refused(asked(repo, runtime, "held.py"))
    server("stop", runtime)
    assert left.wait() == 0
    assert socket_in(runtime) is None


def test_an_agent_that_never_closes_its_input_is_answered(repo, served):
    child = subprocess.Popen(
        command(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=repo,
        env=around(served),
    )  # fmt: skip
    with child:
        assert child.wait(timeout=60) == 2
        assert b"timed out" in child.stderr.read()


def test_it_refuses_while_the_store_is_missing_and_uses_a_restored_one(repo, served):
    assert not refused(asked(repo, served, "free.py"))
    state = repo / ".git" / "dibs"
    state.rename(state.with_name("aside"))

    said = asked(repo, served, "free.py")

    assert said.returncode == 2
    assert b"state is missing" in said.stderr
    shutil.copytree(state.with_name("aside"), state)
    assert not refused(asked(repo, served, "free.py"))


def test_a_hook_with_another_environment_answers_on_its_own(repo, served):

    said = asked(repo, served, "held.py", DIBS_ENGINE="sqlite:///nowhere/at/all.db")

    assert said.returncode == 2
    assert b"claim check failed" in said.stderr
    assert refused(asked(repo, served, "held.py"))


#: What a program in the place of the server sends before it ends the connection; None: nothing.
ODD = {"silent": None, "closes": b"", "rubbish": b"\xff" * 40, "half": b"A       500\0"}


def test_a_hook_does_not_wait_for_a_process_that_listens_and_does_not_answer(repo, runtime):
    assert server("start", runtime)
    path = socket_in(runtime)
    os.kill(server("status", runtime), signal.SIGKILL)
    until(lambda: not server("status", runtime))
    path.unlink()
    sent, links = [None], []

    def serve(listener):
        with suppress(OSError):
            while True:
                links.append(listener.accept()[0])
                if sent[0] is not None:
                    links[-1].sendall(sent[0])
                    links.pop().close()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        for name, answer in ODD.items():
            sent[0] = answer
            assert refused(asked(repo, runtime, "held.py")), name
            assert not refused(asked(repo, runtime, "free.py")), name
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    for link in links:
        link.close()


def test_a_hook_does_not_wait_for_a_server_that_is_stopped(repo, served):
    pid = server("start", served)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert refused(asked(repo, served, "held.py"))
        assert not refused(asked(repo, served, "free.py"))
    finally:
        os.kill(pid, signal.SIGCONT)


def test_malformed_requests_do_no_harm(repo, served):
    pid = server("status", served)
    for sent in (b"", b"Q", b"x" * 21, b"Q%10d%10d" % (10**9, 5), b"Q        -1         1"):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(socket_in(served)))
            link.sendall(sent)

    assert refused(asked(repo, served, "held.py"))
    assert server("status", served) == pid


def test_a_server_whose_code_changes_starts_again_at_the_same_address(tmp_path, repo, runtime):
    package = tmp_path / "site-packages" / "dibs"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("hooks.*.pack*"))
    process = subprocess.Popen(
        [sys.executable, "-I", str(package / "server" / "run.py")], env=around(runtime)
    )
    until(lambda: server("status", runtime))
    first = info(runtime)
    assert not refused(hook(repo, call(repo, "free.py", "s1"), package, **own(runtime)))
    projects = runtime / "state" / "dibs" / "server" / "projects.json"
    until(projects.exists)
    with unix_connect(first["socket"], "ws://localhost/ws") as link:
        source = package / "core" / "toolcalls" / "messages.py"
        source.write_text(source.read_text().replace("Dibs blocked this", "That will not be"))

        with pytest.raises(ConnectionClosed) as closed:
            received(link)

    said = hook(repo, call(repo, "held.py", "s1"), package, **own(runtime))
    assert b"That will not be" in said.stdout
    until(lambda: info(runtime)["started"] > first["started"])
    again = info(runtime)
    assert closed.value.rcvd.code == 1012
    assert (again["pid"], again["url"]) == (process.pid, first["url"])
    process.terminate()
    assert process.wait(60) == 0


def received(link):
    """Receive until the connection is closed."""
    while True:
        link.recv(timeout=30)


def info(runtime):
    """Return what the server says about itself; it did not start while that is missing."""
    try:
        return json.loads((runtime / "state" / "dibs" / "server" / "server.json").read_text())
    except OSError:
        return {"started": 0}


def test_a_server_that_an_agent_started_with_its_own_git_is_not_used(repo, runtime, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 0\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    words = [sys.executable, "-m", "dibs", "serve", "start", "--port", "0"]
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    subprocess.run(words, env={**around(runtime), "PATH": path}, check=True)

    assert refused(asked(repo, runtime, "held.py"))
    assert not refused(asked(repo, runtime, "free.py"))


def test_only_its_user_can_access_its_socket(served):

    assert stat.S_IMODE((served / "dibs").stat().st_mode) == 0o700
    assert stat.S_IMODE(socket_in(served).stat().st_mode) == 0o600


def test_a_folder_that_others_can_access_is_not_used(repo, runtime):
    folder = runtime / "dibs"
    folder.mkdir()
    folder.chmod(0o777)

    assert refused(asked(repo, runtime, "held.py"))
    assert list(folder.iterdir()) == []
    words = [sys.executable, "-m", "dibs", "serve", "start"]
    done = subprocess.run(
        words, env=around(runtime), capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 78
    assert "other users can access" in done.stderr


def test_repeated_kills_allow_no_held_file_and_stop_no_work(repo, served):
    """Three sessions work while it is killed; held files stay blocked, own files are allowed."""
    wrong = []
    over = threading.Event()

    def work(number):
        for turn in range(8):
            if not refused(asked(repo, served, "held.py", f"session{number}")):
                wrong.append(("passed", number, turn))
            if refused(asked(repo, served, f"own{number}.py", f"session{number}")):
                wrong.append(("refused", number, turn))

    def kill():
        while not over.is_set():
            pid = server("start", served)
            if pid:
                os.kill(pid, signal.SIGKILL)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    killer = threading.Thread(target=kill)
    for thread in (*workers, killer):
        thread.start()
    for thread in workers:
        thread.join()
    over.set()
    killer.join()

    assert wrong == []
