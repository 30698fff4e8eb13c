"""The verbs of ``dibs decide`` that bring something new: new, comment, withdraw."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.core.talk.decisions import Decision


def _new_options(parser: ArgumentParser) -> None:
    parser.add_argument("title", metavar="TITLE", help="what is decided, on one line")
    parser.add_argument("--rationale", default="", metavar="TEXT", help="why")
    parser.add_argument(
        "--category", default="general", metavar="WORD",
        help="style, architecture, tool_access, dependency, testing or general",
    )  # fmt: skip
    parser.add_argument("--confirm", action="store_true", help="somebody is to confirm it")
    parser.add_argument(
        "--by", metavar="WHO",
        help="who is to confirm it: human, lead, agent:ID or role:NAME; a human always may",
    )  # fmt: skip
    parser.add_argument(
        "--deadline", metavar="SPAN",
        help="wait so long for that, where dibs.toml says what silence means",
    )  # fmt: skip
    parser.add_argument("--request-id", default="", metavar="ID", help="repeat safely")


def _new(session: Session, args: Namespace) -> int:
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
    return 0


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


def _comment_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the decision, such as d12")
    parser.add_argument("text", metavar="TEXT", help="what you have to say")


def _comment(session: Session, args: Namespace) -> int:
    """Say something on a decision. Its asker is told."""
    from dibs.shapes import decisions

    decision = session.project.decisions.comment(session.caller, args.id, args.text)
    session.show(
        lambda: {"decision": decisions.decision(decision)},
        lambda: print(f"commented on {decision.id}"),
    )
    return 0


def _withdraw_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the decision, such as d12")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it is kept")


def _withdraw(session: Session, args: Namespace) -> int:
    """Take back what you asked for. Nobody has to decide it any more."""
    from dibs.shapes import decisions

    decision = session.project.decisions.withdraw(session.caller, args.id, args.reason)
    session.show(
        lambda: {"decision": decisions.decision(decision)},
        lambda: print(f"took back {decision.id}"),
    )
    return 0


VERBS = {
    "new": (_new_options, _new),
    "comment": (_comment_options, _comment),
    "withdraw": (_withdraw_options, _withdraw),
}
