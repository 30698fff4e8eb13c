"""Files that a command would read are read within limits, and nothing waits for a pipe."""

import gzip
import io
import os
import tarfile
import zipfile

import pytest

from dibs.core.shell.effects import FileSearch
from dibs.core.shell.words import Arg
from dibs.services.guard import command_files
from dibs.services.guard.command_files import CommandFiles


@pytest.fixture
def disk(tmp_path):
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "src/a.py").write_text("old text\n")
    (tmp_path / "src/deep/b.py").write_text("OLD\n")
    (tmp_path / "src/c.txt").write_text("new\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/x").write_text("old\n")
    return CommandFiles(str(tmp_path))


def held(disk, *paths, **fields):
    args = [Arg(path, "*" in path) for path in paths]
    found = disk.holding("", args, FileSearch("old", **fields))
    return None if found is None else sorted(found)


def test_a_search_finds_files_as_grep_prints_them(disk):
    assert held(disk, "src", deep=True) == ["src/a.py"]
    assert held(disk, ".", deep=True) == ["src/a.py"]
    assert held(disk, "src", deep=True, fold_case=True) == ["src/a.py", "src/deep/b.py"]
    assert held(disk, "src/*", without=True) == ["src/c.txt"]
    assert held(disk, ".", deep=True, names=("*.txt",)) == []
    assert held(disk, "src") == []


def test_a_search_in_too_many_files_has_no_answer(disk, monkeypatch):
    monkeypatch.setattr(command_files, "_MOST_SEARCHED", 1)

    assert held(disk, "src", deep=True) is None


def test_only_small_text_of_regular_files_is_read(disk, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"a\0b")
    monkeypatch.setattr(command_files, "_TEXT", 10)

    assert disk.text("src/a.py") == "old text\n"
    for path in ("pipe", "bytes", "missing", "src", ":/src/a.py"):
        assert disk.text(path) is None, path
    (tmp_path / "src/a.py").write_text("x" * 11)
    assert disk.text("src/a.py") is None


def test_the_names_in_archives_are_listed(disk, tmp_path):
    for name, mode in (("a.tar", "w"), ("a.tgz", "w:gz"), ("a.tbz", "w:bz2"), ("a.txz", "w:xz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "src", "./src")
        assert sorted(disk.members(name)) == ["src/a.py", "src/c.txt", "src/deep/b.py"]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.write(tmp_path / "src/a.py", "x/a.py")
    assert disk.members("a.zip") == ["x/a.py"]


def test_a_broken_or_huge_archive_has_no_answer(disk, tmp_path, monkeypatch):
    (tmp_path / "broken.tar").write_bytes(b"x" * 2000)
    (tmp_path / "broken.zip").write_bytes(b"PK" + b"x" * 2000)
    (tmp_path / "broken.tgz").write_bytes(b"\x1f\x8b" + b"x" * 2000)
    os.mkfifo(tmp_path / "pipe.tar")
    for name in ("broken.tar", "broken.zip", "broken.tgz", "pipe.tar", "missing.tar"):
        assert disk.members(name) is None, name
    monkeypatch.setattr(command_files, "_ARCHIVE", 1 << 16)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        about = tarfile.TarInfo("big")
        about.size = 1 << 20
        archive.addfile(about, io.BytesIO(bytes(about.size)))
        archive.addfile(tarfile.TarInfo("last"))
    (tmp_path / "bomb.tgz").write_bytes(gzip.compress(content.getvalue()))
    assert disk.members("bomb.tgz") is None
