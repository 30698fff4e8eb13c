"""Write one decision inside a transaction: the row, the ledger entry, and the notices."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, ancestors, is_terminal
from dibs.core.claims.ledger import Kind
from dibs.core.talk import decision_rules
from dibs.core.talk.decision_rules import ASKED, COMMENTED, NEEDLESS, Voter
from dibs.core.talk.decisions import LEAD, Outcome
from dibs.core.talk.mail import HUMANS, MailKind, box_of, wording
from dibs.services.state import mailbox
from dibs.services.state.decisions import put_decision
from dibs.services.state.presence import role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.core.talk.decisions import Comment, Decision
    from dibs.services.state.rows import Rows


def record(rows: Rows, draft: Decision) -> Decision:
    """Write a decision that needs no confirmation; its ledger entry numbers it."""
    seq = rows.emit(
        draft.asker, draft.role, Kind.DECISION_MADE, f"{draft.asker} decided: {draft.title}",
        title=draft.title, outcome=draft.outcome, rationale=draft.rationale,
    )  # fmt: skip
    made = draft._replace(id=f"d{seq}")
    put_decision(rows, made)
    return made


def ask(rows: Rows, draft: Decision) -> Decision:
    """Write a pending decision; its ledger entry numbers it."""
    seq = rows.emit(
        draft.asker, draft.role, Kind.DECISION_ASKED,
        f"{draft.asker} asked for a decision: {draft.title}",
        title=draft.title, decider=draft.decider, rationale=draft.rationale,
    )  # fmt: skip
    return open_decision(rows, draft._replace(id=f"d{seq}"))


def open_decision(rows: Rows, decision: Decision) -> Decision:
    """Write a pending decision, and notify those who may decide."""
    told = {}
    for box in decider_boxes(rows, decision):
        news = _news(decision, ASKED, decision.rationale)
        message = mailbox.notice(rows, box, MailKind.DECISION, (), sender=decision.asker, **news)
        mailbox.put(rows, message)
        told[box] = message.id
    asked = decision._replace(data={**decision.data, "told": told})
    put_decision(rows, asked)
    return asked


def decided(rows: Rows, decision: Decision, outcome: str, by: str, reason: str) -> Decision:
    """Return a decision as decided now; ``by`` is empty if the conflict ended."""
    return decision._replace(outcome=outcome, decided_by=by, decided_at=rows.now, reason=reason)


def close(rows: Rows, done: Decision, role: str) -> Decision:
    """Write the outcome of a decision, and notify its asker unless the asker decided."""
    put_decision(rows, done)
    rows.emit(
        done.decided_by or done.asker, role or done.role, Kind.DECISION_MADE,
        _summary(done),
        decision=done.id, title=done.title, conflict=done.conflict, outcome=done.outcome,
        asker=done.asker, decided_by=done.decided_by, reason=done.reason,
    )  # fmt: skip
    _cancel_notices(rows, done)
    if done.decided_by != done.asker:
        tell(rows, asker_box(done), done, done.outcome, done.decided_by, done.reason)
    return done


def _summary(done: Decision) -> str:
    if done.outcome == Outcome.SETTLED and not done.decided_by and done.reason:
        return f"{done.id} closed: {done.reason}"
    why = f" ({done.reason})" if done.reason else ""
    return f"{decision_rules.how_decided(done)}: {done.title}{why}"


def _cancel_notices(rows: Rows, done: Decision) -> None:
    """Replace undelivered notices to deciders by the outcome."""
    role = role_of(rows, done.decided_by) if done.decided_by else ""
    for box, number in done.data.get("told", {}).items():
        message = (
            mailbox.message_at(rows, number) if mailbox.is_undelivered(rows, box, number) else None
        )
        if message is not None:
            data = {**message.data, "event": NEEDLESS, "outcome": done.outcome}
            text = wording(message.kind, done.decided_by, (), data)
            now = message._replace(sender=done.decided_by, role=role, text=text, data=data)
            mailbox.rewrite(rows, now)


def tell(
    rows: Rows,
    box: str,
    decision: Decision,
    event: str,
    sender: str,
    reason: str,
    patterns: Sequence[str] = (),
) -> None:
    """Notify a box about a decision, in a conflict about ``patterns``."""
    news = _news(decision, event, reason)
    mailbox.tell(rows, box, MailKind.DECISION, tuple(patterns), sender=sender, **news)


def _news(decision: Decision, event: str, reason: str) -> dict[str, Any]:
    """Return a decision's data for a message."""
    news = {
        "decision": decision.id, "title": decision.title, "conflict": decision.conflict,
        "event": event, "reason": reason,
    }  # fmt: skip
    before = decision_rules.before_asker(decision)
    return {**news, "first": before} if before else news


def tell_comment(rows: Rows, decision: Decision, said: Comment) -> None:
    """Notify the asker of a comment; if the asker commented, notify the deciders."""
    boxes = [asker_box(decision)]
    if said.by == decision.asker:
        boxes = decider_boxes(rows, decision) if decision.outcome == Outcome.PENDING else []
    for box in boxes:
        tell(rows, box, decision, COMMENTED, said.by, said.text)


def asker_box(decision: Decision) -> str:
    """Return the asker's box; humans share one."""
    return box_of(decision.asker, decision.role)


def decider_boxes(rows: Rows, decision: Decision) -> list[str]:
    """Return the boxes of those who may decide; the humans' box if no working agent may."""
    if decision.decider == HUMAN:
        return [HUMANS]
    leads = above(rows, decision.asker) if decision.decider == LEAD else ()
    found = [
        agent.id
        for agent in rows.agents()
        if not is_terminal(agent.status)
        and decision_rules.may_decide(
            decision, Voter(agent.id, human=False, role=agent.role), leads
        )
    ]
    return found or [HUMANS]


def above(rows: Rows, asker: str) -> list[str]:
    """Return the agents above the asker, nearest first."""
    return ancestors(asker, {agent.id: agent.parent for agent in rows.agents()})
