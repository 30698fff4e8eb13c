"""Failures are in the ledger as ``error``: one place writes them, few for each cause, and without secrets."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from tests.guard.hooking import command
from tests.server.conftest import make_project, own_environment, run_dibs, until
from tests.services.merge_yard import HUMAN, Yard

from dibs.config.load import Config
from dibs.core.claims.ledger import Kind
from dibs.engines.memory import MemoryEngine
from dibs.server.scheduler import Job
from dibs.services.merging.values import MergeRequest
from dibs.services.state.ledger import Ledger, Query
from dibs.services.state.serving.faults import KEPT, QUIET, record_error
from dibs.services.state.store import Store
from dibs.testing import ManualClock

ERRORS = Query(kinds=frozenset({Kind.ERROR}))


@pytest.fixture
def clock():
    return ManualClock(1_000_000.0)


@pytest.fixture
def store(clock):
    return Store(MemoryEngine(clock), Config())


def errors(store):
    return Ledger(store).newest(ERRORS, 100)


def test_a_cause_is_recorded_once_a_minute_with_the_number_of_the_others(store, clock):
    for _ in range(5):
        record_error(store, "handler:x", "it failed")
    record_error(store, "handler:y", "another")
    assert [entry.details["cause"] for entry in errors(store)] == ["handler:x", "handler:y"]
    clock.advance(QUIET)
    record_error(store, "handler:x", "again")
    assert (errors(store)[-1].summary, errors(store)[-1].details["more"]) == ("again", 4)


def test_causes_are_forgotten_after_a_day(store, clock):
    record_error(store, "handler:x", "it failed")
    clock.advance(KEPT)
    record_error(store, "handler:y", "another")
    rows = store.engine.view(lambda txn: [key for key, _ in txn.scan(("fault/", ""))])
    assert rows == ["fault/handler:y"]


def test_an_error_has_no_secrets_and_no_line_breaks(store):
    secret = "ghp_0123456789abcdefghij0123"
    record_error(store, "x", f"push\nfailed: {secret}", output=[f"password={secret}"])
    (entry,) = errors(store)
    assert secret not in str(entry)
    assert "\n" not in entry.summary


# -- each failure, by a real action


def failing_merge(base):
    yard = Yard(base)
    yard.configure('[merge]\ntest = "false"\n')
    yard.work("ada", {"a.txt": "new\n"})
    yard.project.merges.merge(HUMAN, MergeRequest(branches=("agent/ada",)))
    found = errors(yard.project.store)
    yard.close()
    return found


def logged(repo, environ):
    done = run_dibs(repo, environ, "log", "--json", "--kind", "error")
    return [entry["summary"] for entry in json.loads(done.stdout)]


def failing_git(repo, environ):
    (repo / "a").write_text("x\n")
    run_dibs(repo, environ, "claim", "a", "--agent", "bob")
    for folder in (repo / ".git" / "objects").glob("??"):
        shutil.rmtree(folder)
    run_dibs(repo, environ, "commit", "-m", "x", "--agent", "bob")


def failing_hook(repo, environ):
    for _ in range(2):
        subprocess.run(
            command(), input=b"{", cwd=repo, env=environ, capture_output=True, check=False
        )


@pytest.mark.parametrize(
    ("fail", "shown"),
    [(failing_git, "dibs commit failed: git failed"), (failing_hook, "a hook failed")],
)
def test_a_failure_outside_the_server_is_in_the_ledger(short_tmp, fail, shown):
    base = short_tmp()
    environ = own_environment(base)
    repo = make_project(base / "repo", environ)
    fail(repo, environ)
    (found,) = logged(repo, environ)
    assert found.startswith(shown)


def test_failed_tests_before_a_merge_are_in_the_ledger(tmp_path, own_git):
    (found,) = failing_merge(tmp_path / "yard")
    assert "tests failed before merging agent/ada" in found.summary


def test_a_failed_job_is_in_the_ledger_of_its_project(resident):
    (served,) = resident.projects.all()

    def run():
        raise ValueError("odd")

    resident.scheduler.start()
    resident.scheduler.register(Job(f"{served.id}/mine", 0.001, run))
    until(lambda: errors(served.project().store))
    (found,) = errors(served.project().store)
    assert found.summary == "the job mine failed: ValueError: odd"


@pytest.fixture
def own_git(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
