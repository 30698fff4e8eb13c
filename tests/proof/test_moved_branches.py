"""What a command did to branches is found afterwards, even if the git hooks did not see it."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.proof.test_bypass import GIT, World

from dibs.cli import main

#: The hooks do not run.
PLAIN = "git -c core.hooksPath=/dev/null"


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Alice holds ``src/a.py`` and has landed a change of it on main."""
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    found = World(tmp_path, f"sqlite://{tmp_path}/shared.db")
    monkeypatch.chdir(found.root)
    assert main(["git", "install"]) == 0
    found.old = found.git("rev-parse", "main").strip()
    assert main(["commit", "--agent", "claude-holder", "-m", "landed"]) == 0
    edit = {"file_path": str(found.root / "src/a.py")}
    found.before("holder", "Edit", edit, passes=True)
    found.hook("PostToolUse", "holder", "Edit", edit)
    found.tip = found.git("rev-parse", "main").strip()
    found.git("branch", "old", found.old)
    blob = found.git("hash-object", "-w", "list.txt").strip()
    index = {**os.environ, "GIT_INDEX_FILE": str(tmp_path / "index")}
    for words in (
        ["read-tree", "main"],
        ["update-index", "--cacheinfo", f"100644,{blob},src/a.py"],
        ["write-tree"],
    ):
        done = subprocess.run(
            ["git", *words], cwd=found.root, env=index, check=True, capture_output=True, text=True
        )
    tree = done.stdout.strip()
    found.hidden = found.git("commit-tree", "-m", "x", "-p", "main", tree).strip()
    return found


def run(world, command, *, agent="rival", during=None, shown="make"):
    """Run a command of which the agent's hook sees only ``shown``; return what the agent reads afterwards."""
    world.before(agent, "Bash", {"command": shown}, passes=True)
    if during is not None:
        during()
    text = command.replace("{H}", world.hidden).replace("{root}", str(world.root))
    environ = {**os.environ, "DIBS_AGENT": f"claude-{agent}"}
    subprocess.run(["bash", "-c", text], cwd=world.other, env=environ, check=False)
    return world.hook("PostToolUse", agent, "Bash", {"command": shown})


def inbox(capsys):
    capsys.readouterr()
    main(["inbox", "--agent", "claude-holder"])
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        f"{PLAIN} update-ref refs/heads/main {{H}}",
        f"{PLAIN} branch new {{H}}",
        f"git push -q --no-verify --receive-pack='{PLAIN} receive-pack' {{root}} {{H}}:refs/heads/new",
        f"{PLAIN} update-ref refs/remotes/origin/x {{H}}; git update-ref refs/heads/main {{H}}",
        "git config alias.ci '!git -c core.hooksPath=/dev/null update-ref'; git ci refs/heads/main {H}",
        "cd {root}/.git; echo {H} >refs/heads/main; echo '0 {H} b <b@x> 1 +0000\tx' >>logs/refs/heads/main",
    ],
)
def test_a_commit_of_anothers_file_on_a_branch_is_reported_to_both(world, capsys, command):
    said = run(world, command)

    assert "your command changed src/a.py, which claude-holder holds" in said, said
    assert f"commit {world.hidden[:10]} on " in said
    assert "claude-rival's command changed src/a.py, which you hold" in inbox(capsys)


def test_a_commit_is_reported_even_if_a_persons_stash_of_the_same_file_is_gone(world, capsys):
    world.write("src/a.py", "stashed by a person\n")
    world.git("stash")

    said = run(world, f"git stash drop -q; {PLAIN} branch new {{H}}")

    assert "your command changed src/a.py, which claude-holder holds" in said, said
    assert "claude-rival's command changed src/a.py, which you hold" in inbox(capsys)


@pytest.mark.parametrize(
    "command",
    [
        f"{PLAIN} update-ref refs/heads/main main~1",
        "git branch -m main keep; git branch main keep~1",
        "git branch -m main keep",
        f"cd {{root}}; git symbolic-ref HEAD refs/heads/z; {PLAIN} branch -M old main",
        "touch {root}/.git/logs/refs/.tmp-renamed-log; git update-ref -d refs/heads/main",
        "git symbolic-ref refs/heads/main refs/heads/old",
        f"{PLAIN} branch -D keep; rm {{root}}/.git/refs/heads/main",
    ],
)
def test_a_landed_commit_that_left_its_branch_is_reported_to_both_and_kept(world, capsys, command):
    said = run(world, command)

    commit = f"commit {world.tip[:10]}"
    assert f"your command removed {commit} by claude-holder from main" in said, said
    assert f"claude-rival removed your {commit} from main" in inbox(capsys)
    kept = world.git("for-each-ref", f"--contains={world.tip}", "refs/salvage/claude-holder/")
    assert kept


def test_updates_that_the_hooks_allowed_to_others_are_not_reported(world):
    world.write("src/a.py", "more\n")

    def theirs():
        for words in (["commit", "-qam", "hers"], ["commit", "-q", "--amend", "-m", "better"]):
            environ = {**os.environ, "DIBS_AGENT": "claude-holder"}
            subprocess.run([*GIT, *words], cwd=world.root, env=environ, check=True)

    said = run(world, "true", during=theirs)

    assert world.git("log", "-1", "--format=%s").strip() == "better"
    assert "your command" not in said


def test_a_commit_that_a_command_fetched_is_not_reported(world):
    world.git("fetch", "-q", "origin", cwd=world.clone)
    (world.clone / "src/a.py").write_text("upstream\n")
    world.git("commit", "-qam", "upstream", cwd=world.clone)
    world.git("push", "-q", "origin", "HEAD:up", cwd=world.clone)

    said = run(world, f"{' '.join(GIT)} pull -q --no-rebase origin up; git branch new")

    assert world.git("diff", "--name-only", "main...new").split() == ["src/a.py"]
    assert "your command" not in said


def test_an_agents_own_work_on_branches_is_not_reported(world):
    git = " ".join(GIT)
    said = run(
        world,
        f"echo x >>free.py; {git} commit -qam own; {git} commit -q --amend -m new; {git} rebase -q main;"
        " git branch topic; git branch -m topic other; git branch -d other",
    )

    assert "your command" not in said
