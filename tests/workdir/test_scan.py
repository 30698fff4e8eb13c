"""Changes on a board are found by names and stamps, without reading files."""

import os
import time

import pytest

from dibs.workdir import scan as scanning
from dibs.workdir.disk import Disk, Folders
from dibs.workdir.index import FileRecord, Index
from dibs.workdir.scan import scan


@pytest.fixture
def board(tmp_path):
    return Board(tmp_path)


class Board:
    """A board's folders with files, last changed long ago unless a test says otherwise."""

    def __init__(self, path):
        self.path = path / "work"
        for place in ("inbox", "assigned/curator", "done"):
            (self.path / place).mkdir(parents=True)
        self.folders = Folders(str(path), "work", Disk())
        self.index = Index()
        self.now = time.time() + 1000

    def add(self, path, text="id: x\n"):
        (self.path / path).write_text(text)

    def look(self, **options):
        return scan(self.folders, self.index, self.now, **options)

    def learn(self):
        for seen in self.look().fresh:
            self.index.folder(seen.place).put(seen.name, FileRecord(seen.mark, 1, "digest"))


def names(sight):
    return sorted(f"{seen.place}/{seen.name}" for seen in sight.fresh)


def test_a_new_file_is_seen_once(board):
    board.add("inbox/a.yaml")
    board.add("assigned/curator/b.yml")

    assert names(board.look()) == ["assigned/curator/b.yml", "inbox/a.yaml"]
    board.learn()
    assert names(board.look()) == []


def test_an_edited_file_is_seen(board):
    board.add("inbox/a.yaml")
    board.learn()

    with (board.path / "inbox/a.yaml").open("a") as file:
        file.write("more: 1\n")

    assert names(board.look()) == ["inbox/a.yaml"]


def test_a_removed_file_is_seen(board):
    board.add("done/a.yaml")
    board.learn()
    board.look()

    (board.path / "done/a.yaml").unlink()

    assert board.look().gone == [("done", "a.yaml")]


def test_a_removed_agents_folder_is_seen(board):
    board.add("assigned/curator/a.yaml")
    board.learn()
    (board.path / "assigned/curator/a.yaml").unlink()
    (board.path / "assigned/curator").rmdir()

    assert board.look().gone == [("assigned/curator", "a.yaml")]


def test_a_folder_that_changed_just_now_is_listed_again(board):
    board.now = os.stat(board.path / "inbox").st_mtime_ns / 1e9
    board.look()

    assert board.index.folder("inbox").mtime == 0


def test_in_a_large_folder_an_edit_in_place_is_seen_within_a_few_scans(board, monkeypatch):
    monkeypatch.setattr(scanning, "WHOLE", 4)
    monkeypatch.setattr("dibs.workdir.index.SHARE", 2)
    for n in range(11):
        board.add(f"done/t{n}.yaml")
    board.learn()
    board.look()

    with (board.path / "done/t7.yaml").open("a") as file:
        file.write("more: 1\n")
    looks = [names(board.look()) for _ in range(6)]

    assert ["done/t7.yaml"] in looks
    assert names(board.look(thorough=True)) == ["done/t7.yaml"]


def test_many_done_tasks_do_not_delay_noticing_changes_in_open_ones(board, monkeypatch):
    monkeypatch.setattr(scanning, "WHOLE", 4)
    monkeypatch.setattr("dibs.workdir.index.SHARE", 2)
    for n in range(21):
        board.add(f"done/t{n}.yaml")
    for path in ("inbox/a.yaml", "inbox/b.yaml", "assigned/curator/c.yaml"):
        board.add(path)
    board.learn()
    board.look()

    for number in range(5):
        board.add("assigned/curator/c.yaml", f"more: {number}\n")
        assert "assigned/curator/c.yaml" in names(board.look())


