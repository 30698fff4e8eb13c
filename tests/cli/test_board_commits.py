"""Every transition is a commit of its own, and names who made it."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.guard.hooking import call, hook

pytestmark = pytest.mark.usefixtures("home")

ID = "2025-11-23T1430-curator-audit"
FILE = f"work/inbox/{ID}.yaml"
TASK = "title: Audit\nagent: curator\nstatus: new\n"


def git(repo, *words):
    done = subprocess.run(["git", "-C", repo, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def committed(repo, *words, author="Ann"):
    git(repo, "-c", f"user.name={author}", "-c", "user.email=x@example.org", *words)


def subjects(repo, count=10):
    return git(repo, "log", f"-{count}", "--format=%s").splitlines()


def moved(repo, source, target, **changes):
    """Move a task's file by hand, with new lines."""
    text = (repo / source).read_text()
    for old, new in changes.values():
        text = text.replace(old, new)
    (repo / source).unlink()
    (repo / target).write_text(text)


@pytest.fixture
def board(dibs, repo):
    git(repo, "config", "user.name", "Ann")
    git(repo, "config", "user.email", "ann@example.org")
    dibs("init", "--agents", "none", "--board", "curator")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "board")
    return repo


def test_each_transition_is_one_commit_with_only_the_tasks_files(dibs, board):
    (board / FILE).write_text(TASK)
    (board / "code.py").write_text("not mine\n")
    git(board, "add", "code.py")

    dibs("orchestrate", agent="boss")
    dibs("task", "start", ID, "--role", "curator", agent="carol")
    dibs("task", "done", ID, "--summary", "fine", agent="carol")

    steps = [line for line in reversed(subjects(board)) if line.startswith("task:")]
    assert steps == [
        f"task: {ID} new by Ann",
        f"task: {ID} new -> assigned by boss",
        f"task: {ID} assigned -> in_progress by carol",
        f"task: {ID} in_progress -> done by carol",
    ]
    assert git(board, "diff", "--cached", "--name-only") == "code.py"
    last = git(board, "show", "--format=", "--name-only").splitlines()
    assert all(ID in path or "audit" in path for path in last)
    assert any(path.startswith("work/logs/") for path in last)


def test_a_persons_command_is_attributed_to_the_git_user_without_an_agent_trailer(dibs, board):
    dibs("task", "new", "Audit", "--for", "curator", agent="")
    dibs("orchestrate", agent="")

    made = [text for text in git(board, "log", "--format=%B|").split("|") if "task:" in text]
    assert len(made) == 2
    assert all("by Ann" in text and "Dibs-Agent" not in text for text in made)
    status = (board / "work" / "collaboration" / "AGENT_STATUS.md").read_text()
    assert [line for line in status.splitlines() if line.startswith("## ")] == ["## curator"]


def test_a_file_that_the_board_has_not_accepted_is_left_for_its_author(dibs, board):
    (board / FILE).write_text(TASK)
    (board / "work/inbox/broken.yaml").write_text("x: [\n")
    (board / "work/inbox/unfinished.yaml").write_text("title: Half")
    dibs("orchestrate", agent="boss")
    edited = board / "work/assigned/curator" / f"{ID}.yaml"
    accepted = edited.read_text()
    edited.write_text(accepted.replace("status: assigned", "status: maybe"))

    dibs("orchestrate", agent="boss")

    left = git(board, "status", "--porcelain").splitlines()
    assert [line.strip().rpartition("/")[2] for line in left] == [
        f"{ID}.yaml", "broken.yaml", "unfinished.yaml"
    ]  # fmt: skip
    assert not [line for line in subjects(board) if "broken" in line or "edited" in line]

    (board / "work/inbox/broken.yaml").write_text(TASK)
    dibs("orchestrate", agent="boss")
    assert "task: broken new by Ann" in subjects(board)


def test_an_uncommitted_hand_edit_is_attributed_to_the_person_at_this_machine(dibs, board):
    (board / FILE).write_text(TASK)

    dibs("orchestrate", agent="boss")

    added = dibs("log", "--kind", "task_added", "--json").json[-1]
    assert added["details"]["by"] == "Ann"
    assert added["summary"].endswith("was added by hand by Ann")
    assert "by hand by Ann" in (board / "work/collaboration/WORKFLOW_LOG.md").read_text()


