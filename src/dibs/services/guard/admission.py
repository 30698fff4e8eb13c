"""One decision on one tool call, inside one transaction: who calls, what it may touch, what it claims.

All paths of a call are granted, or none.
"""

from __future__ import annotations

from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, SHARED, Denied, Queued, Request, check_request
from dibs.core.patterns.overlap import matches
from dibs.core.patterns.pattern import is_everything, parse
from dibs.core.toolcalls.policy import Fate, Refused
from dibs.services.claims.acquire import SHOWN, Waiting, attempt, survey
from dibs.services.guard.sessions import put_seat, seat_of, seated
from dibs.services.state.presence import arrive
from dibs.services.state.rows import claim_of
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Beat
    from dibs.core.claims.rules import Conflict
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.toolcalls.policy import Policy
    from dibs.core.toolcalls.values import Heard
    from dibs.services.guard.sessions import Seat, Speaker
    from dibs.services.guard.touched import Touched
    from dibs.services.guard.unfinished import Left
    from dibs.services.state.rows import Book
    from dibs.services.state.store import Desk


#: Rows of files that were left behind; see services/guard/unfinished.py.
LEFT = "left/"


class Decided(Record):
    """What became of a call."""

    seat: Seat
    #: Whether the agent came by this call.
    new: bool = False
    refused: tuple[Refused, ...] = ()
    #: What stands in the way, as far as claims do.
    conflicts: tuple[Conflict, ...] = ()
    #: Agents whose claims on these paths had run out: they are looked at before anything is decided.
    silent: tuple[str, ...] = ()
    #: Whether waiting a moment may help: only files that all need are not free.
    may_wait: bool = False
    #: What of it another agent left half-done, with the row that says so.
    left: tuple[tuple[str, Left], ...] = ()


class Wishes(Record):
    """What a call needs beyond what its agent holds already."""

    plain: tuple[Touched, ...] = ()
    hot: tuple[Touched, ...] = ()
    shared: tuple[Touched, ...] = ()
    #: What is only looked at: nobody else may hold anything in it.
    deep: tuple[Touched, ...] = ()


