"""Refuse, once, a commit that undoes what others committed since its agent last read the file.

The hooks note what an agent reads (``local/last_read.py``). If nobody else has changed a file since then,
this costs nothing, or one comparison of two commits.
"""

from __future__ import annotations

import os

from dibs.core.changes.landed import LandedChange, both_versions, changed_lines, undone
from dibs.core.claims.coverage import Blocked, BlockReason
from dibs.core.claims.rules import view_command
from dibs.git.objects import ABSENT
from dibs.git.trees import parsed
from dibs.local.last_read import START, note_read
from dibs.services.state.commits import commit_authors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.local.repository import Repository
    from dibs.services.state.store import Store

#: The most lines of each version in a refusal.
SHOWN = 20
#: Up to this many paths are named to git; for more, it compares everything.
_FEW = 500
_PLAIN = ("-U0", "--no-color", "--no-renames", "--inter-hunk-context=0")


def refuse_undoing(
    store: Store,
    repository: Repository,
    git: GitCalls,
    caller: Caller,
    changes: Sequence[TreeChange],
    parent: str,
    seen: Mapping[str, str],
) -> list[Blocked]:
    """Return the paths at which a commit on ``parent`` undoes others' commits that its agent has not read.

    ``seen`` has the commit at which the agent last read each path, or started. What is returned is shown in
    the refusal, so it counts as read from now on.
    """
    stale: dict[str, list[TreeChange]] = {}
    for change in changes:
        commit = seen.get(change.path) or seen.get(START, parent)
        if commit != parent:
            stale.setdefault(commit, []).append(change)
    found = []
    for commit, some in stale.items():
        for change in _changed_since(git, commit, parent, some):
            blocked = _judged(store, git, caller, change, (commit, parent))
            if blocked is not None:
                found.append(blocked)
    if found:
        note_read(repository, caller.id, [item.path for item in found], parent)
    return found


def _changed_since(
    git: GitCalls, commit: str, parent: str, changes: Sequence[TreeChange]
) -> list[TreeChange]:
    """Return those of ``changes`` whose path differs between two commits; none if one of these is lost."""
    paths = [change.path for change in changes] if len(changes) <= _FEW else []
    result = git.run(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options",
        commit, parent, "--", *paths,
    )  # fmt: skip
    differ = set() if result.code else {one.path for one in parsed(result.out)}
    return [change for change in changes if change.path in differ]


def _judged(
    store: Store, git: GitCalls, caller: Caller, change: TreeChange, span: tuple[str, str]
) -> Blocked | None:
    """Return why a changed path undoes others' commits in ``span``, or None if it does not."""
    landed = _by_others(store, caller, _landed(git, change.path, span))
    if not landed:
        return None
    last = "" if change.old_mode == ABSENT else _text(git, change.old_oid)
    new = "" if change.gone else _text(git, change.new_oid)
    found = undone(landed, last.split("\n"), new.split("\n"))
    if not found:
        return None
    first = found[0][0]
    lines = frozenset[str]().union(*(some for _, some in found))
    before, after = both_versions(_diff(git, change), lines)
    return Blocked(
        change.path,
        BlockReason.UNDOES,
        first.author,
        hint=f"compare: {view_command('', change.path)}; if you mean it, run the same command again",
        commit=first.commit,
        landed=tuple(before[:SHOWN]),
        yours=tuple(after[:SHOWN]),
    )


def _landed(git: GitCalls, path: str, span: tuple[str, str]) -> list[LandedChange]:
    """Return what each commit in ``span`` changed at a path, newest first."""
    since, until = span
    out = git.must(
        "-c", "log.follow=false", "log", "-p", *_PLAIN, "--format=%x00%H%x00%an%x00", "--end-of-options",
        f"{since}..{until}", "--", path,
    )  # fmt: skip
    words = out.decode("utf-8", "surrogateescape").split("\0")[1:]
    found = []
    for commit, author, diff in zip(words[::3], words[1::3], words[2::3], strict=False):
        hunks = list(changed_lines(diff))
        removed = tuple(line for hunk, _ in hunks for line in hunk)
        added = tuple(line for _, hunk in hunks for line in hunk)
        binary = not hunks and "\nBinary files " in diff
        found.append(LandedChange(commit, _plain(author), added, removed, binary))
    return found


def _plain(author: str) -> str:
    """Return an author's name without characters that could end a quotation."""
    return "".join(c if c.isalnum() or c in " .-_@" else "_" for c in author[:60]) or "someone"


def _by_others(store: Store, caller: Caller, landed: list[LandedChange]) -> list[LandedChange]:
    """Return the changes that are not the caller's own; a human's plain commits have no record."""
    if not landed:
        return []
    known = commit_authors_in(store, [change.commit for change in landed])
    own = caller.id
    return [
        change._replace(author=known.get(change.commit, change.author))
        for change in landed
        if known.get(change.commit, own if caller.human else "") != own
    ]


def commit_authors_in(store: Store, commits: Sequence[str]) -> dict[str, str]:
    """Return the agents behind those of these commits that the gate recorded."""
    return store.look(lambda rows: commit_authors(rows, commits)) if commits else {}


def _text(git: GitCalls, oid: str) -> str:
    found = git.run("cat-file", "blob", oid)  # fails for a submodule, which has no lines
    return "" if found.code else found.out.decode("utf-8", "surrogateescape")


def _diff(git: GitCalls, change: TreeChange) -> str:
    """Return what the commit does to the path, without context."""
    empty = git.must("hash-object", "-t", "blob", os.devnull).decode().strip()
    names = [empty if set(oid) == {"0"} else oid for oid in (change.old_oid, change.new_oid)]
    result = git.run("diff", *_PLAIN, "--end-of-options", *names)
    return result.out.decode("utf-8", "surrogateescape")
