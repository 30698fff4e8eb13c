"""Check, repair, migrate, or change the store that keeps the project's state.

The URL selects an engine: postgresql://host/database, redis://host:6379/0, git:origin (pushes a
branch named dibs), sqlite:///absolute/path, or sqlite for the default store in the git directory.
Without a URL, the engine from the settings is used. A clone records its engine; settings that
select another one are refused (ENGINE_MISMATCH) until a human runs `dibs engine use`.

Examples:
  dibs engine check
  dibs engine migrate sqlite redis://host:6379/0
  dibs engine repair git:origin
  dibs engine use                   use the engine in dibs.toml or DIBS_ENGINE from now on

exit status: 0 done, 69 the store is unreachable, 77 only a human may do this, agents
are still working, or the target is not empty, 78 the store is not safe to use
"""

from __future__ import annotations

from contextlib import closing
from functools import partial

from dibs.cli.support.parsing import common
from dibs.errors import BadInput, Misconfigured, NotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Engine
    from dibs.project.location import Location
    from dibs.services.migration.measure import Measured
    from dibs.services.migration.service import MoveReport, StoreSide

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

    for name, action in (("check", _check), ("repair", _repair)):
        add(name, action).add_argument(
            "url", nargs="?", metavar="URL", help="store to use (default: the project's engine)"
        )
    move = add("migrate", _migrate)
    move.add_argument("source", metavar="FROM", help="the current store")
    move.add_argument(
        "target", metavar="TO", help="an empty store, or one that this state was migrated from"
    )
    move.add_argument("--force", action="store_true", help="migrate even if agents hold claims")
    move.add_argument("--cancel", action="store_true", help="undo a migration that was interrupted")
    use = add("use", _use)
    use.add_argument(
        "--force",
        action="store_true",
        help="even if agents hold claims, or the store is unreachable",
    )
    for verb in verbs.choices.values():
        common(verb)


def run(args: Namespace) -> int:
    """Run a subcommand."""
    status: int = args.act(args)
    return status


def _check(args: Namespace) -> int:
    """Check that a store is safe to use, and show its guarantees and its speed."""
    return _inspect(args, repair=False)


def _repair(args: Namespace) -> int:
    """Repair what can be repaired, then check (humans only)."""
    from dibs.cli.support.session import careful_caller
    from dibs.services.state.row_repair import refuse_agents

    refuse_agents(careful_caller(args))
    return _inspect(args, repair=True)


def _inspect(args: Namespace, *, repair: bool) -> int:
    from dibs.project.engines import is_recorded
    from dibs.project.location import locate
    from dibs.services.migration.measure import inspected

    place = locate(args.repo)
    url = place.loaded.config.engine if args.url is None else _url(args.url)
    if args.url is None:
        is_recorded(place)
    with closing(_open(place, url)) as engine:
        done = None
        if repair:
            done = _repaired(args, place, engine)
        found, measured = inspected(engine)
    return _show(args, url, found, measured, done)


def _repaired(args: Namespace, place: Location, engine: Engine) -> list[str]:
    from dibs.cli.support.session import careful_caller
    from dibs.project.store import open_store
    from dibs.services.state.row_repair import move_aside

    store = open_store(engine, place.loaded.config, place.repository)
    state = place.repository.state
    return [*engine.repair(), *move_aside(store, careful_caller(args), state)]


def _use(args: Namespace) -> int:
    """Use the engine that the settings here select for the whole clone (humans only)."""
    from dibs.cli.support.session import require_human
    from dibs.core.text.urls import shown
    from dibs.project import clone_record
    from dibs.project.location import locate

    require_human(
        args,
        "only a human may change this clone's engine",
        hint="use the engine that `dibs doctor` names",
    )
    place = locate(args.repo)
    if not args.force:
        _refuse_active(place)
    with closing(_open(place, place.loaded.config.engine, recreate=True)) as engine:
        engine.view(lambda _: None)  # an unreachable store is not recorded
    clone_record.write(place, replace=True)
    name = shown(place.loaded.config.engine)
    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"engine": name, "used": True})
    else:
        print(f"this clone now uses {name}; settings that select another engine are refused")
    return 0


def _refuse_active(place: Location) -> None:
    """Refuse while agents hold claims in the store that the clone uses."""
    from dibs.project import clone_record
    from dibs.services.migration.measure import is_open
    from dibs.services.migration.service import refuse_while_active

    known = clone_record.recorded(place)
    for old in clone_record.as_recorded(place, known) if known is not None else []:
        step = partial(refuse_while_active, fold_case=old.loaded.config.fold_case)
        try:
            with closing(_open(old, old.loaded.config.engine)) as engine:
                if not is_open(engine):
                    engine.view(step)
        except NotAllowed as error:
            hint = "nothing was changed; let them finish, or use --force"
            raise NotAllowed(error.message, code=error.code, hint=hint) from None
        except Misconfigured as error:
            if error.code != "STORE_MISSING":
                raise


