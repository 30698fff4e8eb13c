"""Files are written and moved so that a crash leaves either the old or the new file."""

import os
from contextlib import suppress

import pytest
from tests.workdir.crashing import Crash, CrashingDisk

from dibs.errors import Misconfigured
from dibs.workdir import moves
from dibs.workdir.disk import Disk, Folders, mark_of, read, status_of


def open_board(tmp_path, disk=None):
    (tmp_path / "work" / "inbox").mkdir(parents=True, exist_ok=True)
    return Folders(str(tmp_path), "work", disk or Disk())


def put(folders, name, text, expected=None):
    with folders.open("inbox") as handle:
        return moves.write(folders.disk, handle, name, text, expected)


def mark(folders, place, name):
    with folders.open(place) as handle:
        status = status_of(handle, name)
        return None if status is None else mark_of(status)


def tasks_in(folder):
    return sorted(p for p in os.listdir(folder) if not p.endswith(".tmp"))


def test_writing_a_file_leaves_no_temporary_file(tmp_path):
    folders = open_board(tmp_path)

    written = put(folders, "a.yaml", "id: a\n")

    assert (tmp_path / "work/inbox/a.yaml").read_text() == "id: a\n"
    assert os.listdir(tmp_path / "work/inbox") == ["a.yaml"]
    assert written == mark(folders, "inbox", "a.yaml")


def test_the_order_is_write_sync_rename_sync(tmp_path):
    disk = CrashingDisk()

    put(open_board(tmp_path, disk), "a.yaml", "id: a\n")

    assert disk.steps == ["create", "write", "sync", "rename", "sync"]


@pytest.mark.parametrize("at", range(5))
def test_a_crash_while_writing_leaves_the_old_or_the_new_text(tmp_path, at):
    folders = open_board(tmp_path)
    old = put(folders, "a.yaml", "old\n")
    folders.disk = CrashingDisk(at)

    with pytest.raises(Crash):
        put(folders, "a.yaml", "new\n", old)

    assert (tmp_path / "work/inbox/a.yaml").read_text() == ("old\n" if at < 4 else "new\n")


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path):
    folders = open_board(tmp_path)
    old = put(folders, "a.yaml", "old\n")
    (tmp_path / "work/inbox/a.yaml").write_text("by hand\n")

    with pytest.raises(moves.Meanwhile):
        put(folders, "a.yaml", "new\n", old)

    assert (tmp_path / "work/inbox/a.yaml").read_text() == "by hand\n"
    assert os.listdir(tmp_path / "work/inbox") == ["a.yaml"]


def test_a_file_that_appeared_at_the_target_is_not_overwritten(tmp_path):
    folders = open_board(tmp_path)
    old = put(folders, "a.yaml", "ours\n")
    (tmp_path / "work/done").mkdir()
    (tmp_path / "work/done/a.yaml").write_text("theirs\n")

    with pytest.raises(moves.Meanwhile):
        moves.move(folders, ("inbox", "a.yaml"), ("done", "a.yaml"), old)

    assert (tmp_path / "work/done/a.yaml").read_text() == "theirs\n"
    assert (tmp_path / "work/inbox/a.yaml").read_text() == "ours\n"


@pytest.mark.parametrize("at", range(4))
def test_a_crash_while_moving_leaves_the_file_in_one_place(tmp_path, at):
    folders = open_board(tmp_path)
    old = put(folders, "a.yaml", "text\n")
    (tmp_path / "work/done").mkdir()
    folders.disk = CrashingDisk(at)

    with suppress(Crash):
        moves.move(folders, ("inbox", "a.yaml"), ("done", "a.yaml"), old)

    found = tasks_in(tmp_path / "work/inbox") + tasks_in(tmp_path / "work/done")
    assert found == ["a.yaml"]


def test_a_new_file_respects_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        put(open_board(tmp_path), "a.yaml", "text\n")
    finally:
        os.umask(before)

    assert (tmp_path / "work/inbox/a.yaml").stat().st_mode & 0o777 == 0o640


def test_a_board_that_is_a_symbolic_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Misconfigured) as refused:
        Folders(str(tmp_path), "work", Disk()).there()

    assert refused.value.code == "BOARD_FOLDER"


def test_an_agents_folder_that_is_a_link_is_not_followed(tmp_path):
    folders = open_board(tmp_path)
    old = put(folders, "a.yaml", "text\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "work/assigned").mkdir()
    (tmp_path / "work/assigned/curator").symlink_to(tmp_path / "out")

    with pytest.raises(NotADirectoryError):
        moves.move(folders, ("inbox", "a.yaml"), ("assigned/curator", "a.yaml"), old)

    assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("piece", [1, 3, 4, 1_000])
@pytest.mark.parametrize("size", [0, 4, 9, 10, 11, 50])
def test_a_file_is_read_up_to_the_limit_in_any_number_of_reads(tmp_path, monkeypatch, size, piece):
    content, whole = os.urandom(size), os.read
    (tmp_path / "a.yaml").write_bytes(content)
    monkeypatch.setattr(os, "read", lambda file, left: whole(file, min(left, piece)))

    handle = os.open(tmp_path, os.O_RDONLY)
    found, its_mark = read(handle, "a.yaml", 10)
    os.close(handle)

    assert (found, its_mark.size) == (content[:11], size)


def test_content_appended_during_a_read_is_read_too(tmp_path, monkeypatch):
    path, status = tmp_path / "a.yaml", os.fstat
    path.write_bytes(b"id: a\n")

    def grow(file):
        found = status(file)
        path.write_bytes(b"id: a\ntitle: Mend\n")
        return found

    monkeypatch.setattr(os, "fstat", grow)
    handle = os.open(tmp_path, os.O_RDONLY)
    found, its_mark = read(handle, "a.yaml", 1_000)
    os.close(handle)

    assert (found, its_mark.size) == (b"id: a\ntitle: Mend\n", 6)


def test_open_folders_are_closed_after_an_error(tmp_path):
    folders = open_board(tmp_path)
    before = set(os.listdir("/dev/fd"))

    with pytest.raises(KeyError), folders.kept_open(), folders.open("inbox"):
        raise KeyError

    assert set(os.listdir("/dev/fd")) == before
    with folders.open("inbox") as handle:
        assert handle >= 0
