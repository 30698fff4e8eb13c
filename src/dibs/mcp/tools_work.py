"""The tools commit, say, decide, and brief."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import BadInput
from dibs.mcp.messages import tell
from dibs.mcp.tools_claims import patterns_of
from dibs.services.commits.values import CommitRequest, Committed
from dibs.shapes import mail
from dibs.shapes.briefing import briefing
from dibs.shapes.commits import commit_answer
from dibs.shapes.contract import ANSWERS
from dibs.shapes.decisions import decision

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.api.client import Dibs
    from dibs.mcp.inputs import BriefAsked, CommitAsked, DecideAsked, SayAsked

    #: Called once the answer is sent: only then does a briefing count as delivered.
    Confirm = Callable[[], object]

#: The answer of ``brief``: its text contains the state, with other agents' text fenced.
BRIEFED = ANSWERS["brief"].replace(" state:crew_state?", "")


def commit(dibs: Dibs, asked: CommitAsked) -> dict[str, Any]:
    """Commit the changed files that the caller holds."""
    from dibs.services.commits.scope import names_and_patterns

    names, texts = names_and_patterns(dibs.project.place.repository, asked.paths)
    wish = CommitRequest(
        asked.message,
        tuple(patterns_of(dibs, texts)),
        tuple(names),
        release=asked.release,
        task=asked.task,
        inherited=asked.inherited,
        anyway=asked.anyway,
    )
    answer = dibs.project.commits.commit(dibs.caller, wish, as_git=dibs.own_process)
    steps = []
    if isinstance(answer, Committed):
        if answer.nobody:
            steps = ["To commit the unclaimed files listed in nobody, claim them first."]
    elif answer.hook:
        steps = [f"The {answer.hook} hook refused the commit; fix what it reports."]
    elif answer.code == "UNDOES":
        steps = ["Keep the committed lines, or repeat the call to replace them with yours."]
    elif answer.code == "INHERITED":
        steps = ["Compare as the hints say; to commit both, repeat the call with inherited=true."]
    else:
        steps = ["Commit only paths that you hold, or claim the others first."]
    return tell(dibs, ANSWERS["commit"], commit_answer(answer), steps)


def say(dibs: Dibs, asked: SayAsked) -> dict[str, Any]:
    """Send a message."""
    message = dibs.say(asked.to, asked.text, reply_to=asked.reply_to)
    return tell(dibs, ANSWERS["say"], mail.message(message), own=True)


def decide(dibs: Dibs, asked: DecideAsked) -> dict[str, Any]:
    """Record a decision, ask for one, or show one."""
    if bool(asked.title) == bool(asked.id):
        raise BadInput(
            "give either a title, to record a decision, or an id, to show one",
            code="USAGE",
            field="title",
        )
    if asked.id:
        found = dibs.project.decisions.show(asked.id)
    else:
        found = dibs.decide(
            asked.title,
            rationale=asked.rationale,
            confirm=asked.confirm or asked.by != "human",
            decider=asked.by,
        )
    waits = found.outcome == "pending"
    steps = ["Do not act on it until it is confirmed; brief will tell you."] if waits else []
    shape = {"decision": decision(found)}
    return tell(dibs, ANSWERS["decide new"], shape, steps, own=not asked.id)


def brief(dibs: Dibs, asked: BriefAsked) -> tuple[dict[str, Any], Confirm | None]:
    """Return what is new, and a function to call once the answer is sent."""
    briefings, caller = dibs.project.briefings, dibs.caller
    delivery = briefings.prepare(caller, full=asked.full)
    shape = briefing(delivery)
    del shape["state"]
    answer = tell(dibs, BRIEFED, shape)
    number = delivery.number if delivery is not None else 0
    return answer, (lambda: briefings.delivered(caller, number)) if number else None
