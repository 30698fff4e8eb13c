"""The rules of decisions: what may be asked, who may decide, and what silence means.

Pure. Three things are fixed when a decision is asked for, so that nobody changes them while it waits: who may
decide, what silence means, and from when. Silence never confirms anything unless the project's own file says
so; a variable or an option of whoever asks is not enough.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.rules import check_text
from dibs.core.talk.categories import CATEGORIES
from dibs.core.talk.decisions import CONFLICT, LEAD, Outcome, Silence
from dibs.core.text.durations import check_span
from dibs.core.text.names import closest, is_agent_id, quote
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from dibs.core.talk.decisions import Decision

MAX_TITLE, MAX_RATIONALE, MAX_ROLE, MAX_COMMENTS = 200, 4_000, 100, 100
#: How many decisions may wait at once: of all, and of one agent.
MAX_OPEN, MAX_OPEN_OF_AGENT = 1_000, 100
#: How long a decision is kept after it was made, in seconds. No setting: nobody shortens what is known.
KEPT_FOR = 365 * 86_400.0
DEADLINE_MIN, DEADLINE_MAX = 1.0, 2_592_000.0
#: What people are told of a decision, besides its outcome.
ASKED, COMMENTED = "asked", "commented"
#: What becomes of the word to those who may decide, where they have not heard it in time.
NEEDLESS = "needless"
#: What the holder of a claim is told of a conflict over it: that a human is asked, that it keeps it.
DISPUTED, KEPT = "disputed", "kept"
#: What the asker of a conflict can do now, by what became of it.
_AFTER_CONFLICT = {
    Outcome.CONFIRMED: "the claim is revoked, so claim it now",
    Outcome.REJECTED: "do not wait for it",
    Outcome.SETTLED: "try to claim it if you still need it",
}
#: The project's own file, the one place where it counts that silence confirms.
PROJECT_FILE = "dibs.toml"

_MAX_DIGITS = 16


class DecisionPolicy(Record):
    """What the settings say of decisions, as lists of categories."""

    confirm: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    #: Those that silence confirms, and the place that says so, such as ``dibs.toml:12``.
    allow: tuple[str, ...] = ()
    allow_place: str = ""
    #: Those that silence would confirm if the project's own file said so.
    unproven: tuple[str, ...] = ()
    deadline: float = 600.0


class Terms(Record):
    """What silence means for one decision, from when, and why."""

    silence: str
    deadline: float
    why: str


class Voter(Record):
    """Somebody who wants to decide, as the store knows it."""

    id: str
    human: bool
    role: str


# -- what may be asked


def check_id(text: str) -> str:
    """Return ``text`` if it can be the id of a decision; there is none of another form."""
    digits = text.removeprefix("d")
    if digits != text and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        return f"d{int(digits)}"
    raise no_decision(text)


def no_decision(text: str) -> NotFound:
    """Return the error for a decision that is not there."""
    return NotFound(
        f"there is no decision {quote(text)}",
        code="NO_DECISION",
        field="id",
        hint="`dibs decide ls` names them, such as d12",
    )


def check_title(text: str) -> str:
    """Return a title on one line, masked."""
    title = " ".join(text.split())
    if not title:
        raise BadInput("a decision needs a title", code="TITLE", field="title")
    return check_text(title, "title", MAX_TITLE)


def check_category(text: str) -> str:
    """Return a category that can be asked for; ``tool access`` and ``tool-access`` are ``tool_access``."""
    word = text.strip().lower().replace(" ", "_").replace("-", "_")
    if word in CATEGORIES:
        return word
    meant = closest(word, CATEGORIES)
    raise BadInput(
        f"{quote(text)} is no category of decisions",
        code="CATEGORY",
        field="category",
        hint=f"did you mean {meant}?" if meant else f"use one of {', '.join(CATEGORIES)}",
    )


def check_decider(text: str, asker: str, agents: Collection[str]) -> str:
    """Return who may decide, as it is stored; an agent must be known, a role need not be taken yet."""
    kind, mark, name = text.strip().partition(":")
    if mark and kind == "role" and name.strip():
        role = check_text(" ".join(name.split()), "role", MAX_ROLE)
        return HUMAN if role.lower() == HUMAN else f"role:{role}"
    if not mark and kind in {HUMAN, LEAD}:
        return kind
    agent = name if mark and kind == "agent" else text.strip()
    if not is_agent_id(agent):
        raise BadInput(
            f"{quote(text)} cannot decide",
            code="DECIDER",
            field="decider",
            hint="name human, lead, agent:ID or role:NAME",
        )
    if agent == asker:
        raise BadInput(
            f"{asker} cannot decide what it asks for itself",
            code="DECIDER",
            field="decider",
            hint="name somebody else, or record it without asking",
        )
    if agent not in agents:
        meant = closest(agent, agents)
        raise NotFound(
            f"no agent {agent} works here",
            code="NO_AGENT",
            field="decider",
            hint=f"did you mean {meant}?" if meant else "`dibs agent ls` names those that do",
        )
    return f"agent:{agent}"


def check_deadline(value: object) -> float:
    """Return how long a decision waits, in seconds."""
    return check_span(value, DEADLINE_MIN, DEADLINE_MAX, field="deadline", code="DEADLINE")


# -- what silence means


def terms(category: str, now: float, policy: DecisionPolicy, given: float | None) -> Terms:
    """Return what silence will mean for a decision that is asked for now.

    Where it allows, an asker can give others more time than the project does, but not less: else it
    would allow itself whatever it likes before anybody could look.
    """
    span = policy.deadline if given is None else given
    if category in policy.deny:
        why = f"silence rejects {category} in this project"
        return Terms(Silence.DENY, now + span, why)
    if category in policy.allow:
        why = f"silence confirms {category} by {policy.allow_place}"
        return Terms(Silence.ALLOW, now + max(span, policy.deadline), why)
    if category in policy.unproven:
        why = f"silence decides nothing: that it confirms {category} counts only in {PROJECT_FILE}"
        return Terms(Silence.WAIT, 0.0, why)
    return Terms(Silence.WAIT, 0.0, f"silence decides nothing: no policy for {category}")


def has_passed(decision: Decision, now: float) -> bool:
    """Tell whether silence has decided already; at the deadline it has."""
    return decision.outcome == Outcome.PENDING and 0 < decision.deadline <= now


def by_silence(decision: Decision) -> str:
    """Return the outcome of a decision about which nobody said anything."""
    allowed = decision.silence == Silence.ALLOW and decision.category != CONFLICT
    return Outcome.CONFIRMED if allowed else Outcome.REJECTED


def is_old(decision: Decision, now: float) -> bool:
    """Tell whether a decision need not be kept: it was made long ago; what waits is never old."""
    made = max(decision.at, decision.decided_at)
    return decision.outcome != Outcome.PENDING and made + KEPT_FOR <= now


# -- who may decide


def may_decide(decision: Decision, voter: Voter, above: Collection[str]) -> bool:
    """Tell whether somebody may decide; ``above`` are the agents above the asker."""
    if voter.human:
        return True
    if voter.id == decision.asker or decision.decider == HUMAN:
        return False
    if decision.decider == LEAD:
        return voter.id in above
    kind, _, name = decision.decider.partition(":")
    if kind == "agent":
        return voter.id == name
    return kind == "role" and voter.role.lower() == name.lower()


def who_may(decision: Decision, shown: Callable[[str], str] = quote) -> str:
    """Return who may decide, in words; ``shown`` is how a role reads, which is the asker's text."""
    if decision.decider == HUMAN:
        return "a human"
    if decision.decider == LEAD:
        return f"an agent above {decision.asker}, or a human"
    kind, _, name = decision.decider.partition(":")
    if kind == "agent":
        return f"{name}, or a human"
    return f"an agent with the role {shown(name)}, or a human"