def test_many_open_tasks_are_checked_in_turn(board, monkeypatch):
    monkeypatch.setattr(scanning, "WHOLE", 4)
    monkeypatch.setattr("dibs.workdir.index.SHARE", 2)
    for n in range(12):
        (board.path / f"assigned/agent-{n}").mkdir()
        board.add(f"assigned/agent-{n}/t{n}.yaml")
    board.learn()
    board.look()

    for n in range(12):
        board.add(f"assigned/agent-{n}/t{n}.yaml", "more: 1\n")
    looks = [names(board.look()) for _ in range(3)]

    assert [len(look) for look in looks] == [4, 4, 4]
    assert len({name for look in looks for name in look}) == 12


def test_in_a_large_folder_a_replaced_file_is_seen_at_once(board, monkeypatch):
    monkeypatch.setattr(scanning, "WHOLE", 2)
    monkeypatch.setattr("dibs.workdir.index.SHARE", 2)
    for n in range(11):
        board.add(f"done/t{n}.yaml")
    board.learn()
    board.look()

    for n in range(11):
        board.add(f"done/new{n}", "changed: 1\n")
        os.replace(board.path / f"done/new{n}", board.path / f"done/t{n}.yaml")

    assert len(names(board.look())) == 11


@pytest.mark.parametrize(
    "name",
    ["-rf.yaml", "a;rm.yaml", "..yaml", "con.yaml", "x" * 129 + ".yaml", "a\nb.yaml", ".hid.yaml", ".yaml"],
)  # fmt: skip
def test_an_invalid_task_name_is_reported(board, name):
    board.add(f"inbox/{name}")

    (odd,) = board.look().odd
    assert (odd.name, odd.code) == (name, "TASK_NAME")


def test_anything_but_a_regular_file_is_reported(board):
    inbox = board.path / "inbox"
    (inbox / "link.yaml").symlink_to("/etc/passwd")
    os.mkfifo(inbox / "fifo.yaml")
    (inbox / "folder.yaml").mkdir()
    board.add("inbox/secret.yaml")
    (inbox / "secret.yaml").chmod(0)
    board.add("done/one.yaml")
    os.link(board.path / "done/one.yaml", inbox / "two.yaml")
    board.add("inbox/large.yaml", "x" * (256 * 1024 + 1))

    sight = board.look()

    codes = {f"{odd.place}/{odd.name}": odd.code for odd in sight.odd}
    kinds = ("link", "fifo", "folder", "secret", "two")
    expected = {f"inbox/{name}.yaml": "TASK_KIND" for name in kinds}
    assert codes == {**expected, "done/one.yaml": "TASK_KIND", "inbox/large.yaml": "LIMIT"}
    assert sight.fresh == []


def test_other_files_and_editor_locks_are_ignored(board):
    for name in ("README.md", ".gitkeep", "a.yaml~", ".a.yaml.swp", "#a.yaml#"):
        board.add(f"inbox/{name}")
    (board.path / "inbox/.#a.yaml").symlink_to("someone@host:1")

    sight = board.look()

    assert (sight.fresh, sight.odd, sight.temps) == ([], [], [])


def test_temporary_files_are_not_tasks_but_are_reported(board):
    board.add("inbox/.dibs-0123.tmp")
    board.add("inbox/a.yaml.tmp")

    sight = board.look()

    assert sorted(temp.name for temp in sight.temps) == [".dibs-0123.tmp", "a.yaml.tmp"]
    assert board.index.folder("inbox").mtime == 0


def test_an_agents_folder_that_is_a_link_is_reported_and_not_followed(board, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.yaml").write_text("id: a\n")
    (board.path / "assigned/evil").symlink_to(tmp_path / "out")
    (board.path / "assigned/not an agent").mkdir()
    board.add("assigned/stray.yaml")

    sight = board.look()

    codes = {odd.name: odd.code for odd in sight.odd}
    assert codes == {
        "evil": "TASK_KIND",
        "not an agent": "AGENT_ID",
        "stray.yaml": "TASK_MISMATCH",
    }
    assert sight.fresh == []
