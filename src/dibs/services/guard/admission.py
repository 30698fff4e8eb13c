"""Decide one tool call inside one transaction: who calls, what it may touch, what it claims.

All paths of a call are granted, or none.
"""

from __future__ import annotations

import os

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.protected import guarded, guarded_beneath, is_guarded_folder
from dibs.core.claims.rules import EXCLUSIVE, SHARED, Denied, Queued, Request, check_request
from dibs.core.patterns.overlap import matches
from dibs.core.patterns.pattern import is_everything, parse
from dibs.core.toolcalls.policy import DeniedPath, PathRule
from dibs.core.toolcalls.values import How
from dibs.services.claims.acquire import SHOWN, WaitOptions, attempt, survey
from dibs.services.guard.sessions import join_session
from dibs.services.state.presence import arrive
from dibs.services.state.rows import claim_of
from dibs.services.state.sessions import put_session, session_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Beat
    from dibs.core.claims.rules import Conflict, LeftWork
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.toolcalls.policy import GuardPolicy
    from dibs.core.toolcalls.values import HookEvent
    from dibs.services.claims.acquire import Survey
    from dibs.services.guard.sessions import HookCaller
    from dibs.services.guard.touched import TouchedPath
    from dibs.services.state.rows import FiledRow, Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store

    #: The rows near each pattern, by the pattern's key.
    Near = dict[str, list[FiledRow]]

#: How long an agent holds a hot file after its last heartbeat, in seconds.
HOT_TTL = 30.0
_REFUSED = frozenset({PathRule.HUMAN, PathRule.GUARDED})


class Decided(Record):
    """The decision on a call."""

    session: SessionRow
    #: Whether this is the agent's first call.
    new: bool = False
    refused: tuple[DeniedPath, ...] = ()
    #: The claims and tickets in the way.
    conflicts: tuple[Conflict, ...] = ()
    #: Whether a short wait may help: only hot files are in the way.
    may_wait: bool = False
    #: Files that another agent left unfinished.
    left: tuple[LeftWork, ...] = ()
    #: What the call has claimed.
    fresh: tuple[Pattern, ...] = ()
    #: Files in it that the agent itself left unfinished.
    resumed: tuple[str, ...] = ()


class Wishes(Record):
    """What a call needs beyond what its agent already holds."""

    plain: tuple[TouchedPath, ...] = ()
    hot: tuple[TouchedPath, ...] = ()
    shared: tuple[TouchedPath, ...] = ()
    #: Folders, patterns, ignored files, and what a call may write: no one else may hold them, but they are
    #: not claimed.
    deep: tuple[TouchedPath, ...] = ()


