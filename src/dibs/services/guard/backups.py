"""Copies of content that only the disk has: before a command may overwrite it, or when its agent leaves."""

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

#: Git gets so many seconds for copies of small files, and as many for those of large ones: a command waits.
_PATIENCE = 0.6
_SMALL = 1024 * 1024
#: Of larger files, and of more than so many at once, no copy is made.
_LARGEST, _MOST, _MOST_BYTES = 32 * 1024 * 1024, 500, 64 * 1024 * 1024
#: To press a large file well takes longer than anybody waits. It is pressed all the same, so that whoever
#: replaces a word in all files of a folder, git's own included, does not find it in the copies.
_QUICKLY = ("-c", "core.compression=1")


def copies(
    repository: Repository, marks: TreeSnapshots, stats: Mapping[str, Stat]
) -> dict[str, str]:
    """Copy files into git's objects, unless they lie as they did last time; return the objects' names."""
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
        pass  # what is copied by now is kept
    marks.cache({**known, **{path: [stats[path], oid] for path, oid in made.items()}})
    return {**found, **made}


def _is_there(repository: Repository, name: str) -> bool:
    """Tell whether a copy still lies where it was put: git throws away what no ref leads to."""
    return os.path.exists(os.path.join(repository.common, "objects", name[:2], name[2:]))


def _sorted(stats: Mapping[str, list[int]]) -> tuple[list[str], list[str], list[str]]:
    """Return small files, large ones and symbolic links; the smallest first, as many as there is time for."""
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
    """Return the name of the object that holds where a symbolic link leads; with ``-w`` make it."""
    given = os.fsencode(os.readlink(os.path.join(git.tree, path)))
    return git.run("hash-object", *write, "--stdin", given=given).out.decode().strip()


def _hashed(git: GitCalls, paths: Sequence[str], *write: str) -> dict[str, str]:
    """Return what files are called as objects, of those that are still there; with ``-w`` store them."""
    if not paths:
        return {}
    plain = [path for path in paths if "\n" not in path and not path.startswith('"')]
    given = b"".join(os.fsencode(path) + b"\n" for path in plain)
    words = (*_QUICKLY, "hash-object", *write, "--no-filters")
    said = git.run(*words, "--stdin-paths", given=given)
    names = said.out.decode().split()
    if not said.code and len(names) == len(plain) == len(paths):
        return dict(zip(plain, names, strict=True))
    found: dict[str, str] = {}  # one of them went meanwhile, or has an odd name
    for path in paths:
        said = git.run(*words, "--", path)
        if not said.code:
            found[path] = said.out.decode().strip()
    return found


def same_content(
    repository: Repository, paths: Sequence[str], blobs: Mapping[str, str]
) -> set[str]:
    """Return those files that still have the content that was copied, whatever became of their times."""
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
    """Give the copies of files a name: a commit on top of the last one; return its ref.

    It is empty where there is no copy, or the last commit has the same; None where git fails.
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
    """Keep a copy of files as they are on the disk, on top of the last commit; return its ref.

    Where that cannot be done, the files themselves are still there: the ref is empty.
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
    """Save the last commit with other ``files`` (path, mode, object); return the ref.

    A file without an object is gone. Unless ``same_too``, the ref is empty if the last commit has them all.
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
    """Return the mode of a file as git writes it."""
    mode = about[3] if about else 0
    return "120000" if stat.S_ISLNK(mode) else "100755" if mode & 0o100 else "100644"
