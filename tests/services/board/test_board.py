"""Files and rows of the board, brought in line: each task in one place, nothing of a hand lost."""

import errno
import os

import pytest
from tests.services.boards import HUMAN, World, task

from dibs.core.claims.agents import Caller
from dibs.errors import BadInput, Misconfigured, Unavailable
from dibs.workdir.disk import Disk
from dibs.workdir.lock import BoardLock


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "repo")


def aside(world):
    return {f"{v.place}/{v.id}": v.code for v in world.settle().aside}


# -- making


def test_a_read_makes_no_board(world):
    with world.board.command(HUMAN) as settled:
        assert settled.accepted == []

    assert os.listdir(world.path) == []


def test_a_command_that_makes_a_task_inside_one_without_a_board_makes_the_board(world):
    with world.board.command(HUMAN, reads=True):
        world.create("t1")

    assert world.files() == ["inbox/t1.yaml"]


def test_the_first_write_makes_the_folders_with_schema_and_attributes(world):
    world.settle()

    found = sorted(os.listdir(world.path / "work"))
    folders = ["archive", "assigned", "collaboration", "done", "inbox", "logs", "schemas"]
    assert found == [".gitattributes", *folders]
    assert world.read(".gitattributes") == "collaboration/*.md merge=union\n"
    assert '"$schema"' in world.read("schemas/task.schema.json")


def test_a_board_that_is_a_link_is_refused(world, tmp_path):
    (tmp_path / "out").mkdir()
    (world.path / "work").symlink_to(tmp_path / "out")

    with pytest.raises(Misconfigured) as refused:
        world.settle()

    assert refused.value.code == "BOARD_FOLDER"
    assert os.listdir(tmp_path / "out") == []


# -- what commands do shows in files


def test_a_task_goes_through_the_folders(world):
    world.create("t1")
    assert world.files() == ["inbox/t1.yaml"]

    world.take("curator")
    assert world.files() == ["assigned/curator/t1.yaml"]
    assert "status: in_progress" in world.read("assigned/curator/t1.yaml")

    world.done("curator", "t1")
    assert world.files() == ["done/t1.yaml"]
    world.consistent()


def test_an_archived_task_lies_in_its_month_and_is_not_looked_at(world):
    world.create("t1")
    world.take("curator")
    world.done("curator", "t1")
    world.clock.advance(40 * 86_400)

    with world.board.command(HUMAN, makes=True):
        world.tasks.archive(HUMAN)

    (path,) = world.files()
    assert path.startswith("archive/")
    assert "status: archive" in world.read(path)
    assert world.settle().accepted == []


def test_a_command_that_is_refused_leaves_files_alone(world):
    world.create("t1")
    before = world.read("inbox/t1.yaml")

    with pytest.raises(BadInput), world.board.command(HUMAN, makes=True):
        world.tasks.retry(HUMAN, "t1")

    assert world.read("inbox/t1.yaml") == before
    world.consistent()


def test_settling_within_a_settling_is_part_of_it(world):
    with (
        world.board.command(HUMAN, makes=True) as outer,
        world.board.command(HUMAN, makes=True) as inner,
    ):
        assert inner is outer


def test_a_board_that_another_command_holds_is_busy(world):
    world.settle()
    world.board.lock.patience = 0.0
    with BoardLock(world.board.lock.path), pytest.raises(Unavailable) as refused:
        world.board.command(HUMAN, makes=True).__enter__()

    assert refused.value.code == "BOARD_BUSY"
    with world.board.command(HUMAN, makes=True):
        pass


def test_nothing_is_read_or_written_when_nothing_changed(world, monkeypatch):
    world.create("t1")
    world.later = 10.0
    world.settle()
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


