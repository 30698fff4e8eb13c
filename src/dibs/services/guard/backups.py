"""Back up uncommitted content: before a command may overwrite it, or when its agent ends."""

from __future__ import annotations

import os
import stat

from dibs.errors import DibsError
from dibs.git.refs import value_of
from dibs.git.state import read_state
from dibs.git.untrusted import guarded_calls
from dibs.services.guard.before_call import stat_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.guard.before_call import Stat, TreeSnapshot, TreeSnapshots

#: Time limit for copying small files, and again for large ones, in seconds: a command is waiting.
_PATIENCE = 0.6
_SMALL = 1024 * 1024
#: Limits: size of a file, number of files, and total size.
_LARGEST, _MOST, _MOST_BYTES = 32 * 1024 * 1024, 500, 64 * 1024 * 1024
#: Compress fast, but do compress: a search-and-replace over all files, including .git, must not match the
#: copies.
_QUICKLY = ("-c", "core.compression=1")


def copies(
    repository: Repository, marks: TreeSnapshots, stats: Mapping[str, Stat]
) -> dict[str, str]:
    """Copy files into git's object store unless unchanged since the last copy; return object names."""
    known = marks.cached()
    found = {
        path: known[path][1]
        for path, about in stats.items()
        if path in known and known[path][0] == about and _is_there(repository, known[path][1])
    }
    small, large, links = _sorted({p: s for p, s in stats.items() if s and p not in found})
    if not (small or large or links):
        return found
    made: dict[str, str] = {}
    try:
        git = guarded_calls(repository.root, repository, timeout=_PATIENCE)
        made |= {path: name for path in links if (name := _link(git, path, "-w"))}
        made |= _hashed(git, small, "-w")
        made |= _hashed(git, large, "-w")
    except (DibsError, OSError):
        pass  # keep what was copied so far
    marks.cache({**known, **{path: [stats[path], oid] for path, oid in made.items()}})
    return {**found, **made}


def _is_there(repository: Repository, name: str) -> bool:
    """Return whether a copy still exists: git deletes objects that no ref reaches."""
    return os.path.exists(os.path.join(repository.common, "objects", name[:2], name[2:]))


def _sorted(stats: Mapping[str, list[int]]) -> tuple[list[str], list[str], list[str]]:
    """Return small files, large files, and symbolic links within the limits, smallest first."""
    small: list[str] = []
    large: list[str] = []
    links: list[str] = []
    left = _MOST_BYTES
    for path, about in sorted(stats.items(), key=lambda one: one[1][1])[:_MOST]:
        size, mode = about[1], about[3]
        if stat.S_ISLNK(mode):
            links.append(path)
        elif stat.S_ISREG(mode) and size <= min(left, _LARGEST):
            left -= size
            (small if size <= _SMALL else large).append(path)
    return small, large, links


def _link(git: GitCalls, path: str, *write: str) -> str:
    """Return the object name of a symbolic link's target; with ``-w``, store it."""
    given = os.fsencode(os.readlink(os.path.join(git.tree, path)))
    return git.run("hash-object", *write, "--stdin", given=given).out.decode().strip()


def _hashed(git: GitCalls, paths: Sequence[str], *write: str) -> dict[str, str]:
    """Return the object names of files that still exist; with ``-w``, store them."""
    if not paths:
        return {}
    plain = [path for path in paths if "\n" not in path and not path.startswith('"')]
    given = b"".join(os.fsencode(path) + b"\n" for path in plain)
    words = (*_QUICKLY, "hash-object", *write, "--no-filters")
    said = git.run(*words, "--stdin-paths", given=given)
    names = said.out.decode().split()
    if not said.code and len(names) == len(plain) == len(paths):
        return dict(zip(plain, names, strict=True))
    found: dict[str, str] = {}  # one of them was deleted, or has an unusual name
    for path in paths:
        said = git.run(*words, "--", path)
        if not said.code:
            found[path] = said.out.decode().strip()
    return found


