"""The demo works on one machine and on two, and leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.soak import effort

ROOT = Path(__file__).resolve().parent.parent
DEMO = [sys.executable, str(ROOT / "scripts" / "demo"), "--plain", "--pace", "0"]
TWO_MACHINES = effort(("redis",), ("redis", "postgres", "git"))


def play(folder, *options, **variables):
    environ = {**os.environ, "TMPDIR": str(folder), **variables}
    return subprocess.run(
        [*DEMO, *options], check=False, capture_output=True, text=True, timeout=200, env=environ
    )


def remains(folder):
    """Return the files in ``folder`` and the processes that use it."""
    return [
        *folder.iterdir(),
        *(process for process in psutil.process_iter() if is_of(process, folder)),
    ]


def is_of(process, folder):
    """Return whether a process uses ``folder``; a redis-server shows no variables."""
    try:
        return str(folder) in process.cwd() or process.environ().get("TMPDIR") == str(folder)
    except (psutil.Error, OSError):
        return False


@pytest.mark.slow
def test_the_demo_succeeds_and_no_claims_overlap(tmp_path):
    done = play(tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"overlapping claims\W+0\b", done.stdout)
    assert re.search(r"^  http://127.0.0.1:\d+/login\?code=\S+$", done.stdout, re.MULTILINE)
    assert remains(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", TWO_MACHINES)
def test_the_demo_succeeds_on_two_machines_and_no_claims_overlap(tmp_path, engine):
    done = play(tmp_path, "--engine", engine)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"overlapping claims\W+0\b", done.stdout)
    assert re.search(r"stale owners fenced\W+1\b", done.stdout)
    assert "dibs status prints the same on both machines" in done.stdout
    assert remains(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "number"),
    effort([("git", signal.SIGTERM)], [("git", signal.SIGTERM), ("postgres", signal.SIGINT)]),
)
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path, engine, number):
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [*DEMO, "--engine", engine]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as demo:
        for line in demo.stdout:
            if "dave wants it" in line:  # two agents are now waiting
                break
        assert remains(tmp_path) != []
        demo.send_signal(number)
        assert demo.wait(30) == 130

    until = time.monotonic() + 5  # a git that was interrupted may take a moment
    while remains(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    assert remains(tmp_path) == []


@pytest.mark.slow
def test_a_crew_that_stays_asks_for_a_decision_and_leaves_nothing_when_killed(tmp_path):
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*DEMO, "--stay"], stdout=subprocess.PIPE, text=True, env=environ
    ) as demo:
        for line in demo.stdout:
            if "lets you decide about" in line:
                break
        assert len(remains(tmp_path)) > 8
        demo.kill()

    until = time.monotonic() + 20
    while remains(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    assert remains(tmp_path) == []


def test_without_redis_server_one_line_says_how_to_install_it(tmp_path):
    done = play(tmp_path, "--engine", "redis", PATH=str(tmp_path))

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "the demo failed: redis-server is not installed (run: scripts/setup redis)"
    ]
    assert remains(tmp_path) == []
