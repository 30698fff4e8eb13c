"""Judge the branches that moved during an agent's command, by the rules of the git hooks.

A command can avoid the hooks, or make a commit look known to them. So what each branch gained and lost is
judged against the branches before the command. Updates that the hooks allowed to others do not count.
"""

from __future__ import annotations

from dibs.core.claims.agents import Caller
from dibs.core.claims.coverage import BlockReason
from dibs.core.text.names import printable
from dibs.errors import DibsError
from dibs.git.incoming import brought, fetched
from dibs.git.refs import HEADS, commit_of, is_in, merge_base, other_refs, removed_from, value_of
from dibs.git.state import git_dir_of
from dibs.git.untrusted import guarded_calls
from dibs.local.branches import allowed_to_others, branch_tips, written_remotes
from dibs.services.guard.git_hooks import Gating
from dibs.services.guard.shared_tree import are_related, tell_removed
from dibs.services.guard.uncommitted.before_call import TreeSnapshots
from dibs.services.guard.uncommitted.foreign import ForeignChange, tell_foreign
from dibs.services.salvage.save import save_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from dibs.local.repository import Repository
    from dibs.services.guard.uncommitted.before_call import TreeSnapshot
    from dibs.services.state.store import Store

_NONE = "0" * 40
_REMOTES = "refs/remotes/"


class MovedBranches:
    """Judges the branches that moved since a snapshot."""

    def __init__(self, store: Store, repository: Repository, mark: TreeSnapshot) -> None:
        self._store = store
        self._repository = repository
        self._mark = mark
        self._now = branch_tips(repository.common)
        config = store.config
        own = f"{HEADS}{config.git_branch}" if config.engine.startswith("git:") else ""
        refs = dict.fromkeys((*mark.branches, *self._now)) if mark.branches else {}
        self._moved = [
            (ref, mark.branches.get(ref, ""), self._now.get(ref, ""))
            for ref in refs
            if ref != own and mark.branches.get(ref, "") != self._now.get(ref, "")
        ]

    def report(self, reported: Container[tuple[str, str]]) -> list[ForeignChange]:
        """Report what the hooks would have refused, except owners' paths that are ``reported`` already."""
        found: list[ForeignChange] = []
        if not self._moved:
            return found
        try:
            self._git = guarded_calls(self._repository.root, self._repository)
            agent, began = self._mark.agent, self._mark.began
            self._tips, self._parents = allowed_to_others(self._repository, agent, began)
            for ref, old, new in self._moved:
                if new not in self._tips:
                    found += self._gained(ref, old, new, reported) if new else []
                    found += self._lost(ref, old, new) if old else []
        except (DibsError, OSError):
            pass  # an unreadable repository must not block the agent's next call
        return found

    def _gained(
        self, ref: str, old: str, new: str, reported: Container[tuple[str, str]]
    ) -> list[ForeignChange]:
        """Report the commits of others' files that a branch gained."""
        git, common, mark = self._git, self._repository.common, self._mark
        written = written_remotes(common, mark.began)
        known = (*(f"--exclude={name.removeprefix(_REMOTES)}" for name in written), "--remotes")
        beyond = [*mark.branches.values(), *self._tips]
        beyond += fetched(git, common, git_dir_of(git.tree))
        made = [one for one in brought(git, old, new, beyond, known=known) if one.paths]
        made = [one for one in made if commit_of(git, f"{one.commit}^") not in self._parents]
        stopped = Gating(self._store).judge(Caller(mark.agent), made, making=False) if made else []
        sure = set(TreeSnapshots(self._repository).running()) <= {mark.agent}
        theirs: dict[str, list[str]] = {}
        for stop in stopped:
            if stop.why == BlockReason.HELD and (stop.path, stop.holder) not in reported:
                theirs.setdefault(stop.holder, []).append(stop.path)
        where = f"commit {new[:10]} on {ref.removeprefix(HEADS)}"
        where += f", which was at {old[:10]} before" if old else ""
        found = []
        for holder, paths in theirs.items():
            saved = self._kept(ref, old, new, holder)
            changes = [ForeignChange(path, holder, saved, sure=sure) for path in paths]
            self._tell(changes, saved, where)
            found += changes
        return found

    def _tell(self, changes: Sequence[ForeignChange], saved: str, where: str) -> None:
        """Report changes of files with one owner."""
        agent = self._mark.agent
        self._store.apply(lambda rows: tell_foreign(rows, agent, changes, saved, where))

    def _lost(self, ref: str, old: str, new: str) -> list[ForeignChange]:
        """Report others' landed commits that a branch lost."""
        git, agent = self._git, self._mark.agent
        if not commit_of(git, old):
            gone, lost = [old], {old}
        elif new:
            gone, lost = ([], set[str]()) if is_in(git, old, new) else self._removed(ref, old, new)
        else:  # a new branch with these commits may be the old one, renamed
            kept = [oid for name, oid in self._now.items() if name in self._mark.branches]
            gone, lost = removed_from(git, old, _NONE, ("--remotes", *kept))
        if not gone:
            return []
        landed, _ = Gating(self._store).removed(None, ref, gone, lost, rewrites=False)
        others = self._store.look(
            lambda rows: [one for one in landed if not are_related(rows, one.agent, agent)]
        )
        if not others:
            return []
        saved = self._kept(ref, old, new, others[0].agent)
        self._store.apply(
            lambda rows: tell_removed(rows, Caller(agent), ref, others, saved=saved or old)
        )
        return [ForeignChange(f"commit {one.oid[:10]}", one.agent, saved) for one in others]

    def _removed(self, ref: str, old: str, new: str) -> tuple[list[str], set[str]]:
        return removed_from(self._git, old, new, other_refs(ref))

    def _kept(self, ref: str, old: str, new: str, agent: str) -> str:
        """Save the commit of a branch that does not have it anymore; return the ref."""
        git = self._git
        if not commit_of(git, old) or (new and is_in(git, old, new)):
            return ""
        base = merge_base(git, old, new) if new else ""
        about = (
            f"branch {printable(ref.removeprefix(HEADS))} before a command of {self._mark.agent}"
        )
        parents = [commit for commit in (base, old) if commit]
        tree = value_of(git, f"{old}^{{tree}}")
        now = self._store.now()
        return save_commits(git, agent=agent, about=about, at=now, tree=tree, parents=parents).ref
