"""Update git's shared index after a scoped commit: only the entries of the committed paths change."""

from __future__ import annotations

import contextlib
import os

from dibs.errors import Unavailable
from dibs.git.calls import rows_of
from dibs.git.index import IndexBusy, clear_up, index_locked, settle
from dibs.git.state import read_state
from dibs.git.trees import changes_in, differences, sections, staged, write_entries
from dibs.services.commits.private_index import stats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.services.commits.private_index import Stat
    from dibs.services.state.commits import Intent


#: How long files are read under git's lock, in seconds: a process that holds it for longer counts as stopped.
READING = 5.0
#: How many commits may have landed since git read the index.
RECENT = 20


def again(git: GitCalls, intent: Intent) -> str:
    """Update the index for a commit whose process died; return why that fails, or an empty text."""
    return update_stale_entries(git, intent.ref, intent.old, intent.new)


def update_stale_entries(git: GitCalls, ref: str, old: str, new: str) -> str:
    """Update the index entries of a commit; return why that fails, or an empty text.

    Only entries that still have their state from before the commit, and whose path HEAD has as this commit
    made it, are updated: later changes to a path stay.
    """
    state = read_state(git)
    clear_up(state.git_dir)
    if (state.ref or "HEAD") != ref or not state.head:
        return ""  # another branch is checked out
    try:
        with index_locked(state.git_dir, yields=True) as own:
            ahead = {change.path: change for change in staged(git, state.head, own)}
            stale = [
                change
                for change in differences(git, old, new)
                if change.path in ahead
                and ahead[change.path].before == change.after
                and ahead[change.path].after == change.before
            ]
            write_entries(git, own, stale)
            done = settle(state.git_dir, own)
    except IndexBusy as busy:
        return str(busy)
    return "" if done else "another process has taken over git's index"


def overtaken(git: GitCalls, index: str, paths: Sequence[str]) -> list[tuple[str, TreeChange]]:
    """Return the staged ``paths`` that are exactly as before one of the last commits, with that commit.

    Git writes such entries back if it read the index just before the commit landed. The disk has another
    content, so nobody wanted to commit them.
    """
    wanted = set(paths)
    found: dict[str, tuple[str, TreeChange]] = {}
    out = git.must(
        "log", f"-{RECENT}", "--raw", "-z", "--no-abbrev", "--no-renames", "--format=%H", "HEAD", "--",
    )  # fmt: skip
    for names, rows in sections(out):
        for change in changes_in(rows):
            if change.path in wanted:
                found.setdefault(change.path, (names[0], change))
    if not found:
        return []
    ahead = {change.path: change for change in staged(git, "HEAD", index)}
    stale = [
        (commit, change)
        for path, (commit, change) in found.items()
        if path in ahead
        and (ahead[path].before, ahead[path].after) == (change.after, change.before)
    ]
    return [(commit, change) for commit, change in stale if _differs(git, index, change.path)]


def _differs(git: GitCalls, index: str, path: str) -> bool:
    """Return whether the disk has another content than the index."""
    own = {"GIT_INDEX_FILE": index}
    return bool(git.run("diff-files", "--quiet", "--", path, variables=own).code)


def update_entries(
    git: GitCalls,
    index: str,
    changes: Sequence[TreeChange],
    before: Mapping[str, Stat | None],
    *,
    fresh: bool,
) -> None:
    """Update the entries of committed paths in the index file ``index``.

    ``fresh`` says that the commit has the content that was on disk. Git reads files that have not changed
    since again, so that the entries have their timestamps and ``git status`` need not compare contents.
    """
    there = [change.path for change in changes if fresh and not change.gone]
    same = {path for path, seen in stats(git.tree, there).items() if seen == before.get(path)}
    write_entries(git, index, [change for change in changes if change.path not in same])
    if not same:
        return
    try:
        git.patient(READING).must(
            "update-index", "--add", "--replace", "-z", "--stdin",
            given=rows_of(change.path for change in changes if change.path in same),
            variables={"GIT_INDEX_FILE": index},
        )  # fmt: skip
    except (
        Unavailable
    ):  # huge files or a slow filter: the next git status reads them, without the lock
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{index}.lock")
        write_entries(git, index, changes)