def _show(
    args: Namespace, url: str, found: list[Finding], measured: Measured, done: list[str] | None
) -> int:
    from dibs.core.text.urls import shown
    from dibs.shapes import checks

    if args.json:
        from dibs.cli.support.session import print_json

        shape = checks.engine(shown(url), found, measured)
        print_json(shape if done is None else {**shape, "done": done})
    else:
        _print(shown(url), found, measured, done)
    return 0 if checks.is_safe(found) else UNSAFE


def _print(name: str, found: list[Finding], measured: Measured, done: list[str] | None) -> None:
    from dibs.cli.support.tables import table
    from dibs.cli.support.text import green, printable, red, yellow
    from dibs.core.text.findings import Level

    if done is not None:
        print("\n".join(map(printable, done)) if done else "nothing to repair")
        print()
    rows = [(f.level, printable(f.what), printable(f.text)) for f in found]
    took = {"transaction": measured.transaction, "view": measured.view}
    rows += [("ok", what, f"{ms:.2f} ms (median)") for what, ms in took.items() if ms is not None]
    print("\n".join(table(("LEVEL", "CHECK", "RESULT"), rows)))
    print()
    count = sum(finding.level == Level.WARN for finding in found)
    if any(finding.level == Level.BAD for finding in found):
        print(f"{red('not safe')}: do not use {name} until this is fixed")
    elif count:
        warnings = "1 warning" if count == 1 else f"{count} warnings"
        print(f"{yellow('safe')}: {name} is ready to use, {warnings}")
    else:
        print(f"{green('safe')}: {name} is ready to use")


def _migrate(args: Namespace) -> int:
    """Migrate all state to another engine. The old store is closed."""
    from dibs.core.text.urls import shown
    from dibs.project import clone_record
    from dibs.project.location import locate
    from dibs.services.migration.service import StoreSide, cancel

    place = locate(args.repo)
    urls = _url(args.source), _url(args.target)
    if "memory" in {url.partition(":")[0] for url in urls}:
        raise BadInput(
            "memory: cannot be migrated: its state is lost when the process exits", field="engine"
        )
    if args.force:
        _refuse_agents(args)
    with closing(_open(place, urls[0])) as engine:
        source = StoreSide(engine, shown(urls[0]))
        if args.cancel:
            return _show_cancelled(args, urls[0], there_was=cancel(source))
        with closing(_open(place, urls[1], recreate=True)) as other:
            moved = _move(args, place, source, StoreSide(other, shown(urls[1])))
    clone_record.follow(place, *urls)
    return _show_moved(args, urls, moved)


def _move(args: Namespace, place: Location, source: StoreSide, target: StoreSide) -> MoveReport:
    from dibs.cli.support.progress import Progress
    from dibs.services.migration.service import Migration

    fold_case = place.loaded.config.fold_case
    with Progress(quiet=args.json) as progress:
        return Migration(
            source, target, force=args.force, fold_case=fold_case, progress=progress
        ).run()


def _refuse_agents(args: Namespace) -> None:
    from dibs.cli.support.session import require_human

    require_human(
        args,
        "--force is reserved for humans: agents may still be working",
        hint="leave out --force, or ask a human to run it",
    )


def _show_cancelled(args: Namespace, url: str, *, there_was: bool) -> int:
    from dibs.core.text.urls import shown

    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"engine": shown(url), "cancelled": there_was})
    elif there_was:
        print(f"canceled the migration; {shown(url)} is open again")
    else:
        print(f"no migration to cancel; {shown(url)} is open")
    return 0


def _show_moved(args: Namespace, urls: tuple[str, str], moved: MoveReport) -> int:
    from dibs.core.text.urls import is_secret, setting, shown

    source, target = map(shown, urls)
    if args.json:
        from dibs.cli.support.session import print_json

        ends = {"from": source, "to": target, "setting": setting(target), "verified": True}
        print_json({**ends, **moved._asdict()})
        return 0
    print(
        f"migrated {moved.rows} rows and {moved.entries} ledger entries from {source} to {target}"
    )
    print(
        f"verified: both stores are identical (digest {moved.digest}); new numbers start above {moved.newest}"
    )
    if moved.claims:
        held = (
            "1 claim keeps its token"
            if moved.claims == 1
            else f"{moved.claims} claims keep their tokens"
        )
        print(held)
    print(f"{source} is now closed; commands that still use it say where the state is")
    print(f"next, set this in dibs.toml of every clone:\n  {setting(target)}")
    if is_secret(urls[1]):
        print("  (add the password, or keep it out of the file and set DIBS_ENGINE instead)")
    return 0


def _url(text: str) -> str:
    from dibs.core.text.names import quote
    from dibs.core.text.urls import EMBEDDED

    if not text or not text.isprintable():
        message = f"invalid engine URL {quote(text)}: use one line of printable text"
        raise BadInput(message, field="engine")
    return "" if text == EMBEDDED else text


def _open(place: Location, url: str, *, recreate: bool = False) -> Engine:
    from dibs.project.engines import open_engine

    return open_engine(place, recreate=recreate, url=url)
