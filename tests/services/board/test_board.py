"""Files and rows are reconciled: each task has one file, and no hand edit is lost."""

import errno
import os

import pytest
from tests.services.boards import HUMAN, World, task

from dibs.core.claims.agents import Caller
from dibs.errors import BadInput, Unavailable
from dibs.workdir.disk import Disk
from dibs.workdir.lock import BoardLock


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "repo")


def aside(world):
    return {f"{v.place}/{v.id}": v.code for v in world.reconcile().aside}


# -- creating the board


def test_reading_creates_no_board(world):
    with world.board.command(HUMAN) as settled:
        assert settled.accepted == []

    assert os.listdir(world.path) == []


def test_the_first_write_creates_folders_schema_and_attributes(world):
    world.reconcile()

    found = sorted(os.listdir(world.path / "work"))
    folders = ["archive", "assigned", "collaboration", "done", "inbox", "logs", "schemas"]
    assert found == [".gitattributes", *folders]
    assert world.read(".gitattributes") == "collaboration/*.md merge=union\n"
    assert '"$schema"' in world.read("schemas/task.schema.json")


# -- commands and files


def test_a_task_moves_through_the_folders(world):
    world.create("t1")
    assert world.files() == ["inbox/t1.yaml"]

    world.take("curator")
    assert world.files() == ["assigned/curator/t1.yaml"]
    assert "status: in_progress" in world.read("assigned/curator/t1.yaml")

    world.done("curator", "t1")
    assert world.files() == ["done/t1.yaml"]
    world.consistent()


def test_an_archived_task_is_in_its_months_folder_and_is_not_scanned(world):
    world.create("t1")
    world.take("curator")
    world.done("curator", "t1")
    world.clock.advance(40 * 86_400)

    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)

    (path,) = world.files()
    assert path.startswith("archive/")
    assert "status: archive" in world.read(path)
    assert world.reconcile().accepted == []


def test_a_refused_command_changes_no_file(world):
    world.create("t1")
    before = world.read("inbox/t1.yaml")

    with pytest.raises(BadInput), world.board.command(HUMAN, makes=True):
        world.tasks.retry(HUMAN, "t1")

    assert world.read("inbox/t1.yaml") == before
    world.consistent()


def test_a_command_inside_a_command_is_part_of_it(world):
    with (
        world.board.command(HUMAN, makes=True) as outer,
        world.board.command(HUMAN, makes=True) as inner,
    ):
        assert inner is outer


def test_a_board_locked_by_another_command_is_busy(world):
    world.reconcile()
    world.board.lock.patience = 0.0
    with BoardLock(world.board.lock.path), pytest.raises(Unavailable) as refused:
        world.board.command(HUMAN, makes=True).__enter__()

    assert refused.value.code == "BOARD_BUSY"
    with world.board.command(HUMAN, makes=True):
        pass


def test_nothing_is_read_or_written_when_nothing_changed(world, monkeypatch):
    world.create("t1")
    world.later = 10.0
    world.reconcile()
    index = (world.path / ".state/board-index.jsonl").stat()
    monkeypatch.setattr("dibs.workdir.files.read", None)

    class Still(Disk):
        def reach(self, step, name):
            raise AssertionError(step)

    world.open(Still())
    with world.board.command(HUMAN, makes=True) as settled:
        assert settled.pulled == 0

    assert (world.path / ".state/board-index.jsonl").stat() == index


# -- other clones