class Admission:
    """Decides calls in one project."""

    def __init__(self, store: Store, policy: GuardPolicy, root: str) -> None:
        self._store = store
        self._policy = policy
        self._root = root
        config = store.config
        shortest = store.engine.shortest_ttl
        self._ttl = max(config.ttl, shortest)
        self._hot_ttl = max(HOT_TTL, shortest)
        #: Patterns of claims that do not count for ignored files, because they do not name any.
        self.overlooked: frozenset[str] = frozenset()

    def decide(
        self,
        rows: Rows,
        heard: HookEvent,
        who: HookCaller,
        paths: Sequence[TouchedPath],
        *,
        last: bool,
    ) -> Decided:
        """Decide a call; with ``last``, a denial is final and recorded in the ledger."""
        row, session, new = join_session(rows, heard, who)
        also = {one.elsewhere for one in paths if one.elsewhere}.difference(session.also)
        if also:
            session = session._replace(also=(*session.also, *sorted(also)))
            put_session(rows, row, session)
        beat = arrive(rows, Caller(session.id, "agent", session.realm.partition("/")[0]))
        so_far = Decided(session, new)
        ruled = [(one, self._rule(one)) for one in paths]
        refused = [DeniedPath(one.path or ".", rule) for one, rule in ruled if rule in _REFUSED]
        if refused:
            held = self._also_held(rows, session, ruled)
            return _refuse(rows, so_far, beat, [*held, *refused], last=True)
        near: Near = {}
        wishes = _wishes(rows, session.id, ruled, near)
        if not any(wishes):
            return so_far
        return self._by_claims(rows, so_far, beat, wishes, near, last=last)

    def _also_held(
        self, rows: Rows, session: SessionRow, ruled: Iterable[tuple[TouchedPath, str]]
    ) -> list[DeniedPath]:
        """Return what other agents hold of a call that the settings block anyway."""
        rest = [
            (one, PathRule.CLAIM if rule in _REFUSED else rule)
            for one, rule in ruled
            if not one.steering and (one.deep or rule not in _REFUSED)
        ]
        near: Near = {}
        wishes = _wishes(rows, session.id, rest, near)
        _, against = self._look(rows, session, wishes, near)
        return _held(against, [*wishes.plain, *wishes.shared, *wishes.deep])

    def _rule(self, one: TouchedPath) -> str:
        """Return the settings' rule for a path."""
        if one.steering or (self._policy.guards and self._takes_guarded(one)):
            return PathRule.GUARDED
        if one.ignored and one.local:  # it disappears with other ignored files
            return PathRule.CLAIM
        return self._policy.fate(one.path, one.how, deep=one.deep)

    def _takes_guarded(self, one: TouchedPath) -> bool:
        """Return whether changing a path would change or remove a file that configures tools.

        A whole worktree may be removed with its files.
        """
        if one.how == How.READ or (one.elsewhere and not one.path):
            return False
        if guarded(one.path) or is_guarded_folder(one.path):
            return not one.stays
        if not one.deep or not (one.how == How.DELETE or one.ignored):
            return False
        root = one.elsewhere or self._root
        return any(
            os.path.lexists(os.path.join(root, path))
            for path in guarded_beneath(one.path.rstrip("/"))
        )

    def _by_claims(
        self,
        rows: Rows,
        so_far: Decided,
        beat: Beat,
        wishes: Wishes,
        near: Near,
        *,
        last: bool,
    ) -> Decided:
        session = so_far.session
        around, against = self._look(rows, session, wishes, near)
        if session.parent and any(c.holder == session.parent for c in against):
            from dibs.services.guard.subagents import lend

            around = None
            wishes, against = lend(rows, session, wishes, against, self._store)
            under = [one for one in wishes.plain if one.pattern.scheme]
            if under:
                against += survey(rows, _request(session, under, self._ttl)).conflicts
        if against:
            refused = _held(against, [*wishes.plain, *wishes.shared, *wishes.deep])
            return _refuse(rows, so_far, beat, refused, against, last=last)
        if self._policy.auto_claim == "off" and (wishes.plain or wishes.hot):
            missing = [DeniedPath(one.path, "unclaimed") for one in (*wishes.plain, *wishes.hot)]
            return _refuse(rows, so_far, beat, missing, last=True)
        if wishes.hot:
            so_far, conflicts = self._claim_hot(rows, so_far, beat, wishes.hot)
            if conflicts:
                refused = _held(conflicts, wishes.hot, "queued")
                return _refuse(rows, so_far, beat, refused, conflicts, last=last)
        claimed: list[Pattern] = [one.pattern for one in wishes.hot]
        if wishes.shared:
            self._grant(rows, _request(session, wishes.shared, self._ttl, SHARED))
        if wishes.plain:
            # A survey from before this call's other grants is outdated.
            seen = None if wishes.hot or wishes.shared else around
            claimed += self._claim_plain(rows, session, wishes.plain, seen)
        left, resumed = _left(rows, session, claimed)
        return so_far._replace(fresh=tuple(claimed), left=tuple(left), resumed=tuple(resumed))

    def _claim_hot(
        self, rows: Rows, so_far: Decided, beat: Beat, hot: Sequence[TouchedPath]
    ) -> tuple[Decided, Sequence[Conflict]]:
        """Claim hot files, or queue for them; return what is in the way."""
        request = _request(so_far.session, hot, self._hot_ttl)
        # An agent that retries in time keeps its position.
        until = rows.now + self._store.config.max_hold
        waiting = WaitOptions(until, self._hot_ttl, standing=False)
        outcome = attempt(rows, request, beat, max_hold=self._hot_ttl, waiting=waiting)
        if not isinstance(outcome, Queued | Denied):
            return so_far, ()
        return so_far._replace(may_wait=isinstance(outcome, Queued)), outcome.conflicts

    def _look(
        self, rows: Rows, session: SessionRow, wishes: Wishes, near: Near
    ) -> tuple[Survey | None, list[Conflict]]:
        """Return the survey of plain files, and the conflicts of all but hot files."""
        plain: Survey | None = None
        against: list[Conflict] = []
        for some, mode in (
            (wishes.plain, EXCLUSIVE), (wishes.deep, EXCLUSIVE), (wishes.shared, SHARED)
        ):  # fmt: skip
            if some:
                around = survey(rows, _request(session, some, self._ttl, mode), near)
                plain = around if some is wishes.plain else plain
                trees = {
                    one.pattern.text: one.elsewhere or session.root for one in some if one.local
                }
                loose = {one.pattern.text for one in some if one.ignored}
                against += [
                    c for c in around.conflicts
                    if not (c.pattern in loose and c.held in self.overlooked)
                    and self._counts(rows, session, c, trees)
                ]  # fmt: skip
        return plain, against

    def _counts(
        self, rows: Rows, session: SessionRow, conflict: Conflict, trees: Mapping[str, str]
    ) -> bool:
        """Return whether another agent's claim blocks a call.

        A change to the whole working tree, such as a checkout, affects only agents in that tree; so do the
        files in ``trees``, each with its working tree.
        """
        tree = trees.get(conflict.pattern, "")
        if not tree and not is_everything(rows.pattern(conflict.pattern)):
            return True
        found = session_of(rows, conflict.holder)
        if conflict.ticket or found is None:
            return not conflict.ticket
        return found[1].works_in(tree or session.root)

    def _claim_plain(
        self,
        rows: Rows,
        session: SessionRow,
        wanted: Sequence[TouchedPath],
        around: Survey | None,
    ) -> list[Pattern]:
        """Claim files, or with ``auto_claim = "directory"`` their folders if those are unclaimed."""
        if self._policy.auto_claim == "directory":
            folders = [one._replace(pattern=_folder(one, self._store)) for one in wanted]
            request = _request(session, folders, self._ttl)
            beside = survey(rows, request)
            if not beside.conflicts:
                return self._grant(rows, request, beside)
        return self._grant(rows, _request(session, wanted, self._ttl), around)

    def _grant(self, rows: Rows, request: Request, around: Survey | None = None) -> list[Pattern]:
        beat = rows.beat(request.agent)
        assert beat is not None
        check_request(request, held=beat.claims, human=False)
        hold = self._store.config.max_hold
        attempt(rows, request, beat, max_hold=hold, waiting=None, around=around)
        return list(request.patterns)


