"""Check the store that keeps the project's state, or use another one.

The URL selects an engine: postgresql://host/database, redis://host:6379/0, git:origin (pushes a
branch named dibs), sqlite:///absolute/path, or sqlite for the default store in the git directory.
Without a URL, the engine from the settings is used. A clone records its engine; settings that
select another one are refused (ENGINE_MISMATCH) until a human runs `dibs engine use`.

Examples:
  dibs engine check
  dibs engine check git:origin
  dibs engine use                   use the engine in dibs.toml or DIBS_ENGINE from now on

exit status: 0 done, 69 the store is unreachable, 77 only a human may do this, or agents
are still working, 78 the store is not safe to use
"""

from __future__ import annotations

from contextlib import closing

from dibs.cli.support.parsing import common
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from dibs.core.text.findings import Finding
    from dibs.services.state.measure import Measured

UNSAFE = 78


def configure(parser: ArgumentParser) -> None:
    """Define the subcommands and options."""
    verbs = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", required=True, dest="verb"
    )

    def add(name: str, action: Callable[[Namespace], int]) -> ArgumentParser:
        summary = (action.__doc__ or "").strip()
        verb = verbs.add_parser(name, help=summary.split(".")[0].lower(), description=summary)
        verb.set_defaults(act=action)
        return verb

    add("check", _check).add_argument(
        "url", nargs="?", metavar="URL", help="store to check (default: the project's engine)"
    )
    add("use", _use).add_argument(
        "--force",
        action="store_true",
        help="even if agents hold claims or left files, or the old store is unreachable",
    )
    for verb in verbs.choices.values():
        common(verb)


def run(args: Namespace) -> int:
    """Run a subcommand."""
    status: int = args.act(args)
    return status


def _check(args: Namespace) -> int:
    """Check that a store is safe to use, and show its guarantees and its speed."""
    from dibs.core.text.urls import shown
    from dibs.project.engines import is_recorded, open_engine
    from dibs.project.location import locate
    from dibs.services.state.measure import inspected
    from dibs.shapes import checks

    place = locate(args.repo)
    url = place.loaded.config.engine if args.url is None else _url(args.url)
    if args.url is None:
        is_recorded(place)
    with closing(open_engine(place, recreate=False, url=url)) as engine:
        found, measured = inspected(engine)
    if args.json:
        from dibs.cli.support.session import print_json

        print_json(checks.engine(shown(url), found, measured))
    else:
        _print(shown(url), found, measured)
    return 0 if checks.is_safe(found) else UNSAFE


def _use(args: Namespace) -> int:
    """Use the engine that the settings here select for the whole clone (humans only).

    Token numbers continue; messages, tasks, and the ledger stay in the old store.
    """
    from dibs.cli.support.session import require_human
    from dibs.core.text.urls import shown
    from dibs.project.location import locate
    from dibs.project.switching import use_engine

    require_human(
        args,
        "only a human may change this clone's engine",
        hint="use the engine that `dibs doctor` names",
    )
    place = locate(args.repo)
    use_engine(place, force=args.force)
    name = shown(place.loaded.config.engine)
    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"engine": name, "used": True})
    else:
        print(f"this clone now uses {name}; settings that select another engine are refused")
    return 0


def _print(name: str, found: list[Finding], measured: Measured) -> None:
    from dibs.cli.support.tables import table
    from dibs.cli.support.text import green, printable, red, yellow
    from dibs.core.text.findings import Level
    from dibs.core.text.names import plural

    rows = [(f.level, printable(f.what), printable(f.text)) for f in found]
    took = {"transaction": measured.transaction, "view": measured.view}
    rows += [("ok", what, f"{ms:.2f} ms (median)") for what, ms in took.items() if ms is not None]
    print("\n".join(table(("LEVEL", "CHECK", "RESULT"), rows)))
    print()
    count = sum(finding.level == Level.WARN for finding in found)
    if any(finding.level == Level.BAD for finding in found):
        print(f"{red('not safe')}: do not use {name} until this is fixed")
    elif count:
        print(f"{yellow('safe')}: {name} is ready to use, {plural(count, 'warning')}")
    else:
        print(f"{green('safe')}: {name} is ready to use")


def _url(text: str) -> str:
    from dibs.core.text.names import quote
    from dibs.core.text.urls import EMBEDDED

    if not text or not text.isprintable():
        message = f"invalid engine URL {quote(text)}: use one line of printable text"
        raise BadInput(message, field="engine")
    return "" if text == EMBEDDED else text
