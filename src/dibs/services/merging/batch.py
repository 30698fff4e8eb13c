"""Merging branches one after the other: a chain of merges is built, tried, and moved in.

The chain is built of objects alone; no working tree takes part. Its last commit is tried. If that fails,
the first branch that breaks it is searched for by halves: what is before it lands, it is set aside, and the
rest is tried again. So what the integration branch holds was tried as it is.
"""

from __future__ import annotations

from dibs.core.changes.merges import bisect
from dibs.core.changes.trailers import check_message, signed
from dibs.core.text.names import few
from dibs.errors import Unavailable
from dibs.git.log import commits
from dibs.git.merge_tree import merged
from dibs.git.refs import HEADS, tip_of
from dibs.git.status import changed
from dibs.git.trees import differences
from dibs.git.untrusted import refuse_drivers, refuse_filters, refuse_signing
from dibs.git.worktrees import present
from dibs.services.commits.build import write_commit
from dibs.services.commits.gate import Passage, RefMoved
from dibs.services.commits.user_hooks import signing
from dibs.services.merging.checkout import (
    both_changed,
    held_still,
    obstacles,
    survey,
    unlock,
)
from dibs.services.merging.conflicts import concerned
from dibs.services.merging.scope import Scope, guarded_in, held_by_others
from dibs.services.merging.values import Candidate, End, MergeReport, MergeVerdict
from dibs.services.state.own_claims import own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.changes.merges import Outside
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Claim
    from dibs.git.trees import TreeChange
    from dibs.git.worktrees import WorktreeEntry
    from dibs.local.repository import Repository
    from dibs.services.commits.gate import Gate
    from dibs.services.merging.checkout import MergeTarget
    from dibs.services.merging.queue import Lease
    from dibs.services.merging.tests import Trials
    from dibs.services.merging.values import Branch, MergeRequest, Rules, Run
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How often a merge is begun anew when somebody else moves the branch.
TRIES = 5
#: How many changed files a note names.
_SHOWN = 5


def reach(step: str) -> None:
    """Do nothing; a test's double stops here, as a crash would."""


class _Held(Exception):
    """Somebody has claimed a path of a candidate since it was looked at."""

    def __init__(self, candidate: Candidate, outside: Sequence[Outside]) -> None:
        super().__init__()
        self.candidate = candidate
        self.outside = tuple(outside)