def _request(
    session: SessionRow, wanted: Sequence[TouchedPath], ttl: float, mode: str = EXCLUSIVE
) -> Request:
    patterns = {one.pattern.key: one.pattern for one in wanted}
    return Request(session.id, tuple(patterns.values()), mode, ttl)


def _wishes(rows: Rows, agent: str, ruled: Iterable[tuple[TouchedPath, str]], near: Near) -> Wishes:
    """Return what an agent does not hold yet; add the rows near each path to ``near``."""
    plain, hot, shared, deep = [], [], [], []
    for one, rule in ruled:
        if rule == PathRule.FREE:
            continue
        filed = near[one.pattern.key] = list(rows.near(one.pattern))
        if _holds(rows, agent, one, rule, filed):
            continue
        if rule == PathRule.SHARE:
            shared.append(one)
        elif one.deep or one.ignored or one.how == How.MAYBE:
            deep.append(one)
        elif rule == PathRule.HOT:
            hot.append(one)
        else:
            plain.append(one)
    return Wishes(tuple(plain), tuple(hot), tuple(shared), tuple(deep))


def _holds(rows: Rows, agent: str, one: TouchedPath, rule: str, filed: Sequence[FiledRow]) -> bool:
    """Return whether one of the agent's claims covers a path.

    Each edit renews the claim on a hot file, unless another agent is waiting: then the claim expires.
    """
    held = waited = False
    for found in filed:
        if found.agent != agent:
            waited = waited or bool(found.ticket)
        elif not found.ticket:
            claim = claim_of(found)
            enough = claim.mode == EXCLUSIVE or rule == PathRule.SHARE
            if enough and _covers(rows.pattern(claim.pattern), one):
                held = held or rows.now < claim.hard
    return held and (rule != PathRule.HOT or waited)


