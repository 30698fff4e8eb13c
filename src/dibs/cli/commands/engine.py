"""Look after the place where state lives: check it, repair it, or move the state to another.

An engine is named by its URL: redis://host:6379/0, git:origin, sqlite:///absolute/path, or sqlite for
the file in the git directory. Without one, it is the engine that the settings name.

Examples:
  dibs engine check
  dibs engine migrate sqlite redis://host:6379/0
  dibs engine repair git:origin

exit status: 0 fine, 69 it cannot be reached, 77 agents are at work or the target is not empty,
78 it is not safe to use
"""

from __future__ import annotations

import sys

from dibs.cli.support.parsing import common
from dibs.errors import BadInput, NotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Engine
    from dibs.project.engines import Location
    from dibs.services.migration.measure import Measured
    from dibs.services.migration.service import MoveReport, StoreSide

UNSAFE = 78
#: Seconds between lines that say how far a long move is.
PATIENCE = 1.0


def configure(parser: ArgumentParser) -> None:
    """Add the verbs of ``dibs engine``; each has the common options."""
    verbs = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", required=True, dest="verb"
    )

    def add(name: str, action: Callable[[Namespace], int]) -> ArgumentParser:
        summary = (action.__doc__ or "").strip()
        verb = verbs.add_parser(name, help=summary.split(".")[0].lower(), description=summary)
        verb.set_defaults(act=action)
        return verb

    for name, action in (("check", _check), ("repair", _repair)):
        add(name, action).add_argument("url", nargs="?", metavar="URL", help="else the project's")
    move = add("migrate", _migrate)
    move.add_argument("source", metavar="FROM", help="where the state is now")
    move.add_argument("target", metavar="TO", help="an empty store, or one that it came from")
    move.add_argument("--force", action="store_true", help="take claims along that are held now")
    move.add_argument("--cancel", action="store_true", help="stay: give up a move half done")
    for verb in verbs.choices.values():
        common(verb)


def run(args: Namespace) -> int:
    """Run one of the verbs."""
    status: int = args.act(args)
    return status


def _check(args: Namespace) -> int:
    """Tell whether an engine is safe as configured, what it promises, and how fast it is."""
    return _look_after(args, repair=False)


def _repair(args: Namespace) -> int:
    """Put right what can be put right without losing anything, then check."""
    return _look_after(args, repair=True)


def _look_after(args: Namespace, *, repair: bool) -> int:
    from contextlib import closing

    from dibs.project.project import locate
    from dibs.services.migration.measure import is_open, measure

    place = locate(args.repo)
    url = place.loaded.config.engine if args.url is None else _url(args.url)
    with closing(_open(place, url)) as engine:
        done = engine.repair() if repair else None
        closed = is_open(engine)
        found = [*engine.inspect(), *closed]
        measured = measure(engine, write=not closed)
    return _show(args, url, found, measured, done)


def _show(
    args: Namespace, url: str, found: list[Finding], measured: Measured, done: list[str] | None
) -> int:
    from dibs.core.text.findings import Level
    from dibs.core.text.urls import shown

    bad = any(finding.level == Level.BAD for finding in found)
    if args.json:
        from dibs.cli.support.session import print_json

        shape: dict[str, object] = {
            "engine": shown(url),
            "safe": not bad,
            "findings": [finding._asdict() for finding in found],
            "measured": {f"{name}_ms": took for name, took in measured._asdict().items()},
        }
        print_json(shape if done is None else {**shape, "done": done})
    else:
        _print(shown(url), found, measured, done)
    return UNSAFE if bad else 0