def same_content(
    repository: Repository, paths: Sequence[str], blobs: Mapping[str, str]
) -> set[str]:
    """Return the files whose content equals the copy, regardless of timestamps."""
    root = repository.root
    there = [path for path in paths if path in blobs and os.path.lexists(os.path.join(root, path))]
    if not there:
        return set()
    links = [path for path in there if os.path.islink(os.path.join(root, path))]
    files = [path for path in there if path not in links]
    try:
        git = guarded_calls(root, repository)
        found = {path: _link(git, path) for path in links} | _hashed(git, files)
    except (DibsError, OSError):
        return set()
    return {path for path, name in found.items() if name == blobs[path]}


def keep_old(
    repository: Repository,
    holder: str,
    paths: Sequence[str],
    mark: TreeSnapshot,
    about: str,
) -> str | None:
    """Save copies of files as a commit on top of the last one; return its ref.

    The ref is empty without a copy or if the last commit has the same content; None if git fails.
    """
    blobs = mark.blobs
    found = [(path, _mode(mark.stats.get(path)), blobs[path]) for path in paths if path in blobs]
    if not found:
        return ""
    try:
        git = guarded_calls(repository.root, repository)
        return _saved(git, found, holder, at=mark.at, about=about, same_too=False)
    except (DibsError, OSError):
        return None


def keep(
    root: str, repository: Repository, agent: str, paths: Sequence[str], *, at: float, about: str
) -> str:
    """Save files as they are on disk, as a commit on top of the last one; return its ref.

    The ref is empty if that fails; the files themselves are still there.
    """
    stats = {path: stat_of(root, path) for path in paths}
    links = [path for path, one in stats.items() if one and stat.S_ISLNK(one[3])]
    files = [path for path, one in stats.items() if one and stat.S_ISREG(one[3])]
    try:
        git = guarded_calls(root, repository)
        blobs = {path: _link(git, path, "-w") for path in links} | _hashed(git, files, "-w")
        found = [(path, _mode(stats[path]), name) for path, name in blobs.items()]
        found += [(path, "0", "") for path, one in stats.items() if one is None]
        ref = _saved(git, found, agent, at=at, about=about, same_too=True)
        git.must("rev-list", "--objects", "--quiet", "--end-of-options", ref)
    except (DibsError, OSError):
        return ""
    return ref


def _saved(
    git: GitCalls,
    files: Sequence[tuple[str, str, str]],
    agent: str,
    *,
    at: float,
    about: str,
    same_too: bool,
) -> str:
    """Save the last commit with changed ``files`` (path, mode, object); return the ref.

    A file without an object is deleted. Unless ``same_too``, the ref is empty if nothing differs.
    """
    import tempfile

    from dibs.services.worktrees.salvage import save_commits

    head = read_state(git).head
    zeros = "0" * len(next(filter(None, (head, *(name for *_, name in files))), "0" * 40))
    rows = [
        f"{mode} {name or zeros}\t".encode() + os.fsencode(path) + b"\0"
        for path, mode, name in files
    ]
    with tempfile.TemporaryDirectory(prefix="dibs-old-") as scratch:
        index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        if head:
            git.must("read-tree", "--end-of-options", head, variables=index)
        git.must("update-index", "-z", "--index-info", given=b"".join(rows), variables=index)
        tree = git.must("write-tree", variables=index).decode().strip()
    if head and not same_too and value_of(git, f"{head}^{{tree}}") == tree:
        return ""
    parents = [head] if head else []
    return save_commits(git, agent=agent, about=about, at=at, tree=tree, parents=parents).ref


def _mode(about: Stat) -> str:
    """Return a file's mode as git writes it."""
    mode = about[3] if about else 0
    return "120000" if stat.S_ISLNK(mode) else "100755" if mode & 0o100 else "100644"
