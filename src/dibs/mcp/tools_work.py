"""The tools of work: commit, task, say, decide, brief. Each takes what was asked, and tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.talk.decision_rules import who_may
from dibs.core.text.names import shown
from dibs.errors import BadInput
from dibs.mcp import outputs
from dibs.mcp.tools_claims import ROWS, patterns_of
from dibs.services.commits.values import CommitRequest, Committed
from dibs.shapes.quoting import Quoting

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.api.client import Dibs
    from dibs.core.claims.coverage import Blocked
    from dibs.core.talk.decisions import Decision
    from dibs.mcp.inputs import BriefAsked, CommitAsked, DecideAsked, SayAsked

    #: What is done once the answer has left: a briefing counts as told only then.
    Confirm = Callable[[], object]


def commit(dibs: Dibs, asked: CommitAsked) -> outputs.CommitTold:
    """Commit the changed files that the caller holds."""
    from dibs.services.commits.scope import names_and_patterns

    names, texts = names_and_patterns(dibs.project.place.repository, asked.paths)
    wish = CommitRequest(
        asked.message,
        tuple(patterns_of(dibs, texts)),
        tuple(names),
        release=asked.release,
        task=asked.task,
    )
    answer = dibs.project.commits.commit(dibs.caller, wish)
    if not isinstance(answer, Committed):
        quoted = Quoting(None, map(str, answer.blocked))
        said = [f"The {answer.hook} hook said no; mend what it names."] if answer.hook else []
        return outputs.CommitTold(
            agent=dibs.caller.id,
            committed=False,
            blocked=[_blocked(one, quoted) for one in answer.blocked[:ROWS]],
            left_out=max(0, len(answer.blocked) - ROWS),
            next=said or ["Name only paths that you hold, or claim the others first."],
            note=quoted.note,
        )
    quoted = Quoting(None, [*(shown(one.path) for one in answer.nobody), *map(str, answer.others)])
    others = [_blocked(one, quoted) for one in answer.others[:ROWS]]
    return outputs.CommitTold(
        agent=dibs.caller.id,
        committed=True,
        commit=answer.commit,
        branch=answer.branch,
        files=[shown(one.path) for one in answer.files[:ROWS]],
        blocked=others,
        unclaimed=[quoted.path(shown(one.path), "git") for one in answer.nobody[:ROWS]],
        released=[one.pattern for one in answer.released],
        left_out=max(0, len(answer.files) - ROWS),
        next=["Claim the unclaimed files to commit them."] if answer.nobody else [],
        note=quoted.note,
    )


def _blocked(value: Blocked, quoted: Quoting) -> outputs.Blocked:
    whose = value.holder or "git"
    return outputs.Blocked(
        path=quoted.path(shown(value.path), whose),
        why=value.why,
        holder=value.holder,
        reason=quoted(value.reason, whose),
        hint=quoted(value.hint, "dibs") if value.pattern else value.hint,
    )


def say(dibs: Dibs, asked: SayAsked) -> outputs.SayTold:
    """Say something to others."""
    message = dibs.say(
        asked.to,
        asked.text,
        reply_to=asked.reply_to,
        priority=asked.priority,
        wants_ack=asked.wants_ack,
    )
    return outputs.SayTold(agent=dibs.caller.id, message=message.id, readers=list(message.boxes))


def decide(dibs: Dibs, asked: DecideAsked) -> outputs.DecideTold:
    """Record a decision, ask for one, or look at one."""
    if bool(asked.title) == bool(asked.id):
        raise BadInput(
            "give a title to decide something, or an id to look at a decision, not both",
            code="USAGE",
            field="title",
        )
    if asked.id:
        found = dibs.project.decisions.show(asked.id)
    else:
        found = dibs.decide(
            asked.title,
            rationale=asked.rationale,
            category=asked.category,
            confirm=asked.confirm or asked.by != "human",
            decider=asked.by,
        )
    return _decision(dibs.caller.id, found)


def _decision(me: str, found: Decision) -> outputs.DecideTold:
    quoted = Quoting(None, map(str, found))
    mine = found.asker == me
    waits = found.outcome == "pending"
    return outputs.DecideTold(
        agent=me,
        id=found.id,
        outcome=found.outcome,
        title=found.title if mine else quoted(found.title, found.asker),
        rationale=found.rationale if mine else quoted(found.rationale, found.asker),
        decided_by=found.decided_by,
        reason=quoted(found.reason, found.decided_by or "dibs"),
        who_may=who_may(found, lambda role: quoted.word(role, found.asker)) if waits else "",
        next=["Do not act on it before it is confirmed; brief tells you."] if waits else [],
        note=quoted.note,
    )


def brief(dibs: Dibs, asked: BriefAsked) -> tuple[outputs.BriefTold, Confirm | None]:
    """Tell the caller what is new; the second value is called once the answer has left."""
    briefings, caller = dibs.project.briefings, dibs.caller
    delivery = briefings.prepare(caller, full=asked.full)
    if delivery is None:
        return outputs.BriefTold(agent=caller.id, changed=False, text="", mail=[]), None
    number = delivery.number
    answer = outputs.BriefTold(
        agent=caller.id,
        changed=True,
        text=delivery.text + delivery.whole,
        mail=list(delivery.mail),
        left_out=delivery.left,
    )
    return answer, (lambda: briefings.delivered(caller, number)) if number else None