def _print(name: str, found: list[Finding], measured: Measured, done: list[str] | None) -> None:
    from dibs.cli.support.tables import table
    from dibs.cli.support.text import green, printable, red, yellow
    from dibs.core.text.findings import Level

    if done is not None:
        print("\n".join(map(printable, done)) if done else "there was nothing to repair")
        print()
    rows = [(f.level, printable(f.what), printable(f.text)) for f in found]
    took = {"transaction": measured.transaction, "view": measured.view}
    rows += [("ok", what, f"{ms:.2f} ms (median)") for what, ms in took.items() if ms is not None]
    print("\n".join(table(("LEVEL", "WHAT", "FINDING"), rows)))
    print()
    count = sum(finding.level == Level.WARN for finding in found)
    if any(finding.level == Level.BAD for finding in found):
        print(f"{red('not safe')}: {name} cannot be used like this")
    elif count:
        limits = "one limit" if count == 1 else f"{count} limits"
        print(f"{yellow('safe')}: {name} can be used, with {limits} to know")
    else:
        print(f"{green('safe')}: {name} can be used")


def _migrate(args: Namespace) -> int:
    """Move all state from one engine to another, with its numbers. The old one is closed."""
    from contextlib import closing

    from dibs.core.text.urls import shown
    from dibs.project.project import locate
    from dibs.services.migration.service import StoreSide, cancel

    place = locate(args.repo)
    urls = _url(args.source), _url(args.target)
    if "memory" in {url.partition(":")[0] for url in urls}:
        raise BadInput("memory: ends with its process; there is nothing to move", field="engine")
    if args.force:
        _refuse_agents(args)
    with closing(_open(place, urls[0])) as engine:
        source = StoreSide(engine, shown(urls[0]))
        if args.cancel:
            return _show_cancelled(args, urls[0], there_was=cancel(source))
        with closing(_open(place, urls[1], anew=True)) as other:
            moved = _move(args, place, source, StoreSide(other, shown(urls[1])))
    return _show_moved(args, urls, moved)


def _move(args: Namespace, place: Location, source: StoreSide, target: StoreSide) -> MoveReport:
    import time

    from dibs.services.migration.service import Migration

    told = time.monotonic()

    def tell(line: str) -> None:
        nonlocal told
        if time.monotonic() - told >= PATIENCE:
            told = time.monotonic()
            print(f"dibs: {line}", file=sys.stderr, flush=True)

    fold_case = place.loaded.config.fold_case
    return Migration(source, target, force=args.force, fold_case=fold_case, tell=tell).run()


def _refuse_agents(args: Namespace) -> None:
    from dibs.cli.support.session import careful_caller

    if not careful_caller(args).human:
        raise NotAllowed(
            "only a human may move the state while others are at work",
            code="HUMANS_ONLY",
            hint="leave out --force, or ask a human",
        )


def _show_cancelled(args: Namespace, url: str, *, there_was: bool) -> int:
    from dibs.core.text.urls import shown

    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"engine": shown(url), "cancelled": there_was})
    elif there_was:
        print(f"the state stays in {shown(url)}, which is open again")
    else:
        print(f"{shown(url)} is open; there was no move to cancel")
    return 0


def _show_moved(args: Namespace, urls: tuple[str, str], moved: MoveReport) -> int:
    from dibs.core.text.urls import is_secret, setting, shown

    source, target = map(shown, urls)
    if args.json:
        from dibs.cli.support.session import print_json

        ends = {"from": source, "to": target, "setting": setting(target), "verified": True}
        print_json({**ends, **moved._asdict()})
        return 0
    print(f"moved {moved.rows} rows and {moved.entries} ledger entries from {source} to {target}")
    print(
        f"compared: both hold the same (digest {moved.digest}); numbers go on above {moved.newest}"
    )
    if moved.claims:
        print(f"still held, with the tokens that they had: {moved.claims} of the claims")
    print(f"{source} is closed: whoever still uses it is told where the state is")
    print(f"next, in dibs.toml of every clone:\n  {setting(target)}")
    if is_secret(urls[1]):
        print("  (with the password, or leave it out and set DIBS_ENGINE)")
    return 0


def _url(text: str) -> str:
    from dibs.core.text.names import quote
    from dibs.core.text.urls import EMBEDDED

    if not text or not text.isprintable():
        message = f"the URL of an engine is a text on one line, not {quote(text)}"
        raise BadInput(message, field="engine")
    return "" if text == EMBEDDED else text


def _open(place: Location, url: str, *, anew: bool = False) -> Engine:
    from dibs.project.engines import open_engine

    return open_engine(place, anew=anew, url=url)