def test_a_task_created_elsewhere_appears_here(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    other.create("t1")

    assert world.reconcile().pulled == 1
    world.consistent()


def test_a_task_archived_elsewhere_is_archived_here(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    world.take("curator")
    world.done("curator", "t1")
    world.clock.advance(40 * 86_400)
    with other.board.command(HUMAN, makes=True):
        other.tasks.archive(HUMAN)

    world.reconcile()

    assert world.files() == other.files()
    assert world.read(world.files()[0]) == other.read(other.files()[0])


def test_with_a_trimmed_ledger_all_versions_are_compared(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    world.later = 10.0
    world.reconcile()  # the file is old: only the ledger shows the change
    other.take("curator")
    other.create("t2")
    newest = world.tasks.head()
    world.engine.transact(lambda txn: txn.trim(newest - 1))

    world.reconcile()

    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t2.yaml"]
    world.consistent()


def test_lost_rows_are_restored_from_the_files(world, tmp_path):
    world.create("t1")
    fresh = World(tmp_path / "repo")

    settled = fresh.reconcile()

    assert [v.id for v in settled.accepted] == ["t1"]
    fresh.consistent()


def test_a_lost_index_costs_only_a_comparison(world):
    world.create("t1")
    world.take("curator")
    (world.path / ".state/board-index.jsonl").unlink()

    settled = world.reconcile()

    assert (settled.accepted, settled.restored, settled.aside) == ([], [], [])
    world.consistent()


# -- missing, stale, and duplicate files


def test_a_deleted_file_is_restored_and_reported(world):
    world.create("t1")
    world.reconcile()

    world.sh("rm inbox/t1.yaml")

    assert world.reconcile().restored == ["inbox/t1.yaml"]
    world.consistent()


def test_a_file_from_an_older_branch_is_updated(world):
    world.create("t1")
    old = world.read("inbox/t1.yaml")
    world.take("curator")

    world.sh("rm assigned/curator/t1.yaml")
    world.write("inbox/t1.yaml", old)

    settled = world.reconcile()
    assert (settled.aside, settled.accepted) == ([], [])
    assert world.files() == ["assigned/curator/t1.yaml"]
    world.consistent()


def test_a_duplicate_with_an_earlier_text_is_removed(world):
    world.create("t1")
    old = world.read("inbox/t1.yaml")
    world.take("curator")
    world.write("inbox/t1.yaml", old)

    world.reconcile()

    world.consistent()


def test_a_duplicate_with_another_text_is_kept_and_reported(world):
    world.create("t1")
    world.take("curator")
    world.write("inbox/t1.yaml", task("t1"))

    assert aside(world) == {"inbox/t1": "TASK_DUPLICATE"}
    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t1.yaml"]
    assert world.read("inbox/t1.yaml") == task("t1")


def test_an_unknown_task_in_two_folders_is_read_from_the_first(world):
    world.reconcile()
    world.write("inbox/t1.yaml", task("t1"))
    world.write("assigned/curator/t1.yaml", task("t1").replace("new", "assigned"))

    settled = world.reconcile()

    assert [v.code for v in settled.aside] == ["TASK_DUPLICATE"]
    assert len(settled.accepted) == 1
    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t1.yaml"]


def test_an_unknown_task_in_two_folders_is_read_from_the_folder_that_fits(world):
    world.reconcile()
    world.write("assigned/curator/t1.yaml", task("t1"))  # its status is new
    world.write("inbox/t1.yaml", task("t1"))

    assert aside(world) == {"assigned/curator/t1": "TASK_DUPLICATE"}
    assert world.tasks.show(None, "t1").stored.place == "inbox"
    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t1.yaml"]


# -- hand edits of a stale file


def test_a_hand_edit_and_a_command_are_merged(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1", priority="normal")
    world.reconcile()
    other.take("curator")

    world.sh("echo 'color: green' >> inbox/t1.yaml")
    settled = world.reconcile()

    assert settled.aside == []
    text = world.read("assigned/curator/t1.yaml")
    assert "color: green" in text
    assert "status: in_progress" in text
    world.consistent()


def test_a_damaged_text_is_saved_when_the_row_has_changed(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    world.reconcile()
    other.take("curator")

    world.sh("echo '}{ : my notes' >> inbox/t1.yaml")
    settled = world.reconcile()

    (kept,) = settled.kept
    assert "my notes" in world.read(kept)
    world.consistent()


def test_a_file_edited_during_a_command_is_not_overwritten(world):
    world.create("t1")

    with world.board.command(Caller("curator"), makes=True):
        world.tasks.take(Caller("curator"))
        world.sh("echo 'color: green' >> inbox/t1.yaml")

    assert "color: green" in world.read("inbox/t1.yaml")
    world.reconcile()
    assert "color: green" in world.read("assigned/curator/t1.yaml")
    world.consistent()


class Rival(Disk):
    """A person who is faster: acts while a command waits for the disk."""

    def __init__(self, act):
        self.act = act

    def reach(self, step, name):
        if step == "sync" and self.act:
            act, self.act = self.act, None
            act()


def test_an_edit_during_a_write_is_not_overwritten(world):
    world.create("t1")
    world.open(Rival(lambda: world.sh("echo 'color: green' >> inbox/t1.yaml")))

    world.take("curator")

    assert "color: green" in world.read("inbox/t1.yaml")
    world.reconcile()
    assert "color: green" in world.read("assigned/curator/t1.yaml")
    world.consistent()


def test_two_independent_hand_edits_both_survive(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    other.reconcile()
    world.sh("echo 'first: hand' >> inbox/t1.yaml")
    other.sh("echo 'second: hand' >> inbox/t1.yaml")

    world.reconcile()
    (kept,) = other.reconcile().kept

    assert "second: hand" in other.row("t1").text
    assert "first: hand" in other.read(kept)
    other.consistent()


def test_a_file_that_was_set_aside_and_deleted_is_restored(world):
    world.create("t1")
    world.reconcile()
    world.sh("mv inbox/t1.yaml done/")
    assert aside(world) == {"done/t1": "TASK_MISMATCH"}

    world.sh("rm done/t1.yaml")

    assert aside(world) == {}
    world.consistent()


# -- the page of files that are set aside


@pytest.mark.parametrize("harm", ["rm {}", "echo old > {}", "rm {} && ln -s /dev/null {}"])
def test_the_page_is_correct_after_every_command(world, harm):
    page = "collaboration/SET_ASIDE.md"
    world.write("inbox/bad.yaml", "title: [x\n")
    world.reconcile()
    told = world.read(page)
    world.sh(harm.replace("{}", page))
    world.reconcile()
    if "ln" not in harm:  # a link is not replaced
        assert world.read(page) == told
    world.sh(f"rm -f {page}; rm inbox/bad.yaml")
    world.write(page, told)

    world.reconcile()

    assert not (world.path / "work" / page).exists()


def test_an_unwritable_page_stops_no_command(world, tmp_path):
    world.reconcile()
    world.sh(f"rm -r collaboration && ln -s {tmp_path} collaboration")
    world.write("inbox/bad.yaml", "title: [x\n")

    assert [verdict.code for verdict in world.reconcile().aside] == ["YAML_SYNTAX"]

    world.sh("rm collaboration && mkdir collaboration")
    world.reconcile()
    assert "inbox/bad.yaml" in world.read("collaboration/SET_ASIDE.md")


def test_an_inaccessible_folder_is_reported_before_anything_changes(world, monkeypatch):
    world.create("t1")

    def closed(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", "inbox")

    monkeypatch.setattr("dibs.services.board.board.scan", closed)
    with pytest.raises(Unavailable, match="cannot access 'inbox' of the board") as refused:
        world.take("curator")

    assert refused.value.code == "STORAGE_READONLY"
    assert world.row("t1").task.status == "new"
    monkeypatch.undo()
    assert world.take("curator").stored.id == "t1"


def test_a_page_that_someone_else_wrote_is_saved(world):
    world.write("collaboration/SET_ASIDE.md", "my own notes\n")

    world.reconcile()

    (kept,) = (world.path / "work/collaboration/set-aside").iterdir()
    assert kept.read_text() == "my own notes\n"


def test_a_file_set_aside_is_not_read_again_but_stays_reported(world):
    world.reconcile()
    world.write("inbox/t1.yaml", "- a list\n")
    assert aside(world) == {"inbox/t1": "YAML_SHAPE"}
    page = world.read("collaboration/SET_ASIDE.md")

    assert aside(world) == {"inbox/t1": "YAML_SHAPE"}
    assert world.read("collaboration/SET_ASIDE.md") == page
