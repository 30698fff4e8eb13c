"""Find what is wrong with the board, with the place where state lives, and with git; --fix puts it right.

Examples:
  dibs doctor
  dibs doctor --fix

No file that holds work of somebody is deleted: what cannot be settled is told, and kept. Of git it tells
commits and merges that a killed process has not finished, locks that it left, settings that name a program,
and hooks that changed since the last look.

exit status: 0 nothing is wrong, 65 something of the board is, 78 the engine is not safe to use
"""

from __future__ import annotations

from dibs.core.findings import Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.core.findings import Finding

WRONG, UNSAFE = 65, 78


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs doctor``."""
    parser.add_argument("--fix", action="store_true", help="put right what can be, then look again")


def run(args: Namespace) -> int:
    """Look at the engine and the board, maybe repair them, and tell."""
    from dibs.cli.session import Session
    from dibs.services.gitcare import GitCare

    with Session(args) as session:
        engine, board = session.project.engine, session.project.board
        repository = session.project.place.repository
        git, done = GitCare(repository, session.project.desk), None
        if args.fix:
            done = [*engine.repair(), *board.repair(session.caller), *git.repair()]
        found = {
            "engine": engine.inspect(),
            "board": board.check(repository.root),
            "git": git.inspect(),
        }
        session.show(lambda: _shape(found, done), lambda: _print(found, done))
    if _is_bad(found["engine"]):
        return UNSAFE
    return WRONG if _is_bad(found["board"]) else 0


def _is_bad(found: Sequence[Finding]) -> bool:
    return any(finding.level == Level.BAD for finding in found)


def _shape(found: dict[str, list[Finding]], done: list[str] | None) -> dict[str, object]:
    shape: dict[str, object] = {
        "well": not any(map(_is_bad, found.values())),
        "findings": [
            {"part": part, **finding._asdict()} for part in found for finding in found[part]
        ],
    }
    return shape if done is None else {**shape, "done": done}


def _print(found: dict[str, list[Finding]], done: list[str] | None) -> None:
    from dibs.cli.tables import table
    from dibs.cli.text import green, printable, red, yellow

    if done is not None:
        print("\n".join(map(printable, done)) if done else "there was nothing to put right")
        print()
    rows = [
        (finding.level, part, printable(finding.what), printable(finding.text))
        for part, findings in found.items()
        for finding in findings
    ]
    if rows:
        print("\n".join(table(("LEVEL", "PART", "WHAT", "FINDING"), rows)))
        print()
    counts = [sum(level == row[0] for row in rows) for level in (Level.BAD, Level.WARN)]
    bad, warned = counts
    if bad:
        more = "" if done is not None else "; `dibs doctor --fix` puts right what can be"
        print(f"{red('not well')}: {bad} to settle{more}")
    elif warned:
        print(f"{yellow('well')}, with {warned} to know")
    else:
        print(green("all is well"))
