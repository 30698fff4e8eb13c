"""Verbs that check and format task files: validate, fmt."""

from __future__ import annotations

from dibs.cli.support.text import green, printable, red
from dibs.core.text.names import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.board.validate import BoardCheck, Formatted

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


def _fmt_options(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="*", metavar="FILE", help="task files (default: the board)")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 65 if a file would change"
    )


def _fmt(session: Session, args: Namespace) -> int:
    """Rewrite keys, states, and times in task files to the standard spelling.

    Keeps comments and your own keys. Reports unreadable files and leaves them alone.
    """
    from dibs.services.board.validate import board_files, format_files
    from dibs.shapes import tasks

    board = session.project.board
    paths = args.file or board_files(board.path)
    changed, broken = format_files(board, session.caller, paths, write=not args.check)
    session.show(
        lambda: tasks.formatted(len(paths), changed, broken),
        lambda: _print_formatted(args, changed, broken, len(paths)),
    )
    return WRONG if broken or (changed and args.check) else 0


def _print_formatted(
    args: Namespace,
    changed: Sequence[Formatted],
    broken: Sequence[tuple[str, Exception]],
    files: int,
) -> None:
    for item in changed:
        print(printable(f"{item.file}: {'; '.join(item.changes)}"))
    for path, error in broken:
        said = str(error)
        named = said if said.startswith(path) else f"{path}: {said}"
        print(f"{red('skipped')} {printable(named)}")
    word = "would change" if args.check else "changed"
    print(f"{plural(files, 'file')}: {len(changed) or 'none'} {word}")


VERBS = {"validate": (_validate_options, _validate), "fmt": (_fmt_options, _fmt)}
