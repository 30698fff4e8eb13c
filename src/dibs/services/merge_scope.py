"""Whether what a branch changes was its agents' to change: what store and ledger know of it."""

from __future__ import annotations

from dibs.core import scope
from dibs.core.claims import live
from dibs.core.index import Range
from dibs.core.merges import (
    Change,
    Grant,
    Outside,
    Proof,
    Why,
    granted_by,
    guarded,
    judge,
    spans,
    undone,
)
from dibs.core.patterns import matches, parse
from dibs.core.trailers import read_signed
from dibs.errors import BadInput
from dibs.git.history import renamed
from dibs.services.book import decode
from dibs.services.claims import held_in
from dibs.services.filed import claims_of
from dibs.services.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.core.ledger import Entry
    from dibs.core.patterns import Pattern
    from dibs.git.calls import GitCalls
    from dibs.git.history import Logged
    from dibs.services.book import Book
    from dibs.services.desk import Desk

#: Where the gate writes what it knows of a commit.
COMMIT = "commit/"


class Scope:
    """Judges one branch: its commits one by one, then what its merge would change."""

    def __init__(self, desk: Desk, owner: str, logged: Sequence[Logged]) -> None:
        self._desk = desk
        self._owner = owner
        self._changes = [_change(commit) for commit in logged]
        self._proof: Proof | None = None

    @property
    def agents(self) -> dict[str, set[str]]:
        """Who changed each path: the agents that the commits name, else the branch's own."""
        found: dict[str, set[str]] = {}
        for change in self._changes:
            for path in change.paths:
                found.setdefault(path, set()).add(change.agent or self._owner)
        return found

    def outside(self) -> list[Outside]:
        """Return what the commits of the branch changed without a claim."""
        proof = self._known()
        return [o for change in self._changes for o in judge(change, proof, self._owner)]

    def beyond(self, git: GitCalls, base: str, tip: str, paths: Iterable[str]) -> list[Outside]:
        """Return what a merge would change although no commit of the branch did.

        A merge inside of the branch that dropped what others had changed is found by this. A path that was
        renamed on the other side counts as what it was before.
        """
        changed = {path for change in self._changes for path in change.paths}
        extra = [path for path in paths if path not in changed]
        before = renamed(git, base, tip) if extra and base else {}
        extra = [path for path in extra if before.get(path, path) not in changed]
        now = [span for span in self._known().spans if span.until == float("inf")] if extra else []
        lost = [path for path in extra if not any(span.covers(path) for span in now)]
        return [undone(path, self._owner) for path in lost]

    def _known(self) -> Proof:
        if self._proof is None:
            self._proof = _proof(self._desk, self._owner, self._changes)
        return self._proof


def guarded_in(owner: str, paths: Iterable[str]) -> list[Outside]:
    """Return those of ``paths`` that steer tools."""
    return [guarded(path, owner) for path in paths if scope.guarded(path)]


def held_by_others(book: Book, paths: Iterable[str], allowed: dict[str, set[str]]) -> list[Outside]:
    """Return which of ``paths`` somebody holds who did not change it: the merge would change it for them."""
    found = []
    held = [(h, book.pattern(h.claim.pattern)) for h in held_in(book)]
    on_paths = [(h, pattern) for h, pattern in held if not pattern.scheme]
    for path in paths if on_paths else ():
        for h, pattern in on_paths:
            claim = h.claim
            if claim.agent not in allowed.get(path, ()) and matches(pattern, f"./{path}"):
                hint = f"ask {claim.agent} for it (`dibs ask`), or merge again when it is free"
                found.append(
                    Outside(path, Why.HELD, "", "", claim.agent, claim.pattern, h.expires_in, hint)
                )
                break
    return found


def _change(commit: Logged) -> Change:
    subject = commit.message.partition("\n")[0]
    signed = read_signed(commit.message)
    agent, tokens = ("", ()) if signed is None else (signed.agent, signed.tokens)
    return Change(commit.oid, subject, float(commit.at), commit.paths, agent, tokens)


def _proof(desk: Desk, owner: str, changes: Sequence[Change]) -> Proof:
    """Look up what the judgement needs, and no more: most branches are known commit by commit."""
    recorded = desk.look(lambda book: _recorded(desk, book, changes))
    proof = Proof(recorded, {}, ())
    doubtful = [change for change in changes if judge(change, proof, owner)]
    if not doubtful:
        return proof
    tokens = {token for change in doubtful for token in change.tokens}
    granted = desk.look(lambda book: _granted(desk, book, tokens))
    agents = {owner, *(change.agent for change in doubtful if change.agent)}
    missing = tokens - granted.keys()
    history = list(Ledger(desk).history())
    for entry in history if missing else ():
        if entry.seq in missing:
            _note(desk, granted, entry)
    held = [span for span in spans(history, agents, _reader(desk)) if span.agent == owner]
    held += desk.look(lambda book: _held_now(desk, book, owner))
    return Proof(recorded, granted, held)


def _reader(desk: Desk) -> Any:
    def read(text: str) -> Pattern:
        return parse(text, fold_case=desk.fold_case)

    return read


def _grant_of(desk: Desk, row: dict[str, Any]) -> Grant:
    return Grant(str(row.get("agent", "")), _patterns(desk, row.get("patterns", ())))


def _patterns(desk: Desk, texts: Iterable[object]) -> tuple[Pattern, ...]:
    found = []
    for text in texts:
        try:
            found.append(parse(str(text), fold_case=desk.fold_case))
        except BadInput:
            continue  # somebody wrote it without Dibs: it proves nothing
    return tuple(found)


def _recorded(desk: Desk, book: Book, changes: Sequence[Change]) -> dict[str, Grant]:
    found = {}
    for change in changes:
        value = book.txn.get(f"{COMMIT}{change.oid}")
        if value is not None:
            found[change.oid] = _grant_of(desk, decode(value))
    return found


def _granted(desk: Desk, book: Book, tokens: set[int]) -> dict[int, list[Grant]]:
    """Return what tokens were given for: by the ledger, and by what the gate recorded of other commits.

    The ledger names some patterns of a large claim only; a commit that was rewritten is found by the record
    of the one that it replaces.
    """
    found: dict[int, list[Grant]] = {}
    for token in tokens:
        entry = next(iter(book.txn.events(token - 1)), None)
        if entry is not None and entry.seq == token:
            _note(desk, found, entry)
    for _, value in book.txn.scan(Range(COMMIT)) if tokens else ():
        row = decode(value)
        for token in tokens.intersection(row.get("tokens", ())):
            found.setdefault(token, []).append(_grant_of(desk, row))
    return found


def _note(desk: Desk, found: dict[int, list[Grant]], entry: Entry) -> None:
    given = granted_by(entry)
    if given is not None:
        found.setdefault(entry.seq, []).append(Grant(given[0], _patterns(desk, given[1])))


def _held_now(desk: Desk, book: Book, owner: str) -> list[Grant]:
    """Return what the branch's agent holds: that counts for whatever it did before."""
    return [
        Grant(owner, _patterns(desk, [claim.pattern]))
        for _, claim in claims_of(book, owner)
        if live(claim, book.seen(owner), book.now) and claim.mode == "exclusive"
    ]
