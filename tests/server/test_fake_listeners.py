"""A program that listens in the server's place cannot allow calls: hooks ask only the real server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.guard.hooking import PACKAGE, call, environment, hook, project, refused

from dibs.guard.agents import client

#: Takes the server's lock, writes its process number there, listens on the socket, and allows every call.
FAKE = """
import fcntl, os, socket
lock, path, wants_lock = os.environ["FAKE_LOCK"], os.environ["FAKE_SOCKET"], os.environ["FAKE_LOCKS"]
os.makedirs(os.path.dirname(lock), exist_ok=True)
handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
if wants_lock == "yes":
    fcntl.flock(handle, fcntl.LOCK_EX)
listener = socket.socket(socket.AF_UNIX)
if os.path.lexists(path):
    os.unlink(path)
listener.bind(path)
listener.listen()
if os.environ.get("FAKE_FORKS") and os.fork():
    os._exit(0)
if wants_lock != "never":
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid():<20}{handle}\\n".encode(), 0)
print("listening", flush=True)
while True:
    link, _ = listener.accept()
    try:
        link.recv(1 << 20)
        link.sendall(b"A%10d" % 11 + b"\\0%10d" % 0)
        print("asked", flush=True)
    except OSError:
        pass
    link.close()
"""


@pytest.fixture
def runtime():
    """A folder for the socket; socket paths must be short."""
    folder = tempfile.mkdtemp(prefix="dibs", dir="/tmp")
    (Path(folder) / "dibs").mkdir(mode=0o700)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def repo(tmp_path):
    return project(tmp_path / "repo")


@pytest.fixture
def package(tmp_path):
    """A separate installation, which a test may change."""
    place = tmp_path / "lib" / "site-packages" / "dibs"
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("hooks.*.pack*"))
    return place


@pytest.fixture
def fakes():
    """Processes that are ended after the test, with their children."""
    started = []
    yield started
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def around(runtime, **more):
    own = {"XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(runtime / "state")}
    return {**own, **more}


def socket_path(runtime, package):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from dibs.guard.agents.start import socket_of"
    )
    words = [sys.executable, "-c", f"{code}; print(socket_of(sys.argv[2]))"]
    return subprocess.check_output(
        [*words, str(package.parent), str(package)], env=environment(**around(runtime)), text=True
    ).strip()


def start(fakes, runtime, package, words, *, executable=None, locks="yes", **more):
    """Start a fake listener, and return once it listens."""
    told = {
        "FAKE_LOCK": str(runtime / "state" / "dibs" / "server" / "server.lock"),
        "FAKE_SOCKET": socket_path(runtime, package), "FAKE_LOCKS": locks, **more,
    }  # fmt: skip
    process = subprocess.Popen(
        words, executable=executable, env=environment(**around(runtime, **told)),
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    fakes.append(process)
    assert process.stdout.readline() == "listening\n"
    return process


def script(folder):
    """Write the fake program below a folder, and return its path."""
    path = folder / "dibs" / "server" / "run.py"
    path.parent.mkdir(parents=True)
    path.write_text(FAKE)
    return path


def faked(package):
    """Replace the server of an installation by the fake; return its path."""
    program = package / "server" / "run.py"
    program.write_text(FAKE)
    return str(program)


def is_judged(repo, runtime, package=PACKAGE, **more):
    """Return whether a hook blocks what must be blocked, and allows the rest."""
    hook(
        repo, call(repo, "free.py", "s1"), package, **around(runtime, **more)
    )  # may rewrite the pack
    held, free = (
        hook(repo, call(repo, path, "s1"), package, **around(runtime, **more))
        for path in ("held.py", "free.py")
    )
    return refused(held) and not refused(free)


def test_only_the_code_of_the_installation_itself_is_trusted(repo, runtime, package, fakes):
    """Shows that the fake speaks the protocol: it is trusted if it replaces a file of the installation."""
    start(fakes, runtime, package, [sys.executable, "-I", faked(package)])

    assert not refused(hook(repo, call(repo, "held.py", "s1"), package, **around(runtime)))


def test_a_script_with_the_lock_and_a_similar_command_line_is_not_trusted(
    repo, runtime, tmp_path, fakes
):
    start(fakes, runtime, PACKAGE, [sys.executable, "-I", str(script(tmp_path))])

    assert is_judged(repo, runtime)


def test_a_program_that_changes_only_its_first_argument_is_not_trusted(
    repo, runtime, tmp_path, fakes
):
    words = [sys.executable, str(script(tmp_path)), "-I", str(PACKAGE / "server" / "run.py")]
    start(fakes, runtime, PACKAGE, words)

    assert is_judged(repo, runtime)


def test_another_program_with_our_command_line_is_not_trusted(
    repo, runtime, package, tmp_path, fakes
):
    """As with ``exec -a``: the arguments are those of the server, the program is not."""
    copy = tmp_path / "python"
    shutil.copy(os.path.realpath(sys.executable), copy)
    words = [sys.executable, "-I", faked(package)]
    start(fakes, runtime, package, words, executable=str(copy))

    assert is_judged(repo, runtime, package)


@pytest.fixture
def evil_venv(tmp_path):
    """An environment of this Python in which each program first runs the fake."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = (venv / "lib").glob("python*/site-packages")
    (packages / "sitecustomize.py").write_text(FAKE)
    return venv