def _covers(held: Pattern, one: TouchedPath) -> bool:
    if held.key == one.pattern.key:
        return True
    if one.deep and not held.text.endswith(("/", "/**")):
        return False
    return bool(one.path) and matches(held, f"./{one.path}")


def _left(
    rows: Rows, session: SessionRow, claimed: Sequence[Pattern]
) -> tuple[list[LeftWork], list[str]]:
    """Return files in new claims that another agent left unfinished, and those that the agent itself left."""
    if not claimed or not rows.is_anything_left():
        return [], []
    from dibs.services.state.ownership import take_over
    from dibs.services.state.sessions import left_at

    own = [left.path for _, left in left_at(rows, claimed) if left.agent == session.id]
    return take_over(rows, session.id, claimed), own


def _folder(one: TouchedPath, store: Store) -> Pattern:
    above = "" if one.pattern.scheme else one.pattern.text.rpartition("/")[0]
    return parse(f"{above}/", fold_case=store.fold_case) if above not in {"", "."} else one.pattern


def _held(
    conflicts: Sequence[Conflict], wanted: Sequence[TouchedPath], why: str = "held"
) -> list[DeniedPath]:
    """Return a denial for each path in conflict, preferring owners to waiting agents."""
    names = {one.pattern.text: one.path or "." for one in wanted}
    found: dict[str, DeniedPath] = {}
    for c in sorted(conflicts, key=lambda conflict: bool(conflict.ticket)):
        path = names.get(c.pattern, c.pattern)
        found.setdefault(path, DeniedPath(
            path, why, c.holder, c.held, c.reason, c.task, c.expires_in, bool(c.ticket), c.while_running,
        ))  # fmt: skip
    return list(found.values())


def _refuse(
    rows: Rows,
    so_far: Decided,
    beat: Beat,
    refused: Sequence[DeniedPath],
    conflicts: Sequence[Conflict] = (),
    *,
    last: bool,
) -> Decided:
    if last:
        tell_refused(rows, so_far.session.id, beat.role, refused)
    return so_far._replace(refused=tuple(refused), conflicts=tuple(conflicts))


def tell_refused(rows: Rows, agent: str, role: str, refused: Sequence[DeniedPath]) -> None:
    """Record a blocked call in the ledger, so that owners see who wanted what."""
    from dibs.core.text.names import printable

    names = list(dict.fromkeys(printable(one.path) for one in refused))
    paths = names[:SHOWN]
    holders = sorted({one.holder for one in refused if one.holder})
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    held = f", held by {', '.join(holders)}" if holders else ""
    rows.emit(
        agent, role, Kind.WRITE_REFUSED, f"{agent} was blocked from changing {paths[0]}{more}{held}",
        paths=paths, why=refused[0].why, holders=holders,
    )  # fmt: skip
