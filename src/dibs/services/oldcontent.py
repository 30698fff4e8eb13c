"""Copies of content that only the disk has, made before a command may write over it."""

from __future__ import annotations

import os
import stat
import tempfile

from dibs.errors import DibsError
from dibs.git.state import read_state
from dibs.services.guarded import guarded_calls
from dibs.services.salvage import save_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.repository import Repository
    from dibs.services.marks import Marks, Stat

#: Git gets so many seconds for a copy: a command waits for it.
_PATIENCE = 1.0
#: Of larger files, and of more than so many at once, no copy is made.
_LARGEST, _MOST, _MOST_BYTES = 10 * 1024 * 1024, 500, 64 * 1024 * 1024


def copies(repository: Repository, marks: Marks, stats: Mapping[str, Stat]) -> dict[str, str]:
    """Copy files into git's objects, unless they lie as they did last time; return the objects' names."""
    known = marks.cached()
    found = {p: known[p][1] for p, s in stats.items() if p in known and known[p][0] == s}
    missing: list[str] = []
    size = 0
    for path, about in stats.items():
        if path in found or about is None or not stat.S_ISREG(about[3]):
            continue
        size += about[1]
        if about[1] <= _LARGEST and len(missing) < _MOST and size <= _MOST_BYTES:
            missing.append(path)
    if not missing:
        return found
    try:
        git = guarded_calls(repository.root, repository, timeout=_PATIENCE)
        made = _stored(git, missing)
    except (DibsError, OSError):
        return found
    marks.cache({**known, **{path: [stats[path], oid] for path, oid in made.items()}})
    return {**found, **made}


def _stored(git: GitCalls, paths: Sequence[str]) -> dict[str, str]:
    """Store files as they are; return the names of the objects, of those that are still there."""
    plain = [path for path in paths if "\n" not in path and not path.startswith('"')]
    given = b"".join(os.fsencode(path) + b"\n" for path in plain)
    said = git.run("hash-object", "-w", "--no-filters", "--stdin-paths", given=given)
    names = said.out.decode().split()
    if not said.code and len(names) == len(plain) == len(paths):
        return dict(zip(plain, names, strict=True))
    found: dict[str, str] = {}  # one of them went meanwhile, or has an odd name
    for path in paths:
        said = git.run("hash-object", "-w", "--no-filters", "--", path)
        if not said.code:
            found[path] = said.out.decode().strip()
    return found


def same_content(repository: Repository, path: str, blobs: Mapping[str, str]) -> bool:
    """Tell whether a file still has the content that was copied, whatever became of its other marks."""
    if path not in blobs or not os.path.lexists(os.path.join(repository.root, path)):
        return False
    try:
        git = guarded_calls(repository.root, repository)
        said = git.run("hash-object", "--no-filters", "--", path)
    except (DibsError, OSError):
        return False
    return not said.code and said.out.decode().strip() == blobs[path]


def keep_old(
    repository: Repository,
    holder: str,
    paths: Sequence[str],
    blobs: Mapping[str, str],
    *,
    programs: Container[str] = (),
    at: float,
    about: str,
) -> str:
    """Give the copies of files a name: a commit on top of the last one; return its ref, empty for none."""
    rows = [
        f"{'100755' if path in programs else '100644'} {blobs[path]}\t".encode()
        + os.fsencode(path)
        + b"\0"
        for path in paths
        if path in blobs
    ]
    if not rows:
        return ""
    try:
        git = guarded_calls(repository.root, repository)
        head = read_state(git).head
        with tempfile.TemporaryDirectory(prefix="dibs-old-") as scratch:
            index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
            if head:
                git.must("read-tree", "--end-of-options", head, variables=index)
            given = b"".join(rows)
            git.must("update-index", "-z", "--index-info", given=given, variables=index)
            tree = git.must("write-tree", variables=index).decode().strip()
        parents = [head] if head else []
        saved = save_commits(git, agent=holder, about=about, at=at, tree=tree, parents=parents)
    except (DibsError, OSError):
        return ""
    return saved.ref
