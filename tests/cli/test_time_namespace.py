"""A container with its own clock since boot shares the store without ending anyone's claims."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dibs.local.processes import running

AHEAD = ("unshare", "--time", "--boottime", "1000000")
BEHIND = ("unshare", "--time", "--boottime", "-100")


@pytest.fixture(params=[AHEAD, BEHIND], ids=["ahead", "behind"])
def contained(request):
    """Run a command in another time namespace."""

    def run(*words):
        done = subprocess.run([*request.param, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    if run("true")[0]:
        pytest.skip("this machine does not allow time namespaces")
    return run


def dibs_in(contained, *words):
    return contained(sys.executable, "-m", "dibs", *words)


def test_a_claim_outlives_a_process_with_another_boot_clock(dibs, repo, contained):
    dibs("claim", "a.py", "--new", agent="alice")

    assert dibs_in(contained, "claim", "a.py", "--agent", "bob")[0] == 3
    status, said = dibs_in(contained, "status", "--json")
    assert status == 0
    assert 290 < json.loads(said)["claims"][0]["expires_in"] <= 300
    dibs_in(contained, "claim", "b.py", "--new", "--agent", "bob")

    held = dibs("status", "--json").json["claims"]
    assert {claim["agent"] for claim in held} == {"alice", "bob"}
    assert all(290 < claim["expires_in"] <= 300 for claim in held)
    assert dibs("claim", "a.py", agent="carol").status == 3


def test_a_store_created_in_a_container_has_the_machines_clock(dibs, repo, contained):
    dibs_in(contained, "claim", "a.py", "--new", "--agent", "bob")

    held = dibs("status", "--json").json["claims"]
    assert 290 < held[0]["expires_in"] <= 300


def test_a_process_has_the_same_start_time_in_every_container(contained):
    code = "import sys; from dibs.local.processes import running; print(running(int(sys.argv[1])).born)"

    _, said = contained(sys.executable, "-c", code, str(os.getpid()))

    assert abs(int(said) - running(os.getpid()).born) <= 1
