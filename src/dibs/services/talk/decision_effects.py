"""What becomes of one decision inside a transaction: written, told to the ledger, and to whom it concerns."""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN, ancestors, is_terminal
from dibs.core.claims.ledger import Kind
from dibs.core.talk import decision_rules
from dibs.core.talk.decision_rules import ASKED, COMMENTED, NEEDLESS, Voter
from dibs.core.talk.decisions import LEAD, Outcome
from dibs.core.talk.mail import HUMANS, MailKind, box_of, wording
from dibs.services.state import deadlines, mailbox
from dibs.services.state.decisions import put_decision
from dibs.services.state.presence import role_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.talk.decisions import Comment, Decision
    from dibs.services.state.rows import Rows

#: How deadlines of decisions are filed.
WHAT = "decision"


def record(rows: Rows, draft: Decision) -> Decision:
    """Write a decision that nobody has to confirm, under the number of its entry in the ledger."""
    seq = rows.emit(
        draft.asker, draft.role, Kind.DECISION_MADE, f"{draft.asker} decided: {draft.title}",
        title=draft.title, category=draft.category, outcome=draft.outcome,
        rationale=draft.rationale,
    )  # fmt: skip
    made = draft._replace(id=f"d{seq}")
    put_decision(rows, made)
    return made


def ask(rows: Rows, draft: Decision) -> Decision:
    """Write a decision that waits, under the number of its entry in the ledger."""
    seq = rows.emit(
        draft.asker, draft.role, Kind.DECISION_ASKED,
        f"{draft.asker} asks for a decision: {draft.title}",
        title=draft.title, category=draft.category, decider=draft.decider, deadline=draft.deadline,
        rationale=draft.rationale,
    )  # fmt: skip
    return open_decision(rows, draft._replace(id=f"d{seq}"))


def open_decision(rows: Rows, decision: Decision) -> Decision:
    """Write a decision that waits, with its deadline, and tell those who may decide."""
    told = {}
    for box in decider_boxes(rows, decision):
        news = _news(decision, ASKED, decision.rationale)
        message = mailbox.notice(rows, box, MailKind.DECISION, (), sender=decision.asker, **news)
        mailbox.put(rows, message)
        told[box] = message.id
    asked = decision._replace(data={**decision.data, "told": told})
    put_decision(rows, asked)
    if decision.deadline:
        deadlines.put(rows, decision.deadline, WHAT, decision.id)
    return asked


def decided(rows: Rows, decision: Decision, outcome: str, by: str, reason: str) -> Decision:
    """Return a decision as decided now; by nobody means by silence."""
    return decision._replace(outcome=outcome, decided_by=by, decided_at=rows.now, reason=reason)


def close(rows: Rows, before: Decision, done: Decision, role: str) -> Decision:
    """Write what became of a decision, and tell its asker unless it did that itself."""
    put_decision(rows, done)
    if before.deadline:
        deadlines.drop(rows, before.deadline, WHAT, done.id)
    why = f" ({done.reason})" if done.reason else ""
    rows.emit(
        done.decided_by or done.asker, role or done.role, Kind.DECISION_MADE,
        f"{decision_rules.how_decided(done)}: {done.title}{why}",
        decision=done.id, title=done.title, category=done.category, outcome=done.outcome,
        asker=done.asker, decided_by=done.decided_by, reason=done.reason,
    )  # fmt: skip
    _ask_nobody_any_more(rows, done)
    if done.decided_by != done.asker:
        tell(rows, asker_box(done), done, done.outcome, done.decided_by, done.reason)
    return done


def _ask_nobody_any_more(rows: Rows, done: Decision) -> None:
    """Let those who may decide, and have not heard so yet, hear what became of it in place of that."""
    role = role_of(rows, done.decided_by) if done.decided_by else ""
    for box, number in done.data.get("told", {}).items():
        message = mailbox.message_at(rows, number) if mailbox.untold(rows, box, number) else None
        if message is not None:
            data = {**message.data, "event": NEEDLESS, "outcome": done.outcome}
            text = wording(message.kind, done.decided_by, (), data)
            now = message._replace(sender=done.decided_by, role=role, text=text, data=data)
            mailbox.rewrite(rows, now)


def tell(rows: Rows, box: str, decision: Decision, event: str, sender: str, reason: str) -> None:
    """Let the owner of a box know what is new of a decision."""
    news = _news(decision, event, reason)
    mailbox.tell(rows, box, MailKind.DECISION, (), sender=sender, **news)


def _news(decision: Decision, event: str, reason: str) -> dict[str, str]:
    """Return what a message says of a decision, for programs."""
    news = {
        "decision": decision.id, "title": decision.title, "category": decision.category,
        "event": event, "reason": reason,
    }  # fmt: skip
    before = decision_rules.before_asker(decision)
    return {**news, "first": before} if before else news


def tell_comment(rows: Rows, decision: Decision, said: Comment) -> None:
    """Tell the asker what was said; where the asker said it, those who are to decide."""
    boxes = [asker_box(decision)]
    if said.by == decision.asker:
        boxes = decider_boxes(rows, decision) if decision.outcome == Outcome.PENDING else []
    for box in boxes:
        tell(rows, box, decision, COMMENTED, said.by, said.text)


def asker_box(decision: Decision) -> str:
    """Return the box of whoever asked; humans share one."""
    return box_of(decision.asker, decision.role)


def decider_boxes(rows: Rows, decision: Decision) -> list[str]:
    """Return the boxes of those who may decide; humans are told where no agent that works may."""
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
    """Return the agents above the asker, the nearest first."""
    return ancestors(asker, {agent.id: agent.parent for agent in rows.agents()})
