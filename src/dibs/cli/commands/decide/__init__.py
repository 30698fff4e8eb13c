"""Record what was decided, or ask somebody to confirm it; list, show, confirm and reject decisions.

Examples:
  dibs decide new "snake_case for columns" --category style
  dibs decide new "use httpx" --category dependency --confirm
  dibs decide new "split the parser" --confirm --by lead --rationale "..."
  dibs decide ls --pending
  dibs decide confirm d12

A decision waits until somebody decides who may: whom --by names, or a human.
Silence decides only where dibs.toml says so ([decide] allow, deny).

exit status: 0 done, 6 there is no such decision, 65 it was decided before,
77 you may not decide it
"""

from __future__ import annotations

from dibs.cli.support.parsing import REQUEST_ID, arg
from dibs.cli.support.text import bold, dim, green, printable, red, span, yellow
from dibs.core.talk.decision_rules import before_asker, who_may
from dibs.core.talk.decisions import Outcome
from dibs.shapes import decisions
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.talk.decisions import Decision

_NEW_OPTIONS = (
    arg("title", metavar="TITLE", help="what is decided, on one line"),
    arg("--rationale", default="", metavar="TEXT", help="why"),
    arg(
        "--category",
        default="general",
        metavar="WORD",
        help="style, architecture, tool_access, dependency, testing or general",
    ),
    arg("--confirm", action="store_true", help="somebody is to confirm it"),
    arg(
        "--by",
        metavar="WHO",
        help="who is to confirm it: human, lead, agent:ID or role:NAME; a human always may",
    ),
    arg(
        "--deadline",
        metavar="SPAN",
        help="wait so long for that, where dibs.toml says what silence means",
    ),
    REQUEST_ID,
)


def _new(session: Session, args: Namespace) -> None:
    """Record a decision, or ask for one.

    It is recorded at once, unless --confirm, --by or --deadline is given, or dibs.toml wants
    decisions of its category confirmed. Then it waits, and whoever may decide is told.
    """
    made = session.project.decisions.new(
        session.caller,
        args.title,
        rationale=args.rationale,
        category=args.category,
        confirm=args.confirm or args.by is not None or args.deadline is not None,
        decider="human" if args.by is None else args.by,
        deadline=args.deadline,
        request_id=args.request_id,
    )
    session.show(lambda: {"decision": decisions.decision(made)}, lambda: _print_new(made))


def _print_new(made: Decision) -> None:
    title = printable(made.title)
    if made.outcome == Outcome.RECORDED:
        print(f"{green('recorded')} {bold(made.id)}: {title}")
        return
    print(f"{yellow('asked')} {bold(made.id)}: {title}")
    print(f"  {dim('-')} {printable(who_may(made))} may decide")
    when = f", in {span(made.deadline - made.at)}" if made.deadline else ""
    print(f"  {dim('-')} {printable(made.data.get('policy', ''))}{when}")
    print(f"  {dim('-')} you are told: dibs inbox, dibs brief; now: dibs decide show {made.id}")


_COMMENT_OPTIONS = (
    arg("id", metavar="ID", help="the decision, such as d12"),
    arg("text", metavar="TEXT", help="what you have to say"),
)


def _comment(session: Session, args: Namespace) -> None:
    """Say something on a decision. Its asker is told."""
    decision = session.project.decisions.comment(session.caller, args.id, args.text)
    session.show(
        lambda: {"decision": decisions.decision(decision)},
        lambda: print(f"commented on {decision.id}"),
    )


_WITHDRAW_OPTIONS = (
    arg("id", metavar="ID", help="the decision, such as d12"),
    arg("--reason", default="", metavar="TEXT", help="why; it is kept"),
)


def _withdraw(session: Session, args: Namespace) -> None:
    """Take back what you asked for. Nobody has to decide it any more."""
    decision = session.project.decisions.withdraw(session.caller, args.id, args.reason)
    session.show(
        lambda: {"decision": decisions.decision(decision)},
        lambda: print(f"took back {decision.id}"),
    )


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
    service = session.project.decisions
    if conflict:
        service.check_conflicts(args.id)
    decided = service.decide(session.caller, args.id, outcome, args.reason)
    shape = {"decided": [decisions.decision(decision) for decision in decided]}
    session.show(lambda: shape, lambda: _print_decided(session, decided))


def _print_decided(session: Session, decided: list[Decision]) -> None:
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
    "new": ("record a decision, or ask for one", _NEW_OPTIONS, _new),
    "ls": ("decide.look", "list decisions"),
    "show": ("decide.look", "show a decision, and who may decide it"),
    "confirm": ("confirm what waits", _MAY_SAY_WHY_OPTIONS, _confirm),
    "reject": ("reject what waits, and say why", _MUST_SAY_WHY_OPTIONS, _reject),
    "comment": ("say something on a decision", _COMMENT_OPTIONS, _comment),
    "withdraw": ("take back what you asked for", _WITHDRAW_OPTIONS, _withdraw),
    "revoke": ("of a conflict: take the claim from its holder", _MAY_SAY_WHY_OPTIONS, _revoke),
    "refuse": ("of a conflict: leave the claim with its holder", _MUST_SAY_WHY_OPTIONS, _refuse),
}
