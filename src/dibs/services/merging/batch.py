"""Testing and landing a chain of merges.

The last commit of the chain is tested. If that fails, the first branch that breaks the tests is searched for
by halves: what is before it lands, it is set aside, and the rest is tested again. So all that the integration
branch ever holds was tested as it is.
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

#: How often a merge is begun anew when somebody else moves the branch.
TRIES = 5


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
        self._repository = repository
        self._caller = caller
        self._lease = lease
        self._trials = trials
        self._told = told
        self._gate = gate
        self._git = gate.guard.calls(repository.root)
        self._builder = ChainBuilder(store, gate.guard, repository.root, caller, wish, rules, lease)
        self._ends: dict[str, MergeVerdict] = {}
        self._tree = ""
        self._notes: list[str] = []

    def run(self, branches: Sequence[Branch], into: str) -> MergeReport:
        """Merge what can be merged, and say what became of each branch."""
        left = list(branches)
        first = new = ""
        moved = 0
        while left:
            trees = present(self._git)
            ground = survey(self._git, self._repository.common, into, trees)
            first, new = first or ground.tip, ground.tip
            if self._lease is not None:
                unlock(self._gate.guard, ground)
            chain, out = self._builder.build(ground, left, trees)
            self._ends |= {verdict.branch: verdict for verdict in out}
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

    def _in_the_way(self, ground: MergeTarget, chain: Sequence[Candidate]) -> bool:
        """Refuse a chain that the working tree cannot follow; return whether it was refused."""
        changes = self._builder.changes(ground, chain)
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

                changes = self._builder.changes(ground, chain)

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
        paths = tuple(change.path for change in self._builder.changes(ground, chain))
        summary = f"{self._caller.id} merged {', '.join(names[:SHOWN])} into {ground.branch}"
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
