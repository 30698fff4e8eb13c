"""What the pre-commit framework asks about: what is staged, or what is about to be pushed."""

from __future__ import annotations

import os

from dibs.core.claims.plain_commits import PlainCommit, only_new
from dibs.git.incoming import is_nothing, new_commits
from dibs.guard.git.updates import git_here, is_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.local.repository import Repository


def staged_or_pushed(repository: Repository) -> list[PlainCommit]:
    """Return the paths that are staged, or the commits between the two ends that the framework names."""
    git = git_here()
    old, new = os.environ.get("PRE_COMMIT_FROM_REF", ""), os.environ.get("PRE_COMMIT_TO_REF", "")
    if is_object(new) and not is_nothing(new):
        beyond = [old] if is_object(old) and not is_nothing(old) else []
        commits = new_commits(git, new, beyond, known=("--remotes",))
        return [PlainCommit(only_new(commit.changes, ()), commit.oid) for commit in commits]
    git_dir = os.path.join(repository.root, ".git")
    if os.path.exists(os.path.join(os.environ.get("GIT_DIR") or git_dir, "MERGE_HEAD")):
        return []  # a merge brings what others did; the update of the branch tells them apart
    out = git.must(
        "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-relative", "--ignore-submodules=none",
    )  # fmt: skip
    paths = tuple(os.fsdecode(path) for path in out.split(b"\0") if path)
    return [PlainCommit(paths)] if paths else []
