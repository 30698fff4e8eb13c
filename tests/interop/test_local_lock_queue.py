"""The lock-file queue without a remote: the local branch, and the files on disk."""

import subprocess

import pytest
from tests.interop.shared import dibs_queue
from tests.services.several_agents import caller

from dibs.errors import Fenced, Unavailable
from dibs.services.tasks.values import NothingFree


def git(tree, *words):
    done = subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def tree(tmp_path):
    tree = tmp_path / "tree"
    for name in ("tasks/pending/a.yml", "tasks/pending/b.yml", "current_tasks/.gitkeep"):
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("title: x\n" if name.endswith("yml") else "")
    git(tmp_path, "init", "-q", "-b", "main", str(tree))
    git(tree, "config", "user.name", "Pat")
    git(tree, "config", "user.email", "pat@example.org")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "add a queue")
    return tree


@pytest.fixture
def queue(tree, tmp_path):
    queue = dibs_queue(tree, tmp_path / "state")
    yield queue
    queue._store.engine.close()


def test_a_task_is_taken_and_finished_with_commits_and_a_clean_tree(tree, queue):
    assert queue.take(caller("bob")).stored.id == "a"
    assert (tree / "current_tasks" / "a.lock").read_text().startswith("agent: bob\n")
    queue.done(caller("bob"), "a")

    assert git(tree, "log", "--format=%s") == "done: a by bob\nclaim: a by bob\nadd a queue\n"
    assert git(tree, "status", "--porcelain") == ""
    assert (tree / "tasks" / "done" / "a.yml").exists()
    assert not (tree / "tasks" / "pending" / "a.yml").exists()


def test_a_lock_that_is_only_on_disk_counts(tree, queue):
    (tree / "current_tasks" / "a.lock").write_text("agent: script\n")
    (tree / "current_tasks" / "b.txt").write_text("agent: script\n")

    answer = queue.take(caller("bob"))

    assert isinstance(answer, NothingFree)
    assert {task.name: task.holder for task in answer.queue} == {"a": "script", "b": "script"}


def test_uncommitted_and_staged_work_stays_as_it_is(tree, queue):
    (tree / "code.py").write_text("staged\n")
    git(tree, "add", "code.py")
    (tree / "code.py").write_text("edited\n")
    (tree / "tasks" / "pending" / "b.yml").write_text("title: edited\n")
    before = git(tree, "status", "--porcelain"), git(tree, "diff"), git(tree, "diff", "--cached")

    queue.take(caller("bob"))

    assert before == (
        git(tree, "status", "--porcelain"), git(tree, "diff"), git(tree, "diff", "--cached")
    )  # fmt: skip


def test_an_uncommitted_list_is_refused_at_once_and_stays(tree, queue):
    git(tree, "rm", "-q", "-r", "tasks/pending")
    (tree / "tasks").mkdir(exist_ok=True)
    listed = tree / "tasks" / "pending.txt"
    listed.write_text("- [ ] one: first\n- [ ] two: second\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "one file")
    assert queue.take(caller("bob")).stored.id == "one"
    text = listed.read_text() + "- [ ] three: mine\n"
    listed.write_text(text)
    commits = git(tree, "log", "--format=%s")

    with pytest.raises(Unavailable, match="has uncommitted changes") as refused:
        queue.done(caller("bob"), "one")

    assert "git commit -- tasks/pending.txt" in refused.value.hint
    assert listed.read_text() == text
    assert (tree / "current_tasks" / "one.lock").exists()
    assert git(tree, "log", "--format=%s") == commits
    assert git(tree, "status", "--porcelain") == " M tasks/pending.txt\n"


def test_an_owner_whose_lock_someone_deleted_is_refused(tree, queue):
    queue.take(caller("bob"))
    git(tree, "rm", "-q", "current_tasks/a.lock")
    git(tree, "commit", "-q", "-m", "clean up")

    with pytest.raises(Fenced):
        queue.done(caller("bob"), "a")
