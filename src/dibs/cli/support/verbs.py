"""Subcommands: a call loads and builds only the one that it names.

A row in a command's table ``VERBS`` is (summary, options, action). In a package with several modules it is
(module, summary), and that module's own ``VERBS`` has (options, action).
"""

from __future__ import annotations

from dibs.cli.support import load
from dibs.cli.support.parsing import Parser, add_options, common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Mapping
    from typing import Any


def add_verbs(
    parser: ArgumentParser, table: Mapping[str, tuple[Any, ...]], only: str | None = None
) -> None:
    """Add subcommands to a parser; those besides ``only`` are listed but cannot be parsed."""
    action = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", required=True, dest="verb"
    )
    for name, row in table.items():
        summary = row[1] if isinstance(row[1], str) else row[0]
        line = action._ChoicesPseudoAction(name, (), summary)  # noqa: SLF001
        action._choices_actions.append(line)  # noqa: SLF001
        listed = only is not None and name != only
        action.choices[name] = parser if listed else _verb(parser.prog, name, row)


def _verb(prog: str, name: str, row: tuple[Any, ...]) -> Parser:
    options, action = load(row[0]).VERBS[name] if isinstance(row[1], str) else row[1:]
    lines = (action.__doc__ or "").strip().splitlines()
    about = "\n".join(line.removeprefix("    ").rstrip() for line in lines)
    verb = Parser(prog=f"{prog} {name}", description=about)
    verb._positionals.title = "arguments"  # noqa: SLF001
    if callable(options):
        options(verb)
    else:
        add_options(verb, options)
    verb.set_defaults(act=action)
    common(verb)
    return verb


def subcommands(parser: ArgumentParser) -> Iterator[tuple[str, str, Parser]]:
    """Yield the name, the summary, and the parser of each subcommand."""
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to list them
    for action in actions:
        if action.dest == "verb" and isinstance(action.choices, dict):
            lines = {row.dest: row.help or "" for row in action._choices_actions}  # type: ignore[attr-defined]  # noqa: SLF001
            for name, inner in action.choices.items():
                yield name, lines.get(name, ""), inner