class MergeBatch:
    """One call's branches on their way into the integration branch."""

    def __init__(
        self,
        store: Store,
        repository: Repository,
        gate: Gate,
        caller: Caller,
        wish: MergeRequest,
        rules: Rules,
        *,
        lease: Lease | None,
        trials: Trials | None,
        told: Callable[[str], None],
    ) -> None:
        """Without a ``lease`` nothing is moved: it is only said what would be."""
        self._store = store
        self._repository = repository
        self._caller = caller
        self._wish = wish
        self._rules = rules
        self._lease = lease
        self._trials = trials
        self._told = told
        self._gate = gate
        self._git = gate.guard.calls(repository.root)
        self._sign = signing(self._git.reading) if lease is not None else ()
        refuse_signing(self._git, wanted=bool(self._sign))
        self._ends: dict[str, MergeVerdict] = {}
        self._trees: list[WorktreeEntry] = []
        self._differing: dict[tuple[str, str], list[TreeChange]] = {}
        self._tree = ""
        self._notes: list[str] = []

    def run(self, branches: Sequence[Branch], into: str) -> MergeReport:
        """Merge what can be merged, and say what became of each branch."""
        left = list(branches)
        first = new = ""
        moved = 0
        while left:
            self._trees = present(self._git)
            ground = survey(self._git, self._repository.common, into, self._trees)
            first, new = first or ground.tip, ground.tip
            if self._lease is not None:
                unlock(self._gate.guard, ground)
            chain = self._chain(ground, left)
            reach("chained")
            try:
                new = self._settle(ground, chain) or new
            except RefMoved:
                moved += 1
                self._told(f"{into} moved meanwhile: once more")
                if moved >= TRIES:
                    self._end(chain, End.MOVED)
            left = [branch for branch in left if branch.name not in self._ends]
        new = new or tip_of(self._git, into)
        verdicts = tuple(self._ends[branch.name] for branch in branches)
        return MergeReport(into, first or new, new, verdicts, self._tree, tuple(self._notes))

    def _end(
        self,
        chain: Sequence[Candidate],
        end: str,
        *,
        outside: tuple[Outside, ...] = (),
        run: Run | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        for candidate in chain:
            name, agent = candidate.branch
            commit = candidate.commit if end == End.MERGED else ""
            self._ends[name] = MergeVerdict(
                name, end, agent, commit, candidate.paths, outside, run=run,
                notes=(*candidate.notes, *notes),
            )  # fmt: skip

    # -- building

    def _chain(self, ground: MergeTarget, branches: Sequence[Branch]) -> list[Candidate]:
        """Merge each branch into the one before; what cannot be merged is left out, with its reason."""
        chain: list[Candidate] = []
        tip = ground.tip
        for branch in branches:
            found = self._join(ground, tip, branch)
            if isinstance(found, MergeVerdict):
                self._ends[branch.name] = found
            else:
                chain.append(found)
                tip = found.commit
        return chain

    def _join(self, ground: MergeTarget, onto: str, branch: Branch) -> Candidate | MergeVerdict:
        name, agent = branch
        tip = tip_of(self._git, name)
        notes = tuple(self._uncommitted(name))
        base = self._base(onto, tip) if tip else ""
        if not base or base == tip:
            return _unmerged(branch, tip, base, notes)
        scope = Scope(self._store, self._git, agent, commits(self._git, ground.tip, tip))
        outside = [] if self._wish.allow_unclaimed else scope.outside()
        if outside and not self._rules.lenient:
            notes += tuple(self._elsewhere(outside, ground.branch))
            return MergeVerdict(name, End.SCOPE, agent, outside=tuple(outside), notes=notes)
        if onto != ground.tip:
            base = self._base(ground.tip, tip)
        refuse_drivers(self._git, both_changed(self._git, base, onto, tip))
        result = merged(self._git, onto, tip)
        if result.clashes:
            others = concerned(self._git, base, onto, result.clashes, agent)
            return MergeVerdict(
                name, End.CONFLICT, agent, clashes=result.clashes, others=others, notes=notes,
                theirs=True,
            )  # fmt: skip
        changes = differences(self._git, onto, result.tree)
        paths = tuple(change.path for change in changes)
        if not self._wish.allow_unclaimed:
            outside += scope.beyond(base, onto, paths)
        guards = guarded_in(agent, paths) if self._rules.guards else []
        if guards or (outside and not self._rules.lenient):
            return MergeVerdict(name, End.SCOPE, agent, outside=(*outside, *guards), notes=notes)
        notes += tuple(f"{o.path} was changed without a claim ({o.why})" for o in outside)
        allowed = {p: {agent, self._caller.id, *scope.agents.get(p, ())} for p in paths}
        held = self._store.look(lambda rows: held_by_others(rows, paths, allowed))
        if held:
            return MergeVerdict(name, End.HELD, agent, outside=tuple(held), notes=notes)
        commit = self._commit(result.tree, (onto, tip), name, ground.branch)
        self._differing[onto, commit] = changes
        return Candidate(branch, tip, commit, paths, allowed, notes)

    def _elsewhere(self, outside: Sequence[Outside], into: str) -> list[str]:
        """Say it where changes that nobody claimed here came from a remote: the branch here is behind."""
        first = next((one.commit for one in outside if one.commit), "")
        found = self._git.run(
            "for-each-ref", "--count=1", "--format=%(refname:short)", f"--contains={first}",
            "--", "refs/remotes",
        )  # fmt: skip
        name = found.out.decode("utf-8", "replace").strip() if first and not found.code else ""
        return [f"{first[:10]} is in {name}: bring {into} up to date with it first"] if name else []

    def _base(self, one: str, other: str) -> str:
        said = self._git.run("merge-base", "--end-of-options", one, other)
        return "" if said.code else said.out.decode().split()[0]

    def _uncommitted(self, branch: str) -> list[str]:
        """Say what lies uncommitted in the branch's working tree: it is not part of the merge."""
        notes = []
        for tree in self._trees:
            if tree.ref == HEADS + branch:
                paths = [change.path for change in changed(self._gate.guard.calls(tree.path))]
                if paths:
                    notes.append(f"not committed, so not merged: {few(paths, _SHOWN)}")
        return notes

    def _commit(self, tree: str, parents: tuple[str, str], branch: str, into: str) -> str:
        message = self._wish.message or f"Merge branch '{branch}' into {into}"
        claims = [] if self._lease is None else [self._lease.claim]
        text = signed(check_message(message), self._caller.id, claims)
        return write_commit(self._git, tree, parents, text, self._sign)

    # -- trying and landing

    def _settle(self, ground: MergeTarget, chain: Sequence[Candidate]) -> str:
        """Decide the chain, or a part of it: what is whole lands, what breaks it is set aside.

        Return the branch's new commit, empty where it did not move.
        """
        if not chain:
            return ""
        early = (
            self._lease is None or self._trials is not None
        )  # else it is looked at once, at the end
        if early and self._in_the_way(ground, chain):
            return ""
        if self._lease is None:
            self._end(chain, End.WOULD_MERGE)
            return ""
        whole, culprit, run = self._tried(ground, chain)
        reach("tried")
        if whole:
            try:
                if not self._land(ground, whole, self._lease):
                    return ""
            except _Held as late:
                self._end([late.candidate], End.HELD, outside=late.outside)
                return ""
            self._end(whole, End.MERGED)
            reach("landed")
        if culprit is not None:
            self._end([culprit], End.TESTS, run=run)
            name = culprit.branch.name
            self._ends[name] = self._ends[name]._replace(theirs=True)
        elif not whole:
            note = f"the tests fail on {ground.branch} itself, without any of these branches"
            self._end(chain, End.TESTS, run=run, notes=(note,))
        return whole[-1].commit if whole else ""

    def _changes(self, ground: MergeTarget, chain: Sequence[Candidate]) -> list[TreeChange]:
        """Return what a chain changes."""
        ends = (ground.tip, chain[-1].commit)
        if ends not in self._differing:
            self._differing[ends] = differences(self._git, *ends)
        return self._differing[ends]

    def _in_the_way(self, ground: MergeTarget, chain: Sequence[Candidate]) -> bool:
        """Refuse a chain that the working tree cannot follow; tell whether it was refused."""
        changes = self._changes(ground, chain)
        if ground.tree:
            refuse_filters(self._git, (c.path for c in changes), tree=chain[-1].commit)
        dirt = obstacles(self._gate.guard, ground, changes)
        if dirt:
            notes = (f"{ground.tree} has {ground.branch} checked out", *dirt)
            self._end(chain, End.DIRTY, notes=notes)
        return bool(dirt)

    def _tried(
        self, ground: MergeTarget, chain: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], Candidate | None, Run | None]:
        """Return what of the chain is whole, who breaks the rest, and the run that showed it."""
        trials = self._trials
        if trials is None:
            return chain, None, None

        def whole(count: int) -> Run:
            return trials.run(chain[count - 1].commit, chain[count - 1].branch.name)

        if whole(len(chain)).ok:
            return chain, None, None
        search = bisect(len(chain))
        try:
            step = next(search)
            while True:
                step = search.send(whole(step).ok)
        except StopIteration as found:
            culprit: int = found.value
        if culprit == 1:
            alone = trials.run(ground.tip, ground.branch)
            if not alone.ok:  # nobody here is to blame
                return (), None, alone
        return chain[: culprit - 1], chain[culprit - 1], whole(culprit)

    def _land(self, ground: MergeTarget, chain: Sequence[Candidate], lease: Lease) -> bool:
        """Move the branch, while the queue is ours and nobody else has claimed what changes.

        Tell whether the working tree let it; if not, it was said why.
        """
        gate, new = self._gate, chain[-1].commit
        with gate.turn():
            gate.recover()
            lease.renew()
            with held_still(gate.guard, ground) as bring:
                if self._in_the_way(ground, chain):  # the tests took their time
                    return False

                changes = self._changes(ground, chain)

                def brought() -> None:
                    stays = "was changed meanwhile and stays as it is"
                    self._notes += [f"{path} {stays}" for path in bring(new, changes)]

                try:
                    passage = self._passage(ground, chain)
                    gate.land(self._caller, passage, self._check(chain, lease), follow=brought)
                    self._tree = ground.tree
                except Unavailable as error:
                    if tip_of(self._git, ground.branch) != new:
                        raise
                    self._notes.append(f"{error.message}; the next merge or commit here catches up")
        return True

    def _passage(self, ground: MergeTarget, chain: Sequence[Candidate]) -> Passage:
        new = chain[-1].commit
        names = [candidate.branch.name for candidate in chain]
        paths = tuple(change.path for change in self._changes(ground, chain))
        summary = f"{self._caller.id} merged {', '.join(names[:_SHOWN])} into {ground.branch}"
        return Passage(
            "merge", ground.ref, ground.tip, new, ground.tree, paths, summary,
            {"branches": names, "into": ground.branch,
             "agents": sorted({c.branch.agent for c in chain}), "tested": self._trials is not None},
        )  # fmt: skip

    def _check(self, chain: Sequence[Candidate], lease: Lease) -> Callable[[Rows], Sequence[Claim]]:
        def check(rows: Rows) -> list[Claim]:
            pattern = rows.pattern(lease.claim.pattern)
            filed = own(rows, self._caller.id, [pattern], lease.claim.token)
            for candidate in chain:
                held = held_by_others(rows, candidate.paths, candidate.allowed)
                if held:
                    raise _Held(candidate, held)
            return [claim for _, claim in filed]

        return check


def _unmerged(branch: Branch, tip: str, base: str, notes: tuple[str, ...]) -> MergeVerdict:
    """Return what there is to say of a branch that is gone, alien, or has nothing to merge."""
    name, agent = branch
    if not tip:
        return MergeVerdict(name, End.MOVED, agent, notes=("the branch is gone",))
    if base:
        return MergeVerdict(name, End.CONTAINED, agent, notes=notes)
    alien = f"{name} has no commit in common with the integration branch"
    return MergeVerdict(name, End.CONFLICT, agent, notes=(*notes, alien))
