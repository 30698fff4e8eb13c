"""Branch updates that remove commits from a branch, and updates of HEAD: who may do that, and when.

Humans may do both; Dibs notifies the agents whose commits they remove.
"""

from __future__ import annotations

import os

from dibs.core.claims.history import refusal
from dibs.git.incoming import is_nothing
from dibs.git.refs import HEADS, commit_of, is_in, other_refs, removed_from
from dibs.git.state import head_of, rebased_in, rebased_ref
from dibs.guard.git.messages import OK, REFUSED, say_refused
from dibs.guard.git.program import committer, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.git.calls import GitCalls
    from dibs.project.project import Project

#: Git keeps the reflog of a branch here while it renames the branch, which looks like deleting it.
_RENAMING = "logs/refs/.tmp-renamed-log"
#: What exists while git deletes a branch, but not while it moves one to the file of packed refs.
_DELETING = ("packed-refs.lock", "reftable")
#: The files of a rebase that has not begun to pick commits.
_REBASE, _SET_ASIDE, _BEGUN = "rebase-merge", "autostash", "done"


def rewritten(project: Project, git: GitCalls, updates: Sequence[tuple[str, str, str]]) -> int:
    """Refuse an agent's branch updates ``(old, new, ref)`` that remove landed commits."""
    common = project.place.repository.common
    for old, new, ref in updates:
        if not old or (is_nothing(new) and _only_seems_deleted(common)):
            continue
        if not is_nothing(new) and is_in(git, old, new):
            continue
        found, lost = removed_from(git, old, new, other_refs(ref))
        if found:
            status = judge(project, ref, found, lost, "branch update")
            if status != OK:
                return status
    return OK


def overwritten(git: GitCalls, updates: Sequence[tuple[str, str, str]]) -> int:
    """Refuse an agent's push of ``(old, new, ref)`` that removes landed commits from a remote branch."""
    for old, new, ref in updates:
        known = bool(commit_of(git, old))
        if known and not is_nothing(new) and is_in(git, old, new):
            continue
        project = opened()
        if not known:
            if committer(project).human:
                continue
            branch = ref.removeprefix(HEADS)
            return say_refused([
                f"dibs: push refused: {branch} has commits on the remote that this clone does not have",
                "  to get them: git fetch",
            ])  # fmt: skip
        others = (f"--exclude=*/{ref.removeprefix(HEADS)}", "--remotes")
        found, lost = removed_from(git, old, new, others)
        status = judge(project, ref, found, lost, "push") if found else OK
        if status != OK:
            return status
    return OK


def judge(project: Project, ref: str, found: Sequence[str], lost: set[str], what: str) -> int:
    """Refuse an agent's update that removes landed commits from a branch; tell agents of a human's."""
    caller = committer(project)
    common = project.place.repository.common
    rewrites = head_of(common) != ref or bool(rebased_in(common, ref))
    stopped, own = project.gating.removed(caller, ref, found, lost, rewrites=rewrites)
    if not stopped:
        return OK
    return say_refused(refusal(stopped, what, ref, own=own))


def _only_seems_deleted(common: str) -> bool:
    """Return whether git reports a branch as deleted that it renames or packs."""
    if os.path.exists(os.path.join(common, _RENAMING)):
        return True
    return not any(os.path.exists(os.path.join(common, name)) for name in _DELETING)


def head_moved(project: Project, git: GitCalls, new: str) -> int:
    """Check an update of HEAD alone, which takes it off its branch."""
    caller = committer(project)
    if caller.human:
        return OK
    git_dir = os.environ.get("GIT_DIR") or os.path.join(git.tree, ".git")
    stopped = project.gating.others_here(caller, project.place.repository.root)
    if stopped:
        from dibs.core.claims.shared_tree import refusal as in_the_way

        say_refused(in_the_way(stopped))
    elif _rebase_begins(project, git, git_dir, new) == OK:
        return OK
    return _end_rebase(os.path.join(git_dir, _REBASE))


def _rebase_begins(project: Project, git: GitCalls, git_dir: str, new: str) -> int:
    """Check at its start what a rebase would remove from its branch at its end."""
    ref = rebased_ref(git_dir)
    old = commit_of(git, ref) if ref else ""
    found, lost = removed_from(git, old, new, other_refs(ref)) if old else ([], set())
    return judge(project, ref, found, lost, "rebase") if found else OK


def _end_rebase(state: str) -> int:
    """Remove the state of a rebase that is refused at its start: git leaves it, and no one could commit."""
    if os.path.exists(os.path.join(state, _SET_ASIDE)):
        return say_refused(["  to get back the changes that git set aside: git rebase --abort"])
    if os.path.isdir(state) and not os.path.exists(os.path.join(state, _BEGUN)):
        from shutil import rmtree

        rmtree(state, ignore_errors=True)
    return REFUSED
