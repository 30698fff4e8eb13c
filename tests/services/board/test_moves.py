"""Files that people and scripts move with ``mv`` and nothing else."""

import subprocess

import pytest
from tests.services.boards import HUMAN, World, task

from dibs.services.tasks.values import TakenTask

ID = "2025-11-23T1430-curator-audit"
RESULT = "result:\\n  summary: audited\\n  artefacts: []\\n"


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "repo")
    world.write(f"inbox/{ID}.yaml", task(ID))
    world.reconcile()
    return world


def assigned(world):
    with world.board.command(HUMAN, makes=True):
        world.tasks.assign(HUMAN)


def move(world, target):
    """Move the task's file with a plain ``mv``; return the codes of refused files."""
    world.sh(f"mkdir -p {target} && mv $(find . -name {ID}.yaml) {target}/")
    return [verdict.code for verdict in world.reconcile().aside]


def state(world):
    world.consistent()
    row = world.row(ID)
    return row.task.status, row.task.agent, row.place


def test_from_the_inbox_to_an_agent_assigns_the_task(world):
    assert move(world, "assigned/writer") == []

    assert state(world) == ("assigned", "writer", "assigned/writer")
    assert "assigned_at" in world.read(f"assigned/writer/{ID}.yaml")
    assert isinstance(world.take("writer"), TakenTask)


def test_to_done_without_a_result_is_set_aside_and_says_what_to_do(world):
    assigned(world)

    assert move(world, "done") == ["TASK_MISMATCH"]

    said = world.read("collaboration/SET_ASIDE.md")
    assert "has no result" in said.replace("\\", "")
    assert not world.tasks.show(None, ID).ready
    world.sh(f"printf '{RESULT}' >> done/{ID}.yaml")
    assert world.reconcile().aside == []
    assert state(world) == ("done", "curator", "done")


def read(world):
    world.open()
    with world.board.command(HUMAN, reads=True) as report:
        return [verdict.code for verdict in report.aside]


@pytest.mark.parametrize("status", ["new", "in_progress"])
def test_a_move_that_a_read_accepted_can_be_followed_by_an_edit(tmp_path, status):
    world = World(tmp_path / "repo")
    world.write(f"inbox/{ID}.yaml", task(ID))
    world.sh("mkdir -p assigned/writer")
    assert read(world) == []
    world.sh(f"mv inbox/{ID}.yaml assigned/writer/")
    assert read(world) == []
    assert "status: new" in world.read(f"assigned/writer/{ID}.yaml")

    world.sh(f"sed -i 's/^status: new/status: {status}/; s/green/blue/' assigned/writer/{ID}.yaml")
    assert read(world) == []
    assert world.reconcile().aside == []

    after = "assigned" if status == "new" else "in_progress"
    assert state(world) == (after, "writer", "assigned/writer")
    assert "color: blue" in world.row(ID).text


@pytest.mark.parametrize(
    ("target", "after"),
    [
        ("inbox", ("new", "curator", "inbox")),
        ("assigned/writer", ("assigned", "writer", "assigned/writer")),
    ],
)
def test_out_of_done_reopens_the_task(world, target, after):
    world.take("curator")
    world.done("curator", ID)

    assert move(world, target) == []

    assert state(world) == after
    assert "result:" not in world.read(f"{target}/{ID}.yaml")
    assert isinstance(world.take(after[1]), TakenTask)


@pytest.mark.parametrize("target", ["archive/2025-11", "archive"])
def test_to_the_archive_archives_a_task_with_a_result(world, target):
    assigned(world)
    world.sh(f"printf '{RESULT}' >> assigned/curator/{ID}.yaml")

    assert move(world, target) == []

    past = world.tasks.show(None, ID).past
    assert past.status == "done"
    assert world.files() == [f"{past.place}/{ID}.yaml"]
    assert past.place == target or past.place.startswith("archive/")


@pytest.mark.parametrize("target", ["inbox", "assigned/writer", "done", "archive/2025-11"])
def test_the_agent_that_holds_a_task_keeps_it_when_someone_moves_its_file(world, target):
    world.take("curator")
    text = world.read(f"assigned/curator/{ID}.yaml")
    if target.startswith(("done", "archive")):
        world.sh(f"printf '{RESULT}' >> assigned/curator/{ID}.yaml")
        text = world.read(f"assigned/curator/{ID}.yaml")

    assert move(world, target) == ["TASK_HELD"]

    assert world.read(f"{target}/{ID}.yaml") == text
    assert "curator holds" in world.read("collaboration/SET_ASIDE.md")
    world.done("curator", ID)
    world.reconcile()
    assert state(world)[:2] == ("done", "curator")
    everything = "".join(world.read(path) for path in world.every_file() if path[-4:] == "yaml")
    assert all(line in everything for line in text.split("\n") if "color" in line)


def git(path, *words):
    user = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *user, *words], cwd=path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("target", "after"),
    [
        ("assigned/writer", ("assigned", "writer", "assigned/writer")),
        ("inbox", ("new", "curator", "inbox")),
    ],
)
def test_a_git_mv_in_another_clone_means_the_same_after_a_pull(world, tmp_path, target, after):
    assigned(world)
    world.path.joinpath(".gitignore").write_text(".state\n")
    git(world.path, "init", "-q")
    git(world.path, "add", ".")
    git(world.path, "commit", "-qm", "board")
    git(tmp_path, "clone", "-q", "repo", "other")
    other = tmp_path / "other"
    (other / "work" / target).mkdir(parents=True, exist_ok=True)
    git(other, "mv", f"work/assigned/curator/{ID}.yaml", f"work/{target}/{ID}.yaml")
    git(other, "commit", "-qm", "move")

    git(world.path, "pull", "-q", str(other))
    assert world.reconcile().aside == []

    assert state(world) == after
