"""Test and land a chain of merges.

The last commit of the chain is tested. If that fails, a binary search finds the first branch that breaks the
tests: the branches before it land, it is refused, and the rest is tested again. So every commit on the
integration branch has passed the tests.
"""

from __future__ import annotations

from dibs.core.changes.merges import bisect
from dibs.errors import Unavailable
from dibs.git.refs import tip_of
from dibs.git.untrusted import refuse_filters
from dibs.git.worktrees import present
from dibs.services.commits.gate import Passage, RefMoved
from dibs.services.merging.chain import SHOWN, ChainBuilder
from dibs.services.merging.checkout import (
    held_still,
    obstacles,
    survey,
    unlock,
)
from dibs.services.merging.scope import held_by_others
from dibs.services.merging.values import Candidate, End, MergeReport, MergeVerdict
from dibs.services.state.own_claims import own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.changes.merges import Outside
    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Claim
    from dibs.local.repository import Repository
    from dibs.services.commits.gate import Gate
    from dibs.services.merging.checkout import MergeTarget
    from dibs.services.merging.queue import Lease
    from dibs.services.merging.tests import Trials
    from dibs.services.merging.values import Branch, MergeRequest, Rules, Run
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How often to retry when someone else moves the branch.
TRIES = 5


def reach(step: str) -> None:
    """Do nothing; tests replace this to simulate a crash at ``step``."""


class _Held(Exception):
    """Another agent has claimed one of a candidate's paths meanwhile."""

    def __init__(self, candidate: Candidate, outside: Sequence[Outside]) -> None:
        super().__init__()
        self.candidate = candidate
        self.outside = tuple(outside)


class MergeBatch:
    """The branches that one call merges into the integration branch."""

    def __init__(
        self,
        store: Store,
        repository: Repository,
        gate: Gate,
        caller: Caller,
        request: MergeRequest,
        rules: Rules,
        *,
        lease: Lease | None,
        trials: Trials | None,
        progress: Callable[[str], None],
    ) -> None:
        """Without a ``lease``, only report what would happen."""
        self._repository = repository
        self._caller = caller
        self._lease = lease
        self._trials = trials
        self._progress = progress
        self._gate = gate
        self._git = gate.guard.calls(repository.root)
        self._builder = ChainBuilder(
            store, gate.guard, repository.root, caller, request, rules, lease
        )
        self._ends: dict[str, MergeVerdict] = {}
        self._tree = ""
        self._notes: list[str] = []

    def run(self, branches: Sequence[Branch], into: str) -> MergeReport:
        """Merge what can be merged, and return the result for each branch."""
        left = list(branches)
        first = new = ""
        moved = 0
        while left:
            trees = present(self._git)
            target = survey(self._git, self._repository.common, into, trees)
            first, new = first or target.tip, target.tip
            if self._lease is not None:
                unlock(self._gate.guard, target)
            chain, out = self._builder.build(target, left, trees)
            self._ends |= {verdict.branch: verdict for verdict in out}
            reach("chained")
            try:
                new = self._settle(target, chain) or new
            except RefMoved:
                moved += 1
                self._progress(f"{into} moved during the merge; trying again")
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

    # -- testing and landing

    def _settle(self, target: MergeTarget, chain: Sequence[Candidate]) -> str:
        """Land the branches of the chain that pass, and refuse the one that fails.

        Return the branch's new commit, or an empty text if it did not move.
        """
        if not chain:
            return ""
        # Without tests, one look just before landing is enough.
        early = self._lease is None or self._trials is not None
        if early and self._in_the_way(target, chain):
            return ""
        if self._lease is None:
            self._end(chain, End.WOULD_MERGE)
            return ""
        whole, culprit, run = self._tried(target, chain)
        reach("tried")
        if whole:
            try:
                if not self._land(target, whole, self._lease):
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
            note = f"the tests also fail on {target.branch} without any of these branches"
            self._end(chain, End.TESTS, run=run, notes=(note,))
        return whole[-1].commit if whole else ""

    def _in_the_way(self, target: MergeTarget, chain: Sequence[Candidate]) -> bool:
        """Refuse the chain if the working tree cannot be updated; return whether it was refused."""
        changes = self._builder.changes(target, chain)
        if target.tree:
            refuse_filters(self._git, (c.path for c in changes), tree=chain[-1].commit)
        dirt = obstacles(self._gate.guard, target, changes)
        if dirt:
            notes = (f"{target.branch} is checked out in {target.tree}, which has:", *dirt)
            self._end(chain, End.DIRTY, notes=notes)
        return bool(dirt)

    def _tried(
        self, target: MergeTarget, chain: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], Candidate | None, Run | None]:
        """Return the part of the chain that passes, the branch that fails, and its test run."""
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
            alone = trials.run(target.tip, target.branch)
            if not alone.ok:  # none of the branches broke it
                return (), None, alone
        return chain[: culprit - 1], chain[culprit - 1], whole(culprit)

    def _land(self, target: MergeTarget, chain: Sequence[Candidate], lease: Lease) -> bool:
        """Move the branch while we hold the queue and no other agent holds the changed paths.

        Return False if the working tree cannot be updated; the chain has then been refused.
        """
        gate, new = self._gate, chain[-1].commit
        with gate.turn():
            gate.recover()
            lease.renew()
            with held_still(gate.guard, target) as bring:
                if self._in_the_way(target, chain):  # it may have changed during the tests
                    return False

                changes = self._builder.changes(target, chain)

                def brought() -> None:
                    kept = "changed during the merge, so it was not updated"
                    self._notes += [f"{path} {kept}" for path in bring(new, changes)]

                try:
                    passage = self._passage(target, chain)
                    gate.land(self._caller, passage, self._check(chain, lease), follow=brought)
                    self._tree = target.tree
                except Unavailable as error:
                    if tip_of(self._git, target.branch) != new:
                        raise
                    self._notes.append(f"{error.message}; the next merge or commit here retries")
        return True

    def _passage(self, target: MergeTarget, chain: Sequence[Candidate]) -> Passage:
        new = chain[-1].commit
        names = [candidate.branch.name for candidate in chain]
        paths = tuple(change.path for change in self._builder.changes(target, chain))
        summary = f"{self._caller.id} merged {', '.join(names[:SHOWN])} into {target.branch}"
        return Passage(
            "merge", target.ref, target.tip, new, target.tree, paths, summary,
            {"branches": names, "into": target.branch,
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