class Admission:
    """Decides on calls; the settings and the store are those of one project."""

    def __init__(self, desk: Desk, policy: Policy) -> None:
        self._desk = desk
        self._policy = policy
        config = desk.config
        shortest = desk.engine.shortest_ttl
        self._ttl = max(config.ttl, shortest)
        self._hot_ttl = max(config.guard_hot_ttl, shortest)

    def decide(
        self,
        book: Book,
        heard: Heard,
        who: Speaker,
        paths: Sequence[Touched],
        *,
        looked: bool,
        last: bool,
    ) -> Decided:
        """Decide on a call; ``last`` where a refusal is final, and goes to the ledger.

        Before those in the way were ``looked`` at, nothing is taken over from an agent that is silent.
        """
        row, seat, new = seated(book, heard, who)
        also = {one.elsewhere for one in paths if one.elsewhere}.difference(seat.also)
        if also:
            seat = seat._replace(also=(*seat.also, *sorted(also)))
            put_seat(book, row, seat)
        beat = arrive(book, Caller(seat.id, "agent", seat.realm.partition("/")[0]))
        refused = self._by_settings(paths)
        if refused:
            return _refuse(book, Decided(seat, new), beat, refused, last=True)
        wishes = self._wishes(book, seat, paths)
        if not any(wishes):
            return Decided(seat, new)
        return self._by_claims(book, Decided(seat, new), beat, wishes, looked=looked, last=last)

    def _by_settings(self, paths: Iterable[Touched]) -> list[Refused]:
        found = []
        for one in paths:
            fate = self._policy.fate(one.path, one.how, deep=one.deep)
            if one.steering:
                fate = Fate.GUARDED
            if fate in {Fate.HUMAN, Fate.GUARDED}:
                found.append(Refused(one.path or ".", fate))
        return found

    def _wishes(self, book: Book, seat: Seat, paths: Iterable[Touched]) -> Wishes:
        plain, hot, shared, deep = [], [], [], []
        for one in paths:
            fate = self._policy.fate(one.path, one.how, deep=one.deep)
            if fate == Fate.FREE or _holds(book, seat.id, one, fate):
                continue
            if fate == Fate.SHARE:
                shared.append(one)
            elif one.deep:
                deep.append(one)
            elif fate == Fate.HOT:
                hot.append(one)
            else:
                plain.append(one)
        return Wishes(tuple(plain), tuple(hot), tuple(shared), tuple(deep))

    def _by_claims(
        self, book: Book, so_far: Decided, beat: Beat, wishes: Wishes, *, looked: bool, last: bool
    ) -> Decided:
        seat, config = so_far.seat, self._desk.config
        wishes, against, silent = self._look(book, seat, wishes)
        if silent and not looked:
            return so_far._replace(silent=tuple(silent))
        if against:
            refused = _held(against, [*wishes.plain, *wishes.shared, *wishes.deep])
            return _refuse(book, so_far, beat, refused, against, last=last)
        if self._policy.auto_claim == "off" and (wishes.plain or wishes.hot):
            missing = [Refused(one.path, "unclaimed") for one in (*wishes.plain, *wishes.hot)]
            return _refuse(book, so_far, beat, missing, last=True)
        if wishes.hot:
            request = self._request(seat, wishes.hot, self._hot_ttl)
            # Whoever asks again before its moment is over keeps its place.
            waiting = Waiting(book.now + config.max_hold, self._hot_ttl, standing=False)
            outcome = attempt(book, request, beat, max_hold=self._hot_ttl, waiting=waiting)
            if isinstance(outcome, Queued | Denied):
                refused = _held(outcome.conflicts, wishes.hot, "queued")
                so_far = so_far._replace(may_wait=isinstance(outcome, Queued))
                return _refuse(book, so_far, beat, refused, outcome.conflicts, last=last)
        claimed: list[Pattern] = [one.pattern for one in wishes.hot]
        if wishes.shared:
            self._grant(book, self._request(seat, wishes.shared, self._ttl, SHARED))
        if wishes.plain:
            claimed += self._claim_plain(book, seat, wishes.plain)
        return so_far._replace(left=tuple(_left(book, seat, claimed)))

    def _look(
        self, book: Book, seat: Seat, wishes: Wishes
    ) -> tuple[Wishes, list[Conflict], list[str]]:
        """Return what stands against all but hot files, after a subagent got what its parent has."""
        against: list[Conflict] = []
        silent: list[str] = []
        for some, mode in (
            (wishes.plain, EXCLUSIVE), (wishes.deep, EXCLUSIVE), (wishes.shared, SHARED)
        ):  # fmt: skip
            if some:
                around = survey(book, self._request(seat, some, self._ttl, mode))
                silent += [c.agent for c in around.dead.values() if c.agent != seat.id]
                trees = {one.pattern.text: one.elsewhere or seat.root for one in some if one.local}
                against += [c for c in around.conflicts if self._counts(book, seat, c, trees)]
        if seat.parent and (lent := {c.pattern for c in against if c.holder == seat.parent}):
            from dibs.services.guard.lending import hand_down

            for conflict in against:
                if conflict.holder == seat.parent:
                    hand_down(book, seat, conflict)
            against = [c for c in against if c.holder != seat.parent]
            wishes, more = self._under(book, seat, wishes, lent)
            against += more
        return wishes, against, silent

    def _under(
        self, book: Book, seat: Seat, wishes: Wishes, lent: set[str]
    ) -> tuple[Wishes, list[Conflict]]:
        """Let a subagent write under a larger claim of its parent, which keeps its siblings out."""
        from dibs.services.guard.lending import under_parent
        from dibs.services.state.own_claims import own_at

        kept = [one for one in wishes.plain if one.pattern.text not in lent]
        under = [
            one._replace(pattern=under_parent(one.path, fold_case=self._desk.fold_case))
            for one in wishes.plain
            if one.pattern.text in lent and not own_at(book, seat.id, one.pattern)
        ]
        conflicts = survey(book, self._request(seat, under, self._ttl)).conflicts if under else []
        deep = tuple(one for one in wishes.deep if one.pattern.text not in lent)
        shared = tuple(one for one in wishes.shared if one.pattern.text not in lent)
        return wishes._replace(plain=(*kept, *under), deep=deep, shared=shared), conflicts

    def _counts(self, book: Book, seat: Seat, conflict: Conflict, trees: Mapping[str, str]) -> bool:
        """Tell whether somebody's claim stands against a call.

        What means the whole working tree, such as a checkout, minds only whoever works in the same one;
        ``trees`` says so of files, each with its working tree.
        """
        tree = trees.get(conflict.pattern, "")
        if not tree and not is_everything(book.pattern(conflict.pattern)):
            return True
        found = seat_of(book, conflict.holder)
        if conflict.ticket or found is None:
            return not conflict.ticket
        own = tree or seat.root
        return found[1].root in {"", own} or own in found[1].also

    def _claim_plain(self, book: Book, seat: Seat, wanted: Sequence[Touched]) -> list[Pattern]:
        """Claim files; where the settings say so, the folders that they are in, if those are free."""
        if self._policy.auto_claim == "directory":
            folders = [one._replace(pattern=_folder(one, self._desk)) for one in wanted]
            request = self._request(seat, folders, self._ttl)
            if not survey(book, request).conflicts:
                self._grant(book, request)
                return list(request.patterns)
        request = self._request(seat, wanted, self._ttl)
        self._grant(book, request)
        return list(request.patterns)

    def _grant(self, book: Book, request: Request) -> None:
        beat = book.beat(request.agent)
        assert beat is not None
        check_request(request, held=beat.claims, human=False, allow_broad=False)
        attempt(book, request, beat, max_hold=self._desk.config.max_hold, waiting=None)

    def _request(
        self, seat: Seat, wanted: Sequence[Touched], ttl: float, mode: str = EXCLUSIVE
    ) -> Request:
        patterns = {one.pattern.key: one.pattern for one in wanted}
        return Request(seat.id, tuple(patterns.values()), mode, ttl)


