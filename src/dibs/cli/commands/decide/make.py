"""The verbs of ``dibs decide`` that bring something new: new, comment, withdraw."""

from __future__ import annotations

from dibs.cli.support.parsing import REQUEST_ID, arg

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
    from dibs.shapes import decisions

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
    from dibs.cli.support.text import bold, dim, green, printable, span, yellow
    from dibs.core.talk.decision_rules import who_may
    from dibs.core.talk.decisions import Outcome

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
    from dibs.shapes import decisions

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
    from dibs.shapes import decisions

    decision = session.project.decisions.withdraw(session.caller, args.id, args.reason)
    session.show(
        lambda: {"decision": decisions.decision(decision)},
        lambda: print(f"took back {decision.id}"),
    )


VERBS = {
    "new": (_NEW_OPTIONS, _new),
    "comment": (_COMMENT_OPTIONS, _comment),
    "withdraw": (_WITHDRAW_OPTIONS, _withdraw),
}