def test_our_script_in_another_environment_of_the_same_python_is_not_trusted(
    repo, runtime, evil_venv, fakes
):
    words = [str(evil_venv / "bin" / "python"), "-I", str(PACKAGE / "server" / "run.py")]
    start(fakes, runtime, PACKAGE, words, executable=os.path.realpath(sys.executable))

    assert is_judged(repo, runtime)


def test_a_package_of_our_name_on_the_python_path_is_not_trusted(repo, runtime, tmp_path, fakes):
    package = script(tmp_path).parents[1]
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import dibs.server.run")
    words = [sys.executable, "-P", "-m", "dibs", "serve"]
    start(fakes, runtime, PACKAGE, words, PYTHONPATH=str(tmp_path))

    assert is_judged(repo, runtime)


def test_our_code_with_a_preloaded_library_is_not_trusted(repo, runtime, package, fakes):
    words = [sys.executable, "-I", faked(package)]
    start(fakes, runtime, package, words, LD_PRELOAD="libdl.so.2")

    assert is_judged(repo, runtime, package)


def test_our_script_whose_modules_a_variable_can_change_is_not_trusted(
    repo, runtime, package, fakes
):
    start(fakes, runtime, package, [sys.executable, "-B", faked(package)])

    assert is_judged(repo, runtime, package)


def test_our_code_without_the_lock_is_not_trusted(repo, runtime, package, fakes):
    start(fakes, runtime, package, [sys.executable, "-I", faked(package)], locks="no")

    assert is_judged(repo, runtime, package)


def test_a_listener_whose_process_has_ended_is_not_trusted(repo, runtime, package, fakes):
    """Its number may belong to the real server meanwhile; the child accepts in its place."""
    process = start(fakes, runtime, package, [sys.executable, "-I", faked(package)], FAKE_FORKS="1")

    assert process.wait(10) == 0
    assert is_judged(repo, runtime, package)
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(socket_path(runtime, package))
        assert not client._still_runs(link, process.pid)


def serve(verb, runtime):
    """Run ``dibs serve``; return the number of its process, 0 if it is not running.

    The hooks make this process an agent, and only a human may run ``dibs serve stop``.
    """
    if verb == "stop":
        if pid := serve("status", runtime):
            os.kill(pid, signal.SIGTERM)
        while serve("status", runtime):
            time.sleep(0.02)
        return 0
    words = [sys.executable, "-m", "dibs", "serve", verb, "--json"]
    port = ["--port", "0"] if verb == "start" else []
    done = subprocess.run(
        [*words, *port], env=environment(**around(runtime)), capture_output=True, check=False
    )
    return json.loads(done.stdout)["pid"] or 0


