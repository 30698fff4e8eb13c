"""Check a shell command that moves HEAD or a branch, before it runs: the rules of the git hooks.

What the command line does not show, the git hooks check.
"""

from __future__ import annotations

import os

from dibs.core.claims.agents import Caller
from dibs.core.claims.shared_tree import HEAD
from dibs.core.shell.git_moves import MoveKind
from dibs.core.shell.words import from_top
from dibs.core.shell.writes import writes
from dibs.core.toolcalls.policy import DeniedPath
from dibs.errors import DibsError
from dibs.git.refs import HEADS, commit_of, other_refs, removed_from
from dibs.git.untrusted import guarded_calls
from dibs.local.repository import checked_out, find
from dibs.services.guard.admission import tell_refused
from dibs.services.guard.git_hooks import Gating
from dibs.services.guard.shared_tree import forget_branch, others_in
from dibs.services.state.presence import role_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.core.shell.git_moves import BranchMove
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.state.store import Store

#: The time limit for git to find what a command would move, in seconds.
_PATIENCE = 1.0
_NONE = "0" * 40


class BranchLoss(Record):
    """The commits that a command removes from a branch."""

    ref: str
    commits: list[str]
    #: Those that no other ref has.
    lost: set[str]
    #: Whether the command replaces them by equivalent ones.
    rewrites: bool = False


def judge_moves(
    store: Store,
    repository: Repository,
    agent: str,
    command: str,
    cwd: str,
    draw: Callable[[], str],
) -> str:
    """Return why an agent's command may not move HEAD or a branch; empty if it may."""
    place = cwd or repository.root
    for move in writes(command, place, os.path.expanduser("~")).moves:
        if move.place is None:
            continue
        folder = os.path.join(place, from_top(move.place, repository.root))
        try:
            why = _judge(store, repository, agent, move, folder, draw)
        except (DibsError, OSError):
            continue  # the git hooks check it again
        if why:
            return why
    return ""


def _judge(
    store: Store,
    repository: Repository,
    agent: str,
    move: BranchMove,
    folder: str,
    draw: Callable[[], str],
) -> str:
    there = find(folder, {})
    if not there.common or there.common != repository.common:
        return ""
    git = guarded_calls(there.root, there, timeout=_PATIENCE)
    if _moves_head(git, move, there.root, folder):
        held = store.look(lambda rows: others_in(rows, agent, there.root))
        if held:
            from dibs.core.toolcalls.messages import shared_head

            refused = [DeniedPath(HEAD, "held", one.holder) for one in held]
            store.apply(lambda rows: tell_refused(rows, agent, role_of(rows, agent), refused))
            return shared_head(held, draw)
        store.apply(lambda rows: forget_branch(rows, agent, there.root))
    for loss in _losses(git, move, there):
        rewrites = loss.rewrites or loss.ref != checked_out(os.path.dirname(there.common))
        stopped, own = Gating(store).removed(
            Caller(agent), loss.ref, loss.commits, loss.lost, rewrites=rewrites
        )
        if stopped:
            from dibs.core.claims.history import refusal

            branch = loss.ref.removeprefix(HEADS)
            first = f"Dibs blocked this command. It would remove landed commits from {branch}:"
            return "\n".join([first, *refusal(stopped, "command", loss.ref, own=own)[1:]])
    return ""


def _moves_head(git: GitCalls, move: BranchMove, root: str, folder: str) -> bool:
    """Return whether a command checks out another commit or another branch."""
    kind, name = move.kind, move.revision
    if kind == MoveKind.HEAD:
        return True
    if kind == MoveKind.RESET_TREE:
        return commit_of(git, name) not in {"", commit_of(git, "HEAD")}
    if kind != MoveKind.CHECKOUT or name in {"HEAD", "@"} or checked_out(root) == HEADS + name:
        return False
    if os.path.lexists(os.path.join(folder, name)) and not commit_of(git, HEADS + name):
        return False
    # Git creates a branch that only a remote has.
    return bool(commit_of(git, name) or git.must("for-each-ref", f"refs/remotes/*/{name}"))


def _losses(git: GitCalls, move: BranchMove, there: Repository) -> Iterator[BranchLoss]:
    """Yield what a command removes from a branch."""
    kind = move.kind
    if kind in {MoveKind.HEAD, MoveKind.CHECKOUT}:
        return
    if kind == MoveKind.PUSH:
        yield from _pushed(git, move, there)
        return
    ref = HEADS + move.ref if move.ref else checked_out(there.root)
    old = commit_of(git, ref)
    new = _NONE
    if kind == MoveKind.AMEND:
        new = commit_of(git, "HEAD~1") or _NONE
    elif kind not in {MoveKind.DELETE, MoveKind.RENAME}:
        new = commit_of(git, move.revision)
    if old and new and ref.startswith(HEADS):
        found, lost = removed_from(git, old, new, other_refs(ref))
        if kind == MoveKind.AMEND:
            found, lost = [old], lost & {old}
        yield BranchLoss(ref, found, lost, kind in {MoveKind.REBASE, MoveKind.RENAME})


def _pushed(git: GitCalls, move: BranchMove, there: Repository) -> Iterator[BranchLoss]:
    remote, _, branch = move.ref.partition("/")
    branch = branch if branch not in {"", "HEAD"} else checked_out(there.root).removeprefix(HEADS)
    old = commit_of(git, f"refs/remotes/{remote}/{branch}")
    new = commit_of(git, move.revision) if move.revision else _NONE
    if old and new:
        others = (f"--exclude=*/{branch}", "--remotes")
        yield BranchLoss(HEADS + branch, *removed_from(git, old, new, others))