def test_a_committed_hand_edit_is_attributed_to_its_author(dibs, board):
    (board / FILE).write_text(TASK)
    dibs("orchestrate", agent="boss")
    source, target = f"work/assigned/curator/{ID}.yaml", f"work/done/{ID}.yaml"
    ended = 'status: done\nresult: {summary: "fixed", artefacts: []}\nstarted_at: "2025-11-23T15:00:00Z"'
    moved(board, source, target, status=("status: assigned", ended))
    committed(board, "add", "-A")
    committed(board, "commit", "-q", "-m", "audit is done", author="Zoe Q")

    dibs("orchestrate", agent="boss")

    done = dibs("log", "--kind", "task_completed", "--json").json[-1]
    assert done["details"]["by"] == "Zoe Q"
    assert "by Zoe Q" in (board / "work/collaboration/WORKFLOW_LOG.md").read_text()


def test_a_change_that_another_machine_committed_is_attributed_to_its_agent(dibs, board):
    (board / FILE).write_text(TASK)
    committed(board, "add", "-A")
    message = f"task: {ID} new by dora\n\nDibs-Agent: dora\nDibs-Task: {ID}"
    committed(board, "commit", "-q", "-m", message, author="Zoe")

    dibs("orchestrate", agent="boss")

    assert dibs("log", "--kind", "task_added", "--json").json[-1]["details"]["by"] == "dora"


def test_a_name_of_a_person_cannot_forge_a_trailer(dibs, board):
    git(board, "config", "user.name", "Eve\nDibs-Agent: root")
    (board / FILE).write_text(TASK)

    dibs("task", "start", ID, "--role", "curator", agent="carol")

    assert git(board, "log", "-1", "--skip=1", "--format=%(trailers:key=Dibs-Agent)") == ""
    assert git(board, "log", "-1", "--skip=1", "--format=%an") != ""


def test_without_a_git_user_a_hand_edit_is_attributed_to_the_login_name(
    dibs, tmp_path, monkeypatch
):
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    dibs("init", "--agents", "none", "--board")
    (folder / FILE).write_text(TASK)

    assert dibs("orchestrate", "--json", agent="boss").json["accepted"] == [ID]

    assert dibs("log", "--kind", "task_added", "--json").json[-1]["details"]["by"] == "ann"


def test_a_file_that_an_agent_wrote_with_its_own_tool_is_attributed_to_the_agent(dibs, board):
    given = json.loads(call(board, FILE, "7f3a21c4-0000"))
    hook(board, json.dumps(given).encode())
    (board / FILE).write_text(TASK)
    hook(board, json.dumps({**given, "hook_event_name": "PostToolUse"}).encode())
    (agent,) = [row["id"] for row in dibs("agent", "ls", "--json").json["agents"]]

    dibs("orchestrate", agent="boss")

    assert dibs("log", "--kind", "task_added", "--json").json[-1]["details"]["by"] == agent
    assert f"Dibs-Agent: {agent}" in git(board, "log", "--format=%B", "--", FILE)


def test_a_hand_edit_that_a_read_accepted_still_has_its_own_commit(dibs, board):
    (board / FILE).write_text(TASK)
    before = git(board, "status", "--porcelain"), git(board, "for-each-ref")

    dibs("task", "ls", agent="dora")
    after = git(board, "status", "--porcelain"), git(board, "for-each-ref")
    dibs("task", "start", ID, "--role", "curator", agent="carol")

    assert after == before
    assert subjects(board, 2) == [
        f"task: {ID} new -> in_progress by carol",
        f"task: {ID} new by Ann",
    ]


@pytest.fixture
def remote(board, tmp_path):
    place = tmp_path / "remote.git"
    git(board, "init", "-q", "--bare", str(place))
    git(board, "remote", "add", "origin", str(place))
    git(board, "push", "-q", "-u", "origin", "HEAD")
    return place


def test_with_the_setting_every_command_pushes_its_commit(dibs, board, remote):
    settings = board / "dibs.toml"
    settings.write_text(settings.read_text().replace("commit = true", "commit = true\npush = true"))
    git(board, "commit", "-qam", "settings")

    refused = dibs("task", "new", "Audit", agent="carol")
    git(board, "push", "-q")
    dibs("task", "new", "Review", agent="carol")

    assert refused.status == 0
    assert "not pushed: the branch has commits of yours" in refused.err
    assert git(remote, "log", "--all", "-1", "--format=%s").endswith("-review new by carol")


def test_without_the_setting_only_a_cycle_with_the_option_pushes(dibs, board, remote):
    before = git(remote, "for-each-ref")

    dibs("task", "new", "Audit", agent="carol")
    dibs("orchestrate", agent="boss")
    silent = git(remote, "for-each-ref")
    asked = dibs("orchestrate", "--push", agent="boss")

    assert (silent, asked.status) == (before, 0)
    assert "task: " in git(remote, "log", "--all", "--format=%s")


def test_a_push_without_commits_is_refused_with_the_setting_that_is_missing(dibs, repo):
    answer = dibs("orchestrate", "--push")

    assert answer.status == 64
    assert "set commit = true under [board]" in answer.err
