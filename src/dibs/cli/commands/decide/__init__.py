"""Record decisions, or ask for confirmation; list, show, confirm, and reject decisions.

Examples:
  dibs decide new "snake_case for columns"
  dibs decide new "use httpx" --confirm
  dibs decide new "split the parser" --confirm --by lead --rationale "..."
  dibs decide ls --pending
  dibs decide confirm d12

A decision stays pending until someone with the right to decide does: the decider that --by
names, or a human.

exit status: 0 done, 6 no such decision, 65 already decided, 77 you may not decide it
"""

from __future__ import annotations

from dibs.cli.support.parsing import REQUEST_ID, arg
from dibs.cli.support.text import bold, dim, green, printable, red, yellow
from dibs.core.talk.decision_rules import asks, before_asker, who_may
from dibs.core.talk.decisions import Outcome
from dibs.shapes import decisions
from dibs.shapes.quoting import Quoting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.support.session import Session
    from dibs.core.talk.decisions import Decision

_NEW_OPTIONS = (
    arg("title", metavar="TITLE", help="the decision, on one line"),
    arg("--rationale", default="", metavar="TEXT", help="why"),
    arg("--confirm", action="store_true", help="ask for confirmation"),
    arg(
        "--by",
        metavar="WHO",
        help="who may confirm: human, lead, agent:ID, or role:NAME; a human always may",
    ),
    REQUEST_ID,
)


def _new(session: Session, args: Namespace) -> None:
    """Record a decision, or ask for confirmation.

    The decision is recorded immediately unless you use --confirm or --by. Then it is pending, and
    those who may decide are notified.
    """
    made = session.project.decisions.new(
        session.caller,
        args.title,
        rationale=args.rationale,
        confirm=asks(confirm=args.confirm, by=args.by),
        decider="human" if args.by is None else args.by,
        request_id=args.request_id,
    )
    session.show(lambda: decisions.one(made), lambda: _print_new(made))


def _print_new(made: Decision) -> None:
    title = printable(made.title)
    if made.outcome == Outcome.RECORDED:
        print(f"{green('recorded')} {bold(made.id)}: {title}")
        return
    print(f"{yellow('pending')} {bold(made.id)}: {title}")
    print(f"  {dim('-')} {printable(who_may(made))} may decide")
    print(f"  {dim('-')} the outcome goes to your inbox; check with `dibs decide show {made.id}`")


_COMMENT_OPTIONS = (
    arg("id", metavar="ID", help="the decision, such as d12"),
    arg("text", metavar="TEXT", help="the comment"),
)


def _comment(session: Session, args: Namespace) -> None:
    """Comment on a decision. Its asker is notified."""
    decision = session.project.decisions.comment(session.caller, args.id, args.text)
    session.show(
        lambda: decisions.one(decision),
        lambda: print(f"commented on {decision.id}"),
    )


_WITHDRAW_OPTIONS = (
    arg("id", metavar="ID", help="the decision, such as d12"),
    arg("--reason", default="", metavar="TEXT", help="why; it is recorded"),
)


def _withdraw(session: Session, args: Namespace) -> None:
    """Withdraw your own pending decision."""
    decision = session.project.decisions.withdraw(session.caller, args.id, args.reason)
    session.show(
        lambda: decisions.one(decision),
        lambda: print(f"withdrew {decision.id}"),
    )


_IDS_OPTIONS = (
    arg("id", nargs="+", metavar="ID", help="one or more decisions, all or nothing: d12 d15"),
)

_MAY_SAY_WHY_OPTIONS = (
    *_IDS_OPTIONS,
    arg("--reason", default="", metavar="TEXT", help="why; the asker sees it"),
)

_MUST_SAY_WHY_OPTIONS = (
    *_IDS_OPTIONS,
    arg("--reason", required=True, metavar="TEXT", help="why; the asker sees it"),
)


def _confirm(session: Session, args: Namespace) -> None:
    """Confirm a pending decision and notify the asker. For a conflict, the same as revoke."""
    _decide(session, args, "confirmed")


def _reject(session: Session, args: Namespace) -> None:
    """Reject a pending decision and notify the asker. For a conflict, the same as refuse."""
    _decide(session, args, "rejected")


def _revoke(session: Session, args: Namespace) -> None:
    """Settle a conflict by revoking the owner's claims. Both sides are notified."""
    _decide(session, args, "confirmed", conflict=True)


def _refuse(session: Session, args: Namespace) -> None:
    """Settle a conflict by leaving the claims with their owner. The asker stops waiting."""
    _decide(session, args, "rejected", conflict=True)


def _decide(session: Session, args: Namespace, outcome: str, *, conflict: bool = False) -> None:
    service = session.project.decisions
    decided = service.decide(session.caller, args.id, outcome, args.reason, conflict=conflict)
    session.show(lambda: decisions.decided(decided), lambda: _print_decided(session, decided))


def _print_decided(session: Session, decided: list[Decision]) -> None:
    quoted = Quoting(session.caller, [decision.title for decision in decided])
    paint = {Outcome.CONFIRMED: green, Outcome.REJECTED: red}
    for line in quoted.legend:
        print(line)
    for decision in decided:
        title = quoted(decision.title, decision.asker)
        said = paint.get(decision.outcome, yellow)(decision.outcome)
        first = before_asker(decision)
        note = f"; {first} is first in the queue" if first else ""
        if decision.outcome == Outcome.SETTLED:
            note = "; the conflict was already over"
        told = "" if decision.decided_by == decision.asker else f" ({decision.asker} is notified)"
        print(f"{said} {bold(decision.id)}: {title}{told}{note}")


VERBS = {
    "new": ("record a decision, or ask for confirmation", _NEW_OPTIONS, _new),
    "ls": ("decide.look", "list decisions"),
    "show": ("decide.look", "show a decision and who may decide it"),
    "confirm": ("confirm a pending decision", _MAY_SAY_WHY_OPTIONS, _confirm),
    "reject": ("reject a pending decision", _MUST_SAY_WHY_OPTIONS, _reject),
    "comment": ("comment on a decision", _COMMENT_OPTIONS, _comment),
    "withdraw": ("withdraw your own pending decision", _WITHDRAW_OPTIONS, _withdraw),
    "revoke": ("settle a conflict: revoke the claim", _MAY_SAY_WHY_OPTIONS, _revoke),
    "refuse": ("settle a conflict: the owner keeps the claim", _MUST_SAY_WHY_OPTIONS, _refuse),
}
