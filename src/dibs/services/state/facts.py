"""Facts from outside the store: which agents are dead, and which uncommitted changes a claim covers.

A step of a transaction cannot run git or end an agent. It asks here and goes on with the careful answer. At
its end it is rolled back, the store looks up what was asked (``StoreCallbacks``), and the step runs again.
A step that only reads works the same way, but ends no one.
"""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE, Claim
from dibs.startup.records import Record

#: How long a tool call counts as open without a heartbeat, in seconds: an interrupted call never ends.
LONGEST_CALL = 3_600.0

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import UnfinishedFile

    #: Identifies a claim and where to look: its agent, pattern, and token, and working trees.
    ClaimKey = tuple[str, str, int, tuple[str, ...]]
    #: Uncommitted files; None if git cannot tell.
    Work = tuple[UnfinishedFile, ...] | None


class WorkQuestion(Record):
    """A claim whose uncommitted changes a step needs to know."""

    claim: Claim
    #: The working trees of its session; none for all trees of this clone.
    roots: tuple[str, ...] = ()
    #: Whether copies of the changes must be saved first.
    copy: bool = False
    #: Whether hooks note what the agent writes.
    guarded: bool = False

    @property
    def key(self) -> ClaimKey:
        """What identifies the claim."""
        return self.claim.agent, self.claim.pattern, self.claim.token, self.roots


class OutsideFacts:
    """What the runs of one step asked, and the answers."""

    __slots__ = (
        "_copied",
        "_work",
        "asked",
        "can_look",
        "dead",
        "idle_takeover",
        "present",
        "sessions",
    )

    def __init__(
        self, sessions: str = "", *, idle_takeover: float = 0.0, can_look: bool = False
    ) -> None:
        #: If this folder does not exist, no agent process runs on this machine; empty to skip the check.
        self.sessions = sessions
        #: After how many seconds without activity others may take a running agent's claims; 0 for never.
        self.idle_takeover = idle_takeover
        #: Whether working trees can be looked at.
        self.can_look = can_look
        #: Dead agents that the current run met, and those that could not be ended.
        self.dead: set[str] = set()
        self.present: set[str] = set()
        #: What the current run asked.
        self.asked: dict[ClaimKey, WorkQuestion] = {}
        self._work: dict[ClaimKey, Work] = {}
        self._copied: set[ClaimKey] = set()

    def begin(self) -> OutsideFacts:
        """Forget the questions of an earlier run, but not the answers."""
        if self.dead or self.asked:
            self.dead, self.asked = set(), {}
        return self

    def work(self, question: WorkQuestion) -> Work:
        """Return the answer; if it is not known yet, ask, and return None."""
        key = question.key
        known = self._work.get(key, ())
        if key in self._work and (key in self._copied or not question.copy or known == ()):
            return known
        self.asked[key] = question
        return None

    def learn(self, found: Mapping[ClaimKey, Work]) -> None:
        """Record the answers to what was asked; one that is missing is unknown."""
        for key, question in self.asked.items():
            self._work[key] = found.get(key)
            if question.copy:
                self._copied.add(key)


def work_of(rows: Rows, claim: Claim, *, copy: bool = False) -> Work:
    """Return the uncommitted changes that a claim covers on this machine; None if git cannot tell.

    With ``copy``, copies of them have been saved.
    """
    from dibs.services.state.sessions import is_on_this_machine, session_of

    if not rows.facts.can_look or claim.mode != EXCLUSIVE or rows.pattern(claim.pattern).scheme:
        return ()
    found = session_of(rows, claim.agent)
    if found is None:
        if is_elsewhere(rows, claim.agent):
            return ()
        root = claim.root
        return rows.facts.work(WorkQuestion(claim, (root,) if root else (), copy))
    session = found[1]
    if not is_on_this_machine(session):
        return ()
    roots = dict.fromkeys(root for root in (session.root, *session.also) if root)
    return rows.facts.work(WorkQuestion(claim, tuple(roots), copy, guarded=True))


def is_elsewhere(rows: Rows, agent: str) -> bool:
    """Return whether an agent without a session works on another machine."""
    from dibs.local.processes import realm

    known = rows.agent(agent)
    return known is not None and known.host not in {"", realm().partition("/")[0]}


def outlives_ttl(rows: Rows, claim: Claim) -> bool:
    """Return whether a claim past its ttl stays: its process runs, and it covers uncommitted changes.

    During a tool call, all claims of the session stay.
    """
    from dibs.services.state.sessions import runs_here, session_of

    found = session_of(rows, claim.agent)
    if found is None or not runs_here(found[1]):
        return False
    if _has_open_call(rows, claim.agent):
        return True
    work = work_of(rows, claim)
    return work is None or bool(work)


def may_take_over(rows: Rows, agent: str, claim: Claim) -> bool:
    """Return whether ``agent`` may take a claim that has outlived its ttl.

    A parent may take it from its subagent: one that was interrupted never reports its end. Anyone may
    take it from an agent that has been idle for ``idle_takeover``.
    """
    owner = rows.agent(claim.agent)
    if owner is not None and owner.parent == agent:
        return True
    idle, silent = rows.facts.idle_takeover, rows.now - rows.active(claim.agent)
    return bool(idle) and silent >= idle and not _has_open_call(rows, claim.agent)


def _has_open_call(rows: Rows, agent: str) -> bool:
    beat = rows.beat(agent)
    return beat is not None and bool(beat.calls) and rows.now < rows.active(agent) + LONGEST_CALL
