"""Variables that an agent sets itself do not weaken the git hooks; those of a human do."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

#: A process that counts as an agent: it notes itself as ``bob``, then runs a shell command.
HARNESS = """
import os, subprocess, sys
from dibs.local.noted_agents import note
from dibs.local.processes import running
note(sys.argv[1], os.getpid(), running(os.getpid()).born, "bob")
sys.exit(subprocess.run(["sh", "-c", sys.argv[2]]).returncode)
"""
DOWN = "DIBS_ENGINE=redis://127.0.0.1:1/0"


def as_agent(repo, command: str, **harness: str) -> subprocess.CompletedProcess[str]:
    state = str(repo.root / ".git" / "dibs")
    return subprocess.run(
        [sys.executable, "-c", HARNESS, state, command],
        cwd=repo.root, env={**os.environ, **harness}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "variables",
    [
        "DIBS_GATE_ON_ERROR=allow",
        "DIBS_ENGINE=memory:",
        f"{DOWN} DIBS_GATE_ON_ERROR=allow",
        "DIBS_PROJECT=other",
        "DIBS_CASE=sensitive DIBS_TIMEOUT=0.1 DIBS_GATE_ON_ERROR=allow",
    ],
)
@pytest.mark.parametrize("words", ["commit -m x", "commit --no-verify -m x"])
def test_an_agents_own_variables_do_not_weaken_the_gate(repo, variables, words):
    repo.edit("a.txt")

    done = as_agent(repo, f"{variables} git {words}")

    assert done.returncode != 0
    assert "a.txt: alice holds it" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_variables_of_a_process_that_an_agent_detached_do_not_weaken_the_gate(repo, tmp_path):
    repo.edit("a.txt")
    run = tmp_path / "run"
    run.write_text(
        f"{DOWN} DIBS_GATE_ON_ERROR=allow git commit -m x 2> {tmp_path}/said\n"
        f"mv {tmp_path}/said {tmp_path}/done\n"
    )
    wait = f"while [ ! -e {tmp_path}/done ]; do sleep 0.05; done"

    as_agent(repo, f"(setsid -f sh {run}); {wait}", DIBS_AGENT="")

    assert "allowed without checking" not in (tmp_path / "done").read_text()
    assert repo.git("log", "--format=%s", "-1").strip() != "x"


@pytest.mark.parametrize("tool", ["commit", "commit --no-verify"])
def test_an_agents_own_variable_does_not_let_it_commit_files_that_configure_tools(repo, dibs, tool):
    repo.edit(".mcp.json")

    done = as_agent(repo, f"DIBS_COMMIT_GUARDED=anyone git {tool} -m x")

    assert ".mcp.json: it configures tools" in done.stderr
    repo.git("reset", "-q")
    dibs("claim", ".mcp.json", agent="bob")
    by_dibs = f"{shlex.quote(sys.executable)} -m dibs commit -m x .mcp.json"
    done = as_agent(repo, f"DIBS_COMMIT_GUARDED=anyone {by_dibs}")
    assert done.returncode != 0
    assert "configures tools" in done.stdout + done.stderr


def test_a_human_who_starts_an_agent_chooses_its_settings(repo):
    repo.edit(".mcp.json")

    done = as_agent(repo, "git commit -m x", DIBS_COMMIT_GUARDED="anyone")

    assert done.returncode == 0, done.stderr


def test_an_agents_variable_can_only_make_the_gate_stricter(repo):
    repo.edit("c.txt")

    done = as_agent(repo, "DIBS_GATE_UNCLAIMED=deny git commit -m x")

    assert "c.txt: you have not claimed it" in done.stderr


@pytest.mark.parametrize("agent", [True, False])
def test_without_its_interpreter_a_hook_lets_only_humans_skip_the_check(repo, agent):
    hooks = repo.root / ".git" / "hooks"
    for name in ("pre-commit", "reference-transaction"):
        text = (hooks / name).read_text()
        (hooks / name).write_text(text.replace(f"python={sys.executable}", "python=/gone/python"))
    repo.edit("c.txt")
    command = "DIBS_GATE_ON_ERROR=allow git commit -m x"

    if agent:
        assert "cannot check claims: /gone/python is missing" in as_agent(repo, command).stderr
    else:
        repo.git("commit", "-m", "x", DIBS_GATE_ON_ERROR="allow")
