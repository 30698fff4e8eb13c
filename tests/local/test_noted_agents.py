"""Which recorded agents may still run, and who a caller is in another PID namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.local.noted_agents import note, noted_agents
from dibs.local.processes import own_pid, realm, running, session_number

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

HOURS = 3600


@pytest.fixture
def state(tmp_path):
    (tmp_path / "sessions").mkdir()
    return tmp_path


def record(state: Path, pid: int, born: int, where: str, *, hours: float = 0.0) -> Path:
    """Write the record of an agent that made its last call some hours ago."""
    path = state / "sessions" / str(pid)
    path.write_text(f"{born} alice {where}\n")
    seen = path.stat().st_mtime - hours * HOURS
    os.utime(path, (seen, seen))
    return path


def names(state: Path) -> list[str]:
    return [one.agent for one in noted_agents(str(state))]


def test_an_agent_of_an_earlier_boot_or_of_another_machine_does_not_run_here(state):
    host, boot, space = realm().split("/")

    record(state, 7, 1, f"{host}/{boot[::-1]}x/{space}")
    assert names(state) == []
    record(state, 7, 1, f"other/{boot[::-1]}x/{space}")
    assert names(state) == []


def test_an_agent_in_another_container_counts_for_some_hours_after_its_last_call(state):
    host, boot, _ = realm().split("/")

    for where in (f"{host}/{boot}/1", f"other/{boot}/1"):
        record(state, 7, 1, where, hours=11)
        assert names(state) == ["alice"]
        record(state, 7, 1, where, hours=13)
        assert names(state) == []


def test_a_visible_agent_counts_as_long_as_its_process_runs(state):
    me = running(os.getpid())

    record(state, me.pid, me.born, realm(), hours=1_000)
    assert names(state) == ["alice"]
    record(state, me.pid, me.born - 1_000, realm())
    assert names(state) == []


def test_each_call_of_an_agent_updates_the_time_of_its_record(state):
    me = running(os.getpid())
    path = record(state, me.pid, me.born, realm(), hours=5)
    before = path.stat().st_mtime

    note(str(state), me.pid, me.born, "alice")

    assert path.stat().st_mtime - before >= 4 * HOURS


def in_namespace(code: str, *options: str) -> str:
    words = ["unshare", "-Urpf", *options, sys.executable, "-c", code]
    if not shutil.which("unshare"):
        pytest.skip("no unshare")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip("this machine does not allow it")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_process_finds_itself_in_the_proc_of_another_pid_namespace():
    code = (
        "import os; from dibs.local.processes import *; print(os.getpid(), running(own_pid()).name)"
    )

    assert in_namespace(code).split() == ["1", Path(sys.executable).name]
    assert own_pid() == os.getpid()


def test_programs_in_two_pid_namespaces_are_not_the_same_caller():
    code = "from dibs.local.processes import session_number as n; print(n())"

    there = in_namespace(code, "--mount-proc")

    assert int(there) > 0
    assert there != str(session_number())
