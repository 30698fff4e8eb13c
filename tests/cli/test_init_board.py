"""``dibs init --board`` creates a complete task board, and never changes a user's file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.wirings import git, put, tree

pytestmark = pytest.mark.usefixtures("home")

#: Every file and folder that the orchestration document names.
NAMED = (
    *("work/README.md", "work/inbox", "work/assigned/curator", "work/done", "work/archive"),
    *("work/logs", "work/schemas/task.schema.json", "work/collaboration/WORKFLOW_LOG.md"),
    *("work/collaboration/HANDOFFS.md", "work/collaboration/AGENT_STATUS.md"),
    *("work/scripts/validate-task-schema.py", "work/scripts/validate-work-structure.sh"),
    *(f"docs/templates/agent-tasks/task-{name}.yaml" for name in ("descriptor", "base", "result")),
    *(f"docs/templates/agent-tasks/task-{name}.yaml" for name in ("timestamps", "error")),
    *(".github/agents/curator.agent.md", ".github/agents/writer-editor.agent.md"),
)
ANN = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
TEMPLATES = "docs/templates/agent-tasks"


@pytest.fixture
def board(dibs, repo):
    assert dibs("init", "--agents", "none", "--board", "curator, writer-editor").status == 0
    return repo


def script(repo, *words, path="", cwd=None):
    """Run a validator the way the document does, with ``dibs`` on the PATH or without it."""
    found = {**os.environ, "PATH": path or f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"}
    return subprocess.run(
        words, cwd=cwd or repo, env=found, capture_output=True, text=True, check=False
    )


def validated(repo, file):
    done = script(repo, "python", "work/scripts/validate-task-schema.py", file)
    return done.returncode, done.stdout + done.stderr


def structure(repo, **more):
    done = script(repo, "bash", "work/scripts/validate-work-structure.sh", **more)
    return done.returncode, done.stdout + done.stderr


def test_a_new_board_has_everything_that_the_document_names(board):
    assert [path for path in NAMED if not (board / path).exists()] == []


def test_all_folders_of_a_board_survive_a_clone(board, tmp_path):
    git("-C", str(board), "add", "-A")
    git("-C", str(board), *ANN, "commit", "-q", "-m", "board")
    git("clone", "-q", str(board), str(tmp_path / "clone"))

    assert [path for path in NAMED if not (tmp_path / "clone" / path).exists()] == []


def test_a_board_that_git_ignores_does_not_ask_for_commits(dibs, repo):
    put(repo, ".gitignore", b"/work/\n")

    answer = dibs("init", "--agents", "none", "--board")

    assert "git ignores work/, so transitions are not committed" in answer.out
    assert "commit = true" not in (repo / "dibs.toml").read_text()


def test_files_of_the_user_stay_as_they_are(dibs, repo):
    theirs = {
        "work/README.md": b"ours \xff\n",
        "work/scripts/validate-task-schema.py": b"print('mine')\n",
        f"{TEMPLATES}/task-base.yaml": b"agent: me\n",
        ".github/agents/curator.agent.md": b"# Claire\n",
        "dibs.toml": b"[board]\nattempts = 5\n",
    }
    for path, content in theirs.items():
        put(repo, path, content)

    answer = dibs("init", "--agents", "none", "--board", "curator")
    again = dibs("init", "--agents", "none", "--board", "curator", "--json")
    kept = {path: (repo / path).read_bytes() for path in theirs}
    dibs("init", "--uninstall")

    assert kept == theirs
    assert "add `commit = true` under [board] in dibs.toml" in " ".join(answer.out.split())
    assert not [row for row in again.json["changes"] if row["act"] != "keep"]
    assert {path: (repo / path).read_bytes() for path in theirs} == theirs


def test_a_setting_that_the_user_changed_is_not_turned_on_again(dibs, board):
    settings = board / "dibs.toml"
    settings.write_text(settings.read_text().replace("commit = true", "commit = false"))

    dibs("init", "--agents", "none", "--board")

    assert "commit = false" in settings.read_text()
    assert "commit = true" not in settings.read_text()


def test_running_it_again_changes_nothing_and_adds_agents_that_are_new(dibs, board):
    before = tree(board)

    dibs("init", "--agents", "none", "--board")
    dibs("init", "--agents", "none")
    same = tree(board) == before
    dibs("init", "--agents", "none", "--board", "diagrammer")

    assert same
    assert (board / "work/assigned/diagrammer").is_dir()
    assert tree(board).keys() > before.keys()


def test_a_file_that_the_user_deleted_comes_back_only_on_request(dibs, board):
    (board / "work/README.md").unlink()

    dibs("init", "--agents", "none")
    plain = (board / "work/README.md").exists()
    dibs("init", "--agents", "none", "--board")

    assert not plain
    assert (board / "work/README.md").exists()


def test_an_uninstall_removes_untouched_files_and_keeps_the_rest(dibs, board):
    (board / "work/README.md").write_text("# Our board\n")
    dibs("task", "new", "Audit the docs", "--for", "curator")

    dibs("init", "--uninstall")

    left = sorted(str(path.relative_to(board)) for path in (board / "work").rglob("*.*"))
    assert [path for path in left if path.endswith(".yaml")]
    assert "work/README.md" in left
    assert not (board / "docs").exists()
    assert not (board / ".github").exists()
    assert not (board / "work/scripts").exists()


def test_every_template_is_valid_and_can_be_copied_into_the_inbox(dibs, board):
    for template in sorted((board / TEMPLATES).glob("*.yaml")):
        assert validated(board, str(template.relative_to(board)))[0] == 0
        shutil.copy(template, board / "work/inbox" / f"2025-11-23T1430-structural-{template.name}")

    assert validated(board, "work/inbox/2025-11-23T1430-structural-task-base.yaml")[0] == 0
    assert dibs("task", "validate").status == 0
    assert len(dibs("task", "ls", "--json").json["tasks"]) == 5


def test_the_task_validator_reports_the_line_and_exits_with_1(board):
    put(board, "work/inbox/task.yaml", b"title: x\npriority: soon\n")

    status, out = validated(board, "work/inbox/task.yaml")

    assert status == 1
    assert "work/inbox/task.yaml:2: priority: 'soon' is not a valid priority" in out
    assert validated(board, "work/inbox/missing.yaml")[0] == 1


def test_the_structure_validator_finds_missing_folders_and_misplaced_tasks(board):
    assert structure(board)[0] == 0

    shutil.rmtree(board / "work/logs")
    missing = structure(board)
    put(board, "work/logs/.gitkeep", b"")
    put(board, "work/done/2025-11-23T1430-curator-x.yaml", b"title: x\nstatus: new\n")
    misplaced = structure(board)

    assert missing[0] == 1
    assert "missing folder" in missing[1]
    assert misplaced[0] == 1
    assert "inbox" in misplaced[1]


def test_the_validators_say_so_if_dibs_is_not_installed(board, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "python3").symlink_to(os.path.realpath(sys.executable))
    for name in ("bash", "dirname", "basename", "git"):
        (bare / name).symlink_to(Path(shutil.which(name, path="/usr/bin:/bin") or name))

    for words in (
        ("python3", "work/scripts/validate-task-schema.py", "work/inbox/task.yaml"),
        ("bash", "work/scripts/validate-work-structure.sh"),
    ):
        done = script(board, *words, path=str(bare))
        assert done.returncode == 2
        assert "the dibs command is not on PATH" in done.stderr


def test_a_board_in_another_folder_has_its_own_paths(dibs, repo):
    put(repo, "dibs.toml", b'[board]\nfolder = "plan/tasks"\ncommit = true\n')

    dibs("init", "--agents", "none", "--board", "curator")

    assert "plan/tasks/assigned/curator/" in (repo / ".github/agents/curator.agent.md").read_text()
    done = script(repo, "bash", "plan/tasks/scripts/validate-work-structure.sh")
    assert (done.returncode, done.stdout + done.stderr) == (0, "0 files: no errors\n")
