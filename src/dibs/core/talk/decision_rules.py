"""Rules for decisions: what may be asked, and who may decide. Pure."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.rules import check_text
from dibs.core.talk.decisions import LEAD, Outcome
from dibs.core.text.names import few, is_agent_id, quote
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from dibs.core.talk.decisions import Decision

MAX_TITLE, MAX_RATIONALE, MAX_ROLE, MAX_COMMENTS = 200, 4_000, 100, 100
#: How many decisions may be pending at once: in total, and of one agent.
MAX_OPEN, MAX_OPEN_OF_AGENT = 1_000, 100
#: How long a decision is kept after it was made, in seconds; not a setting, so nobody can shorten it.
KEPT_FOR = 365 * 86_400.0
#: Events of a decision besides its outcomes.
ASKED, COMMENTED = "asked", "commented"
#: Replaces ``ASKED`` for a decider that has not read it before someone else decided.
NEEDLESS = "needless"
#: Events for the owner in a conflict: a human was asked; the owner keeps the claim.
DISPUTED, KEPT = "disputed", "kept"
#: What the asker of a conflict can do now, by outcome.
_AFTER_CONFLICT = {
    Outcome.CONFIRMED: "the claim is revoked, so you can claim it now",
    Outcome.REJECTED: "do not wait for it",
    Outcome.SETTLED: "try to claim it if you still need it",
}

_MAX_DIGITS = 16


class Voter(Record):
    """An agent or human that wants to decide."""

    id: str
    human: bool
    role: str


# -- what may be asked


def asks(*, confirm: bool, by: str | None) -> bool:
    """Return whether a new decision waits for someone: asked for, or implied by who may decide."""
    return confirm or by is not None


def check_id(text: str) -> str:
    """Return the id of a decision in its stored form; refuse what cannot be one."""
    digits = text.removeprefix("d")
    if digits != text and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        return f"d{int(digits)}"
    raise no_decision(text)


def no_decision(text: str) -> NotFound:
    """Return the error for a decision that does not exist."""
    return NotFound(
        f"no decision {quote(text)}",
        code="NO_DECISION",
        field="id",
        hint="`dibs decide ls` lists them; an ID looks like d12",
    )


def check_title(text: str) -> str:
    """Return a title on one line, with secrets masked."""
    title = " ".join(text.split())
    if not title:
        raise BadInput("a decision needs a title", code="TITLE", field="title")
    return check_text(title, "title", MAX_TITLE)


def check_decider(text: str, asker: str, agents: Collection[str]) -> str:
    """Return a decider in its stored form; an agent must exist, a role need not."""
    kind, mark, name = text.strip().partition(":")
    if mark and kind == "role" and name.strip():
        role = check_text(" ".join(name.split()), "role", MAX_ROLE)
        return HUMAN if role.lower() == HUMAN else f"role:{role}"
    if not mark and kind in {HUMAN, LEAD}:
        return kind
    agent = name if mark and kind == "agent" else text.strip()
    if not is_agent_id(agent):
        raise BadInput(
            f"invalid decider {quote(text)}",
            code="DECIDER",
            field="decider",
            hint="use human, lead, agent:ID, or role:NAME",
        )
    if agent == asker:
        raise BadInput(
            f"{asker} cannot decide its own request",
            code="DECIDER",
            field="decider",
            hint="name another agent, or record the decision without --by",
        )
    if agent not in agents:
        raise NotFound(
            f"no agent {agent} here",
            code="NO_AGENT",
            field="decider",
            hint="`dibs agent ls` lists the agents",
        )
    return f"agent:{agent}"


def is_old(decision: Decision, now: float) -> bool:
    """Return whether a decision can be deleted: it was made long ago; a pending one is never old."""
    made = max(decision.at, decision.decided_at)
    return decision.outcome != Outcome.PENDING and made + KEPT_FOR <= now


# -- who may decide


def may_decide(decision: Decision, voter: Voter, above: Collection[str]) -> bool:
    """Return whether a voter may decide; ``above`` are the agents above the asker."""
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
    """Return who may decide, in words; ``shown`` formats a role, which the asker wrote."""
    if decision.decider == HUMAN:
        return "a human"
    if decision.decider == LEAD:
        return f"an agent above {decision.asker} or a human"
    kind, _, name = decision.decider.partition(":")
    if kind == "agent":
        return f"{name} or a human"
    return f"an agent with the role {shown(name)} or a human"


def check_voter(decision: Decision, voter: Voter, above: Collection[str]) -> None:
    """Refuse a voter that may not decide, and say who may."""
    if may_decide(decision, voter, above):
        return
    own = ", its own request" if voter.id == decision.asker else ""
    raise NotAllowed(
        f"{voter.id} may not decide {decision.id}{own}: {who_may(decision)} may",
        code="MAY_NOT_DECIDE",
        hint=f"to share your opinion: `dibs decide comment {decision.id} TEXT`",
    )


def check_pending(decision: Decision) -> None:
    """Refuse to decide twice."""
    if decision.outcome != Outcome.PENDING:
        raise BadInput(
            how_decided(decision, already=True),
            code="DECIDED",
            field="id",
            hint="if that was wrong, record another decision",
        )


def check_conflict(decision: Decision) -> None:
    """Refuse to revoke or refuse anything other than a conflict."""
    if not decision.conflict:
        raise BadInput(
            f"{decision.id} is not a conflict over claims",
            code="NO_CONFLICT",
            field="id",
            hint=f"`dibs decide confirm {decision.id}` or `dibs decide reject {decision.id} --reason WHY`",
        )


def check_asker(decision: Decision, voter: Voter) -> None:
    """Refuse to withdraw another agent's request."""
    if voter.id != decision.asker and not voter.human:
        raise NotAllowed(
            f"only {decision.asker} or a human may withdraw {decision.id}",
            code="MAY_NOT_DECIDE",
            hint=f"`dibs decide show {decision.id}` shows who may decide",
        )


