"""The short way to a commit: one ``git commit --only`` in a git directory of its own, where no hook runs.

The private git directory has a HEAD and a copy of the shared index, and shares everything else. So git itself
hashes the files, writes trees and commit, and brings the copy forward, all in one process, and nothing that
others can see has moved. Whatever it cannot do (a branch without a commit, a file that became a folder,
entries in conflict, refs in tables) goes the long way of ``commit_build``. What comes out is verified alike.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat

from dibs.git.trees import differences
from dibs.services.commits.build import PATIENCE, Built, check_identity, dates, rows_of, stats
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.services.commits.build import Stat
    from dibs.services.commits.values import CommitPlan

#: What of a working tree's own git directory decides how its files are read.
_OWN = ("config.worktree", "info/sparse-checkout")


class Quick(Record):
    """A commit that is on no branch yet, and an index that knows it."""

    built: Built
    commit: str
    new_index: str
    #: What the shared index was like that it was made from.
    made_from: Stat | None


@contextlib.contextmanager
def private_directory(index: str) -> Iterator[str]:
    """Give out the path of a git directory that nobody else uses; afterwards it is gone."""
    place = f"{index}.d"
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def can_do(tree: str, plan: CommitPlan) -> bool:
    """Tell whether the short way fits: plain files, that git commits as they are on disk."""
    if plan.state.unborn or any(change.unmerged for change in plan.changes):
        return False
    for change in plan.chosen:
        if change.code[0] == "D" and os.path.lexists(os.path.join(tree, change.path)):
            return False
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(os.path.join(tree, change.path)).st_mode):
                return False
    return True


def quick(git: GitCalls, plan: CommitPlan, message: str, place: str) -> Quick | None:
    """Commit beside the branch; return nothing where git does not manage, and nothing has happened."""
    check_identity(os.environ.items())
    state = plan.state
    made_from = _prepared(state, place)
    variables = {
        "GIT_DIR": place, "GIT_COMMON_DIR": state.common, "GIT_WORK_TREE": git.tree,
        "GIT_INDEX_FILE": os.path.join(place, "index"),
    }  # fmt: skip
    calls = git.patient(PATIENCE)
    fresh = rows_of(change.path for change in plan.chosen if change.untracked)
    if fresh and calls.run(
        "update-index", "--add", "-z", "--stdin", given=fresh, variables=variables
    ).code:  # fmt: skip
        return None
    text = os.path.join(place, "message")
    with open(text, "wb") as file:
        file.write(message.encode("utf-8", "surrogateescape"))
    said = calls.run(
        "-c", "i18n.commitEncoding=UTF-8", "-c", "core.logAllRefUpdates=false", "-c", "core.splitIndex=false",
        "commit", "--quiet", "--only", "--no-verify", "--no-status", "--cleanup=verbatim",
        "-F", text, "--pathspec-from-file=-", "--pathspec-file-nul",
        given=rows_of(change.path for change in plan.chosen), variables={**variables, **dates()},
    )  # fmt: skip
    commit = _head(place)
    if said.code or commit == state.head:
        return None
    built = Built(state.head, "", tuple(differences(git, state.head, commit)))
    return Quick(built, commit, variables["GIT_INDEX_FILE"], made_from)


def index_stat(git_dir: str) -> Stat | None:
    """Return by what the shared index is known to be unchanged."""
    return stats(git_dir, ["index"])["index"]


def _prepared(state: TreeState, place: str) -> Stat | None:
    """Make the private git directory; return what the shared index was like."""
    os.mkdir(place, 0o700)
    with open(os.path.join(place, "HEAD"), "w", encoding="ascii") as file:
        file.write(f"{state.head}\n")
    with open(os.path.join(place, "commondir"), "wb") as raw:
        raw.write(os.fsencode(state.common) + b"\n")
    for name in _OWN:
        source = os.path.join(state.git_dir, name)
        if os.path.exists(source):
            os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
            os.symlink(source, os.path.join(place, name))
    made_from = index_stat(state.git_dir)
    with contextlib.suppress(FileNotFoundError):
        copy = os.path.join(place, "index")
        shutil.copyfile(os.path.join(state.git_dir, "index"), copy)
        shutil.copystat(os.path.join(state.git_dir, "index"), copy)
    return made_from


def _head(place: str) -> str:
    with open(os.path.join(place, "HEAD"), encoding="ascii", errors="replace") as file:
        return file.read().strip()
