"""Answer git hooks: may these paths be committed, and by whom?"""

from __future__ import annotations

from dibs.core.claims.coverage import BlockReason, guarded_path, held_path, unclaimed
from dibs.core.claims.history import LandedCommit, kept_from, removed
from dibs.core.claims.ledger import Kind
from dibs.core.claims.plain_commits import PlainCommit, pattern_of, stands_against
from dibs.core.claims.protected import guarded
from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.overlap import overlap
from dibs.core.text.names import few, printable
from dibs.services.guard.shared_tree import are_related, others_in, tell_moved, tell_removed
from dibs.services.state.commits import commit_authors, landed, move_commit
from dibs.services.state.rows import claim_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.core.claims.rules import Claim
    from dibs.core.claims.shared_tree import HeldHere
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: Up to this many paths are looked up one by one; for more, all claims are read once.
_FEW = 24
#: How many paths of a refused commit the ledger names.
_TOLD = 20


class Gating:
    """Checks commits made without ``dibs commit``, before or after the fact."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def judge(
        self, committer: Caller, made: Sequence[PlainCommit], *, making: bool = True
    ) -> list[Blocked]:
        """Return what blocks these commits; change nothing except ending dead owners.

        ``committer`` is the author of commits that the store does not know. The rules
        about the committer's own claims and guarded files apply only while it is ``making`` the commits: a
        later push may come from someone else, after the claims were released.
        """
        asked = making and not committer.human
        deny = asked and self._store.config.gate_unclaimed == "deny"
        guards = asked and self._store.config.commit_guarded == "human"

        def step(rows: Rows) -> list[Blocked]:
            found: dict[str, Blocked] = {}
            made_by = commit_authors(rows, [one.commit for one in made if one.commit])
            for one in made:
                maker = made_by.get(one.commit, one.maker)
                agents = {committer.id, maker} if maker else {committer.id}
                around = _around(rows, one.paths, fold_case=self._store.fold_case)
                own, kept = deny and not maker, guards and not maker
                for stop in _stops(rows, around, agents, own=own, guards=kept):
                    found.setdefault(stop.path, stop)
            return list(found.values())

        stopped, gone = self._store.look(lambda rows: (step(rows), bool(rows.facts.dead)))
        # A dead agent blocks no one. End it first, which saves its work before someone else commits it.
        return self._store.apply(step) if gone else stopped

    def removed(
        self,
        caller: Caller | None,
        ref: str,
        gone: Sequence[str],
        lost: Container[str],
        *,
        rewrites: bool,
    ) -> tuple[list[LandedCommit], set[str]]:
        """Return which of the commits ``gone`` from a branch an agent may not remove, and whose are its own.

        No other ref has those in ``lost``. A human may remove them, which notifies their agents. With an
        unknown caller, who counts as the agent that made all of them, no one is notified.
        """

        def look(rows: Rows) -> tuple[list[LandedCommit], set[str]]:
            known = landed(rows, gone)
            found = [LandedCommit(o, *known[o], lost=o in lost) for o in gone if o in known]
            found = removed(found, ref)
            agents = {commit.agent for commit in found}
            who = caller.id if caller is not None else min(agents) if len(agents) == 1 else ""
            return found, {agent for agent in agents if are_related(rows, agent, who)}

        found, own = self._store.look(look)
        human = caller is not None and caller.human
        if not human:
            found = kept_from(found, own, rewrites=rewrites)
        if found and caller is not None:
            self._store.apply(lambda rows: tell_removed(rows, caller, ref, found))
        return ([] if human else found), own

    def others_here(self, caller: Caller, tree: str) -> list[HeldHere]:
        """Return what prevents an agent from moving HEAD in a working tree."""
        return self._store.look(lambda rows: others_in(rows, caller.id, tree))

    def replaced(self, caller: Caller, pairs: Sequence[tuple[str, str]]) -> None:
        """Let the records of an agent's own landed commits follow the commits that replaced them."""

        def step(rows: Rows) -> None:
            known = landed(rows, [old for old, _ in pairs])
            for old, new in pairs:
                if old in known and are_related(rows, known[old][0], caller.id):
                    move_commit(rows, old, new)

        if not caller.human:
            self._store.apply(step)

    def head_moved(self, caller: Caller, tree: str) -> None:
        """Record that HEAD moved in a working tree, and notify the agents that work there."""
        self._store.apply(lambda rows: tell_moved(rows, caller, tree))

    def tell(self, caller: Caller, stopped: Sequence[Blocked]) -> None:
        """Record a refused commit in the ledger, so that owners see who wanted what."""
        paths = [printable(stop.path) for stop in stopped[:_TOLD]]
        holders = sorted({stop.holder for stop in stopped if stop.why == BlockReason.HELD})
        what = paths[0] + (f" and {len(stopped) - 1} more" if len(stopped) > 1 else "")
        who = f"{few(holders)} {'holds' if len(holders) == 1 else 'hold'}"
        why = f": {who} {what}" if holders else f" of {what}"
        summary = f"Dibs refused a commit{why}"
        self._store.apply(
            lambda rows: rows.emit(
                caller.id, caller.role, Kind.COMMIT_REFUSED, summary,
                paths=paths, files=len(stopped), holders=holders,
            )
        )  # fmt: skip


def _stops(
    rows: Rows,
    around: Iterable[tuple[str, list[Claim]]],
    agents: set[str],
    *,
    own: bool,
    guards: bool,
) -> Iterator[Blocked]:
    """Yield what blocks ``agents`` from committing paths.

    With ``own`` they must hold the paths; with ``guards`` they may not commit files that configure tools.
    """
    for path, claims in around:
        against = [claim for claim in claims if stands_against(claim, agents)]
        if against:
            claim = against[0]
            left = rows.deadline(claim) - rows.now
            yield held_path(path, claim, left, while_running=rows.is_while_running(claim))
        elif guards and guarded(path):
            yield guarded_path(path)
        elif own and not any(c.mode == EXCLUSIVE and c.agent in agents for c in claims):
            yield unclaimed(path)


def _around(
    rows: Rows, paths: Sequence[str], *, fold_case: bool
) -> Iterator[tuple[str, list[Claim]]]:
    """Yield each path with the live claims on it."""
    if len(paths) <= _FEW:
        for path in paths:
            pattern = pattern_of(path, fold_case=fold_case)
            near = [claim_of(found) for found in rows.near(pattern) if not found.ticket]
            live = _live(rows, near)
            yield path, [c for c in live if overlap(pattern, rows.pattern(c.pattern)) is not None]
    else:
        yield from _around_many(rows, paths, fold_case=fold_case)


def _around_many(
    rows: Rows, paths: Sequence[str], *, fold_case: bool
) -> Iterator[tuple[str, list[Claim]]]:
    from dibs.core.patterns.lookup import PatternIndex

    index, held = PatternIndex(), list(_live(rows, (claim for _, claim in rows.claims())))
    for place, claim in enumerate(held):
        index.add(str(place), rows.pattern(claim.pattern))
    for path in paths:
        pattern = pattern_of(path, fold_case=fold_case)
        yield path, [held[int(place)] for place, _, _ in index.overlapping(pattern)]


def _live(rows: Rows, claims: Iterable[Claim]) -> Iterator[Claim]:
    return (claim for claim in claims if rows.is_live(claim))
