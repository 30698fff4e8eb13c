"""Boards whose store was lost, emptied, or replaced, and machines that were away for a long time."""

import pytest
from tests.services.boards import HUMAN, World

from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine
from dibs.errors import Fenced
from dibs.taskfile.reading import read
from dibs.workdir.disk import Disk


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "here")


@pytest.fixture
def other(world, tmp_path):
    return world.elsewhere(tmp_path / "there")


def lose_everything(*worlds, first=0):
    """Give all machines the same new store, whose numbers are higher than the lost one's."""
    newest = worlds[0].engine.view(lambda txn: next(txn.events(newest_first=True)).seq)
    fresh = MemoryEngine(worlds[0].clock)
    for _ in range(newest + first):
        fresh.transact(lambda txn: txn.emit(_nothing()))
    for world in worlds:
        world.engine = world.store.engine = fresh


def _nothing():
    from dibs.core.claims.ledger import Event, Kind

    return Event("dibs", "store", Kind.LEDGER_RESTARTED, "the store started a new life", {})


def status(world, id_):
    return world.row(id_).task.status


@pytest.mark.parametrize("first", [0, 1, 10_000])
def test_every_machine_restores_its_tasks_to_an_emptied_store(world, other, first):
    world.create("both")
    other.reconcile()
    other.create("theirs")
    world.reconcile()
    world.create("mine")
    lose_everything(world, other, first=first)

    for machine in (other, world, other):
        machine.reconcile()

    assert set(world.tasks.versions()) == {"both", "mine", "theirs"}
    world.consistent()
    other.consistent()


def test_the_latest_state_from_a_lost_life_wins_in_any_order_of_machines(world, other):
    for id_ in ("a", "b", "c"):
        world.create(id_)
    other.reconcile()
    other.take("bob")
    other.done("bob", "a")
    other.take("bob")
    lose_everything(world, other)

    world.reconcile()
    assert status(world, "a") == "new"
    settled = other.reconcile()

    assert (status(world, "a"), status(world, "b"), status(world, "c")) == (
        "done", "in_progress", "new",
    )  # fmt: skip
    assert settled.kept == []
    assert world.row("a").doer == "bob"
    for machine in (world, other):
        machine.reconcile()
        machine.consistent()


def test_work_started_in_the_new_life_is_not_reset_and_the_old_result_is_saved(world, other):
    world.create("a")
    other.reconcile()
    other.take("bob")
    other.done("bob", "a")
    lose_everything(world, other)
    world.reconcile()
    world.take("eve")

    settled = other.reconcile()

    assert (status(world, "a"), world.row("a").holder) == ("in_progress", "eve")
    (kept,) = settled.kept
    assert "all of it" in other.read(kept)


def test_a_machine_with_older_files_resets_nothing_after_the_store_is_lost(world, other):
    world.create("a", color="green")
    other.reconcile()
    world.sh("sed -i 's/green/red/' inbox/a.yaml")
    world.reconcile()
    lose_everything(world, other)

    world.reconcile()
    settled = other.reconcile()

    assert "red" in world.row("a").text
    assert (settled.kept, settled.accepted) == ([], [])
    assert "red" in other.read("inbox/a.yaml")


def test_a_token_of_a_lost_life_is_fenced_and_changes_no_file(world):
    world.create("a")
    taken = world.take("bob")
    lose_everything(world)
    world.reconcile()

    with pytest.raises(Fenced), world.board.command(Caller("bob"), makes=True):
        world.tasks.done(Caller("bob"), "a", token=taken.stored.token)

    assert "status: in_progress" in world.read("assigned/bob/a.yaml")


def test_a_machine_from_another_store_sees_all_tasks_and_adds_its_own(world, tmp_path):
    alone = World(tmp_path / "alone")
    for n in range(9):
        alone.create(f"own-{n}")
    world.create("old")
    for n in range(20):
        world.create(f"later-{n}")
    alone.engine = alone.store.engine = world.engine

    alone.reconcile()

    assert {"old", "later-0", "own-0", "own-8"} < set(world.tasks.versions())
    alone.consistent()