def test_a_task_that_was_made_elsewhere_comes_here(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    other.create("t1")

    assert world.settle().pulled == 1
    world.consistent()


def test_a_task_that_moved_elsewhere_moves_here(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    other.take("curator")

    world.settle()

    assert world.files() == ["assigned/curator/t1.yaml"]
    world.consistent()


def test_a_task_that_was_archived_elsewhere_goes_to_the_archive_here(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    world.take("curator")
    world.done("curator", "t1")
    world.clock.advance(40 * 86_400)
    with other.board.command(HUMAN, makes=True):
        other.tasks.archive(HUMAN)

    world.settle()

    assert world.files() == other.files()
    assert world.read(world.files()[0]) == other.read(other.files()[0])


def test_a_ledger_that_was_cut_makes_all_versions_count(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    world.later = 10.0
    world.settle()  # the file is long written: only the ledger can tell
    other.take("curator")
    other.create("t2")
    newest = world.tasks.head()
    world.engine.transact(lambda txn: txn.trim(newest - 1))

    world.settle()

    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t2.yaml"]
    world.consistent()


def test_rows_that_were_lost_come_back_from_the_files(world, tmp_path):
    world.create("t1")
    fresh = World(tmp_path / "repo")

    settled = fresh.settle()

    assert [v.id for v in settled.accepted] == ["t1"]
    fresh.consistent()


def test_a_lost_index_costs_only_a_look(world):
    world.create("t1")
    world.take("curator")
    (world.path / ".state/board-index.jsonl").unlink()

    settled = world.settle()

    assert (settled.accepted, settled.restored, settled.aside) == ([], [], [])
    world.consistent()


# -- what is gone, stale or there twice


def test_a_deleted_file_is_written_back_and_told(world):
    world.create("t1")
    world.settle()

    world.sh("rm inbox/t1.yaml")

    assert world.settle().restored == ["inbox/t1.yaml"]
    world.consistent()


def test_a_board_that_was_removed_is_written_back(world):
    world.create("t1")
    world.create("t2")
    world.settle()

    world.sh("cd .. && rm -r work")

    assert sorted(world.settle().restored) == ["inbox/t1.yaml", "inbox/t2.yaml"]
    world.consistent()


def test_a_file_of_an_older_branch_is_brought_up_to_date(world):
    world.create("t1")
    old = world.read("inbox/t1.yaml")
    world.take("curator")

    world.sh("rm assigned/curator/t1.yaml")
    world.write("inbox/t1.yaml", old)

    settled = world.settle()
    assert (settled.aside, settled.accepted) == ([], [])
    assert world.files() == ["assigned/curator/t1.yaml"]
    world.consistent()


def test_a_second_file_with_an_earlier_text_is_removed(world):
    world.create("t1")
    old = world.read("inbox/t1.yaml")
    world.take("curator")
    world.write("inbox/t1.yaml", old)

    world.settle()

    world.consistent()


def test_a_second_file_with_another_text_is_kept_and_told(world):
    world.create("t1")
    world.take("curator")
    world.write("inbox/t1.yaml", task("t1"))

    assert aside(world) == {"inbox/t1": "TASK_DUPLICATE"}
    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t1.yaml"]
    assert world.read("inbox/t1.yaml") == task("t1")


def test_when_the_second_file_goes_all_is_well(world):
    world.create("t1")
    world.take("curator")
    world.write("inbox/t1.yaml", task("t1"))
    world.settle()

    world.sh("rm inbox/t1.yaml")

    assert aside(world) == {}
    world.consistent()


def test_an_unknown_task_in_two_folders_is_taken_from_the_first(world):
    world.settle()
    world.write("inbox/t1.yaml", task("t1"))
    world.write("assigned/curator/t1.yaml", task("t1").replace("new", "assigned"))

    settled = world.settle()

    assert [v.code for v in settled.aside] == ["TASK_DUPLICATE"]
    assert len(settled.accepted) == 1
    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t1.yaml"]


def test_of_an_unknown_task_in_two_folders_the_file_that_fits_its_folder_counts(world):
    world.settle()
    world.write("assigned/curator/t1.yaml", task("t1"))  # its status is new
    world.write("inbox/t1.yaml", task("t1"))

    assert aside(world) == {"assigned/curator/t1": "TASK_DUPLICATE"}
    assert world.tasks.show(None, "t1").stored.place == "inbox"
    assert world.files() == ["assigned/curator/t1.yaml", "inbox/t1.yaml"]


@pytest.mark.parametrize("status", ["assigned", "in_progress"])
def test_a_task_that_somebody_has_names_that_agent(world, status):
    world.settle()
    world.write("inbox/t1.yaml", f"id: t1\nstatus: {status}\ntitle: t1\n")

    assert aside(world) == {"inbox/t1": "TASK_MISMATCH"}


# -- what a hand wrote while the row moved on


def test_a_hand_and_a_command_that_meet_are_joined(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1", priority="normal")
    world.settle()
    other.take("curator")

    world.sh("echo 'colour: green' >> inbox/t1.yaml")
    settled = world.settle()

    assert settled.aside == []
    text = world.read("assigned/curator/t1.yaml")
    assert "colour: green" in text
    assert "status: in_progress" in text
    world.consistent()


def test_a_spoiled_text_makes_way_when_the_row_moved_on_and_is_kept(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    world.settle()
    other.take("curator")

    world.sh("echo '}{ : my notes' >> inbox/t1.yaml")
    settled = world.settle()

    (kept,) = settled.kept
    assert "my notes" in world.read(kept)
    world.consistent()


def test_a_file_that_a_hand_changes_during_a_command_is_not_overwritten(world):
    world.create("t1")

    with world.board.command(Caller("curator"), makes=True):
        world.tasks.take(Caller("curator"))
        world.sh("echo 'colour: green' >> inbox/t1.yaml")

    assert "colour: green" in world.read("inbox/t1.yaml")
    world.settle()
    assert "colour: green" in world.read("assigned/curator/t1.yaml")
    world.consistent()


class Rival(Disk):
    """A hand that is quicker: it acts while a command waits for the disk."""

    def __init__(self, act):
        self.act = act

    def reach(self, step, name):
        if step == "sync" and self.act:
            act, self.act = self.act, None
            act()


def test_a_hand_that_writes_while_a_command_writes_is_not_overwritten(world):
    world.create("t1")
    world.open(Rival(lambda: world.sh("echo 'colour: green' >> inbox/t1.yaml")))

    world.take("curator")

    assert "colour: green" in world.read("inbox/t1.yaml")
    world.settle()
    assert "colour: green" in world.read("assigned/curator/t1.yaml")
    world.consistent()


def test_a_file_that_appears_where_a_command_moves_to_is_not_overwritten(world):
    world.create("t1")
    theirs = "mkdir -p assigned/curator; echo 'title: theirs' > assigned/curator/t1.yaml"
    world.open(Rival(lambda: world.sh(theirs)))

    world.take("curator")

    assert world.read("assigned/curator/t1.yaml") == "title: theirs\n"
    assert world.read("inbox/t1.yaml") == world.row("t1").text


def test_of_two_hands_that_do_not_know_of_each_other_none_loses_its_words(world, tmp_path):
    other = world.elsewhere(tmp_path / "other")
    world.create("t1")
    other.settle()
    world.sh("echo 'first: hand' >> inbox/t1.yaml")
    other.sh("echo 'second: hand' >> inbox/t1.yaml")

    world.settle()
    (kept,) = other.settle().kept

    assert "second: hand" in other.row("t1").text
    assert "first: hand" in other.read(kept)
    other.consistent()


def test_a_file_that_stood_aside_and_is_gone_is_written_back(world):
    world.create("t1")
    world.settle()
    world.sh("mv inbox/t1.yaml done/")
    assert aside(world) == {"done/t1": "TASK_MISMATCH"}

    world.sh("rm done/t1.yaml")

    assert aside(world) == {}
    world.consistent()


# -- the page


def test_the_page_says_what_stands_aside_and_goes_when_nothing_does(world):
    world.settle()
    world.write("inbox/t1.yaml", task("t1").replace("docs/audit.md", "../../etc/passwd"))
    world.settle()

    page = world.read("collaboration/SET_ASIDE.md")
    assert "`inbox/t1.yaml:6`" in page
    assert "PATH_ESCAPE" in page
    world.write("inbox/t1.yaml", task("t1"))
    world.settle()
    assert not (world.path / "work/collaboration/SET_ASIDE.md").exists()
    world.consistent()


@pytest.mark.parametrize("harm", ["rm {}", "echo old > {}", "rm {} && ln -s /dev/null {}"])
def test_the_page_of_what_stands_aside_is_true_after_every_command(world, harm):
    page = "collaboration/SET_ASIDE.md"
    world.write("inbox/bad.yaml", "title: [x\n")
    world.settle()
    told = world.read(page)
    world.sh(harm.replace("{}", page))
    world.settle()
    if "ln" not in harm:  # a link is not ours to replace
        assert world.read(page) == told
    world.sh(f"rm -f {page}; rm inbox/bad.yaml")
    world.write(page, told)

    world.settle()

    assert not (world.path / "work" / page).exists()


def test_a_page_that_cannot_be_written_stops_no_command(world, tmp_path):
    world.settle()
    world.sh(f"rm -r collaboration && ln -s {tmp_path} collaboration")
    world.write("inbox/bad.yaml", "title: [x\n")

    assert [verdict.code for verdict in world.settle().aside] == ["YAML_SYNTAX"]

    world.sh("rm collaboration && mkdir collaboration")
    world.settle()
    assert "inbox/bad.yaml" in world.read("collaboration/SET_ASIDE.md")


def test_a_folder_that_is_closed_to_the_user_is_told_before_anything_is_decided(world, monkeypatch):
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


def test_a_page_that_somebody_wrote_instead_of_ours_is_kept(world):
    world.write("collaboration/SET_ASIDE.md", "my own notes\n")

    world.settle()

    (kept,) = (world.path / "work/collaboration/set-aside").iterdir()
    assert kept.read_text() == "my own notes\n"


def test_what_stands_aside_is_not_read_again_but_stays_told(world):
    world.settle()
    world.write("inbox/t1.yaml", "- a list\n")
    assert aside(world) == {"inbox/t1": "YAML_SHAPE"}
    page = world.read("collaboration/SET_ASIDE.md")

    assert aside(world) == {"inbox/t1": "YAML_SHAPE"}
    assert world.read("collaboration/SET_ASIDE.md") == page
