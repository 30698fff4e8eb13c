"""Compare uncommitted content with the copies that former owners left: whose is it, and how much changed?"""

from __future__ import annotations

import os

from dibs.core.claims.plain_commits import pattern_of
from dibs.git.refs import commit_of, value_of
from dibs.git.trees import EMPTY
from dibs.local.files import regular
from dibs.services.salvage.private import chunks_of, digest_of, private_entry
from dibs.services.state.sessions import left_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.git.calls import GitCalls
    from dibs.services.salvage.files import SavedCopy
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile
    from dibs.services.state.store import Store

#: The start of a copy's name if git has it.
_REFS = "refs/"


def changed_lines(git: GitCalls, saved: SavedCopy, paths: Sequence[str]) -> dict[str, int]:
    """Return how many lines each saved file changes; a changed line counts once."""
    found = {}
    if saved.has_ref:
        commit = value_of(git, saved.name)
        base = commit_of(git, f"{commit}^1") or EMPTY[len(commit)]
        out = git.must(
            "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--end-of-options", base, commit
        )
        for row in os.fsdecode(out).split("\0"):
            added, _, rest = row.partition("\t")
            removed, _, path = rest.partition("\t")
            found[path] = max((int(n) for n in (added, removed) if n.isdigit()), default=0)
    for path in paths:
        if saved.id and path not in found and path not in saved.missing:
            found[path] = _lines_in(os.path.join(git.tree, path))
    return found


def _lines_in(place: str) -> int:
    """Return the number of lines of an ignored file."""
    try:
        with open(place, "rb", opener=regular) as file:
            return sum(1 for _ in file)
    except OSError:
        return 0


def after_others(store: Store, git: GitCalls, left: UnfinishedFile) -> UnfinishedFile:
    """Return a record with what its author found, or the record of another author of the same content."""

    def others(rows: Rows) -> list[UnfinishedFile]:
        if not rows.is_anything_left():
            return []
        listed = left_at(rows, [pattern_of(left.path, fold_case=store.fold_case)])
        return [one for _, one in listed if (one.path, one.root) == (left.path, left.root)]

    found = store.look(others)
    for one in sorted(found, key=lambda one: -one.at):
        if one.agent != left.agent and one.salvage and _content(git, one) == _content(git, left):
            return one
    return left._replace(before=copy_before(left.agent, found))


def copy_before(agent: str, found: Iterable[UnfinishedFile]) -> str:
    """Return the newest copy that another author left of a file; empty if there is none."""
    others = [one for one in found if one.agent != agent and one.salvage]
    return max(others, key=lambda one: one.at).salvage if others else ""


def _content(git: GitCalls, left: UnfinishedFile) -> str:
    """Return what identifies the content of a copy."""
    if left.salvage.startswith(_REFS):
        return value_of(git, f"{left.salvage}:{left.path}")
    from dibs.git.state import read_state

    entry = private_entry(read_state(git).common, left.salvage)
    for one in entry.files if entry is not None else ():
        if one.path == left.path:
            return one.digest
    return digest_of(chunks_of(os.path.join(left.root, left.path), 0)) if not left.salvage else "?"
