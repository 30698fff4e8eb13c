"""The read-only subcommands of ``dibs decide``: ls and show."""

from __future__ import annotations

from dibs.cli.support.parsing import arg, number
from dibs.cli.support.text import bold, dim, green, red, span, yellow
from dibs.core.talk.decision_rules import how_decided, who_may
from dibs.core.talk.decisions import Outcome
from dibs.shapes import decisions
from dibs.shapes.quoting import Quoting

_NONE = 'no decisions: record one with `dibs decide new "TITLE"`'

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from dibs.cli.support.session import Session
    from dibs.core.talk.decisions import Decision
    from dibs.services.claims.disputes import Sides


_LS_OPTIONS = (
    arg("--pending", action="store_true", help="only pending decisions"),
    arg("--limit", type=number, default=50, metavar="N", help="only the newest N (default: 50)"),
)


def _ls(session: Session, args: Namespace) -> None:
    """List decisions, oldest first."""
    found = session.project.decisions.all(pending=args.pending)
    shown, left = found[-args.limit :], max(0, len(found) - args.limit)
    now = session.now()
    session.show(
        lambda: decisions.listed(shown, left),
        lambda: _print_list(session, shown, left, now, pending_only=args.pending),
    )


def _print_list(
    session: Session, shown: list[Decision], left: int, now: float, *, pending_only: bool
) -> None:
    if not shown:
        print("no pending decisions" if pending_only else _NONE)
        return
    quoted = Quoting(session.caller, map(str, shown))
    for line in quoted.legend:
        print(line)
    if left:
        print(dim(f"{left} older decisions; show them with --limit {left + len(shown)}"))
    for decision in shown:
        age = span(now - decision.at)
        about = f"{_kind(decision)}by {decision.asker}, {age} ago"
        print(f"{bold(decision.id)} {_outcome(decision)} ({about}): {_title(decision, quoted)}")
    pending = [decision for decision in shown if decision.outcome == Outcome.PENDING]
    if pending and session.caller.human:
        print(f"to decide: {_commands(pending[0])}")


def _commands(decision: Decision) -> str:
    yes, no = ("revoke", "refuse") if decision.conflict else ("confirm", "reject")
    return f"`dibs decide {yes} {decision.id}` or `dibs decide {no} {decision.id} --reason WHY`"


_ID_OPTIONS = (arg("id", metavar="ID", help="the decision, such as d12"),)


def _show(session: Session, args: Namespace) -> None:
    """Show a decision: its rationale, comments, and who may decide.

    For a conflict over claims, show both sides and the queue.
    """
    from dibs.services.claims.disputes import both_sides

    decision = session.project.decisions.show(args.id)
    sides = both_sides(session.project.store, decision)
    now = session.now()
    session.show(
        lambda: decisions.one(decision, sides),
        lambda: print("\n".join(_page(session, decision, sides, now))),
    )


def _page(session: Session, decision: Decision, sides: Sides | None, now: float) -> Iterator[str]:
    quoted = Quoting(session.caller, map(str, (decision, sides)))
    yield from quoted.legend
    yield f"{bold(decision.id)} {_outcome(decision)}: {_title(decision, quoted)}"
    who = f"{decision.asker} ({quoted.word(decision.role, decision.asker)})"
    yield f"  {_kind(decision)}by {who}, {span(now - decision.at)} ago"
    if decision.rationale:
        yield f"  why: {quoted(decision.rationale, decision.asker)}"
    for comment in decision.comments:
        age = span(now - comment.at)
        yield f"  {comment.by}, {age} ago: {quoted(comment.text, comment.by)}"
    if sides is not None:
        from dibs.cli.support.disputes import side_lines

        yield from side_lines(decision, sides, quoted)
    yield from _standing(decision, quoted, now)


def _standing(decision: Decision, quoted: Quoting, now: float) -> Iterator[str]:
    """Yield who may decide, or who decided and why."""
    if decision.outcome == Outcome.RECORDED:
        return
    if decision.outcome != Outcome.PENDING:
        age = span(now - decision.decided_at)
        by = decision.decided_by or "dibs"
        why = f": {quoted(decision.reason, by)}" if decision.reason else ""
        yield f"  {how_decided(decision)} {age} ago{why}"
        return
    who = who_may(decision, lambda role: quoted.word(role, decision.asker))
    yield f"  {who} may decide"
    if decision.conflict:
        return  # the two sides already explain each choice
    yield f"  {dim('-')} dibs decide confirm {decision.id}"
    yield f"  {dim('-')} dibs decide reject {decision.id} --reason WHY"


def _title(decision: Decision, quoted: Quoting) -> str:
    return quoted(decision.title, decision.asker)


def _kind(decision: Decision) -> str:
    return "conflict, " if decision.conflict else ""


def _outcome(decision: Decision) -> str:
    paint = {Outcome.PENDING: yellow, Outcome.REJECTED: red}.get(decision.outcome, green)
    return paint(decision.outcome)


VERBS = {
    "ls": (_LS_OPTIONS, _ls),
    "show": (_ID_OPTIONS, _show),
}
