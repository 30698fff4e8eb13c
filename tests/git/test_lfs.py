"""Git LFS that is installed in one clone works without a question; a stand-in plays its program."""

from __future__ import annotations

import os

from dibs.cli import main

PROGRAM = """\
#!/bin/sh
cat >/dev/null
case $1 in clean) echo pointer ;; smudge) echo content ;; esac
"""


def test_git_lfs_in_the_repositorys_settings_works_in_commits_and_worktrees(
    hostile, monkeypatch, tmp_path
):
    program = tmp_path / "bin" / "git-lfs"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DIBS_AGENT", "ann")
    for name in ("clean", "smudge"):
        hostile.git("config", f"filter.lfs.{name}", f"git-lfs {name} -- %f")
    hostile.write(".gitattributes", "*.bin filter=lfs\n")
    hostile.git("add", ".gitattributes")
    hostile.git("commit", "-q", "-m", "lfs")
    hostile.write("logo.bin", "content\n")

    assert main(["claim", "logo.bin"]) == 0
    assert main(["commit", "-m", "Add the logo", "--release"]) == 0
    assert main(["worktree", "new", "ann"]) == 0

    assert hostile.git("show", "HEAD:logo.bin").strip() == "pointer"
    (copy,) = [found for found in tmp_path.rglob("logo.bin") if found.parent != hostile.root]
    assert copy.read_text() == "content\n"
    assert hostile.git("status", "--porcelain", "logo.bin") == ""
