"""Verbs that create tasks: new and import on the board, add in the plain queue."""

from __future__ import annotations

import sys

from dibs.cli.support.text import dim, green, printable
from dibs.core.tasks.rules import PRIORITIES
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.shapes import tasks as shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.board.imports import ImportedFiles
    from dibs.services.tasks.plain_queue import QueuedFile
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


def _import_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="list of tasks (- for standard input), or task files",
    )
    _making_options(parser)


def _import(session: Session, args: Namespace) -> int:
    """Create many tasks, all or nothing. They may depend on each other.

    One FILE is a list of tasks, a mapping with that list under `tasks`, or one YAML
    document per task. Give a task a `key` to name it under `needs` in other tasks.

    With a folder, several files, or a file in tasks/pending, each file becomes the task it
    is named after, and moves to work/inbox. Files that are locked in current_tasks/ stay.
    You can repeat such an import.
    """
    from dibs.cli.support.parsing import content_of
    from dibs.services.board.imports import batch_drafts, is_list
    from dibs.taskfile.batch import MAX_BYTES

    if not is_list(args.file, session.project.place.repository.root):
        return _import_files(session, args)
    [file] = args.file
    name = "standard input" if file == "-" else file
    return _create(session, args, batch_drafts(content_of(file, MAX_BYTES), name))


def _import_files(session: Session, args: Namespace) -> int:
    from dibs.services.board.imports import Imports

    project = session.project
    imports = Imports(project.board, project.place.repository.root, project.queue)
    done = imports.run(session.caller, args.file, strict=args.strict, dry_run=args.dry_run)
    session.show(
        lambda: shapes.imported(done, dry_run=args.dry_run),
        lambda: _print_imported(done, dry_run=args.dry_run),
    )
    if not args.dry_run and (left := imports.still_queued(done)):
        names = ", ".join(left[:5]) + (", …" if len(left) > 5 else "")  # noqa: PLR2004
        print(
            f"dibs: commit and push this move: until then, the branch still lists {printable(names)}",
            file=sys.stderr,
        )
    return 0


def _print_imported(done: ImportedFiles, *, dry_run: bool) -> None:
    import os

    from dibs.cli.commands.task.board import print_similar
    from dibs.cli.support.text import yellow

    def shown(path: str) -> str:
        return printable(os.path.relpath(path))

    count = len(done.created.tasks)
    print_similar(done.created.similar, several=count > 1)
    word = dim("would move") if dry_run else green("moved")
    for file in done.moved:
        print(f"{word} {shown(file.old)} to {shown(file.new)}")
        if file.kept:
            print(f"{yellow('kept')} {shown(file.old)}: {printable(file.kept)}")
    for skipped in done.skipped:
        print(f"{yellow('skipped')} {shown(skipped.path)}: {printable(skipped.why)}")
    print(
        f"{'would import' if dry_run else 'imported'} {count} {'task' if count == 1 else 'tasks'}"
    )


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


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", metavar="FILE", help="YAML file named after its task")


def _add(session: Session, args: Namespace) -> int:
    """Add files to the plain queue, which agents in shell scripts read. Each file becomes one task.

    Dibs does not read the files. For tasks on the board, use `dibs task new` or `dibs task import`.
    """
    added = session.project.queue.add(session.caller, _read(args.file))
    session.show(lambda: shapes.queued(added), lambda: _print_added(added))
    return 0


def _print_added(tasks: Sequence[QueuedFile]) -> None:
    for task in tasks:
        print(f"{green('added')} {printable(task.name)}")


def _read(paths: Sequence[str]) -> dict[str, bytes]:
    """Return the files' contents by name, read only far enough to detect one that is too long."""
    import os

    from dibs.cli.support.parsing import content_of

    files: dict[str, bytes] = {}
    for path in paths:
        name = os.path.basename(path)
        if name in files:
            raise BadInput(f"two files are named {quote(name)}", code="TASK_EXISTS", field="file")
        files[name] = content_of(path)
    return files


VERBS = {
    "new": (_new_options, _new),
    "import": (_import_options, _import),
    "add": (_add_options, _add),
}
