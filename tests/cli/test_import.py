"""``dibs task import`` moves task files onto the board; no other command does."""

import os
import subprocess
import time

import pytest


@pytest.fixture
def pending(repo):
    """Two task files in the queue folder of scripts, and a file that is not a task."""
    folder = repo / "tasks" / "pending"
    folder.mkdir(parents=True)
    (folder / "fix-a.yml").write_text("# keep me\ntitle: Fix A\ndependencies: [fix-b]\n")
    (folder / "fix-b.yaml").write_text("title: Fix B")
    (folder / "notes.txt").write_text("not a task\n")
    return folder


def contents(folder):
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def on_board(dibs):
    """Return the tasks of the board, without those that scripts find in the queue folder."""
    return [task for task in dibs("task", "ls", "--json").json["tasks"] if "version" in task]


@pytest.mark.parametrize(
    "words",
    [
        ["task", "ls"],
        ["task", "new", "Other"],
        ["task", "validate"],
        ["status"],
        ["doctor"],
        ["orchestrate"],
    ],
    ids=" ".join,
)
def test_no_other_command_moves_the_files_of_the_queue_folder(dibs, pending, words):
    before = contents(pending)

    dibs(*words)

    assert contents(pending) == before


def test_each_file_of_a_folder_becomes_the_task_it_is_named_after_and_moves(dibs, repo, pending):
    answer = dibs("task", "import", "tasks/pending")

    assert answer.status == 0
    assert answer.out.splitlines() == [
        "moved tasks/pending/fix-a.yml to work/inbox/fix-a.yml",
        "moved tasks/pending/fix-b.yaml to work/inbox/fix-b.yaml",
        "imported 2 tasks",
    ]
    assert os.listdir(pending) == ["notes.txt"]
    assert (repo / "work/inbox/fix-a.yml").read_text().startswith("# keep me\ntitle: Fix A\n")
    shown = {task["id"]: task["why"] for task in on_board(dibs)}
    assert shown == {"fix-a": ["waits for fix-b, which has not started"], "fix-b": []}
    assert dibs("task", "validate").status == 0


def test_an_import_can_be_repeated(dibs, repo, pending):
    first = dibs("task", "import", "tasks/pending", "--json").json
    (pending / "fix-a.yml").write_text("# keep me\ntitle: Fix A\ndependencies: [fix-b]\n")

    again = dibs("task", "import", "tasks/pending", "--json").json
    nothing = dibs("task", "import", "tasks/pending")

    assert again["created"] == first["created"][:1]
    assert nothing.out == "imported 0 tasks\n"
    assert os.listdir(pending) == ["notes.txt"]


def test_a_dry_run_shows_the_moves_and_changes_nothing(dibs, repo, pending):
    before = contents(pending)

    answer = dibs("task", "import", "tasks/pending", "--dry-run")
    told = dibs("task", "import", "tasks/pending", "--dry-run", "--json").json

    assert answer.out.splitlines()[-1] == "would import 2 tasks"
    assert [os.path.relpath(file["to"]) for file in told["would_move"]] == [
        "work/inbox/fix-a.yml",
        "work/inbox/fix-b.yaml",
    ]
    assert contents(pending) == before
    assert not (repo / "work").exists()
    assert not (repo / ".git" / "dibs").exists()


@pytest.mark.parametrize("ending", [".lock", ".txt"])
def test_a_file_whose_lock_exists_is_not_imported(dibs, repo, pending, ending):
    (repo / "current_tasks").mkdir()
    (repo / "current_tasks" / f"fix-b{ending}").write_text("agent: agent-02\n")

    answer = dibs("task", "import", "tasks/pending")

    assert "skipped tasks/pending/fix-b.yaml: agent-02 holds it" in answer.out
    assert sorted(contents(pending)) == ["fix-b.yaml", "notes.txt"]
    assert [task["id"] for task in on_board(dibs)] == ["fix-a"]


def break_yaml(repo, pending):
    (pending / "fix-c.yml").write_text("title: [\n")


def link(repo, pending):
    (pending / "fix-c.yml").symlink_to("fix-a.yml")


def fifo(repo, pending):
    os.mkfifo(pending / "fix-c.yml")


def name_badly(repo, pending):
    (pending / "fix c.yml").write_text("title: c\n")


def clash(repo, pending):
    (repo / "work/inbox").mkdir(parents=True)
    (repo / "work/inbox/fix-a.yaml").write_text("title: Another\n")


