"""The archive and the rows: what was archived stays so, whatever becomes of the store."""

import pytest
from tests.services.boards import HUMAN, World, task

from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine

DAYS = 86_400.0


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "repo", board_archive_after=30 * DAYS)
    world.settle()
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
    """Go on with another store, empty or restored; the folder ``work`` stays as it is."""
    if index:
        (world.path / ".state/board-index.jsonl").unlink()
    fresh = engine or MemoryEngine(world.clock)
    return World(world.path, fresh, board_archive_after=30 * DAYS)


def backed_up(world):
    """Return a store as this one is now."""
    copy, now = MemoryEngine(world.clock), world.engine._state
    for part in ("values", "keys", "ledger"):
        setattr(copy._state, part, getattr(now, part).copy())
    copy._state.newest, copy._state.latest = now.newest, now.latest
    return copy


def month(world):
    (path,) = (world.path / "work/archive").iterdir()
    return f"archive/{path.name}"


@pytest.mark.parametrize("index", [True, False])
def test_a_new_store_learns_from_the_archive_what_is_done(world, index):
    archived(world, "first")
    world.create("second", dependencies=["first"])
    text = world.read(f"{month(world)}/first.yaml")

    again = lose_store(world, index=index)
    again.settle()

    assert again.tasks.show(None, "first").past.status == "done"
    assert again.tasks.show(None, "second").ready
    assert again.read(f"{month(world)}/first.yaml") == text
    assert [path for path in again.files() if "first" in path] == [f"{month(world)}/first.yaml"]


def test_what_was_cancelled_before_the_store_was_lost_lets_nobody_begin(world):
    world.create("first")
    with world.board.command(HUMAN, makes=True):
        world.tasks.cancel(HUMAN, "first", reason="no longer wanted")
    world.clock.advance(31 * DAYS)
    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)
    world.create("second", dependencies=["first"])

    again = lose_store(world)
    again.settle()

    assert again.tasks.show(None, "first").past.status == "cancelled"
    assert not again.tasks.show(None, "second").ready


@pytest.mark.parametrize("not_restored", [True, False])
def test_an_older_store_does_not_hand_out_what_was_archived_since(world, not_restored):
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
    settled = again.settle()

    assert [verdict.id for verdict in settled.accepted] == ["first"]
    assert again.row("first") is None
    assert again.files() == [f"{month(world)}/first.yaml"]


def test_a_done_task_that_a_hand_moves_to_the_archive_is_archived(world):
    finished(world, "first")
    world.create("second", dependencies=["first"])
    world.sh("mkdir -p archive/2025-11 && mv done/first.yaml archive/2025-11/")

    settled = world.settle()

    assert (settled.restored, settled.aside) == ([], [])
    assert world.tasks.show(None, "first").past.place == "archive/2025-11"
    assert "status: archive" in world.read("archive/2025-11/first.yaml")
    assert world.tasks.show(None, "second").ready
    assert [path for path in world.files() if "first" in path] == ["archive/2025-11/first.yaml"]
    assert world.settle().accepted == []


def test_a_task_that_is_not_finished_is_not_archived_by_hand(world):
    world.write("inbox/first.yaml", task("first"))
    world.settle()
    world.sh("mkdir -p archive/2025-11 && mv inbox/first.yaml archive/2025-11/")

    settled = world.settle()

    assert [verdict.code for verdict in settled.aside] == ["TASK_MISMATCH"]
    assert world.files() == ["archive/2025-11/first.yaml"]
    assert not world.tasks.show(None, "first").ready
    world.sh("mv archive/2025-11/first.yaml inbox/")
    assert world.settle().aside == []
    assert world.tasks.show(None, "first").ready
    world.consistent()


def test_a_file_that_a_hand_archives_keeps_what_was_written_elsewhere_meanwhile(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    finished(world, "first")
    other.settle()
    world.sh("echo 'note: from here' >> done/first.yaml")
    world.settle()
    other.sh("mkdir -p archive/2026-11; mv done/first.yaml archive/2026-11/")

    settled = other.settle()

    assert other.files() == ["archive/2026-11/first.yaml"]
    assert world.tasks.past("first").place == "archive/2026-11"
    (kept,) = settled.kept
    assert "note: from here" in other.read(kept)


def test_a_task_that_was_reopened_elsewhere_is_not_archived_by_hand(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    finished(world, "first")
    other.settle()
    with world.board.command(HUMAN, makes=True):
        world.tasks.reopen(HUMAN, "first", reason="not so")
    other.sh("mkdir -p archive/2026-11; mv done/first.yaml archive/2026-11/")

    settled = other.settle()

    (kept,) = settled.kept
    assert "all of it" in other.read(kept)
    other.consistent()
    assert [path for path in other.files() if path.startswith("archive")] == []


def test_a_second_file_of_an_archived_task_does_not_replace_another_text_in_the_archive(world):
    archived(world, "first")
    place = month(world)
    text = world.read(f"{place}/first.yaml")
    world.write(f"{place}/first.yaml", text + "note: by hand\n")
    world.write("done/first.yaml", text)

    for _ in range(2):
        settled = world.settle()

    assert [(aside.code, aside.place) for aside in settled.aside] == [("TASK_EXISTS", "done")]
    assert "note" in world.read(f"{place}/first.yaml")
