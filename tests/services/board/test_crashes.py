"""A kill at any step of any transition leaves each task in one place, complete, and matching its row."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress

import pytest
from tests.services.boards import HUMAN, World, task
from tests.services.row_tasks import RowTasks
from tests.soak import effort
from tests.workdir.crashing import Crash, CrashingDisk

from dibs.core.claims.agents import Caller
from dibs.core.tasks.rules import Handoff
from dibs.errors import Unavailable
from dibs.services.board.orchestrator import Orchestrator
from dibs.workdir.disk import Disk

CURATOR = Caller("curator")


def prepare(world):
    """Create a board with a task in each state that a transition starts from."""
    for id_ in ("a-new", "b-taken", "c-failed", "d-finished"):
        world.create(id_, artefacts=[f"docs/{id_}.md"])
    with world.board.command(CURATOR, makes=True):
        for id_ in ("b-taken", "c-failed", "d-finished"):
            world.tasks.start(CURATOR, id_)
        world.tasks.fail(CURATOR, "c-failed", message="it broke")
        world.tasks.done(CURATOR, "d-finished", summary="well done")
    world.clock.advance(1.0)


def create(world):
    world.create("new-one", artefacts=["src/x.py"])


def take(world):
    with world.board.command(CURATOR, makes=True):
        world.tasks.start(CURATOR, "a-new")


def done(world):
    with world.board.command(CURATOR, makes=True):
        follow = Handoff("writer-editor", "Polish it")
        world.tasks.done(CURATOR, "b-taken", summary="all", handoff=follow)


def release(world):
    with world.board.command(CURATOR, makes=True):
        world.tasks.release(CURATOR, "b-taken")


def fail(world):
    with world.board.command(CURATOR, makes=True):
        world.tasks.fail(CURATOR, "b-taken", message="no")


def archive(world):
    with world.board.command(HUMAN, makes=True):
        world.clock.advance(40 * 86_400)
        world.tasks.archive(HUMAN)


def several(world):
    with world.board.command(CURATOR, makes=True):
        world.tasks.start(CURATOR, "a-new")
        world.tasks.done(CURATOR, "b-taken", summary="all")
        world.tasks.done(CURATOR, "a-new", summary="all")


def drop(world):
    world.write("inbox/dropped.yaml", task("dropped"))
    reconcile(world)


def edit_by_hand(world):
    world.sh("echo 'color: red' >> inbox/a-new.yaml")
    reconcile(world)


def move_by_hand(world):
    world.sh("""
        mkdir -p assigned/editor
        sed -i 's/^status: new/status: assigned\\nagent: editor/' inbox/a-new.yaml
        mv inbox/a-new.yaml assigned/editor/
    """)
    reconcile(world)


def spoil(world):
    world.sh("echo '}{' >> inbox/a-new.yaml; rm done/d-finished.yaml")
    reconcile(world)


def reconcile(world):
    with world.board.command(HUMAN, makes=True):
        pass


COMMANDS = [
    create,
    take,
    done,
    release,
    fail,
    archive,
    several,
]
HANDS = [drop, edit_by_hand, move_by_hand]


def steps_of(path, action):
    world = World(path)
    prepare(world)
    disk = CrashingDisk()
    world.open(disk)
    action(world)
    return len(disk.steps)


@pytest.mark.parametrize("action", COMMANDS + HANDS, ids=lambda action: action.__name__)
def test_a_crash_at_any_step_leaves_each_task_in_one_place(tmp_path, action):
    count = steps_of(tmp_path / "counted", action)
    assert count >= 2
    for at in range(count):
        world = World(tmp_path / f"at{at}")
        prepare(world)
        world.open(CrashingDisk(at))
        with pytest.raises(Crash):
            action(world)

        world.later = 61.0
        settled = world.reconcile()

        assert settled.aside == []
        assert settled.restored == []
        world.reconcile()
        world.consistent()


def test_a_crash_while_setting_a_damaged_file_aside_loses_neither_file(tmp_path):
    count = steps_of(tmp_path / "counted", spoil)
    for at in range(count):
        world = World(tmp_path / f"at{at}")
        prepare(world)
        world.open(CrashingDisk(at))
        with pytest.raises(Crash):
            spoil(world)

        world.later = 61.0
        (verdict,) = world.reconcile().aside

        assert (verdict.id, verdict.code) == ("a-new", "YAML_SYNTAX")
        assert "}{" in world.read("inbox/a-new.yaml")
        assert world.read("done/d-finished.yaml") == world.row("d-finished").text
        assert [path for path in world.files() if path.endswith(".tmp")] == []


@pytest.mark.parametrize("lost", ["folder", "both moves"])
def test_a_power_failure_that_undoes_a_move_is_repaired_and_is_not_a_hand_edit(tmp_path, lost):
    world = World(tmp_path / "board")
    prepare(world)
    old = world.read("inbox/a-new.yaml")
    with world.board.command(Caller("newcomer"), makes=True):
        world.tasks.start(Caller("newcomer"), "a-new")
    row = world.row("a-new")
    world.sh("rm -r assigned/newcomer")
    if lost == "both moves":
        world.write("inbox/a-new.yaml", old)

    settled = world.reconcile()

    assert (settled.accepted, settled.aside, settled.kept) == ([], [], [])
    assert world.row("a-new") == row
    world.consistent()


def test_two_crashes_in_a_row_are_harmless(tmp_path):
    for first in range(0, 12, 2):
        for second in range(0, 8, 2):
            world = World(tmp_path / f"{first}-{second}")
            prepare(world)
            for at, action in ((first, several), (second, reconcile)):
                world.open(CrashingDisk(at))
                with suppress(Crash):
                    action(world)

            world.later = 61.0
            world.reconcile()
            world.reconcile()

            world.consistent()


KILLED = """
import sys
from dibs.core.claims.agents import Caller
from dibs.project.project import open_project
from tests.workdir.crashing import CrashingDisk

