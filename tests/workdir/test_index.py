"""The index: what this machine knows about a board's files."""

import errno
import os
from random import Random

import pytest

from dibs.workdir.disk import FileStamp
from dibs.workdir.index import FileRecord, Index, load, save

OLD = 1_700_000_000_123_456_789
NOW = 1_800_000_000.0


def entry(n=1, ctime=OLD):
    return FileRecord(FileStamp(OLD, ctime, 10, n), n, f"digest{n}")


@pytest.mark.parametrize("damage", ["", "{}", "[1]\n", "half a line", '{"format": 2}\n'])
def test_a_damaged_index_counts_as_empty(tmp_path, damage):
    (tmp_path / "index").write_text(damage)

    assert load(str(tmp_path / "index")).folders == {}


def test_a_truncated_index_counts_as_empty(tmp_path):
    index = Index()
    index.folder("inbox").put("a.yaml", entry())
    save(index, str(tmp_path / "index"), NOW)
    text = (tmp_path / "index").read_text()

    for length in range(len(text)):
        (tmp_path / "index").write_text(text[:length])
        assert load(str(tmp_path / "index")).folders == {}


def test_a_file_changed_just_now_is_read_again_next_time(tmp_path):
    index = Index()
    index.folder("inbox").put("a.yaml", entry(ctime=int(NOW * 1e9) - 1_000_001))

    save(index, str(tmp_path / "index"), NOW)

    assert load(str(tmp_path / "index")).folder("inbox").get("a.yaml").mark.size == -1


def test_an_index_that_cannot_be_saved_keeps_the_old_one_and_leaves_no_file(tmp_path, monkeypatch):
    path = tmp_path / "index"
    save(Index(), str(path), NOW)
    before = path.read_bytes()
    index = Index()
    index.head = 7

    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "replace", full)
    save(index, str(path), NOW)

    assert index.differs
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_unchanged_index_is_not_saved(tmp_path):
    index = Index()
    index.folder("inbox").put("a.yaml", entry())
    assert index.differs
    save(index, str(tmp_path / "index"), NOW)

    again = load(str(tmp_path / "index"))
    assert not again.differs
    again.folder("inbox").drop("a.yaml")
    assert again.differs


def test_the_saved_index_matches_after_any_changes_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr("dibs.workdir.index.SHARE", 3)
    random, index, known = Random(7), Index(), {}
    path = str(tmp_path / "index")
    for step in range(600):
        name = f"t{random.randrange(20)}.yaml"
        if random.random() < 0.6:
            index.folder("inbox").put(name, entry(step))
            known[name] = entry(step)
        else:
            index.folder("inbox").drop(name)
            known.pop(name, None)
        if random.random() < 0.3:
            save(index, path, NOW)
            assert load(path).versions() == {name: one.version for name, one in known.items()}
            index = load(path) if random.random() < 0.5 else index
    assert {name: index.folder("inbox").get(name) for name in known} == known
