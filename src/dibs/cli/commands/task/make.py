"""The verb that creates tasks: new."""

from __future__ import annotations

from dibs.cli.support.text import dim, green, printable
from dibs.core.tasks.rules import PRIORITIES
from dibs.shapes import tasks as shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.tasks.values import Created, Draft


def _making_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--strict", action="store_true", help="create nothing if an unfinished task is similar")
    add("--dry-run", action="store_true", help="show what would be created")
    add(
        "--request-id",
        default="",
        metavar="ID",
        help="make a retry safe (repeat it with the same ID)",
    )


def _new_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("title", metavar="TITLE", help="what to do, on one line")
    add("--for", dest="whose", default="", metavar="AGENT", help="agent or role (default: anyone)")
    add("--priority", choices=PRIORITIES, metavar="PRIORITY", help=f"{', '.join(PRIORITIES)}")
    add("--artefact", "--artifact", action="append", metavar="PATH", help="file or glob to work on")
    add("--needs", action="append", metavar="TASK", help="a task that must be done first")
    add("--note", action="append", metavar="TEXT", help="a note for the agent")
    add("--mode", default="", metavar="MODE", help="how to work, such as /analysis-mode")
    add("--slug", default="", metavar="WORD", help="end of the task's id (default: from the title)")
    _making_options(parser)


def _new(session: Session, args: Namespace) -> int:
    """Create a task. Reports unfinished tasks that are similar or use the same files.

    The id consists of the time, the agent, and the title, for example
    2025-11-23T1430-curator-audit-the-docs.
    """
    from dibs.cli.commands.task.board import paths
    from dibs.services.tasks.values import new_draft

    draft = new_draft(
        args.title,
        agent=args.whose,
        priority=args.priority or "",
        artefacts=paths(session, args.artefact),
        needs=args.needs or (),
        notes=args.note or (),
        mode=args.mode,
        slug=args.slug,
    )
    return _create(session, args, [draft])


def _create(session: Session, args: Namespace, drafts: Sequence[Draft]) -> int:
    created = session.project.tasks.create(
        session.caller,
        drafts,
        strict=args.strict,
        dry_run=args.dry_run,
        request_id=args.request_id,
    )
    session.show(
        lambda: shapes.created(created, dry_run=args.dry_run),
        lambda: _print_created(session, created, dry_run=args.dry_run),
    )
    return 0


def _print_created(session: Session, created: Created, *, dry_run: bool) -> None:
    from dibs.cli.commands.task.board import file_of, print_similar

    print_similar(created.similar, several=len(created.tasks) > 1)
    word = dim("would create") if dry_run else green("created")
    for stored in created.tasks:
        print(f"{word} {printable(stored.id)}")
        if not dry_run:
            print(f"  {dim(printable(file_of(session, stored)))}")


VERBS = {"new": (_new_options, _new)}
