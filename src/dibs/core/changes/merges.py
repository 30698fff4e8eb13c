"""The rules of what may be merged, and the search for the branch that breaks a batch. Pure.

A path is in scope if its commit's agent had claimed it. Three things prove that, strongest first: the gate's
record of this commit; the gate's record of another commit by that agent with the same change (a rebase or an
amended message); and, for commits made without Dibs, a claim that the branch's agent held when the commit was
made, or holds now. Trailers alone prove nothing, because anyone can copy them.
"""

from __future__ import annotations

import shlex

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.pattern import matches
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.core.patterns.pattern import Pattern

#: How far the committer's clock may be off, in seconds; git stores whole seconds.
SLACK = 5.0
#: The most patterns in a ledger entry; an entry with this many may represent more.
NAMED = 20


class MergeRefusal(metaclass=TextEnum):
    """Why a path may not be merged."""

    UNCLAIMED = "unclaimed"
    FORGED = "forged"
    UNDONE = "undone"
    HELD = "held"
    GUARDED = "guarded"


class MergeCommit(Record):
    """A commit to merge: the agent that its trailers name, and the paths that it changed."""

    oid: str
    subject: str
    at: float
    paths: tuple[str, ...]
    #: The agent and tokens in its trailers, if any.
    agent: str = ""
    tokens: tuple[int, ...] = ()


class PastClaim(Record):
    """Patterns that an agent held exclusively, according to the gate's record or for a time."""

    agent: str
    patterns: tuple[Pattern, ...]
    since: float = 0.0
    until: float = float("inf")

    def covers(self, path: str) -> bool:
        """Return whether one of the patterns matches ``path``."""
        return any(matches(pattern, f"./{path}") for pattern in self.patterns)


class ClaimHistory(Record):
    """What is known about past claims."""

    #: By commit: what the gate recorded when the commit landed.
    recorded: Mapping[str, PastClaim]
    #: By commit: the paths where it repeats a recorded change of the agent and token that it names. Commits
    #: without such a record are missing.
    repeated: Mapping[str, frozenset[str]]
    #: What the branch's agent held, and when.
    spans: Sequence[PastClaim]


class Outside(Record):
    """A path that may not be merged: the commit that changed it, why, and what to do."""

    path: str
    why: str
    commit: str = ""
    agent: str = ""
    holder: str = ""
    pattern: str = ""
    expires_in: float = 0.0
    hint: str = ""


def judge(change: MergeCommit, proof: ClaimHistory, owner: str) -> list[Outside]:
    """Return the paths of a commit that its agent had not claimed, each with the reason.

    ``owner`` is the agent responsible for the branch, and so for commits without trailers.
    """
    found = []
    for path in change.paths:
        why = _verdict(change, path, proof, owner)
        if why:
            agent = change.agent or owner
            found.append(Outside(path, why, change.oid, agent, hint=_hint(why, agent, path)))
    return found


def _verdict(change: MergeCommit, path: str, proof: ClaimHistory, owner: str) -> str:
    recorded = proof.recorded.get(change.oid)
    if recorded is not None and recorded.covers(path):
        return ""
    repeated = proof.repeated.get(change.oid)
    if repeated is not None and path in repeated:
        return ""
    by_owner = change.agent in {"", owner}
    if by_owner and any(held_at(s, change.at) and s.covers(path) for s in proof.spans):
        return ""
    known = recorded is not None or repeated is not None
    return MergeRefusal.FORGED if change.agent and not known else MergeRefusal.UNCLAIMED


def maker_of(change: MergeCommit, path: str, proof: ClaimHistory, owner: str) -> str:
    """Return who changed a path: the agent that the commit names, if proven, or else the branch's."""
    shown = change.agent and not _verdict(change, path, proof, owner)
    return change.agent if shown else owner


def held_at(span: PastClaim, moment: float) -> bool:
    """Return whether a claim was held at a moment of another clock."""
    return span.since - SLACK <= moment <= span.until + SLACK


def _hint(why: str, agent: str, path: str) -> str:
    if why == MergeRefusal.FORGED:
        return "make the commit again with `dibs commit`"
    return (
        f"as {agent}, run: dibs claim {shlex.quote(path)}; then merge again"
        " (or remove the change from the branch, or let a human merge with --allow-unclaimed)"
    )


def undone(path: str, agent: str) -> Outside:
    """Return the refusal of a branch that contains a merge which dropped other agents' changes."""
    claim = f"as {agent}, run: dibs claim {shlex.quote(path)}"
    hint = f"redo that merge; if the change is intended, {claim}; then merge again"
    return Outside(path, MergeRefusal.UNDONE, agent=agent, hint=hint)


def guarded(path: str, agent: str) -> Outside:
    """Return the refusal of a path that configures tools, which only humans may merge."""
    hint = 'let a human merge it, or let a human set [commit] guarded = "anyone" in dibs.toml'
    return Outside(path, MergeRefusal.GUARDED, agent=agent, hint=hint)


def bisect(count: int) -> Generator[int, bool, int]:
    """Find the first of ``count`` steps that breaks the tests; the last one is known to fail.

    Yield the step to test, receive whether it passes, and return the first step that fails. Steps count
    from 1.
    """
    whole, broken = 0, count
    while broken - whole > 1:
        middle = (whole + broken) // 2
        if (yield middle):
            whole = middle
        else:
            broken = middle
    return broken


def spans(
    entries: Iterable[Entry], agents: Iterable[str], read: Callable[[str], Pattern]
) -> list[PastClaim]:
    """Return what ``agents`` held exclusively and when, according to the ledger.

    If the ledger leaves the end open to interpretation, the shorter time counts.
    """
    wanted = frozenset(agents)
    open_: dict[tuple[str, str], float] = {}
    done: list[PastClaim] = []

    def end(agent: str, texts: Iterable[str], at: float) -> None:
        for text in texts:
            since = open_.pop((agent, text), None)
            if since is not None:
                done.append(PastClaim(agent, (read(text),), since, at))

    for entry in entries:
        details = entry.details
        named = _texts(details)
        if entry.kind == Kind.LOCK_ACQUIRED and entry.agent in wanted:
            if details.get("mode", EXCLUSIVE) == EXCLUSIVE:
                for text in named:
                    open_.setdefault((entry.agent, text), entry.at)
        elif entry.kind in _ENDS:
            holder = str(details.get(_ENDS[entry.kind], "") or entry.agent)
            all_of_it = len(named) >= NAMED or entry.kind in _LEAVES
            end(
                holder, [t for a, t in list(open_) if a == holder] if all_of_it else named, entry.at
            )
            heir = str(details.get("to", ""))
            if entry.kind == Kind.LOCK_TRANSFERRED and heir in wanted:
                open_ |= {(heir, text): entry.at for text in named if (heir, text) not in open_}
    return [*done, *(PastClaim(a, (read(t),), since) for (a, t), since in open_.items())]


#: The kinds that end a claim, and the detail that names its owner if that is not the entry's agent.
_ENDS = {
    Kind.LOCK_RELEASED: "",
    Kind.LOCK_EXPIRED: "",
    Kind.LOCK_TRANSFERRED: "",
    Kind.LOCK_REVOKED: "holder",
    Kind.AGENT_TERMINATED: "toAgentId",
    Kind.AGENT_EXITED: "",
}
_LEAVES = frozenset({Kind.AGENT_TERMINATED, Kind.AGENT_EXITED})


def _texts(details: Mapping[str, object]) -> list[str]:
    found = details.get("patterns") or details.get("pattern") or ()
    return [str(text) for text in found] if isinstance(found, list | tuple) else [str(found)]
