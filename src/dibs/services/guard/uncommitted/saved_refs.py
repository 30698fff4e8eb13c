"""Save what only git's index, a stash, or a branch has, before an agent's command deletes it."""

from __future__ import annotations

import os

from dibs.core.text.names import few, printable
from dibs.core.toolcalls.people import PERSON
from dibs.errors import DibsError
from dibs.git.refs import HEADS, commit_of, unmerged, value_of
from dibs.git.trees import differences
from dibs.git.untrusted import guarded_calls
from dibs.local.files import read_or_empty
from dibs.services.guard.uncommitted.people import KeptWork
from dibs.services.salvage.entries import REFS
from dibs.services.salvage.save import save_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.core.shell.writes import TreeCommand
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository

#: The parent of a stash with its untracked files.
_UNTRACKED = 3


def stashes_in(common: str) -> list[str]:
    """Return the commits of all stashes, the newest first, from git's own file."""
    log = read_or_empty(os.path.join(common, "logs", "refs", "stash"))
    words = [line.split(b" ", 2) for line in log.split(b"\n")]
    return [word[1].decode("ascii", "replace") for word in reversed(words) if len(word) > 1]


def save_refs(
    repository: Repository,
    agent: str,
    commands: Iterable[TreeCommand],
    own: Iterable[str],
    at: float,
) -> list[KeptWork]:
    """Save the stashes and branches that these commands delete, except stashes of the agent's ``own``."""
    found: list[KeptWork | None] = []
    for one in commands:
        if one.verb == "drop":
            every = stashes_in(repository.common)
            number = "".join(c for c in one.revision if c.isdigit())
            place = int(number) if number and len(number) < 6 else 0  # noqa: PLR2004
            named = every[place : place + 1] if one.revision else every
            found += [save_stash(repository, agent, name, at) for name in named if name not in own]
        elif one.verb == "unbranch" and one.revision:
            found.append(_save_branch(repository, agent, one.revision, at))
    return [copy for copy in found if copy is not None]


def save_stash(repository: Repository, agent: str, name: str, at: float) -> KeptWork | None:
    """Save a stash with its untracked files; None if that fails or was done before."""
    try:
        git = guarded_calls(repository.root, repository)
        if not commit_of(git, name) or _is_saved(git, name):
            return None
        tree = _whole_tree(git, name)
        about = f"stash {name[:10]} before a command of {agent}"
        base = [commit for commit in (commit_of(git, f"{name}^1"),) if commit]
        saved = save_commits(
            git, agent=PERSON, about=about, at=at, tree=tree, parents=[*base, name]
        )
        paths = tuple(
            change.path for change in differences(git, base[0] if base else "", saved.commit)
        )
    except (DibsError, OSError):
        return None
    return KeptWork("", paths, saved.ref, "stash")


def _whole_tree(git: GitCalls, name: str) -> str:
    """Return a tree with a stash's tracked and untracked files."""
    new = commit_of(git, f"{name}^{_UNTRACKED}")
    if not new:
        return value_of(git, f"{name}^{{tree}}")
    return _tree_with(
        git, name, git.must("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", new)
    )


def save_staged(
    repository: Repository, root: str, agent: str, staged: Mapping[str, Sequence[str]], at: float
) -> list[KeptWork]:
    """Save staged content (path to mode and object) on top of the last commit, unless that was done."""
    if not staged:
        return []
    rows = b"".join(
        f"{mode} {name}\t".encode() + os.fsencode(path) + b"\0"
        for path, (mode, name) in staged.items()
    )
    try:
        git = guarded_calls(root, repository)
        head = commit_of(git, "HEAD")
        tree = _tree_with(git, head, rows)
        said = git.must("for-each-ref", "--format=%(tree) %(refname)", REFS).decode().splitlines()
        found = [line.partition(" ")[2] for line in said if line.startswith(f"{tree} ")]
        if not found:
            about = f"staged changes to {few(list(staged))} before a command of {agent}"
            parents = [head] if head else []
            found = [
                save_commits(git, agent=PERSON, about=about, at=at, tree=tree, parents=parents).ref
            ]
    except (DibsError, OSError):
        return []
    return [KeptWork("", tuple(staged), found[0], "staged")]


def _tree_with(git: GitCalls, base: str, rows: bytes) -> str:
    """Return the tree of a commit with these entries of an index."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="dibs-tree-") as scratch:
        index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        if base:
            git.must("read-tree", "--end-of-options", base, variables=index)
        git.must("update-index", "-z", "--index-info", given=rows, variables=index)
        return git.must("write-tree", variables=index).decode().strip()


def _save_branch(repository: Repository, agent: str, branch: str, at: float) -> KeptWork | None:
    """Save a branch with commits that no other branch has."""
    try:
        git = guarded_calls(repository.root, repository)
        tip = commit_of(git, f"{HEADS}{branch}")
        if not tip or not unmerged(git, tip, branch) or _is_saved(git, tip):
            return None
        base = git.run("merge-base", "--end-of-options", "HEAD", tip).out.decode().strip()
        parents = [commit for commit in (base, tip) if commit]
        tree = value_of(git, f"{tip}^{{tree}}")
        about = f"branch {printable(branch)} before a command of {agent}"
        saved = save_commits(git, agent=PERSON, about=about, at=at, tree=tree, parents=parents)
    except (DibsError, OSError):
        return None
    return KeptWork("", (branch,), saved.ref, "branch")


def _is_saved(git: GitCalls, commit: str) -> bool:
    """Return whether a salvage entry has this commit."""
    said = git.run("for-each-ref", "--count=1", "--format=1", f"--contains={commit}", REFS)
    return bool(said.out)