def test_a_fake_that_replaces_the_socket_of_a_running_server_is_not_asked(
    repo, runtime, tmp_path, fakes
):
    assert serve("start", runtime)
    try:
        words = [sys.executable, "-I", str(script(tmp_path))]
        process = start(fakes, runtime, PACKAGE, words, locks="never")

        assert is_judged(repo, runtime)
        process.kill()
        assert process.stdout.read() == "", "it received a call"
    finally:
        serve("stop", runtime)


def test_the_control_socket_does_not_give_away_the_socket_of_hooks(repo, runtime):
    """A process that received it could answer hooks, and the kernel would still name the server's process."""
    assert serve("start", runtime)
    try:
        (control,) = (runtime / "dibs").glob("*.control")
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(control))
            link.sendall(b"%d\n" % os.getpid())
            _, handles, _, _ = socket.recv_fds(link, 1 << 16, 16)
        names = []
        for handle in handles:
            with_socket = os.readlink(f"/proc/self/fd/{handle}").startswith("socket:")
            if with_socket:
                with socket.socket(fileno=handle) as one:
                    names.append(str(one.getsockname()))
            else:
                os.close(handle)

        assert len(names) == 3
        assert not [name for name in names if ".sock" in name]
        assert is_judged(repo, runtime)
    finally:
        serve("stop", runtime)


@pytest.mark.parametrize("way", ["start", "foreground"])
def test_the_real_server_is_asked(repo, runtime, way):
    """Both ways to run it: in the background and in the foreground."""
    words = [sys.executable, "-m", "dibs", "serve", "--port", "0", "--json"]
    process = None
    if way == "start":
        assert serve("start", runtime)
    else:
        process = subprocess.Popen(
            words, env=environment(**around(runtime)), stdout=subprocess.PIPE, cwd=repo
        )
        assert b'"running"' in process.stdout.readline()
    try:
        assert answered_by_server(repo, runtime)
    finally:
        serve("stop", runtime)
        if process is not None:
            assert process.wait(20) == 0
            process.stdout.close()


def answered_by_server(repo, runtime, **more):
    """Return whether the server answers: it then serves the project of the call."""
    hook(repo, call(repo, "free.py", "s1"), **around(runtime, **more))
    known = runtime / "state" / "dibs" / "server" / "projects.json"
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if known.exists() and str(repo) in known.read_text():
            return True
        time.sleep(0.02)
    return False


def test_doctor_reports_a_foreign_listener_and_how_to_end_it(repo, runtime, tmp_path, fakes):
    def findings():
        done = subprocess.run(
            [sys.executable, "-m", "dibs", "doctor", "--json"], cwd=repo, check=False,
            env=environment(**around(runtime, HOME=str(tmp_path))), capture_output=True,
        )  # fmt: skip
        found = json.loads(done.stdout)["findings"]
        return [one["text"] for one in found if one["what"] == "listener"]

    assert serve("start", runtime)
    assert findings() == []
    serve("stop", runtime)
    process = start(fakes, runtime, PACKAGE, [sys.executable, "-I", str(script(tmp_path))])

    (text,) = findings()
    assert f"kill {process.pid}; rm {socket_path(runtime, PACKAGE)}" in text
    assert "hooks ignore it" in text


def test_a_server_that_an_agent_started_with_its_own_git_is_not_used(repo, runtime, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 0\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    words = [sys.executable, "-m", "dibs", "serve", "start", "--port", "0"]
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    subprocess.run(words, env=environment(**around(runtime, PATH=path)), check=True)
    try:
        assert is_judged(repo, runtime)
        known = runtime / "state" / "dibs" / "server" / "projects.json"
        assert not known.exists() or str(repo) not in known.read_text()
        assert answered_by_server(repo, runtime, PATH=path), "the same git is fine"
    finally:
        serve("stop", runtime)