def check_voter(decision: Decision, voter: Voter, above: Collection[str]) -> None:
    """Refuse whoever may not decide, and say who may."""
    if may_decide(decision, voter, above):
        return
    own = ", which it asked for itself" if voter.id == decision.asker else ""
    raise NotAllowed(
        f"{voter.id} may not decide {decision.id}{own}: {who_may(decision)} may",
        code="MAY_NOT_DECIDE",
        hint=f"`dibs decide comment {decision.id} TEXT` says what you think",
    )


def check_pending(decision: Decision) -> None:
    """Refuse to decide again what was decided."""
    if decision.outcome != Outcome.PENDING:
        raise BadInput(
            f"{how_decided(decision)} already",
            code="DECIDED",
            field="id",
            hint="record another decision if that was wrong",
        )


def check_conflict(decision: Decision) -> None:
    """Refuse to take for a conflict what is another decision."""
    if decision.category != CONFLICT:
        raise BadInput(
            f"{decision.id} is no conflict over claims",
            code="NO_CONFLICT",
            field="id",
            hint="`dibs decide confirm` or `dibs decide reject` decides it",
        )


def check_asker(decision: Decision, voter: Voter) -> None:
    """Refuse whoever takes back what another asked for."""
    if voter.id != decision.asker and not voter.human:
        raise NotAllowed(
            f"{decision.id} was asked for by {decision.asker}: only it or a human takes it back",
            code="MAY_NOT_DECIDE",
            hint=f"`dibs decide show {decision.id}` says who may decide",
        )


def how_decided(decision: Decision) -> str:
    """Return what became of a decision and by whom, in words, as in ``d12 was confirmed by carol``."""
    who = decision.decided_by
    if decision.outcome == Outcome.RECORDED:
        who = decision.asker
    elif not who and decision.outcome != Outcome.SETTLED:
        who = "silence"
    return f"{decision.id} was {decision.outcome}" + (f" by {who}" if who else "")


def before_asker(decision: Decision) -> str:
    """Return who gets what was revoked before the asker does, nobody if the asker is the first."""
    first: str = decision.data.get("first", "")
    return first if first != decision.asker else ""


def notice(sender: str, data: dict[str, Any]) -> str:
    """Return what somebody is told of a decision that is news to it."""
    what, why = f"{data['decision']} ({data['title']})", data.get("reason") or ""
    if data["event"] == ASKED:
        return f"{sender} asks you to decide {what}" + (f": {why}" if why else "")
    if data["event"] == NEEDLESS:
        return f"nobody needs to decide {what} any more: it was {data['outcome']}{_by(sender)}"
    if data["event"] == COMMENTED:
        return f"{sender} says on {what}: {why}"
    if data["event"] == DISPUTED:
        return f"{sender} asks a human for what you hold, {what}" + (f": {why}" if why else "")
    if data["event"] == KEPT:
        return f"you keep it: {sender} refused {what}" + (f": {why}" if why else "")
    after = f"; {_AFTER_CONFLICT[data['event']]}" if data.get("category") == CONFLICT else ""
    if data.get("first"):
        after = f"; the claim is revoked, but {data['first']} is first in the queue: wait for it"
    return f"{what} was {data['event']}{_by(sender)}" + (f": {why}" if why else "") + after


def _by(sender: str) -> str:
    return f" by {sender}" if sender else ""
