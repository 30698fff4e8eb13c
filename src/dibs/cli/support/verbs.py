"""Verbs of a command that are loaded one by one: a call of one verb pays for no other."""

from __future__ import annotations

from argparse import ArgumentParser

from dibs.cli.support.parsing import Parser, common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView

    from dibs.cli.support.session import Session


class Verbs(dict[str, ArgumentParser]):
    """The parsers of verbs by name; each is made when somebody looks at it."""

    def __init__(self, prog: str, modules: Mapping[str, str]) -> None:
        super().__init__()
        self._prog = prog
        self._modules = modules

    def __missing__(self, name: str) -> Parser:
        from dibs.cli.support import load

        module = load(self._modules[name])
        options, action = module.VERBS[name]
        about = (action.__doc__ or "").strip()
        verb = Parser(prog=f"{self._prog} {name}", description=_paragraphs(about))
        options(verb)
        verb.set_defaults(act=action)
        common(verb)
        self[name] = verb
        return verb

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def keys(self) -> Mapping[str, str]:  # type: ignore[override]
        """Return the names, as something that can be walked through."""
        return self._modules

    def items(self) -> ItemsView[str, ArgumentParser]:  # type: ignore[override]
        """Return all verbs with their parsers."""
        return {name: self[name] for name in self._modules}.items()

    def values(self) -> ValuesView[ArgumentParser]:  # type: ignore[override]
        """Return the parsers of all verbs."""
        return dict(self.items()).values()


def add_verbs(parser: ArgumentParser, table: Mapping[str, tuple[str, str]]) -> None:
    """Give a command its verbs: for each its module, and the line that says what it does."""
    action = parser.add_subparsers(metavar="VERB", required=True, dest="verb")
    verbs = Verbs(parser.prog, {name: module for name, (module, _) in table.items()})
    action._name_parser_map = action.choices = verbs  # noqa: SLF001 - argparse makes them all at once
    for name, (_, summary) in table.items():
        line = action._ChoicesPseudoAction(name, (), summary)  # noqa: SLF001
        action._choices_actions.append(line)  # noqa: SLF001


def perform(args: Namespace) -> int:
    """Run the verb that was named, in an open project."""
    from dibs.cli.support.session import Session

    act: Callable[[Session, Namespace], int] = args.act
    with Session(args) as session:
        return act(session, args)


def _paragraphs(text: str) -> str:
    """Return a docstring without the indent that its place in the source gives it."""
    return "\n".join(line.strip() for line in text.splitlines())
