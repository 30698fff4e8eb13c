"""Check from the store and the ledger whether agents had claimed what a branch changes."""

from __future__ import annotations

import shlex

from dibs.core.changes.merges import (
    ClaimHistory,
    MergeCommit,
    MergeRefusal,
    Outside,
    PastClaim,
    guarded,
    judge,
    maker_of,
    spans,
    undone,
)
from dibs.core.changes.trailers import read_signed
from dibs.core.claims.protected import guarded as guarded_file
from dibs.core.patterns.pattern import matches, parse
from dibs.errors import BadInput
from dibs.git.log import changes_of, is_same, renamed
from dibs.services.claims.views import held_in
from dibs.services.state.commits import commits, get_commit
from dibs.services.state.ledger import Ledger
from dibs.services.state.own_claims import claims_of
from dibs.services.state.worktrees import all_rows as worktree_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.core.patterns.pattern import Pattern
    from dibs.git.calls import GitCalls
    from dibs.git.log import Logged
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


class Scope:
    """Checks one branch: each of its commits, then the result of its merge."""

    def __init__(self, store: Store, git: GitCalls, owner: str, logged: Sequence[Logged]) -> None:
        self._store = store
        self._git = git
        self._owner = owner
        self._changes = [_change(commit) for commit in logged]
        self._proof: ClaimHistory | None = None

    @property
    def agents(self) -> dict[str, set[str]]:
        """Who changed each path: the agent that a commit provably names, or else the branch's."""
        found: dict[str, set[str]] = {}
        for change in self._changes:
            for path in change.paths:
                maker = maker_of(change, path, self._known(), self._owner)
                found.setdefault(path, set()).add(maker)
        return found

    def outside(self) -> list[Outside]:
        """Return the paths that the branch's commits changed without a claim."""
        proof = self._known()
        return [o for change in self._changes for o in judge(change, proof, self._owner)]

    def beyond(self, base: str, tip: str, paths: Iterable[str]) -> list[Outside]:
        """Return the paths that the merge would change although no commit of the branch did.

        This finds merges inside the branch that dropped other agents' changes. A path that was renamed on the
        integration branch counts under its old name.
        """
        changed = {path for change in self._changes for path in change.paths}
        extra = [path for path in paths if path not in changed]
        before = renamed(self._git, base, tip) if extra and base else {}
        extra = [path for path in extra if before.get(path, path) not in changed]
        now = [span for span in self._known().spans if span.until == float("inf")] if extra else []
        lost = [path for path in extra if not any(span.covers(path) for span in now)]
        return [undone(path, self._owner) for path in lost]

    def _known(self) -> ClaimHistory:
        if self._proof is None:
            self._proof = _proof(self._store, self._git, self._owner, self._changes)
        return self._proof


def guarded_in(owner: str, paths: Iterable[str]) -> list[Outside]:
    """Return the paths that configure tools."""
    return [guarded(path, owner) for path in paths if guarded_file(path)]


def held_by_others(rows: Rows, paths: Iterable[str], allowed: dict[str, set[str]]) -> list[Outside]:
    """Return the paths held by an agent that did not change them, and whose files the merge would change.

    An agent with its own worktree is not affected by the merge, so its claims do not count.
    """
    found = []
    apart = {row.agent for row in worktree_rows(rows)}
    held = [(h, rows.pattern(h.claim.pattern)) for h in held_in(rows) if h.claim.agent not in apart]
    on_paths = [(h, pattern) for h, pattern in held if not pattern.scheme]
    for path in paths if on_paths else ():
        for h, pattern in on_paths:
            claim = h.claim
            if claim.agent not in allowed.get(path, ()) and matches(pattern, f"./{path}"):
                hint = f"request it: dibs ask {shlex.quote(path)}; or merge again after its release"
                found.append(
                    Outside(
                        path,
                        MergeRefusal.HELD,
                        "",
                        "",
                        claim.agent,
                        claim.pattern,
                        h.expires_in,
                        hint,
                    )
                )
                break
    return found


