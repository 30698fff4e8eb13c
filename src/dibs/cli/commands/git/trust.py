"""``dibs git trust``: see what a repository's configuration would run, and allow it."""

from __future__ import annotations

from dibs.cli.support.tables import table
from dibs.cli.support.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from dibs.git.config import Executing


def _options(verb: ArgumentParser) -> None:
    verb.add_argument(
        "keys", nargs="*", metavar="KEY", help="settings that may run as they are now"
    )
    verb.add_argument("--forget", action="store_true", help="take back what was allowed")


def _trust(args: Namespace) -> int:
    """Show the settings of the repository's own configuration that name a program, or allow some.

    Dibs runs none of them until a human allows it by name. One that is changed later has to be allowed again.

    exit status: 0 done, 6 there is no such setting, 77 you are no human
    """
    from dibs.cli.support.session import careful_caller
    from dibs.git.calls import GitCalls
    from dibs.git.config import executing
    from dibs.git.trust import Trust
    from dibs.local.repository import find

    repository = find(args.repo)
    trust = Trust(repository)
    if args.keys and args.forget:
        gone = trust.forget(careful_caller(args), args.keys)
        _show(args, {"forgotten": gone}, lambda: _print_forgotten(gone))
        return 0
    found = executing(GitCalls(repository.root)) if repository.common else ()
    if args.keys:
        trust.allow(careful_caller(args), found, args.keys)
    refused = trust.untrusted(found)
    _show(args, {"settings": _shape(found, refused)}, lambda: _print(found, refused))
    return 0


def _show(args: Namespace, shape: dict[str, object], text: Callable[[], None]) -> None:
    from dibs.cli.support.session import print_json

    if args.json:
        print_json(shape)
    else:
        text()


def _shape(found: Sequence[Executing], refused: Sequence[Executing]) -> list[dict[str, object]]:
    return [{**setting._asdict(), "allowed": setting not in refused} for setting in found]


def _print(found: Sequence[Executing], refused: Sequence[Executing]) -> None:
    if not found:
        print("nothing in the configuration of this repository names a program")
        return
    rows = [
        (
            "no" if setting in refused else "yes",
            *map(printable, (setting.key, setting.value, setting.origin)),
        )
        for setting in found
    ]
    print("\n".join(table(("ALLOWED", "SETTING", "PROGRAM", "FILE"), rows)))


def _print_forgotten(gone: Sequence[str]) -> None:
    for line in gone:
        print(f"no longer allowed: {printable(line)}")
    if not gone:
        print("none of these was allowed")


VERBS = {"trust": (_options, _trust)}
