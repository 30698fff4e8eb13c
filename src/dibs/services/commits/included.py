"""Refuse, once, a plain commit that includes uncommitted work of another agent.

``dibs commit`` leaves such work out (``services/commits/inherited.py``); git commits what is staged. A record
(``UnfinishedFile``) says whose work a file contains, and its copy which lines those are.
"""

from __future__ import annotations

from dibs.core.changes.landed import changed_lines
from dibs.core.claims.coverage import Blocked, BlockReason
from dibs.git.objects import ABSENT
from dibs.local.last_read import last_read, note_read
from dibs.services.commits.inherited import Inherited, view
from dibs.services.commits.scope import origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile
    from dibs.services.state.store import Store

_PLAIN = ("-U0", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv")


def refuse_including(
    store: Store,
    repository: Repository,
    git: GitCalls,
    caller: Caller,
    changes: Sequence[TreeChange],
    parent: str,
) -> list[Blocked]:
    """Return the paths at which a commit on ``parent`` includes other agents' uncommitted work.

    What is returned is shown in the refusal, so it counts as known to the caller from now on.
    """
    by_path = {change.path: change for change in changes}

    def look(rows: Rows) -> list[UnfinishedFile]:
        if not rows.is_anything_left():
            return []
        found = origins(rows, caller.id, repository.root, by_path)
        return [one.left for some in found.values() for one in some if one.foreign]

    left = store.look(look)
    seen = last_read(repository, caller.id) if left else {}
    stops: dict[str, Blocked] = {}
    for one in left:
        lines = _included(git, by_path[one.path], one) if _name(one) not in seen else None
        if lines is not None:
            stops[_name(one)] = _blocked(one, lines)
    if stops:
        note_read(repository, caller.id, stops, parent)
    return list(stops.values())


def _name(left: UnfinishedFile) -> str:
    """Return the name of a record among what an agent has read; it cannot be the path of a file."""
    return f"/{left.salvage}/{left.at}/{left.path}"


def _blocked(left: UnfinishedFile, lines: int) -> Blocked:
    shown = view(Inherited(left.path, left.agent, lines, left.salvage))
    what = f"{lines} line{'' if lines == 1 else 's'}" if lines else "uncommitted changes"
    hint = f"it would include {what} of {left.agent} (view: {shown})"
    return Blocked(left.path, BlockReason.INHERITED, left.agent, hint=hint)


def _included(git: GitCalls, change: TreeChange, left: UnfinishedFile) -> int | None:
    """Return how many lines of an agent's work a change has, 0 if unknown; None if it has none of it."""
    if not left.salvage.startswith("refs/"):
        return 0
    copy = git.run(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{left.salvage}^{{commit}}"
    )
    if copy.code:
        return 0
    commit = copy.out.decode().strip()
    added = _added(git, commit, left.path)
    if added:
        new = _lines(git, change.new_mode, change.new_oid)
        old = _lines(git, change.old_mode, change.old_oid)
        return len([line for line in added if line in new and line not in old]) or None
    blob = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:{left.path}")
    same = ABSENT if blob.code else blob.out.decode().strip()
    return 0 if same == (ABSENT if change.gone else change.new_oid) else None


def _added(git: GitCalls, commit: str, path: str) -> list[str]:
    """Return the lines that a copy adds to a file, without blank ones."""
    out = git.must(
        "diff-tree", "-p", "--root", *_PLAIN, "--no-commit-id", "--end-of-options",
        commit, "--", path,
    ).decode("utf-8", "surrogateescape")  # fmt: skip
    return [line for _, added in changed_lines(out) for line in added if line.strip()]


def _lines(git: GitCalls, mode: str, oid: str) -> set[str]:
    if mode == ABSENT:
        return set()
    found = git.run("cat-file", "blob", oid)  # fails for a submodule, which has no lines
    return set() if found.code else set(found.out.decode("utf-8", "surrogateescape").split("\n"))
