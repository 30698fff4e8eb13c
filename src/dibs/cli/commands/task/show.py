"""Verbs that show one task, or how tasks depend on each other: show, graph."""

from __future__ import annotations

from dibs.cli.support.parsing import task_id
from dibs.cli.support.text import bold, clock, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from dibs.cli.support.session import Session
    from dibs.core.claims.ledger import Entry
    from dibs.core.tasks.graph import Graph
    from dibs.services.tasks.values import TaskView

FORMATS = ("text", "mermaid", "json")


def _show_options(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="TASK", help="task id")


def _show(session: Session, args: Namespace) -> int:
    """Show one task: its file, what it is waiting for, and its history."""
    from dibs.services.board.listing import history
    from dibs.shapes import tasks

    board = session.project.tasks
    shown = board.show(session.caller, board.checked_id(args.id))
    entries = history(session.project.ledger, shown.stored.id)
    session.show(lambda: tasks.whole(shown, entries), lambda: _print_task(session, shown, entries))
    return 0


def _print_task(session: Session, shown: TaskView, entries: list[Entry]) -> None:
    now = session.now()
    said = shown.stored.task
    print(bold(printable(said.id)) + (f"  {printable(said.title)}" if said.title else ""))
    for name, value in _facts(session, shown, now):
        print(f"  {name:<11} {printable(value)}")
    if shown.stored.text:
        print()
        for line in shown.stored.text.splitlines():
            print(f"  {printable(line)}")
    if entries:
        print()
    for entry in entries:
        print(f"  {clock(entry.at, now)} {printable(entry.summary)}")


def _facts(session: Session, shown: TaskView, now: float) -> Iterator[tuple[str, str]]:
    """Yield facts that the file does not show, or not as clearly."""
    from dibs.cli.commands.task.board import claim_facts, file_of

    stored, said = shown.stored, shown.stored.task
    state = f"{shown.state} (available)" if shown.ready else shown.state
    yield "state", "archive" if shown.past else state
    if shown.holder:
        yield "owner", f"{shown.holder} ({claim_facts(session, stored.token, shown.expires_in)})"
    yield from (("reason", why) for why in shown.why)
    yield "for", said.agent or "anyone"
    yield "priority", said.priority
    if shown.dependents:
        yield "needed by", ", ".join(shown.dependents)
    if stored.attempt:
        yield (
            "attempts",
            f"{stored.attempt}" + (f", {stored.failures} failed" if stored.failures else ""),
        )
    if stored.doer:
        yield "done by", stored.doer
    for name, moment in (("created", said.created), ("started", said.started),
                         ("completed", said.completed)):  # fmt: skip
        if moment:
            yield name, clock(moment, now)
    yield "file", file_of(session, stored)


def _graph_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", nargs="?", type=task_id, metavar="TASK", help="only tasks connected to this one")
    add("--format", choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))


def _graph(session: Session, args: Namespace) -> int:
    """Show which tasks depend on which, in waves that can be worked on in parallel.

    Also shows dependency cycles and the longest chain.
    """
    from dibs.cli.support.session import print_json
    from dibs.core.tasks import drawing

    graph = session.project.tasks.graph(session.caller, args.id or "")
    if args.json or args.format == "json":
        print_json(drawing.as_json(graph))
        return 0
    if not graph.nodes and not args.format:
        print('no tasks: create one with `dibs task new "TITLE"`')
        return 0
    print(drawing.as_mermaid(graph) if args.format == "mermaid" else _as_text(graph))
    return 0


def _as_text(graph: Graph) -> str:
    from dibs.cli.support.tables import page_width
    from dibs.core.tasks.drawing import as_text

    return as_text(graph, page_width())


VERBS = {"show": (_show_options, _show), "graph": (_graph_options, _graph)}
