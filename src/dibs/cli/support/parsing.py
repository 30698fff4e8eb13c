"""Build and run a command's argparse parser, with common options and our own errors."""

from __future__ import annotations

import argparse
import sys

from dibs.errors import BadInput

TYPE_CHECKING = False  # importing typing would cost more than this module
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, NoReturn

    Option = tuple[tuple[str, ...], dict[str, Any]]

#: The largest number that an engine can store.
_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = 19
#: Options that take a path, which may contain any bytes.
_PATHS = frozenset(("repo", "path", "to"))
#: The width of the help text.
PAGE = 79


#: Turn off argparse's translations: the rest is English, and looking for catalogs takes time.
argparse._ = lambda text: text  # type: ignore[attr-defined]


class Help(argparse.RawDescriptionHelpFormatter):
    """Help with a fixed width: argparse would ask the terminal many times, which is slow."""

    def __init__(self, prog: str, **options: Any) -> None:
        options["width"] = PAGE
        super().__init__(prog, **options)

    def _format_action(self, action: argparse.Action) -> str:
        """Return the help for an argument; subcommands are a plain list."""
        if not isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return super()._format_action(action)
        import textwrap

        rows = action._choices_actions  # noqa: SLF001 - argparse has no other way to list them
        indent = max(len(row.dest) for row in rows) + 4
        found = ""
        for row in rows:
            start = f"  {row.dest}".ljust(indent)
            found += textwrap.fill(
                row.help or "", PAGE, initial_indent=start, subsequent_indent=" " * indent
            )
            found += "\n"
        return found

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs; keep examples and tables as they are."""
        import textwrap
        from itertools import groupby

        found: list[str] = []
        for prose, rows in groupby(text.splitlines(), lambda row: bool(row) and row[0] != " "):
            lines = list(rows)
            if prose and max(map(len, lines)) > width:  # an option must not be broken at a hyphen
                lines = textwrap.wrap(" ".join(lines), width, break_on_hyphens=False)
            found += lines
        return "".join(f"{indent}{line}\n" for line in found)


class Parser(argparse.ArgumentParser):
    """A parser that raises usage errors instead of exiting."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options["formatter_class"] = Help
        options["allow_abbrev"] = False
        super().__init__(*args, **options)
        self.register("action", None, Once)
        self.register("action", "store", Once)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, and remember the words for a message about them."""
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """Return the help text, with examples in the description."""
        from dibs.cli.support.examples import with_examples

        self.description = with_examples(self.prog, self.description or "")
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raise a usage error that says what is wrong and what is valid."""
        from dibs.cli.support.usage import usage_error

        raise usage_error(self, message, getattr(self, "_words", []))

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Take the value of ``--option=--`` literally; argparse would drop it."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            return self._get_value(action, "--")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        from dibs.cli.support.usage import choice_error

        raise choice_error(self, action, str(value))


class Once(argparse.Action):
    """An option that may be given only once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Store the value; refuse a second one."""
        given: frozenset[str] = getattr(namespace, "_given", frozenset())
        if self.dest in given:
            parser.error(f"{option_string} given more than once")
        if self.option_strings and isinstance(values, str) and self.dest not in _PATHS:
            # Bytes that are not UTF-8 are valid in a path, but not in a text.
            values = values.encode("utf-8", "backslashreplace").decode()
        namespace._given = given | {self.dest}  # noqa: SLF001 - our own attribute
        setattr(namespace, self.dest, values)


def arg(*names: str, **options: Any) -> Option:
    """Return an option for a table; takes the arguments of ``add_argument``."""
    return names, options


#: Options of many commands.
LITERAL = arg("--literal", action="store_true", help="treat the patterns as literal paths")
REQUEST_ID = arg(
    "--request-id", default="", metavar="ID", help="make a retry safe (repeat it with the same ID)"
)
VERBOSE = arg("-v", "--verbose", action="store_true", help="show tokens and complete lists")


def add_options(parser: argparse.ArgumentParser, table: Sequence[Option]) -> None:
    """Add the options of a table to a parser."""
    for names, options in table:
        parser.add_argument(*names, **options)