def test_an_untouched_file_is_never_an_edit_however_old(world, other):
    world.create("a", color="0")
    other.reconcile()
    for n in range(30):
        world.sh(f"sed -i 's/^color.*/color: {n + 1}/' inbox/a.yaml")
        world.reconcile()

    settled = other.reconcile()

    assert (settled.kept, settled.accepted) == ([], [])
    assert "color: 30" in world.row("a").text
    assert other.read("inbox/a.yaml") == world.row("a").text


def test_writes_that_a_store_lost_are_restored_from_the_files(world, other):
    world.create("a")
    world.create("b")
    kept = world.engine.view(lambda txn: (list(txn.scan(("", ""))), list(txn.events())))
    other.reconcile()
    other.take("bob")
    other.done("bob", "a")
    lost = MemoryEngine(world.clock)

    def restore(txn):
        for entry in kept[1]:
            txn.restore(entry)
        for key, value in kept[0]:
            txn.put(key, value)

    lost.transact(restore)
    for machine in (world, other):
        machine.engine = machine.store.engine = lost
    world.reconcile()
    other.reconcile()

    assert status(world, "a") == "done"
    assert "all of it" in world.row("a").text
    assert HUMAN.id != world.row("a").doer


class Overtaken(Disk):
    """Lets something happen right before hand edits are judged, a number of times."""

    def __init__(self, act, times=1):
        self.act, self.left = act, times

    def reach(self, step, name):
        if step == "accept" and self.left:
            self.left -= 1
            self.act()


@pytest.mark.parametrize("times", [1, 2])
def test_edits_of_one_task_on_two_machines_at_once_are_both_kept(world, other, times):
    world.create("a", color="green")
    other.reconcile()
    rounds = iter(range(9))

    def edit_here():
        world.sh(f"echo 'note_{next(rounds)}: from here' >> inbox/a.yaml")
        world.reconcile()

    other.sh("echo 'note_b: from there' >> inbox/a.yaml")
    other.disk = Overtaken(edit_here, times)
    for _ in range(2):
        other.reconcile()

    texts = [path.read_text() for path in (other.path / "work").rglob("a*.yaml")]
    assert all(any(f"note_{n}" in text for text in texts) for n in ("b", *range(times)))
    assert "note_b" in world.row("a").text
    world.reconcile()
    world.consistent()
    other.consistent()


def test_a_file_created_on_two_machines_at_once_is_one_task_and_no_text_is_lost(world, other):
    world.create("first")
    other.reconcile()
    other.write("inbox/a.yaml", "title: from there\n")

    def drop_here():
        world.write("inbox/a.yaml", "title: from here\n")
        world.reconcile()

    other.disk = Overtaken(drop_here)
    settled = other.reconcile()
    world.reconcile()

    texts = [path.read_text() for path in (other.path / "work").rglob("a*.yaml")]
    assert len(texts) == 2
    assert any("from here" in text for text in texts)
    assert any("from there" in text for text in texts)
    assert len(settled.kept) == 1
    world.consistent()


def test_the_archive_of_a_lost_store_is_restored_from_its_files(world, other):
    world.create("a")
    world.create("x")
    world.create("b", dependencies=["a"])
    world.create("c", dependencies=["x"])
    world.take("bob")
    world.done("bob", "a")
    with world.board.command(HUMAN, makes=True):
        world.tasks.cancel(HUMAN, "x")
    world.clock.advance(40 * 86_400)
    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)
    before = [world.tasks.past(id_) for id_ in ("a", "x")]
    lose_everything(world, other)

    world.reconcile()

    after = [world.tasks.past(id_) for id_ in ("a", "x")]
    assert [p._replace(version=0) for p in after] == [p._replace(version=0) for p in before]
    assert world.take("bob").stored.id == "b"
    assert "waits for x, which was cancelled" in world.tasks.show(None, "c").why[0]
    world.reconcile()
    newest = world.engine.wait(0, 0)
    world.reconcile()
    assert world.engine.wait(0, 0) == newest


