"""The parser of one command: argparse, with our exit codes, hints and common options."""

from __future__ import annotations

import argparse
import sys

from dibs.errors import BadInput

TYPE_CHECKING = False  # importing typing would cost more than this module does
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any, NoReturn

    Option = tuple[tuple[str, ...], dict[str, Any]]

#: The largest number that an engine can hold.
_MAX_NUMBER = 2**63 - 1
_MAX_DIGITS = 19
#: Options that name a place on the disk, by any bytes.
_PATHS = frozenset(("repo", "path", "to"))
#: The largest file that is read, in bytes; what is longer is refused by whoever looks into it.
MOST_BYTES = 256 * 1024
#: How wide a page of help is.
PAGE = 79


#: Our own words are English, so a page half in another language helps nobody. It also saves looking
#: for catalogues at each start.
argparse._ = str  # type: ignore[attr-defined]


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as a page; asking the terminal each time is slow, and argparse asks it often."""

    def __init__(self, prog: str, **options: Any) -> None:
        options["width"] = PAGE
        super().__init__(prog, **options)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Let the sentences of a description fill the page; examples and tables stay as they are."""
        import textwrap
        from itertools import groupby

        found: list[str] = []
        for prose, rows in groupby(text.splitlines(), lambda row: bool(row) and row[0] != " "):
            lines = list(rows)
            too_long = prose and max(map(len, lines)) > width
            found += textwrap.wrap(" ".join(lines), width) if too_long else lines
        return "".join(f"{indent}{line}\n" for line in found)


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, and guesses what was meant."""

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
    """An option that may be given once: twice is a contradiction, not a habit."""

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
            # A byte that is no UTF-8 can be part of a path, but not of a text that others read.
            values = values.encode("utf-8", "backslashreplace").decode()
        namespace._given = given | {self.dest}  # noqa: SLF001 - our own mark on the namespace
        setattr(namespace, self.dest, values)


def arg(*names: str, **options: Any) -> Option:
    """Return an option for a table, as ``add_argument`` takes it."""
    return names, options


#: Options of many commands.
LITERAL = arg("--literal", action="store_true", help="treat the patterns as literal paths")
REQUEST_ID = arg("--request-id", default="", metavar="ID", help="make a retry safe")
VERBOSE = arg("-v", "--verbose", action="store_true", help="show tokens and complete lists")


def add_options(parser: argparse.ArgumentParser, table: Sequence[Option]) -> None:
    """Give a parser the options of a table."""
    for names, options in table:
        parser.add_argument(*names, **options)


def build(name: str, module: ModuleType, verb: str | None = None) -> Parser:
    """Return the parser of a command: its own options or verbs, and the options that every command has.

    A module has a table ``OPTIONS`` or ``VERBS``, or ``configure(parser)`` where a table is not enough. It
    has ``act(session, args)``, which returns an exit status or nothing for success, or ``run(args)`` where it
    does not work in an open project. Of the verbs only ``verb`` can be parsed, or all.
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
    if parser._subparsers is None:  # noqa: SLF001 - else each of them has the common options
        common(parser)
    return parser


def common(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has; one that the command gave its own sense stays."""
    group = parser.add_argument_group("common options")
    if "--agent" not in parser._option_string_actions:  # noqa: SLF001
        group.add_argument("--agent", metavar="AGENT", help="who acts (else DIBS_AGENT, else you)")
    group.add_argument("--repo", metavar="DIR", default="", help="the repository to work on")
    group.add_argument("--json", action="store_true", help="print JSON for programs")


def parse(name: str, module: ModuleType, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words after a command's name.

    A module with ``TAKES_COMMAND`` gets what stands behind ``--`` as ``command``, untouched.
    """
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
    except SystemExit:  # argparse leaves after --help, which is fine, and at no other place
        sys.stdout.flush()
        raise
    if extra and not _take_late_patterns(args, words, extra):
        parser.error(f"unrecognized arguments: {' '.join(extra)}")
    args.command = command
    return args


def _messages_joined(words: Sequence[str]) -> list[str]:
    """Let ``-m`` take the next word whatever it starts with, as git does; argparse takes it for an option."""
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
    """Take patterns, or other words, that stand behind an option, which argparse leaves over."""
    name = "words" if hasattr(args, "words") else "pattern"
    taken = getattr(args, name, None)
    late = isinstance(taken, list) and "--" not in words
    if not late or any(word.startswith("-") and " " not in word for word in extra):
        return False
    setattr(args, name, [*taken, *extra])  # type: ignore[misc]
    return True


def task_id(text: str) -> str:
    """Return the id of a task of the board."""
    from dibs.core.tasks.rules import check_task_id

    return check_task_id(text)


def agent_id(text: str) -> str:
    """Return the id of an agent; an empty word is none, and does not mean the caller."""
    from dibs.core.text.names import check_agent_id

    return check_agent_id(text)


def branch(text: str) -> str:
    """Return the name of a branch; an empty word is none, and does not mean the setting's."""
    from dibs.core.text.names import check_branch

    return check_branch(text)


def commit_name(text: str) -> str:
    """Return what names a commit: any word, for git to judge, but not an empty one."""
    if text:
        return text
    raise BadInput("'' names no commit", code="REF_NAME")


def number(text: str) -> int:
    """Return a whole number from 1 on, such as a token."""
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        value = int(text)
        if 1 <= value <= _MAX_NUMBER:
            return value
    from dibs.core.text.names import quote

    raise BadInput(f"{quote(text)} is not a whole number from 1 on", code="NUMBER")


def content_of(path: str, most: int = MOST_BYTES) -> bytes:
    """Return what a file says, or ``-`` for standard input; at most one byte more than ``most``."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(most + 1)
        with open(path, "rb") as file:
            return file.read(most + 1)
    except OSError as error:
        from dibs.core.text.names import quote

        message = f"{quote(path)} cannot be read: {error.strerror}"
        raise BadInput(message, code="TASK_FILE", field="file") from None