path, verb, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
project = open_project(path, {})
project.board.folders.disk = CrashingDisk(at if at >= 0 else None, kill=True)
caller = Caller("curator")
with project.board.command(caller, makes=True):
    if verb == "take":
        project.tasks.start(caller, "t1")
    elif verb == "done":
        project.tasks.done(caller, "t1", summary="all of it")
    elif verb == "release":
        project.tasks.release(caller, "t1")
"""


def killed_at(path, verb, at):
    """Run a command in its own process, which kills itself at a step; tell whether it did."""
    command = [sys.executable, "-c", KILLED, str(path), verb, str(at)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    assert ended.returncode in {0, -9}, ended.stderr
    return ended.returncode == -9


@pytest.mark.slow
@pytest.mark.parametrize("verb", effort(["done"], ["take", "done", "release", "reconcile"]))
def test_a_killed_process_leaves_each_task_in_one_place(tmp_path, verb):
    from dibs.project.project import open_project
    from dibs.services.tasks.values import Draft

    at, killed = 0, True
    while killed:
        path = tmp_path / f"at{at}"
        path.mkdir()
        subprocess.run(["git", "init", "-q", str(path)], check=True)
        project = open_project(str(path), {})
        with project.board.command(HUMAN, makes=True):
            project.tasks.create(HUMAN, [Draft(fields={"title": "one"}, id="t1")])
        if verb in {"done", "release"}:
            with project.board.command(CURATOR, makes=True):
                project.tasks.start(CURATOR, "t1")
        if verb == "reconcile":
            (path / "work/inbox/t2.yaml").write_text(task("t2"))
        project.close()

        killed = killed_at(path, verb, at)

        project = open_project(str(path), {})
        with project.board.command(HUMAN, makes=True) as settled:
            assert (settled.aside, settled.restored) == ([], [])
        rows = RowTasks(project.store).stored(RowTasks(project.store).versions())
        for row in rows.values():
            assert (path / "work" / row.place / row.file).read_text() == row.text
        found = [name for _, _, names in os.walk(path / "work") for name in names if name[0] == "t"]
        wanted = sorted([*(row.file for row in rows.values()), "task.schema.json"])
        assert sorted(found) == wanted
        project.close()
        at += 1
    assert at > 5


class RemovingDisk(Disk):
    """Removes the board's folder at the n-th step."""

    def __init__(self, folder, step):
        self.folder, self.left = folder, step

    def reach(self, step, name):
        self.left -= 1
        if self.left == 0:
            shutil.rmtree(self.folder)


@pytest.mark.parametrize("step", effort(range(1, 40, 8), range(1, 40)))
def test_a_cycle_whose_board_is_removed_meanwhile_fails_clearly_and_the_next_restores_it(
    tmp_path, step
):
    world = World(tmp_path)
    prepare(world)
    ids = ("a-new", "b-taken", "c-failed", "d-finished")
    world.write("inbox/x.yaml", "title: by hand\nagent: hugo\n")
    world.open(disk=RemovingDisk(world.path / "work", step))
    cycles = Orchestrator(world.store, world.board, str(tmp_path / ".state"))

    with suppress(Unavailable):
        cycles.cycle(HUMAN)
    world.board.folders.disk.left = 0
    cycles.cycle(HUMAN)

    names = {name for _, _, names in os.walk(world.path / "work") for name in names}
    assert {f"{id_}.yaml" for id_ in ids} <= names
