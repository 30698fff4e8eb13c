"""A command that reads accepts hand edits into the rows and changes no file; the next write does the rest."""

import os

import pytest
from tests.services.boards import HUMAN, World

from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path / "repo")
    world.create("known", agent="curator")
    return world


def tree(world):
    """Return everything under the board's folder: names, kinds, contents, and inodes."""
    found = {}
    for folder, folders, names in os.walk(world.path / "work"):
        for name in folders + names:
            path = os.path.join(folder, name)
            with open(path, "rb") if os.path.isfile(path) else open(os.devnull, "rb") as file:
                found[path] = (os.lstat(path).st_ino, os.lstat(path).st_mtime_ns, file.read())
    return found


def read(world, **options):
    """Read the board as a new process does, and check that no file changes."""
    before = tree(world)
    world.open()
    with world.board.command(HUMAN, reads=True, **options) as report:
        pass
    assert tree(world) == before
    return report


def entries(world):
    return [entry.kind for entry in world.store.look(lambda rows: list(rows.events(0)))]


def test_a_read_accepts_a_new_file_and_the_next_write_completes_it(world):
    world.write("inbox/fresh.yaml", "title: Fresh  # mine\n")

    assert [verdict.id for verdict in read(world).accepted] == ["fresh"]
    assert world.row("fresh").task.title == "Fresh"

    before = entries(world)
    for options in ({}, {"thorough": True}):
        assert read(world, **options).accepted == []
    assert entries(world) == before  # it is not an edit of what was accepted
    world.reconcile()
    assert world.read("inbox/fresh.yaml").startswith("title: Fresh  # mine\ncreated_at: ")
    world.consistent()


def test_an_edit_between_two_reads_is_accepted_and_kept(world):
    world.write("inbox/fresh.yaml", "title: Fresh\nnote: one\n")
    read(world)
    world.write("inbox/fresh.yaml", "title: Fresh again\nnote: two\n")

    assert [verdict.id for verdict in read(world).accepted] == ["fresh"]
    assert world.row("fresh").task.title == "Fresh again"

    report = world.reconcile()
    assert report.kept == []
    assert "note: two" in world.read("inbox/fresh.yaml")
    world.consistent()


def test_a_misplaced_file_stays_where_it_is_and_its_task_is_unavailable(world):
    world.sh("echo 'title: Misplaced' > done/fresh.yaml; echo 'status: error' >> done/fresh.yaml")
    world.sh("sed -i 's/^status: .*/status: error/' inbox/known.yaml; mv inbox/known.yaml done/")

    for _ in range(2):
        assert [verdict.id for verdict in read(world).aside] == ["fresh", "known"]
        assert world.row("known").aside
    world.reconcile()
    assert sorted(os.listdir(world.path / "work/done")) == ["fresh.yaml", "known.yaml"]


def test_an_invalid_file_is_set_aside_by_a_read_and_listed_by_the_next_write(world):
    world.write("inbox/bad.yaml", "title: [\n")

    for _ in range(2):
        assert [v.id for v in read(world).aside] == ["bad"]

    world.reconcile()
    assert "bad.yaml" in world.read("collaboration/SET_ASIDE.md")


def test_a_missing_file_is_reported_by_each_read_and_restored_by_the_next_write(world):
    world.sh("rm inbox/known.yaml")

    for _ in range(2):
        assert read(world).missing == ["inbox/known.yaml"]

    assert world.reconcile().restored == ["inbox/known.yaml"]
    world.consistent()


def test_a_read_creates_no_folders(tmp_path):
    empty, hand_made = World(tmp_path / "empty"), World(tmp_path / "made")
    (hand_made.path / "work" / "inbox").mkdir(parents=True)
    hand_made.write("inbox/fresh.yaml", "title: Fresh\n")

    read(empty)
    read(hand_made)

    assert not (empty.path / "work").exists()
    assert os.listdir(hand_made.path / "work") == ["inbox"]
    assert hand_made.row("fresh") is not None
    hand_made.reconcile()
    hand_made.consistent()


