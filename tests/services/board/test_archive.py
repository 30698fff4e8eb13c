"""The archive and the rows: archived tasks stay archived, even if the store is lost."""

import pytest
from tests.services.boards import HUMAN, World, task

from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine

DAYS = 86_400.0


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "repo", board_archive_after=30 * DAYS)
    world.reconcile()
    return world


def finished(world, id_, **fields):
    world.create(id_, **fields)
    with world.board.command(Caller("bob"), makes=True):
        world.tasks.start(Caller("bob"), id_)
    world.done("bob", id_)


def archived(world, *ids):
    for id_ in ids:
        finished(world, id_)
    world.clock.advance(31 * DAYS)
    with world.board.command(HUMAN, makes=True):
        assert len(world.tasks.archive(HUMAN)) == len(ids)


def lose_store(world, engine=None, *, index=True):
    """Switch to another store, empty or restored; the folder ``work`` stays as it is."""
    if index:
        (world.path / ".state/board-index.jsonl").unlink()
    fresh = engine or MemoryEngine(world.clock)
    return World(world.path, fresh, board_archive_after=30 * DAYS)


def backed_up(world):
    """Return a copy of the current store."""
    copy, now = MemoryEngine(world.clock), world.engine._state
    for part in ("values", "keys", "ledger"):
        setattr(copy._state, part, getattr(now, part).copy())
    copy._state.newest, copy._state.latest = now.newest, now.latest
    return copy


def month(world):
    (path,) = (world.path / "work/archive").iterdir()
    return f"archive/{path.name}"


@pytest.mark.parametrize("index", [True, False])
def test_a_new_store_learns_done_tasks_from_the_archive(world, index):
    archived(world, "first")
    world.create("second", dependencies=["first"])
    text = world.read(f"{month(world)}/first.yaml")

    again = lose_store(world, index=index)
    again.reconcile()

    assert again.tasks.show(None, "first").past.status == "done"
    assert again.tasks.show(None, "second").ready
    assert again.read(f"{month(world)}/first.yaml") == text
    assert [path for path in again.files() if "first" in path] == [f"{month(world)}/first.yaml"]


def test_a_dependency_cancelled_before_the_store_was_lost_still_blocks(world):
    world.create("first")
    with world.board.command(HUMAN, makes=True):
        world.tasks.cancel(HUMAN, "first", reason="no longer wanted")
    world.clock.advance(31 * DAYS)
    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)
    world.create("second", dependencies=["first"])

    again = lose_store(world)
    again.reconcile()

    assert again.tasks.show(None, "first").past.status == "cancelled"
    assert not again.tasks.show(None, "second").ready


@pytest.mark.parametrize("not_restored", [True, False])
def test_an_older_store_does_not_hand_out_tasks_archived_since(world, not_restored):
    world.create("first")
    backup = backed_up(world)
    index = (world.path / ".state/board-index.jsonl").read_text()
    with world.board.command(Caller("bob"), makes=True):
        world.tasks.start(Caller("bob"), "first")
    world.done("bob", "first")
    world.clock.advance(31 * DAYS)
    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)

    again = lose_store(world, backup, index=not_restored)
    assert again.row("first").task.status == "new"
    if not not_restored:
        (world.path / ".state/board-index.jsonl").write_text(index)
    settled = again.reconcile()

    assert [verdict.id for verdict in settled.accepted] == ["first"]
    assert again.row("first") is None
    assert again.files() == [f"{month(world)}/first.yaml"]


def test_a_done_task_moved_to_the_archive_by_hand_is_archived(world):
    finished(world, "first")
    world.create("second", dependencies=["first"])
    world.sh("mkdir -p archive/2025-11 && mv done/first.yaml archive/2025-11/")

    settled = world.reconcile()

    assert (settled.restored, settled.aside) == ([], [])
    assert world.tasks.show(None, "first").past.place == "archive/2025-11"
    assert "status: archive" in world.read("archive/2025-11/first.yaml")
    assert world.tasks.show(None, "second").ready
    assert [path for path in world.files() if "first" in path] == ["archive/2025-11/first.yaml"]
    assert world.reconcile().accepted == []


def test_an_unfinished_task_cannot_be_archived_by_hand(world):
    world.write("inbox/first.yaml", task("first"))
    world.reconcile()
    world.sh("mkdir -p archive/2025-11 && mv inbox/first.yaml archive/2025-11/")

    settled = world.reconcile()

    assert [verdict.code for verdict in settled.aside] == ["TASK_MISMATCH"]
    assert world.files() == ["archive/2025-11/first.yaml"]
    assert not world.tasks.show(None, "first").ready
    world.sh("mv archive/2025-11/first.yaml inbox/")
    assert world.reconcile().aside == []
    assert world.tasks.show(None, "first").ready
    world.consistent()


def test_archiving_a_file_by_hand_keeps_text_written_elsewhere(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    finished(world, "first")
    other.reconcile()
    world.sh("echo 'note: from here' >> done/first.yaml")
    world.reconcile()
    other.sh("mkdir -p archive/2026-11; mv done/first.yaml archive/2026-11/")

    settled = other.reconcile()

    assert other.files() == ["archive/2026-11/first.yaml"]
    assert world.tasks.past("first").place == "archive/2026-11"
    (kept,) = settled.kept
    assert "note: from here" in other.read(kept)


def test_a_task_reopened_elsewhere_cannot_be_archived_by_hand(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    finished(world, "first")
    other.reconcile()
    with world.board.command(HUMAN, makes=True):
        world.tasks.reopen(HUMAN, "first", reason="not so")
    other.sh("mkdir -p archive/2026-11; mv done/first.yaml archive/2026-11/")

    settled = other.reconcile()

    (kept,) = settled.kept
    assert "all of it" in other.read(kept)
    other.consistent()
    assert [path for path in other.files() if path.startswith("archive")] == []


def test_a_duplicate_file_does_not_replace_a_different_archived_text(world):
    archived(world, "first")
    place = month(world)
    text = world.read(f"{place}/first.yaml")
    world.write(f"{place}/first.yaml", text + "note: by hand\n")
    world.write("done/first.yaml", text)

    for _ in range(2):
        settled = world.reconcile()

    assert [(aside.code, aside.place) for aside in settled.aside] == [("TASK_EXISTS", "done")]
    assert "note" in world.read(f"{place}/first.yaml")
