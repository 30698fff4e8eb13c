"""Update a clean working tree from one commit to another, so that a killed update can be repeated.

``git checkout`` empties a file before it writes it, so a kill leaves a file that matches neither commit.
Here, every file is written elsewhere and renamed into place. At any moment, a path has its old content, its
new content, or someone's own content; only the first is ever replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat

from dibs.git.calls import rows_of
from dibs.git.index import IndexBusy, clear_up, index_locked, settle
from dibs.git.objects import ABSENT, SUBMODULE
from dibs.git.trees import differences, staged, write_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange

#: How long to wait for the index, in seconds.
PATIENCE = 10.0
_SCRATCH = "dibs-forward-"


def reach(step: str) -> None:
    """Do nothing; tests replace this to simulate a crash at ``step``."""


def in_the_way(tree: str, changes: Sequence[TreeChange]) -> list[str]:
    """Return untracked files at paths that would be created; they are never overwritten."""
    going = {change.path for change in changes if change.new_mode == ABSENT}
    found: dict[str, None] = {}
    for change in changes:
        if change.old_mode != ABSENT or change.new_mode == ABSENT:
            continue
        for path in _upwards(change.path):
            place = os.path.join(tree, path)
            if not os.path.lexists(place) or path in going:
                continue
            if not _is_folder(place):
                found[path] = None
            elif path == change.path:
                found |= dict.fromkeys(_kept_inside(tree, path, going))
    return list(found)


def _upwards(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: place + 1]) for place in range(len(parts))]


def _kept_inside(tree: str, folder: str, going: set[str]) -> list[str]:
    """Return the files that prevent a folder from becoming a file."""
    found = []
    for place, _, names in os.walk(os.path.join(tree, folder)):
        inner = [os.path.relpath(os.path.join(place, name), tree) for name in names]
        found += [path for path in inner if path not in going]
    return found


def update_to_commit(git: GitCalls, git_dir: str, old: str, new: str) -> list[str]:
    """Update index and files from the commit ``old`` to ``new``; return the paths that someone changed.

    A path with neither its old nor its new content stays as it is. Safe to repeat after a kill.
    """
    clear_up(git_dir)
    try:
        with index_locked(git_dir, PATIENCE) as index:
            return update_locked_tree(git, git_dir, (old, new), differences(git, old, new), index)
    except IndexBusy as busy:
        raise busy.refusal("; the files are not updated yet") from None


def update_locked_tree(
    git: GitCalls, git_dir: str, ends: tuple[str, str], changes: Sequence[TreeChange], index: str
) -> list[str]:
    """Do the same while git's lock is held; ``index`` is the copy that ``index_locked`` yielded.

    ``changes`` are the differences between the two commits ``ends``.
    """
    if git.run("config", "--type=bool", "core.sparseCheckout").out.strip() == b"true":
        own = {"GIT_INDEX_FILE": index}  # only git knows which files are checked out
        git.must("read-tree", "-m", "-u", "--end-of-options", *ends, variables=own)
        left = []
    else:
        with _scratch(git_dir) as scratch:
            left = _move(git, changes, ends, index, scratch)
    settle(git_dir, index)
    return left


@contextlib.contextmanager
def _scratch(git_dir: str) -> Iterator[str]:
    """Provide a temporary folder for new files; only the process with the index lock has one."""
    for name in os.listdir(git_dir):
        if name.startswith(_SCRATCH):  # left by a killed process
            shutil.rmtree(os.path.join(git_dir, name), ignore_errors=True)
    place = os.path.join(git_dir, f"{_SCRATCH}{os.getpid()}")
    os.mkdir(place, 0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _move(
    git: GitCalls, changes: Sequence[TreeChange], ends: tuple[str, str], index: str, scratch: str
) -> list[str]:
    old, new = ends
    kept = _staged(git, old, changes, index)
    files = [change for change in changes if SUBMODULE not in (change.old_mode, change.new_mode)]
    mine = _untouched(git, files, scratch)
    made = os.path.join(scratch, "files")
    _make(git, new, [change for change in mine if change.new_mode != ABSENT], scratch, made)
    reach("forward-made")
    left = {change.path for change in files} - {change.path for change in mine}
    # Deletions first: a folder may become a file, and a file a folder.
    for change in sorted(mine, key=lambda change: (change.new_mode != ABSENT, change.path)):
        place = os.path.join(git.tree, change.path)
        if change.new_mode == ABSENT:
            _remove(git.tree, place)
        elif not _put(git.tree, os.path.join(made, change.path), change.path):
            left.add(change.path)
        reach("forward-file")
    write_entries(git, index, [change for change in changes if change.path not in kept])
    git.run("update-index", "-q", "--refresh", variables={"GIT_INDEX_FILE": index})
    reach("forward-index")
    return sorted(left | kept)


def _staged(git: GitCalls, old: str, changes: Sequence[TreeChange], index: str) -> set[str]:
    """Return the paths where someone staged content that is neither old nor new."""
    wanted = {change.path: change.after for change in changes}
    return {
        now.path for now in staged(git, old, index) if wanted.get(now.path, now.after) != now.after
    }


def _untouched(git: GitCalls, changes: Sequence[TreeChange], scratch: str) -> list[TreeChange]:
    """Return the changes whose paths have their old content, no content, or already the new content."""
    before = [_turned(change) for change in changes if change.old_mode != ABSENT]
    not_old = _unequal(git, before, os.path.join(scratch, "old-index"))
    other = {
        change.path
        for change in changes
        if (change.old_mode == ABSENT or change.path in not_old) and not _is_free(git.tree, change)
    }
    after = [c for c in changes if c.path in other and c.new_mode != ABSENT]
    not_new = _unequal(git, after, os.path.join(scratch, "new-index"))
    foreign = not_new | {c.path for c in changes if c.path in other and c.new_mode == ABSENT}
    return [change for change in changes if change.path not in foreign]


def _is_free(tree: str, change: TreeChange) -> bool:
    """Return whether a path is unused, or a folder at a path that did not exist before."""
    place = os.path.join(tree, change.path)
    return not os.path.lexists(place) or (change.old_mode == ABSENT and _is_folder(place))


def _turned(change: TreeChange) -> TreeChange:
    path, old_mode, new_mode, old_oid, new_oid = change
    return type(change)(path, new_mode, old_mode, new_oid, old_oid)


def _unequal(git: GitCalls, entries: Sequence[TreeChange], index: str) -> set[str]:
    """Return the paths whose content on disk differs from these entries."""
    if not entries:
        return set()
    own = {"GIT_INDEX_FILE": index}
    write_entries(git, index, entries)
    # Unlike the plumbing, `git diff` compares contents if only the timestamp differs.
    out = git.must(
        "-c", "diff.autoRefreshIndex=true", "diff", "--no-ext-diff", "--no-textconv",
        "--no-renames", "--name-only", "-z",
        variables=own,
    )  # fmt: skip
    return {os.fsdecode(path) for path in out.split(b"\0") if path}


def _make(git: GitCalls, new: str, wanted: Sequence[TreeChange], scratch: str, made: str) -> None:
    """Write the new files to ``made``, as git writes them to a working tree of ``new``.

    There, git finds only the attributes of the new commit.
    """
    os.mkdir(made)
    own = {"GIT_INDEX_FILE": os.path.join(scratch, "index"), "GIT_WORK_TREE": made}
    git.must("read-tree", "--end-of-options", new, variables=own)
    git.must(
        "checkout-index", "--force", "-z", "--stdin",
        given=rows_of(change.path for change in wanted), variables=own,
    )  # fmt: skip


def _remove(tree: str, place: str) -> None:
    """Delete a file, and its parent folders that become empty."""
    if not os.path.lexists(place) or _is_folder(place):
        return
    os.unlink(place)
    above = os.path.dirname(place)
    with contextlib.suppress(OSError):
        while above != tree:
            os.rmdir(above)
            above = os.path.dirname(above)


def _put(tree: str, source: str, path: str) -> bool:
    """Move a finished file into place; return False if the path is not free."""
    for above in _upwards(path)[:-1]:
        folder = os.path.join(tree, above)
        if not os.path.lexists(folder):
            os.mkdir(folder)
        elif not _is_folder(folder):  # a link could lead out of the tree
            return False
    place = os.path.join(tree, path)
    if _is_folder(place):
        try:
            os.rmdir(place)
        except OSError:
            return False
    try:
        os.replace(source, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = f"{place}.dibs-{os.getpid()}"
        shutil.copy2(source, beside, follow_symlinks=False)
        os.replace(beside, place)
    return True


def _is_folder(place: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except OSError:
        return False