def test_a_read_while_another_machine_changes_the_task_loses_neither_text(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.write("inbox/fresh.yaml", "title: Fresh\nagent: bob\nnote: one\n")
    read(world)
    other.reconcile()
    with other.board.command(Caller("bob")):
        other.tasks.start(Caller("bob"), "fresh")
    world.write("inbox/fresh.yaml", "title: Fresh\nagent: bob\nnote: two\n")

    read(world)

    assert world.row("fresh").task.status == "in_progress"
    world.reconcile()
    other.reconcile()
    text = world.read("assigned/bob/fresh.yaml")
    assert "note: two" in text
    assert other.read("assigned/bob/fresh.yaml") == text
    world.consistent()
    other.consistent()


def test_an_edit_that_would_overwrite_unseen_text_waits_for_a_write_that_saves_it(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    other.reconcile()
    other.sh("echo 'note: theirs' >> inbox/known.yaml")
    other.reconcile()
    world.sh("echo 'note: ours' >> inbox/known.yaml")

    for _ in range(2):
        read(world)
        assert "note: theirs" in world.row("known").text

    [kept] = world.reconcile().kept
    assert "note: theirs" in world.read(kept)
    assert "note: ours" in world.row("known").text
    world.consistent()


def test_an_edit_that_conflicts_with_the_row_stays_until_a_write_saves_it(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    other.reconcile()
    with other.board.command(Caller("curator")):
        other.tasks.start(Caller("curator"), "known")
        other.tasks.done(Caller("curator"), "known", summary="theirs")
    text = world.read("inbox/known.yaml")
    world.write("inbox/known.yaml", text + "result:\n  summary: ours\n")

    for _ in range(2):
        read(world)

    [kept] = world.reconcile().kept
    assert "summary: ours" in world.read(kept)
    assert world.row("known").task.summary == "theirs"
    world.consistent()


@pytest.mark.parametrize("reads", [1, 3])
def test_reads_after_the_store_was_lost_show_the_tasks_and_change_no_file(tmp_path, reads):
    world = World(tmp_path / "repo")
    for number in range(3):
        world.create(f"t{number}", agent="curator")
    with world.board.command(Caller("curator")):
        world.tasks.start(Caller("curator"), "t1")
        world.tasks.done(Caller("curator"), "t1", summary="all")
    lost = World(world.path, MemoryEngine(world.clock))

    for _ in range(reads):
        read(lost)
        assert {id_: lost.row(id_).task.status for id_ in ("t0", "t1", "t2")} == {
            "t0": "new",
            "t1": "done",
            "t2": "new",
        }

    assert lost.reconcile().kept == []
    lost.consistent()


def test_a_read_in_a_new_clone_accepts_its_files_once(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    other.write("inbox/known.yaml", world.read("inbox/known.yaml"))
    other.write("inbox/fresh.yaml", "title: Fresh\n")

    assert [v.id for v in read(other).accepted] == ["fresh"]
    assert read(other).accepted == []

    other.reconcile()
    world.reconcile()
    assert other.read("inbox/fresh.yaml") == world.read("inbox/fresh.yaml")
    other.consistent()
    world.consistent()


def test_two_machines_that_read_the_same_new_file_create_one_task(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    other.reconcile()
    for each in (world, other):
        each.write("inbox/fresh.yaml", "title: Fresh\n")

    assert [v.id for v in read(world).accepted] == ["fresh"]
    assert read(other).accepted == []

    assert (world.reconcile().kept, other.reconcile().kept) == ([], [])
    assert world.read("inbox/fresh.yaml") == other.read("inbox/fresh.yaml")


def test_a_read_works_while_the_board_cannot_be_written(world, monkeypatch):
    world.write("inbox/fresh.yaml", "title: Fresh\n")
    world.disk.reach = _fail

    assert [v.id for v in read(world).accepted] == ["fresh"]


def _fail(step, name):
    if step not in {"accept", "save"}:
        raise PermissionError(13, "Permission denied", name)


def test_a_read_after_the_store_was_lost_keeps_the_texts_of_both_lives(tmp_path):
    world = World(tmp_path / "repo")
    for number in range(9):
        world.create(f"t{number}", agent="curator")
    lost = World(world.path, MemoryEngine(world.clock))
    other = lost.elsewhere(tmp_path / "other")
    other.create("t8", agent="curator", note="theirs")
    read(lost)

    report = lost.reconcile()

    texts = [lost.row("t8").text, *map(lost.read, report.kept)]
    assert any('note: "theirs"' in text for text in texts)
    lost.consistent()
