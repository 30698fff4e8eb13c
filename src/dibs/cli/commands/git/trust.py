"""``dibs git trust``: show and allow programs that a repository's configuration names.

These are settings of git, and the commands in ``dibs.toml`` that ``dibs serve`` runs by itself.
"""

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
        "keys", nargs="*", metavar="KEY", help="setting to allow with its current value"
    )
    verb.add_argument("--forget", action="store_true", help="no longer allow these settings")


def _trust(args: Namespace) -> int:
    """Show or allow the programs that this repository's git configuration names.

    Dibs runs none of them until a human allows the setting. A setting that changes must be allowed again.
    The list includes the commands in dibs.toml that dibs serve runs by itself: on.EVENT and merge.test.

    Examples:
      dibs git trust
      dibs git trust filter.lfs.clean filter.lfs.smudge
      dibs git trust on.commit merge.test
      dibs git trust --forget filter.lfs.clean

    exit status: 0 done, 6 no such setting, 77 you are not a human
    """
    from dibs.cli.support.session import careful_caller
    from dibs.config.load import load
    from dibs.git.calls import GitCalls
    from dibs.git.config import executing
    from dibs.git.trust import Trust, project_commands
    from dibs.local.repository import find, main_tree

    repository = find(args.repo)
    trust = Trust(repository)
    if args.keys and args.forget:
        gone = trust.forget(careful_caller(args), args.keys)
        _show(args, {"forgotten": gone}, lambda: _print_forgotten(gone))
        return 0
    settings = load(main_tree(repository), repository.state, {}, {})
    found = executing(GitCalls(repository.root)) if repository.common else ()
    found = (*trust.originals(found), *project_commands(settings))
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
        print("this repository's configuration names no programs")
        return
    rows = [
        (
            "no" if setting in refused else "yes",
            *map(printable, (setting.key, setting.value, setting.origin)),
        )
        for setting in found
    ]
    print("\n".join(table(("ALLOWED", "SETTING", "PROGRAM", "FILE"), rows)))
    if refused:
        from shlex import quote

        print(f"\nto allow a setting (humans only), run: dibs git trust {quote(refused[0].key)}")


def _print_forgotten(gone: Sequence[str]) -> None:
    for line in gone:
        print(f"no longer allowed: {printable(line)}")
    if not gone:
        print("none of these settings was allowed")


VERBS = {"trust": (_options, _trust)}