def cycle(repo, pending):
    (pending / "fix-b.yaml").write_text("title: B\ndependencies: [fix-a]\n")


def two_of_one_name(repo, pending):
    (pending / "fix-a.yaml").write_text("title: Another\n")


@pytest.mark.parametrize(
    "spoil",
    [break_yaml, link, fifo, name_badly, clash, cycle, two_of_one_name],
    ids=lambda spoil: spoil.__name__,
)
def test_one_file_that_cannot_be_imported_stops_the_whole_import(dibs, repo, pending, spoil):
    spoil(repo, pending)
    before = sorted(os.listdir(pending))
    rows = on_board(dibs)

    answer = dibs("task", "import", "tasks/pending")

    assert answer.status == 65
    assert "internal" not in answer.err
    assert sorted(os.listdir(pending)) == before
    assert on_board(dibs) == rows


def test_files_can_be_named_one_by_one(dibs, repo, pending):
    (repo / "todo").mkdir()
    (repo / "todo" / "c.yaml").write_text("title: C\n")

    answer = dibs("task", "import", "tasks/pending/fix-b.yaml", "todo/c.yaml")

    assert answer.status == 0
    assert sorted(os.listdir(repo / "work/inbox")) == ["c.yaml", "fix-b.yaml"]
    assert os.listdir(repo / "todo") == []


def test_one_file_of_the_queue_folder_is_a_task_file_not_a_list(dibs, repo, pending):
    dibs("task", "import", "tasks/pending/fix-b.yaml")

    assert [task["id"] for task in on_board(dibs)] == ["fix-b"]
    assert not (pending / "fix-b.yaml").exists()


def test_a_list_of_tasks_stays_where_it_is(dibs, repo):
    (repo / "tasks").mkdir()
    (repo / "tasks" / "pending.yml").write_text("- title: A\n- title: B\n")

    answer = dibs("task", "import", "tasks/pending.yml", "--json").json

    assert len(answer["created"]) == 2
    assert "moved" not in answer
    assert (repo / "tasks" / "pending.yml").exists()


def test_files_outside_the_repository_and_on_the_board_are_refused(dibs, repo, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.yml").write_text("title: A\n")
    dibs("task", "new", "Here")

    assert "outside the repository" in dibs("task", "import", str(tmp_path / "outside")).err
    assert "already part of the board" in dibs("task", "import", "work/inbox").err
    assert (tmp_path / "outside" / "a.yml").exists()


def test_a_file_that_is_edited_during_the_import_is_kept(dibs, repo, pending, monkeypatch):
    from dibs.workdir import moves

    remove = moves.remove

    def edit_first(disk, folder, name, expected):
        if name == "fix-b.yaml":
            (pending / name).write_text("title: Fix B, and more\n")
        remove(disk, folder, name, expected)

    monkeypatch.setattr(moves, "remove", edit_first)

    answer = dibs("task", "import", "tasks/pending")

    assert "kept tasks/pending/fix-b.yaml: it was changed meanwhile" in answer.out
    assert (pending / "fix-b.yaml").read_text() == "title: Fix B, and more\n"


def git(folder, *words):
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def test_a_lock_that_only_the_remote_branch_has_counts_and_the_move_must_be_pushed(
    dibs, repo, pending, tmp_path
):
    remote, other = tmp_path / "remote.git", tmp_path / "other"
    git(repo, "config", "user.name", "Ann")
    git(repo, "config", "user.email", "ann@example.com")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "queue")
    git(tmp_path, "clone", "-q", "--bare", repo, remote)
    git(repo, "remote", "add", "origin", remote)
    git(repo, "fetch", "-q", "-u", "origin", "+refs/heads/*:refs/remotes/origin/*")
    git(tmp_path, "clone", "-q", remote, other)
    (other / "current_tasks").mkdir()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    (other / "current_tasks" / "fix-b.lock").write_text(f"agent: s1\nclaimed: {now}\ntask: fix-b\n")
    git(other, "add", "-A")
    git(other, "-c", "user.name=s", "-c", "user.email=s@s", "commit", "-qm", "claim: fix-b by s1")
    git(other, "push", "-q")

    answer = dibs("task", "import", "tasks/pending")

    assert "skipped tasks/pending/fix-b.yaml: s1 holds it" in answer.out
    assert "moved tasks/pending/fix-a.yml to work/inbox/fix-a.yml" in answer.out
    assert "commit and push this move: until then, the branch still lists fix-a\n" in answer.err
