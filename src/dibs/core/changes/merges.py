"""What may be merged: the rules of scope, and how the branch is found that breaks a batch.

Pure. A path is in scope where its commit's agent had it claimed when it was changed. Three things can show
that, the strongest first: the record that the gate wrote of just this commit; the record of another commit of
that agent, if this one repeats its change (it was rebased, or its message amended); and, for what was made
without Dibs, a claim that the branch's agent held at the moment of the commit, or holds now. Trailers alone
show nothing: anybody can copy them.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.pattern import matches
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.core.patterns.pattern import Pattern

#: How far the clock of whoever commits may be off, in seconds; git keeps whole seconds.
SLACK = 5.0
#: How many patterns an entry of the ledger names; one that names so many may stand for more.
NAMED = 20


class MergeRefusal(metaclass=TextEnum):
    """Why a path may not be merged."""

    UNCLAIMED = "unclaimed"
    FORGED = "forged"
    UNDONE = "undone"
    HELD = "held"
    GUARDED = "guarded"


class MergeCommit(Record):
    """One commit that is to be merged: who says to have made it, and what it changed."""

    oid: str
    subject: str
    at: float
    paths: tuple[str, ...]
    #: The trailers' agent and tokens; empty for a commit that has none.
    agent: str = ""
    tokens: tuple[int, ...] = ()


class PastClaim(Record):
    """Patterns that an agent had for itself: by a token, by the gate's record, or for a time."""

    agent: str
    patterns: tuple[Pattern, ...]
    since: float = 0.0
    until: float = float("inf")

    def covers(self, path: str) -> bool:
        """Tell whether ``path``, as the file system has it, is among them."""
        return any(matches(pattern, f"./{path}") for pattern in self.patterns)


class ClaimHistory(Record):
    """What is known of who held what."""

    #: By commit: what the gate recorded when it let the commit in.
    recorded: Mapping[str, PastClaim]
    #: By commit: the paths at which it repeats a recorded change of the agent and a token that it names. A
    #: commit that names none of those is not among them.
    repeated: Mapping[str, frozenset[str]]
    #: What the branch's agent held, and when.
    spans: Sequence[PastClaim]


class Outside(Record):
    """A path that may not be merged, with the commit that changed it, the reason, and what to do."""

    path: str
    why: str
    commit: str = ""
    agent: str = ""
    holder: str = ""
    pattern: str = ""
    expires_in: float = 0.0
    hint: str = ""


def judge(change: MergeCommit, proof: ClaimHistory, owner: str) -> list[Outside]:
    """Return the paths of a commit that its agent had not claimed, each with its reason.

    ``owner`` is the agent that answers for the branch, and so for the commits that name nobody.
    """
    found = []
    for path in change.paths:
        why = _verdict(change, path, proof, owner)
        if why:
            agent = change.agent or owner
            found.append(Outside(path, why, change.oid, agent, hint=_hint(why, agent)))
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
    """Return who changed a path: whom the commit names, if that is shown; else whose branch it is."""
    shown = change.agent and not _verdict(change, path, proof, owner)
    return change.agent if shown else owner


def held_at(span: PastClaim, moment: float) -> bool:
    """Tell whether something was held at a moment of another clock."""
    return span.since - SLACK <= moment <= span.until + SLACK


def _hint(why: str, agent: str) -> str:
    if why == MergeRefusal.FORGED:
        return f"Dibs let no such commit of {agent} in: make it again with `dibs commit`"
    return (
        f"let {agent} claim it (`dibs claim`) and merge again, or take it out of the branch; "
        "a human may pass --allow-unclaimed"
    )


def undone(path: str, agent: str) -> Outside:
    """Return that a branch takes back, in a merge of its own, what others changed."""
    hint = f"let {agent} claim it if that is meant; else redo the merge that lost it"
    return Outside(path, MergeRefusal.UNDONE, agent=agent, hint=hint)


def guarded(path: str, agent: str) -> Outside:
    """Return that a path steers tools, which is for humans to let in."""
    hint = "it steers tools: a human merges it, or sets [commit] guarded = anyone"
    return Outside(path, MergeRefusal.GUARDED, agent=agent, hint=hint)


def bisect(count: int) -> Generator[int, bool, int]:
    """Find the first of ``count`` steps that breaks what was whole before; the last one is known to.

    Yields the step to be tried, is sent whether all up to it is whole, and returns the culprit. Both are
    counted from 1.
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
    """Return what ``agents`` held for themselves and when, as the ledger tells it.

    Where the ledger is not sure how long, the shorter time counts.
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


#: What ends a claim, and which detail names its holder if that is not whose entry it is.
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