def _holds(book: Book, agent: str, one: Touched, fate: str) -> bool:
    """Tell whether an agent may touch a path by a claim that it has.

    A hot file is claimed again by each edit, unless somebody waits for it: then its moment runs out.
    """
    held = waited = False
    for found in book.near(one.pattern):
        if found.agent != agent:
            waited = waited or bool(found.ticket)
        elif not found.ticket:
            claim = claim_of(found)
            enough = claim.mode == EXCLUSIVE or fate == Fate.SHARE
            if enough and _covers(book.pattern(claim.pattern), one):
                held = held or book.now < claim.hard
    return held and (fate != Fate.HOT or waited)


def _covers(held: Pattern, one: Touched) -> bool:
    if held.key == one.pattern.key:
        return True
    if one.deep and not held.text.endswith(("/", "/**")):
        return False
    return bool(one.path) and matches(held, f"./{one.path}")


def _left(book: Book, seat: Seat, claimed: Sequence[Pattern]) -> list[tuple[str, Left]]:
    """Return what of new claims another left half-done; what is the agent's own is forgotten."""
    if not any(True for _ in book.txn.scan((LEFT, ""))):
        return []
    from dibs.services.guard.unfinished import left_at

    found = left_at(book, claimed)
    for row, left in found:
        if left.agent == seat.id:
            book.txn.delete(row)
    return [(row, left) for row, left in found if left.agent != seat.id]


def _folder(one: Touched, desk: Desk) -> Pattern:
    above = "" if one.pattern.scheme else one.pattern.text.rpartition("/")[0]
    return parse(f"{above}/", fold_case=desk.fold_case) if above not in {"", "."} else one.pattern


def _held(
    conflicts: Sequence[Conflict], wanted: Sequence[Touched], why: str = "held"
) -> list[Refused]:
    """Return a refusal for each path that somebody stands in the way of, the holders before waiters."""
    names = {one.pattern.text: one.path or "." for one in wanted}
    found: dict[str, Refused] = {}
    for c in sorted(conflicts, key=lambda conflict: bool(conflict.ticket)):
        path = names.get(c.pattern, c.pattern)
        found.setdefault(path, Refused(
            path, why, c.holder, c.held, c.reason, c.task, c.expires_in, waits=bool(c.ticket),
        ))  # fmt: skip
    return list(found.values())


def _refuse(
    book: Book,
    so_far: Decided,
    beat: Beat,
    refused: Sequence[Refused],
    conflicts: Sequence[Conflict] = (),
    *,
    last: bool,
) -> Decided:
    if last:
        tell_refused(book, so_far.seat.id, beat.role, refused)
    return so_far._replace(refused=tuple(refused), conflicts=tuple(conflicts))


def tell_refused(book: Book, agent: str, role: str, refused: Sequence[Refused]) -> None:
    """Tell the ledger that a call was refused, so that holders hear who wanted what."""
    from dibs.core.text.names import printable

    paths = [printable(one.path) for one in refused[:SHOWN]]
    holders = sorted({one.holder for one in refused if one.holder})
    more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
    held = f", held by {', '.join(holders)}" if holders else ""
    book.emit(
        agent, role, Kind.WRITE_REFUSED, f"{agent} was refused {paths[0]}{more}{held}",
        paths=paths, why=refused[0].why, holders=holders,
    )  # fmt: skip
