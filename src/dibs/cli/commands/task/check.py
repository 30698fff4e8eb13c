"""The verb that checks task files: validate."""

from __future__ import annotations

from dibs.cli.support.text import green, printable, red
from dibs.core.text.names import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.session import Session
    from dibs.services.board.validate import BoardCheck

WRONG = 65


def _validate_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="*", metavar="FILE", help="task files (default: the board)")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="require names such as 2025-11-23T1430-curator-audit.yaml",
    )
    parser.add_argument("--quiet", action="store_true", help="show errors only, not notes")


def _validate(session: Session, args: Namespace) -> int:
    """Check task files, or the whole board, and print FILE:LINE: FIELD: problem.

    Exits with status 65 if a file has an error. Notes are not errors.
    """
    from dibs.services.board.validate import check_files
    from dibs.shapes import tasks

    session.lists_aside = True
    checked = check_files(session.project.board, session.caller, args.file, strict=args.strict)
    session.show(
        lambda: tasks.checked(checked, quiet=args.quiet),
        lambda: _print_findings(checked, quiet=args.quiet),
    )
    return WRONG if checked.wrong else 0


def _print_findings(checked: BoardCheck, *, quiet: bool) -> None:
    for item in checked.findings:
        if item.fatal or not quiet:
            print(printable(str(item)))
    word = red(plural(checked.wrong, "error")) if checked.wrong else green("no errors")
    print(f"{plural(checked.files, 'file')}: {word}")


VERBS = {"validate": (_validate_options, _validate)}
