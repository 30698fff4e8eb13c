"""The verbs of ``dibs decide`` that decide: confirm and reject; for a conflict revoke and refuse."""

from __future__ import annotations

from dibs.cli.support.parsing import arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.talk.decisions import Decision


_IDS_OPTIONS = (arg("id", nargs="+", metavar="ID", help="decisions, all or none: d12 d15"),)

_MAY_SAY_WHY_OPTIONS = (
    *_IDS_OPTIONS,
    arg("--reason", default="", metavar="TEXT", help="why; the asker is told"),
)

_MUST_SAY_WHY_OPTIONS = (
    *_IDS_OPTIONS,
    arg("--reason", required=True, metavar="TEXT", help="why; the asker is told"),
)


def _confirm(session: Session, args: Namespace) -> None:
    """Confirm what waits. The asker is told. Of a conflict: the same as revoke."""
    _decide(session, args, "confirmed")


def _reject(session: Session, args: Namespace) -> None:
    """Reject what waits, and say why. The asker is told. Of a conflict: the same as refuse."""
    _decide(session, args, "rejected")


def _revoke(session: Session, args: Namespace) -> None:
    """Take the claims that a conflict is about from their holder. Both sides are told."""
    _decide(session, args, "confirmed", conflict=True)


def _refuse(session: Session, args: Namespace) -> None:
    """Leave the claims that a conflict is about with their holder. The asker no longer waits."""
    _decide(session, args, "rejected", conflict=True)


def _decide(session: Session, args: Namespace, outcome: str, *, conflict: bool = False) -> None:
    from dibs.shapes import decisions as shapes

    decisions = session.project.decisions
    if conflict:
        decisions.check_conflicts(args.id)
    decided = decisions.decide(session.caller, args.id, outcome, args.reason)
    shape = {"decided": [shapes.decision(decision) for decision in decided]}
    session.show(lambda: shape, lambda: _print(session, decided))


def _print(session: Session, decided: list[Decision]) -> None:
    from dibs.cli.support.text import bold, green, red, yellow
    from dibs.core.talk.decision_rules import before_asker
    from dibs.core.talk.decisions import Outcome
    from dibs.shapes.quoting import Quoting

    quoted = Quoting(session.caller, [decision.title for decision in decided])
    paint = {Outcome.CONFIRMED: green, Outcome.REJECTED: red}
    for line in quoted.legend:
        print(line)
    for decision in decided:
        title = quoted(decision.title, decision.asker)
        said = paint.get(decision.outcome, yellow)(decision.outcome)
        first = before_asker(decision)
        note = f", and {first} is first in the queue" if first else ""
        if decision.outcome == Outcome.SETTLED:
            note = "; the conflict was over, so nothing else was done"
        print(f"{said} {bold(decision.id)}: {title}; {decision.asker} is told{note}")


VERBS = {
    "confirm": (_MAY_SAY_WHY_OPTIONS, _confirm),
    "reject": (_MUST_SAY_WHY_OPTIONS, _reject),
    "revoke": (_MAY_SAY_WHY_OPTIONS, _revoke),
    "refuse": (_MUST_SAY_WHY_OPTIONS, _refuse),
}
