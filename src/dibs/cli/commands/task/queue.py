"""The verb that fills the plain queue of shell agents, and how its tasks read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.tasks.plain_queue import QueuedFile


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", metavar="FILE", help="a YAML file, named after its task")


def _add(session: Session, args: Namespace) -> int:
    """Put files into the queue of shell agents. Each becomes a task of its name.

    What the files say is not looked into. For tasks of the board see `dibs task new` and `import`.
    """
    from dibs.shapes import claims

    added = session.project.queue.add(session.caller, _read(args.file))
    shape = {"added": [claims.task(task) for task in added]}
    session.show(lambda: shape, lambda: _print_added(added))
    return 0


def _print_added(tasks: Sequence[QueuedFile]) -> None:
    from dibs.cli.support.text import green, printable

    for task in tasks:
        print(f"{green('added')} {printable(task.name)}")


def _read(paths: Sequence[str]) -> dict[str, bytes]:
    """Return the files by their names, no more of each than says that it is too long."""
    import os

    from dibs.cli.support.files import content_of
    from dibs.core.text.names import quote
    from dibs.errors import BadInput

    files: dict[str, bytes] = {}
    for path in paths:
        name = os.path.basename(path)
        if name in files:
            raise BadInput(f"two files are named {quote(name)}", code="TASK_EXISTS", field="file")
        files[name] = content_of(path)
    return files


VERBS = {"add": (_add_options, _add)}