def _change(commit: Logged) -> MergeCommit:
    from dibs.core.text.secrets import mask

    subject = mask(commit.message.partition("\n")[0])
    signed = read_signed(commit.message)
    agent, tokens = ("", ()) if signed is None else (signed.agent, signed.tokens)
    return MergeCommit(commit.oid, subject, float(commit.at), commit.paths, agent, tokens)


def _proof(store: Store, git: GitCalls, owner: str, changes: Sequence[MergeCommit]) -> ClaimHistory:
    """Look up only as much as is needed: for most branches, the records of their commits are enough."""
    recorded = store.look(lambda rows: _recorded(store, rows, changes))
    proof = ClaimHistory(recorded, {}, store.look(lambda rows: _held_now(store, rows, owner)))
    doubtful = [change for change in changes if judge(change, proof, owner)]
    if doubtful:
        proof = proof._replace(repeated=_repeated(store, git, doubtful))
        doubtful = [change for change in doubtful if judge(change, proof, owner)]
    if doubtful:
        held = spans(Ledger(store).history(), {owner}, _reader(store))
        proof = proof._replace(spans=[*proof.spans, *held])
    return proof


def _reader(store: Store) -> Any:
    def read(text: str) -> Pattern:
        return parse(text, fold_case=store.fold_case)

    return read


def _grant_of(store: Store, row: dict[str, Any]) -> PastClaim:
    return PastClaim(str(row.get("agent", "")), _patterns(store, row.get("patterns", ())))


def _patterns(store: Store, texts: Iterable[object]) -> tuple[Pattern, ...]:
    found = []
    for text in texts:
        try:
            found.append(parse(str(text), fold_case=store.fold_case))
        except BadInput:
            continue  # not written by Dibs, so it proves nothing
    return tuple(found)


def _recorded(store: Store, rows: Rows, changes: Sequence[MergeCommit]) -> dict[str, PastClaim]:
    found = {}
    for change in changes:
        record = get_commit(rows, change.oid)
        if record is not None:
            found[change.oid] = _grant_of(store, record)
    return found


def _repeated(
    store: Store, git: GitCalls, changes: Sequence[MergeCommit]
) -> dict[str, frozenset[str]]:
    """Return by commit the paths where it repeats a change that the gate recorded for the same agent."""
    signed = [change for change in changes if change.agent and change.tokens]
    originals = store.look(lambda rows: _originals(store, rows, signed))
    oids = {oid for some in originals.values() for oid in some}
    made = changes_of(git, [*originals, *oids]) if originals else {}
    found = {}
    for oid, some in originals.items():
        same: set[str] = set()
        for path, change in made.get(oid, {}).items():
            let_in = [made.get(o, {}).get(path) for o, grant in some.items() if grant.covers(path)]
            if any(other is not None and is_same(git, change, other) for other in let_in):
                same.add(path)
        found[oid] = frozenset(same)
    return found


def _originals(
    store: Store, rows: Rows, changes: Sequence[MergeCommit]
) -> dict[str, dict[str, PastClaim]]:
    """Return by commit the ones that the gate recorded for the same agent and one of the same tokens."""
    found: dict[str, dict[str, PastClaim]] = {}
    for oid, row in commits(rows) if changes else ():
        for change in changes:
            if row.get("agent") == change.agent and set(change.tokens) & set(row.get("tokens", ())):
                found.setdefault(change.oid, {})[oid] = _grant_of(store, row)
    return found


def _held_now(store: Store, rows: Rows, owner: str) -> list[PastClaim]:
    """Return what the branch's agent holds now, which also covers its earlier commits."""
    return [
        PastClaim(owner, _patterns(store, [claim.pattern]))
        for _, claim in claims_of(rows, owner)
        if rows.is_live(claim) and claim.mode == "exclusive"
    ]
