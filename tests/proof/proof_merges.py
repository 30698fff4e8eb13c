"""Generate random work on files, and merge it with git."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

#: The files of a commit: path to mode and content.
Files = dict[bytes, tuple[str, bytes]]

FILE, PROGRAM, LINK = "100644", "100755", "120000"
FOLDERS = (b"", b"a/", b"a/b/", b"c/", b"c d/", "ü/".encode())
NAMES = (b"x", b"y.py", b"z z", b'q"q', b"n\nl", b"-f", b":(top)m", b"*", b"\xff\xfe", b"w")


def run(folder: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git without user settings."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{who}_NAME": "proof", f"GIT_{who}_EMAIL": "proof@localhost"}
    argv = ["git", *words]
    return subprocess.run(
        argv, cwd=folder, input=given, capture_output=True, check=False, env=environ
    )


def git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """Run git; raise if it fails."""
    done = run(folder, *words, given=given)
    assert not done.returncode, (words, done.stdout, done.stderr)
    return done.stdout


def text(random: Random) -> bytes:
    """Return the text of a new file; some are equal."""
    word = random.choice([b"red", b"green", b"blue", b"grey"])
    return b"".join(b"%s line %d\n" % (word, number) for number in range(12))


def start(random: Random) -> Files:
    """Return the initial files."""
    files: Files = {}
    for number in range(random.randrange(6, 16)):
        path = random.choice(FOLDERS) + random.choice(NAMES) + b"%d" % (number % 5)
        if _is_free(files, path):
            files[path] = (FILE, text(random) + b"file %d\n" % number)
    files[b"a/bin"] = (FILE, b"\0\1\2" * 20)
    return files


def _is_free(files: Files, path: bytes) -> bool:
    above = [path[: match.start()] for match in re.finditer(b"/", path)]
    below = path + b"/"
    return not any(p == path or p.startswith(below) or p in above for p in files)


def worked(random: Random, before: Files, steps: int) -> Files:
    """Return the files after some steps of work."""
    files = dict(before)
    for _ in range(steps):
        if files:
            random.choice(STEPS)(random, files, random.choice(sorted(files)))
    return files


def _edit(random: Random, files: Files, path: bytes) -> None:
    mode, content = files[path]
    lines = content.splitlines(keepends=True) or [b"\n"]
    at = random.randrange(len(lines))
    new = [b"edited %d\n" % random.randrange(3)] * random.randrange(3)
    lines[at : at + random.randrange(3)] = new
    if mode != LINK:
        files[path] = (mode, b"".join(lines))


def _remove(_: Random, files: Files, path: bytes) -> None:
    del files[path]


def _rename(random: Random, files: Files, path: bytes) -> None:
    to = random.choice(FOLDERS) + random.choice(NAMES) + b"%d" % random.randrange(5)
    value = files.pop(path)
    files[to if _is_free(files, to) else path] = value


def _rename_folder(random: Random, files: Files, path: bytes) -> None:
    folder, slash, _ = path.rpartition(b"/")
    to = random.choice((b"e", b"a", b"c/g", b"e/h"))
    if not slash or to == folder or to.startswith(folder + b"/"):
        return
    for old in [p for p in files if p.startswith(folder + b"/")]:
        new = to + old[len(folder) :]
        value = files.pop(old)
        files[new if _is_free(files, new) else old] = value


def _add(random: Random, files: Files, path: bytes) -> None:
    folder = path.rpartition(b"/")[0]
    new = (folder + b"/" if folder else b"") + b"new%d" % random.randrange(4)
    if _is_free(files, new):
        files[new] = (FILE, text(random))


def _add_at_the_top(random: Random, files: Files, _: bytes) -> None:
    """Create a new file or folder whose name others may use for the opposite kind."""
    new = random.choice((b"e", b"e/k", b"g", b"g/k"))
    if _is_free(files, new):
        files[new] = (FILE, text(random))


def _flip_mode(_: Random, files: Files, path: bytes) -> None:
    mode, content = files[path]
    if mode != LINK:
        files[path] = (PROGRAM if mode == FILE else FILE, content)


def _make_link(random: Random, files: Files, path: bytes) -> None:
    files[path] = (LINK, b"target%d" % random.randrange(2))


def _file_to_folder(random: Random, files: Files, path: bytes) -> None:
    value = files.pop(path)
    files[path + b"/in%d" % random.randrange(2)] = value


def _folder_to_file(random: Random, files: Files, path: bytes) -> None:
    folder, slash, _ = path.rpartition(b"/")
    if slash:
        for old in [p for p in files if p.startswith(folder + b"/")]:
            del files[old]
        files[folder] = (FILE, text(random))


def _edit_binary(random: Random, files: Files, _: bytes) -> None:
    if _is_free(files, b"a/bin") or b"a/bin" in files:
        files[b"a/bin"] = (FILE, b"\0%d" % random.randrange(3) * 30)


STEPS = (
    _edit, _edit, _edit, _edit, _edit, _remove, _rename, _rename, _rename_folder, _add, _add,
    _add_at_the_top, _flip_mode, _make_link, _file_to_folder, _folder_to_file, _edit_binary,
)  # fmt: skip


def commit(folder: Path, ref: str, files: Files, parents: list[str]) -> str:
    """Create a branch with a commit of these files; return its name."""
    git(folder, "fast-import", "--quiet", "--force", given=written(ref, files, parents))
    return git(folder, "rev-parse", f"refs/heads/{ref}").decode().strip()


def written(ref: str, files: Files, parents: list[str]) -> bytes:
    """Return such a commit in git fast-import format."""
    lines = [b"commit refs/heads/" + ref.encode(), b"committer p <p@localhost> 0 +0000", b"data 1"]
    lines.append(b"x")
    for place, parent in enumerate(parents):
        lines.append((b"merge " if place else b"from ") + parent.encode())
    lines.append(b"deleteall")
    for path, (mode, content) in files.items():
        quoted = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        lines += [b'M %s inline "%s"' % (mode.encode(), quoted), b"data %d" % len(content), content]
    return b"\n".join(lines) + b"\n"


def lay_out(tree: Path, files: Files) -> None:
    """Make a working tree contain exactly these files."""
    for entry in os.scandir(os.fsencode(tree)):
        if entry.name != b".git":
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
    for path, (mode, content) in files.items():
        place = os.path.join(os.fsencode(tree), path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if mode == LINK:
            os.symlink(content, place)
            continue
        with open(place, "wb") as file:
            file.write(content)
        os.chmod(place, 0o755 if mode == PROGRAM else 0o644)


def really_merged(tree: Path, one: str, other: str) -> set[str] | None:
    """Merge in a temporary working tree, and return the conflicting paths.

    None if git does not record the conflict: it can fail midway if a file replaces a renamed folder, and a
    conflict that moves two files to one path leaves no path with two states.
    """
    lock = os.fsdecode(git(tree, "rev-parse", "--git-path", "index.lock").strip())
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(tree, lock))  # left by a git that crashed
    run(tree, "merge", "--abort")
    git(tree, "reset", "-q", "--hard")
    git(tree, "clean", "-qfdx")
    git(tree, "checkout", "-q", "-f", "--detach", one)
    done = run(tree, "merge", "--no-commit", "--no-ff", "--quiet", other)
    listed = git(tree, "ls-files", "--unmerged", "-z").split(b"\0")
    if done.returncode and len(listed) == 1:
        known = b"CONFLICT" in done.stdout or b"BUG: merge-ort.c" in done.stderr
        assert known, (one, other, done.stdout, done.stderr)
        return None
    assert bool(done.returncode) == (len(listed) > 1), (one, other, done.stdout, done.stderr)
    plain = re.compile(rf"~(?:HEAD|{other})(?:_[0-9]+)?$")
    return {plain.sub("", os.fsdecode(row.partition(b"\t")[2])) for row in listed if row}
