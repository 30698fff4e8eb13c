"""Build a chain of merge commits, each on top of the one before, without touching a working tree."""

from __future__ import annotations

from dibs.core.changes.trailers import check_message, signed
from dibs.core.text.names import few
from dibs.git.log import commits
from dibs.git.merge_tree import merged
from dibs.git.refs import HEADS, merge_base, tip_of
from dibs.git.status import changed
from dibs.git.trees import differences
from dibs.git.untrusted import refuse_drivers, refuse_signing
from dibs.services.commits.build import write_commit
from dibs.services.commits.keep import keep_merge
from dibs.services.commits.user_hooks import signing
from dibs.services.merging.checkout import both_changed
from dibs.services.merging.conflicts import concerned
from dibs.services.merging.scope import Scope, guarded_in, held_by_others
from dibs.services.merging.values import Candidate, End, MergeVerdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.changes.merges import Outside
    from dibs.core.claims.agents import Caller
    from dibs.git.trees import TreeChange
    from dibs.git.untrusted import SafeGitPool
    from dibs.git.worktrees import WorktreeEntry
    from dibs.services.commits.keep import Kept
    from dibs.services.merging.checkout import MergeTarget
    from dibs.services.merging.queue import Lease
    from dibs.services.merging.values import Branch, MergeRequest, Rules
    from dibs.services.state.store import Store

#: The most files named in a note.
SHOWN = 5


class ChainBuilder:
    """Builds the merges of one call; caches what it learns about commits for the next chain."""

    def __init__(
        self,
        store: Store,
        guard: SafeGitPool,
        root: str,
        caller: Caller,
        request: MergeRequest,
        rules: Rules,
        lease: Lease | None,
    ) -> None:
        self._store = store
        self._guard = guard
        self._git = guard.calls(root)
        self._caller = caller
        self._request = request
        self._rules = rules
        self._lease = lease
        self._sign = signing(self._git.reading) if lease is not None else ()
        refuse_signing(self._git, wanted=bool(self._sign))
        self._differing: dict[tuple[str, str], list[TreeChange]] = {}

    def build(
        self, target: MergeTarget, branches: Sequence[Branch], trees: Sequence[WorktreeEntry]
    ) -> tuple[list[Candidate], list[MergeVerdict]]:
        """Merge each branch on top of the one before; return the chain, and results for the others."""
        chain: list[Candidate] = []
        left: list[MergeVerdict] = []
        tip = target.tip
        for branch in branches:
            notes = tuple(self._uncommitted(branch.name, trees))
            found = self._join(target, tip, branch, notes)
            if isinstance(found, MergeVerdict):
                left.append(found)
            else:
                chain.append(found)
                tip = found.commit
        return chain, left

    def changes(self, target: MergeTarget, chain: Sequence[Candidate]) -> list[TreeChange]:
        """Return the changes that a chain makes."""
        ends = (target.tip, chain[-1].commit)
        if ends not in self._differing:
            self._differing[ends] = differences(self._git, *ends)
        return self._differing[ends]

    def _join(
        self, target: MergeTarget, onto: str, branch: Branch, notes: tuple[str, ...]
    ) -> Candidate | MergeVerdict:
        name, agent = branch
        tip = tip_of(self._git, name)
        base = merge_base(self._git, onto, tip) if tip else ""
        if not base or base == tip:
            return _unmerged(branch, tip, base, notes)
        scope = Scope(self._store, self._git, agent, commits(self._git, target.tip, tip))
        outside = [] if self._request.allow_unclaimed else scope.outside()
        if outside and not self._rules.lenient:
            notes += tuple(self._elsewhere(outside, target.branch))
            return MergeVerdict(name, End.SCOPE, agent, outside=tuple(outside), notes=notes)
        if onto != target.tip:
            base = merge_base(self._git, target.tip, tip)
        refuse_drivers(self._git, both_changed(self._git, base, onto, tip))
        result = merged(self._git, onto, tip)
        if result.clashes:
            others = concerned(self._git, base, onto, result.clashes, agent)
            return MergeVerdict(
                name, End.CONFLICT, agent, clashes=result.clashes, others=others, notes=notes,
                theirs=True,
            )  # fmt: skip
        kept = keep_merge(self._git, onto, tip, result)
        paths = tuple(change.path for change in kept.changes)
        if not self._request.allow_unclaimed:
            outside += scope.beyond(base, onto, paths)
        guards = guarded_in(agent, paths) if self._rules.guards else []
        if guards or (outside and not self._rules.lenient):
            return MergeVerdict(name, End.SCOPE, agent, outside=(*outside, *guards), notes=notes)
        notes += tuple(f"warning: {o.path} was changed without a claim" for o in outside)
        allowed = {p: {agent, self._caller.id, *scope.agents.get(p, ())} for p in paths}
        held = self._store.look(lambda rows: held_by_others(rows, paths, allowed))
        if held:
            return MergeVerdict(name, End.HELD, agent, outside=tuple(held), notes=notes)
        commit = self._commit(kept, name, target.branch)
        self._differing[onto, commit] = list(kept.changes)
        return Candidate(branch, tip, commit, paths, allowed, notes)

    def _elsewhere(self, outside: Sequence[Outside], into: str) -> list[str]:
        """Return a note if unclaimed changes came from a remote branch: the local branch is behind."""
        first = next((one.commit for one in outside if one.commit), "")
        found = self._git.run(
            "for-each-ref", "--count=1", "--format=%(refname:short)", f"--contains={first}",
            "--", "refs/remotes",
        )  # fmt: skip
        name = found.out.decode("utf-8", "replace").strip() if first and not found.code else ""
        return [f"{first[:10]} is in {name}: update {into} from it first"] if name else []

    def _uncommitted(self, branch: str, trees: Sequence[WorktreeEntry]) -> list[str]:
        """Return a note about uncommitted changes in the branch's working tree, which are not merged."""
        notes = []
        for tree in trees:
            if tree.ref == HEADS + branch:
                paths = [change.path for change in changed(self._guard.calls(tree.path))]
                if paths:
                    notes.append(f"not merged, because uncommitted: {few(paths, SHOWN)}")
        return notes

    def _commit(self, kept: Kept, branch: str, into: str) -> str:
        message = self._request.message or f"Merge branch '{branch}' into {into}"
        claims = [] if self._lease is None else [self._lease.claim]
        text = signed(check_message(message), self._caller.id, claims)
        return write_commit(self._git, kept, text, self._sign)


def _unmerged(branch: Branch, tip: str, base: str, notes: tuple[str, ...]) -> MergeVerdict:
    """Return the result for a branch that was deleted, is unrelated, or has nothing to merge."""
    name, agent = branch
    if not tip:
        return MergeVerdict(name, End.MOVED, agent, notes=("the branch was deleted",))
    if base:
        return MergeVerdict(name, End.CONTAINED, agent, notes=notes)
    alien = f"{name} has no common history with the integration branch"
    return MergeVerdict(name, End.CONFLICT, agent, notes=(*notes, alien))