def test_a_machine_that_missed_the_end_of_a_task_does_not_archive_its_old_text(world, other):
    world.create("a")
    other.reconcile()
    world.take("bob")
    world.done("bob", "a")
    world.clock.advance(40 * 86_400)
    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)

    other.reconcile()

    (path,) = other.files()
    assert path in world.files()
    assert "another machine" in other.read(path)
    (ended,) = [task for task in [read(other.read(path).encode(), "a.yaml").task] if task]
    assert (ended.status, ended.agent) == ("archive", "bob")


@pytest.mark.parametrize("spoiled", ["}{ no yaml\n", "- a list\n", "\tstatus: done\n"])
def test_a_damaged_file_of_a_task_archived_elsewhere_is_set_aside(world, other, spoiled):
    world.create("a")
    world.take("bob")
    world.done("bob", "a")
    other.reconcile()
    other.write("done/a.yaml", spoiled)
    world.clock.advance(40 * 86_400)
    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)

    settled = other.reconcile()

    assert [(aside.place, aside.id) for aside in settled.aside] == [("done", "a")]
    assert other.read("done/a.yaml") == spoiled


def archive(world):
    world.clock.advance(40 * 86_400)
    with world.board.command(HUMAN, makes=True):
        return world.tasks.archive(HUMAN)


def test_equal_numbers_of_two_lives_do_not_let_an_edit_overwrite_another(world, other):
    world.create("a", color="green")
    other.reconcile()
    version = world.row("a").version
    fresh = MemoryEngine(world.clock)
    for machine in (world, other):
        machine.engine = machine.store.engine = fresh
        machine.sh(f"echo 'note_{machine.path.name}: by hand' >> inbox/a.yaml")
    world.reconcile()
    assert world.row("a").version == version

    settled = other.reconcile()

    (kept,) = settled.kept
    assert "note_here" in other.read(kept)
    assert "note_there" in world.row("a").text


def test_a_task_archived_by_one_machine_is_not_reopened_by_one_that_was_away(world, other):
    world.create("a")
    other.reconcile()
    world.take("bob")
    world.done("bob", "a")
    archive(world)
    ended = world.tasks.past("a")
    lose_everything(world, other)
    other.reconcile()
    assert status(other, "a") == "new"

    world.reconcile()

    assert world.row("a") is None
    assert world.tasks.past("a")._replace(version=0) == ended._replace(version=0)
    assert world.files() == [f"{ended.place}/a.yaml"]
    other.reconcile()
    assert other.files() == world.files()


def test_an_archived_task_restarted_in_a_new_life_continues_and_its_old_end_is_saved(world, other):
    world.create("a")
    other.reconcile()
    world.take("bob")
    world.done("bob", "a")
    archive(world)
    lose_everything(world, other)
    other.reconcile()
    other.take("eve")

    settled = world.reconcile()

    (kept,) = settled.kept
    assert "all of it" in world.read(kept)
    assert world.files() == ["assigned/eve/a.yaml"]
    world.consistent()


def test_a_machine_without_an_index_restores_its_archive_to_the_new_store(world, other):
    world.create("a")
    world.create("b", dependencies=["a"])
    world.take("bob")
    world.done("bob", "a")
    archive(world)
    other.reconcile()
    lose_everything(world, other)
    (world.path / ".state/board-index.jsonl").unlink()
    other.reconcile()

    world.reconcile()

    assert world.tasks.past("a").status == "done"
    assert world.tasks.show(None, "b").ready


def test_a_task_archived_in_a_life_that_a_machine_missed_stays_archived(world, other):
    world.create("a")
    other.reconcile()
    lose_everything(world, other)
    world.reconcile()
    world.take("bob")
    world.done("bob", "a")
    archive(world)
    lose_everything(world, other)
    other.reconcile()
    assert status(other, "a") == "new"

    world.reconcile()
    other.reconcile()

    assert world.tasks.past("a").status == "done"
    assert world.files() == other.files() == [f"{world.tasks.past('a').place}/a.yaml"]