def how_decided(decision: Decision, *, already: bool = False) -> str:
    """Return the outcome of a decision in words, as in ``d12 was confirmed by carol``."""
    who = decision.decided_by
    by = f" by {who}" if who else ""
    if decision.outcome == Outcome.RECORDED:
        by = f" by {decision.asker}"
    return f"{decision.id} was {'already ' if already else ''}{decision.outcome}{by}"


def before_asker(decision: Decision) -> str:
    """Return the agent that gets a revoked claim before the asker; empty if the asker is first."""
    first: str = decision.data.get("first", "")
    return first if first != decision.asker else ""


def notice(sender: str, data: dict[str, Any]) -> str:
    """Return the text of a notice about a decision."""
    what, why = f"{data['decision']} ({data['title']})", data.get("reason") or ""
    event = data["event"]
    because = f": {why}" if why else ""
    if event == NEEDLESS:
        over = f"it was {data['outcome']} by {sender}" if sender else "the conflict is over"
        return f"you no longer need to decide {what}: {over}"
    if event in _ABOUT:
        wanted = few(data.get("patterns") or ())
        words = _ABOUT[event].format(sender=sender, what=what, wanted=wanted, id=data["decision"])
        return words + because
    after = f"; {_AFTER_CONFLICT[event]}" if data.get("conflict") else ""
    if data.get("first"):
        after = f"; the claim is revoked, but {data['first']} is first in the queue: wait for it"
    if event == Outcome.SETTLED and not sender:
        return f"{data['decision']} closed{because}{after}"
    return f"{what} was {event}{_by(sender)}{because}{after}"


_ABOUT = {
    ASKED: "{sender} asks you to decide {what}",
    COMMENTED: "{sender} commented on {what}",
    DISPUTED: "{sender} asked a human to decide who gets {wanted} ({id})",
    KEPT: "you keep your claim: {sender} refused {what}",
}


def _by(sender: str) -> str:
    return f" by {sender}" if sender else ""
