"""Atomic file writes."""

from __future__ import annotations

import ast
import os
import stat
import threading
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dibs
from dibs.local.files import checksum, write_file

SOURCE = Path(dibs.__file__).parent

#: Calls that only one module may make, and the exceptions.
OWNERS = {"os.replace": "local/files.py", "fcntl": "local/locks.py", "tempfile.mkstemp": ""}
EXCEPTIONS = {
    ("os.replace", "services/commits/land.py"): "moves an index that git has written",
    ("os.replace", "git/index.py"): "moves an index that git has written",
    ("os.replace", "git/update_tree.py"): "moves a file that git has checked out",
    ("os.replace", "server/process/listeners.py"): "moves a socket",
    ("os.replace", "crew/logs.py"): "renames a full log",
    ("os.replace", "guard/git/install.py"): "moves the user's own hook back",
    ("os.replace", "guard/git/config_backup.py"): "the draft is git's own lock on the file",
    ("posix.replace", "startup/pack_write.py"): "startup imports nothing of ours",
}


def test_the_file_has_the_new_content_and_no_draft_is_left(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_file(str(file), "old")
    write_file(str(file), "caf\N{LATIN SMALL LETTER E WITH ACUTE} \udcff")
    assert file.read_bytes() == b"caf\xc3\xa9 \xff"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        write_file(str(tmp_path / "file"), b"", mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_failed_write_keeps_the_old_file_leaves_no_draft_and_names_the_file(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "inside").touch()
    with pytest.raises(OSError, match=r"taken'$"):
        write_file(str(folder), b"new")
    assert os.listdir(tmp_path) == ["taken"]


def test_an_interrupted_write_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(str(tmp_path / "file"), b"new", sync=True)
    assert os.listdir(tmp_path) == []


def test_the_draft_of_a_killed_process_with_the_same_number_is_replaced_not_followed(
    tmp_path: Path,
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    draft = drafts / f"file.{os.getpid()}-{threading.get_ident():x}"
    draft.symlink_to(victim)
    write_file(str(tmp_path / "file"), b"new", drafts=str(drafts))
    assert victim.read_text() == "kept"
    assert (tmp_path / "file").read_text() == "new"
    assert os.listdir(drafts) == []


def test_threads_that_write_one_file_do_not_share_a_draft(tmp_path: Path) -> None:
    file = tmp_path / "file"

    def write(letter: str) -> None:
        for _ in range(50):
            write_file(str(file), letter * 10_000)

    threads = [threading.Thread(target=write, args=[letter]) for letter in "abcd"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if file.exists():
            content = file.read_text()
            assert content == content[0] * 10_000
    assert os.listdir(tmp_path) == ["file"]


def _uses(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def test_only_one_module_replaces_files_and_one_locks_them() -> None:
    watched = {*OWNERS, "posix.replace"}
    found = {
        (call, str(path.relative_to(SOURCE)))
        for path in SOURCE.rglob("*.py")
        for call in _uses(ast.parse(path.read_text(encoding="utf-8"))) & watched
    }
    own = {(call, module) for call, module in OWNERS.items() if module}
    assert found == own | EXCEPTIONS.keys()


@given(st.binary(max_size=200))
def test_the_checksum_of_a_text_equals_zlibs(content):
    assert checksum(content) == zlib.crc32(content)