def build(name: str, module: ModuleType, verb: str | None = None) -> Parser:
    """Return a command's parser: its own options or subcommands, and the common options.

    A module has a table ``OPTIONS`` or ``VERBS``, or ``configure(parser)`` where a table is not enough. It
    has ``act(session, args)``, which returns an exit status or None for success, or ``run(args)`` if it does
    not need an open project. If ``verb`` is given, only that subcommand can be parsed.
    """
    parser = Parser(prog=f"dibs {name}", description=(module.__doc__ or "").strip())
    parser._positionals.title = "arguments"  # noqa: SLF001
    if hasattr(module, "configure"):
        module.configure(parser)
    elif hasattr(module, "OPTIONS"):
        add_options(parser, module.OPTIONS)
    else:
        from dibs.cli.support.verbs import add_verbs

        add_verbs(parser, module.VERBS, verb)
    if parser._subparsers is None:  # noqa: SLF001 - else each subcommand has the common options
        common(parser)
    return parser


def common(parser: argparse.ArgumentParser) -> None:
    """Add the common options, except those that the command defines itself."""
    parser._positionals.title = "arguments"  # noqa: SLF001
    group = parser.add_argument_group("common options")
    if "--agent" not in parser._option_string_actions:  # noqa: SLF001
        group.add_argument(
            "--agent", metavar="AGENT", help="act as this agent (default: DIBS_AGENT, or you)"
        )
    group.add_argument(
        "--repo",
        metavar="DIR",
        default="",
        help="repository to use (default: the current folder's)",
    )
    group.add_argument("--json", action="store_true", help="print JSON")


def parse(name: str, module: ModuleType, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words after a command's name.

    A module with ``TAKES_COMMAND`` gets the words after ``--`` as ``command``, unchanged. ``DEFAULT`` is the
    subcommand of a module that needs none.
    """
    default = getattr(module, "DEFAULT", "")
    if default and (not words or (words[0].startswith("-") and words[0] not in {"-h", "--help"})):
        words = [default, *words]
    parser = build(name, module, words[0] if words else "")
    command: list[str] = []
    if getattr(module, "TAKES_COMMAND", False) and "--" in words:
        mark = list(words).index("--")
        words, command = words[:mark], list(words[mark + 1 :])
    if "-m" in parser._option_string_actions:  # noqa: SLF001
        words = _messages_joined(words)
    args: argparse.Namespace
    try:
        args, extra = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        parser.error(str(error))
    except SystemExit:  # argparse exits only after --help
        sys.stdout.flush()
        raise
    if extra and not _take_late_patterns(args, words, extra):
        parser.error(f"unrecognized arguments: {' '.join(extra)}")
    args.command = command
    return args


def _messages_joined(words: Sequence[str]) -> list[str]:
    """Let ``-m`` take the next word even if it starts with a dash, as git does."""
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        joined.append(word)
        if word == "--":
            break
        if word in {"-m", "--message"}:
            value = next(rest, None)
            if value is not None and value.startswith("-"):
                joined[-1] = f"{word}{'' if word == '-m' else '='}{value}"
            elif value is not None:
                joined.append(value)
    return [*joined, *rest]


def _take_late_patterns(args: argparse.Namespace, words: Sequence[str], extra: list[str]) -> bool:
    """Accept patterns, or other words, after an option, which argparse does not."""
    name = "words" if hasattr(args, "words") else "pattern"
    taken = getattr(args, name, None)
    late = isinstance(taken, list) and "--" not in words
    if not late or any(word.startswith("-") and " " not in word for word in extra):
        return False
    setattr(args, name, [*taken, *extra])  # type: ignore[misc]
    return True


def task_id(text: str) -> str:
    """Check a task id."""
    from dibs.core.tasks.rules import check_task_id

    return check_task_id(text)


def agent_id(text: str) -> str:
    """Check an agent id; an empty one is an error and does not mean the caller."""
    from dibs.core.text.names import check_agent_id

    return check_agent_id(text)


def branch(text: str) -> str:
    """Check a branch name; an empty one is an error and does not mean the default."""
    from dibs.core.text.names import check_branch

    return check_branch(text)


def commit_name(text: str) -> str:
    """Return the name of a commit, which must not be empty; git checks the rest."""
    if text:
        return text
    raise BadInput("'' is not a commit", code="REF_NAME")


def number(text: str) -> int:
    """Parse a whole number greater than 0, such as a token."""
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        value = int(text)
        if 1 <= value <= _MAX_NUMBER:
            return value
    from dibs.core.text.names import quote

    raise BadInput(f"{quote(text)} is not a whole number greater than 0", code="NUMBER")
