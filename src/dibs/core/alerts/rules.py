"""The rules of alerts: which conditions hold, given the facts and the alerts so far.

A level that goes up and down keeps its alert until it is clearly below the threshold.
"""

from __future__ import annotations

from dibs.core.alerts.kinds import AlertKind
from dibs.core.alerts.values import LONGEST, Condition, Severity, command_line
from dibs.core.text.durations import show_span
from dibs.core.text.names import cut, few, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from dibs.core.alerts.facts import AgentFact, AlertFacts, GrantFact
    from dibs.core.alerts.values import Alert

    Known = Mapping[str, Alert]
    Rule = Callable[[AlertFacts, Known], Iterator[Condition]]

#: After how many seconds without activity a running agent is stuck; it may wait longer for its model.
STUCK, MODEL_CALL = 600.0, 1_800.0
#: Above how many percent of its context window an agent has to be warned, and above how many it is critical.
CONTEXT_WARNING, CONTEXT_CRITICAL = 85, 95
#: How long an agent may be idle while a task is ready, a decision pending, and a claim unused, in seconds.
IDLE, DECISION, CLAIM = 60.0, 600.0, 1_800.0
#: How far below its threshold a context has to fall, in percentage points.
_MARGIN = 5
#: How long before its last deadline a claim is reported, and at most which share of its time.
_NEAR, _SHARE = 600.0, 0.1
_NAMED = 3


def conditions(facts: AlertFacts, known: Known, off: Collection[str] = ()) -> list[Condition]:
    """Return the conditions that hold, of all kinds that are not ``off``."""
    found: dict[str, Condition] = {}
    for rule in _RULES:
        found |= {one.key: one for one in rule(facts, known)}
    return [_limited(one) for one in found.values() if one.kind not in off]


def _limited(one: Condition) -> Condition:
    return one._replace(text=cut(printable(" ".join(one.text.split())), LONGEST))


def _stuck(facts: AlertFacts, _: Known) -> Iterator[Condition]:
    for agent in facts.agents:
        silent = facts.now - agent.active
        limit = MODEL_CALL if agent.in_model_call else STUCK
        if agent.running and agent.matters and silent >= limit:
            what = "waiting for its model" if agent.in_model_call else "running without activity"
            yield Condition(
                f"{AlertKind.STUCK_AGENT}:{agent.id}", AlertKind.STUCK_AGENT, Severity.WARNING,
                agent.id, f"{agent.id} has been {what} for {show_span(round(silent))}",
                command_line("agent", "show", agent.id), (agent.id,),
            )  # fmt: skip


def _context(facts: AlertFacts, known: Known) -> Iterator[Condition]:
    for agent in facts.agents:
        key = f"{AlertKind.CONTEXT_PRESSURE}:{agent.id}"
        before = known[key].severity if key in known else ""
        critical = CONTEXT_CRITICAL - (_MARGIN if before == Severity.CRITICAL else 0)
        warning = CONTEXT_WARNING - (_MARGIN if before else 0)
        if agent.context > critical:
            severity = Severity.CRITICAL
        elif agent.context > warning:
            severity = Severity.WARNING
        else:
            continue
        yield Condition(
            key, AlertKind.CONTEXT_PRESSURE, severity, agent.id,
            f"{agent.id} has used {_percent(agent)} of its context window",
            command_line("say", agent.id, "finish or hand off your task, then compact your context"),
            (agent.id,),
        )  # fmt: skip


def _percent(agent: AgentFact) -> str:
    return f"{agent.context:.0f}%"


def _overlaps(facts: AlertFacts, _: Known) -> Iterator[Condition]:
    for one in facts.overlaps:
        names, paths = " and ".join(one.agents), few(list(one.paths), _NAMED)
        if one.forecast:
            subject, text = "//".join(one.agents), f"{names} would conflict in {paths}"
            command = command_line("forecast", *one.agents)
        else:
            subject = one.paths[0]
            text = f"{names} both changed {paths}, and nobody committed or released in between"
            command = command_line("who", one.paths[0])
        yield Condition(
            f"{AlertKind.DUPLICATE_FILE_EDIT}:{subject}", AlertKind.DUPLICATE_FILE_EDIT,
            Severity.WARNING, subject, text, command, one.agents,
        )  # fmt: skip


def _idle(facts: AlertFacts, _: Known) -> Iterator[Condition]:
    idle = [a for a in facts.agents if a.could_take and facts.now - a.active >= IDLE]
    if not idle:
        return
    names, tasks = [agent.id for agent in idle], max(agent.could_take for agent in idle)
    some = "1 agent is" if len(idle) == 1 else f"{len(idle)} agents are"
    ready = "1 task is" if tasks == 1 else f"{tasks} tasks are"
    yield Condition(
        AlertKind.IDLE_AGENTS_READY_TASKS, AlertKind.IDLE_AGENTS_READY_TASKS, Severity.INFO,
        "board", f"{some} idle while {ready} ready: {few(names, _NAMED)}",
        "dibs orchestrate", tuple(names),
    )  # fmt: skip


def _decisions(facts: AlertFacts, _: Known) -> Iterator[Condition]:
    for one in facts.decisions:
        age = facts.now - one.at
        if age >= DECISION:
            yield Condition(
                f"{AlertKind.STALE_DECISION}:{one.id}", AlertKind.STALE_DECISION, Severity.WARNING,
                one.id, f"{one.asker} has been waiting {show_span(round(age))} for {one.id}: {one.title}",
                command_line("decide", "show", one.id), (one.asker,),
            )  # fmt: skip


def _grants(facts: AlertFacts, _: Known) -> Iterator[Condition]:
    for one in facts.grants:
        unused, left = facts.now - max(one.since, one.active), one.hard - facts.now
        near = left <= min(_NEAR, _SHARE * (one.hard - one.since))
        if not near and unused < CLAIM:
            continue
        what = f"{one.agent}'s claim on {few(list(one.patterns), _NAMED)}"
        text = f"{what} has not been used for {show_span(round(unused))}"
        if near:
            text = f"{what} expires in {show_span(round(left))}, even if it is renewed"
        yield Condition(
            f"{AlertKind.STALE_CLAIM}:{one.agent}:{one.token or one.patterns[0]}",
            AlertKind.STALE_CLAIM, Severity.WARNING, one.patterns[0], text, _about(one, near=near),
            (one.agent,),
        )  # fmt: skip


def _about(one: GrantFact, *, near: bool) -> str:
    if near:
        return command_line("who", one.patterns[0])
    return command_line("ask", one.patterns[0])


def _unguarded(facts: AlertFacts, _: Known) -> Iterator[Condition]:
    for agent in facts.agents:
        if not agent.guarded and agent.wrote:
            yield Condition(
                f"{AlertKind.UNGUARDED_AGENT}:{agent.id}", AlertKind.UNGUARDED_AGENT,
                Severity.WARNING if facts.anyone_guarded else Severity.INFO, agent.id,
                f"{agent.id} writes files and no hook guards it",
                "dibs doctor --prove", (agent.id,),
            )  # fmt: skip


_RULES: tuple[Rule, ...] = (
    _stuck, _context, _overlaps, _idle, _decisions, _grants, _unguarded,
)  # fmt: skip
