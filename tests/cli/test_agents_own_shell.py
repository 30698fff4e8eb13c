"""A command that a guarded agent runs in its own shell belongs to the agent, not to the human."""

import json
import os
import subprocess
import sys

import pytest

from dibs.core.toolcalls.values import EventKind, HookEvent, Touch
from dibs.local.processes import running
from dibs.project.project import create

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def repo(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    project, _ = create(str(tmp_path / "repo"))
    yield project
    project.close()


def dibs(repo, *words, **variables):
    """Run a command two shells below this process."""
    here = repo.place.repository.root
    script = 'sh -c \'"$@"; exit $?\' sh "$@"; exit $?'
    return subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "dibs", *words],
        cwd=here, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def guard(repo):
    heard = HookEvent("claude", EventKind.BEFORE, "11111111", touches=(Touch("a.py"),))
    repo.guarding.hear(heard, running(os.getpid()), {})


def test_a_claim_in_an_agents_shell_belongs_to_the_agent(repo):
    guard(repo)

    ran = dibs(repo, "claim", "b.py", "--json")

    assert ran.returncode == 0, ran.stderr
    assert {h.claim.agent for h in repo.claims.all()[0]} == {"claude-11111111"}


def test_with_two_sessions_in_one_process_a_command_belongs_to_the_one_that_opened_a_shell(repo):
    here = running(os.getpid())

    def shell(session, path, subagent=""):
        heard = HookEvent(
            "opencode", EventKind.BEFORE, session, subagent=subagent, command="dibs claim"
        )
        repo.guarding.hear(heard, here, {})
        dibs(repo, "claim", path)

    shell("1", "a.py")
    shell("2", "b.py")
    shell("1", "c.py", subagent="s")

    holders = {h.claim.pattern: h.claim.agent for h in repo.claims.all()[0]}
    assert holders == {"a.py": "opencode-1", "b.py": "opencode-2", "c.py": "opencode-1"}


def test_an_agent_in_its_shell_cannot_use_human_only_commands(repo):
    repo.claims.claim(_caller("codex-7"), [repo.pattern("c.py")])
    guard(repo)

    assert "human" in dibs(repo, "revoke", "c.py", "--reason", "mine").stderr
    assert "human" in dibs(repo, "git", "uninstall").stderr
    assert "human" in dibs(repo, "init", "--uninstall").stderr


def test_without_a_guarded_ancestor_a_command_belongs_to_the_human(repo):
    ran = dibs(repo, "claim", "b.py", "--json")

    assert ran.returncode == 0
    (held,) = repo.claims.all()[0]
    assert repo.agents.show(held.claim.agent)[0].agent.role == "human"


def test_a_given_name_does_not_override_the_process(repo):
    guard(repo)

    for ran in (
        dibs(repo, "claim", "b.py", DIBS_AGENT="named"),
        dibs(repo, "claim", "b.py", "--agent", "named"),
    ):
        assert ran.returncode == 77, ran.stdout
        assert "you are claude-11111111, not named" in ran.stderr
    assert {h.claim.agent for h in repo.claims.all()[0]} == {"claude-11111111"}


def test_a_plain_commit_in_an_agents_shell_belongs_to_the_agent(repo):
    guard(repo)
    root = repo.place.repository.root
    dibs(repo, "git", "install", DIBS_AGENT="")
    with open(f"{root}/a.py", "w", encoding="utf-8") as file:
        file.write("x")
    subprocess.run(["git", "add", "a.py"], cwd=root, check=True)
    ran = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "own"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr


def test_listings_show_which_agents_are_guarded(repo):
    guard(repo)
    repo.claims.claim(_caller("codex-7"), [repo.pattern("c.py")])

    listed = dibs(repo, "agent", "ls").stdout
    assert "GUARDED" in listed
    rows = {line.split()[0]: line.split()[-1] for line in listed.splitlines()[1:]}
    assert rows["claude-11111111"] == "claude"
    assert rows["codex-7"] == "-"
    agents = json.loads(dibs(repo, "agent", "ls", "--json").stdout)["agents"]
    assert {a["id"]: a["guarded"] for a in agents} == {"claude-11111111": "claude", "codex-7": None}
    assert "guarded  yes (claude)" in dibs(repo, "agent", "show", "claude-11111111").stdout


def _caller(agent):
    from dibs.core.claims.agents import Caller

    return Caller(agent)


@pytest.mark.parametrize("name", ["tester", "t" * 60])
def test_the_second_session_with_a_name_acts_under_its_own(repo, name):
    process = subprocess.Popen(["sleep", "60"])
    try:
        named = {"DIBS_AGENT": name}
        first = HookEvent("claude", EventKind.BEFORE, "1", touches=(Touch("a.py"),))
        repo.guarding.hear(first, running(process.pid), named)
        second = HookEvent("claude", EventKind.BEFORE, "2", touches=(Touch("b.py"),))
        repo.guarding.hear(second, running(os.getpid()), named)

        ran = dibs(repo, "claim", "c.py", DIBS_AGENT=name)
        assert ran.returncode == 0, ran.stderr
        dibs(repo, "release", "a.py", DIBS_AGENT=name)

        holders = {h.claim.pattern: h.claim.agent for h in repo.claims.all()[0]}
        assert holders["a.py"] != holders["b.py"] == holders["c.py"]
    finally:
        process.kill()
        process.wait()
