"""Verbs of a command that are made one by one: a call of one verb pays for no other.

A verb in the table of its command is (summary, options, action); or, where a package has modules for its
verbs, (module, summary), and that module's own table has (options, action).
"""

from __future__ import annotations

from argparse import ArgumentParser

from dibs.cli.support import load
from dibs.cli.support.parsing import Parser, add_options, common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, Mapping, ValuesView
    from typing import Any


class Verbs(dict[str, ArgumentParser]):
    """The parsers of verbs by name; each is made when somebody looks at it."""

    def __init__(self, prog: str, table: Mapping[str, tuple[Any, ...]]) -> None:
        super().__init__()
        self._prog = prog
        self._table = table

    def __missing__(self, name: str) -> Parser:
        row = self._table[name]
        options, action = load(row[0]).VERBS[name] if isinstance(row[1], str) else row[1:]
        about = (action.__doc__ or "").strip()
        verb = Parser(prog=f"{self._prog} {name}", description=_paragraphs(about))
        if callable(options):
            options(verb)
        else:
            add_options(verb, options)
        verb.set_defaults(act=action)
        common(verb)
        self[name] = verb
        return verb

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def keys(self) -> Mapping[str, tuple[Any, ...]]:  # type: ignore[override]
        """Return the names, as something that can be walked through."""
        return self._table

    def items(self) -> ItemsView[str, ArgumentParser]:  # type: ignore[override]
        """Return all verbs with their parsers."""
        return {name: self[name] for name in self._table}.items()

    def values(self) -> ValuesView[ArgumentParser]:  # type: ignore[override]
        """Return the parsers of all verbs."""
        return dict(self.items()).values()


def add_verbs(parser: ArgumentParser, table: Mapping[str, tuple[Any, ...]]) -> None:
    """Give a command its verbs."""
    action = parser.add_subparsers(metavar="VERB", required=True, dest="verb")
    verbs = Verbs(parser.prog, table)
    action._name_parser_map = action.choices = verbs  # noqa: SLF001 - argparse makes them all at once
    for name, row in table.items():
        summary = row[1] if isinstance(row[1], str) else row[0]
        line = action._ChoicesPseudoAction(name, (), summary)  # noqa: SLF001
        action._choices_actions.append(line)  # noqa: SLF001


def _paragraphs(text: str) -> str:
    """Return a docstring without the indent that its place in the source gives it."""
    return "\n".join(line.strip() for line in text.splitlines())
