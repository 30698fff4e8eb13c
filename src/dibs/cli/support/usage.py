"""Errors in a command line: what is wrong, and what to type instead.

Loaded only when there is such an error.
"""

from __future__ import annotations

import os

from dibs.cli.support.suggestions import suggest_subcommand
from dibs.core.text.names import closest, cut, quote
from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action, ArgumentParser
    from collections.abc import Sequence

_UNKNOWN = "unrecognized arguments: "
_MISSING = "the following arguments are required: "
#: What argparse says about an option, and how Dibs says it.
_PLAIN = {
    "expected one argument": "{} needs a value",
    "expected at least one argument": "{} needs at least one value",
}
_NOT_WITH = "not allowed with argument "
#: How much of a wrong command line is repeated.
_LONG_LINE = 160


def usage_error(parser: ArgumentParser, message: str, words: Sequence[str]) -> BadUsage:
    """Return the error for what argparse found wrong with ``words``."""
    hint = f"see `{parser.prog} --help`"
    unknown = message.removeprefix(_UNKNOWN).split(" ")[0] if message.startswith(_UNKNOWN) else ""
    if message.startswith(_MISSING):
        unknown = _unknown_option(parser, words)
        missing = message.removeprefix(_MISSING)
        whole = "" if unknown else _complete(parser, missing.split(", "), words)
        message, hint = f"missing {missing}", whole or hint
        if message == "missing SUBCOMMAND":
            message, hint = "missing subcommand", f"use one of {', '.join(_subcommands(parser))}"
    if unknown.startswith("-"):
        message = f"unknown option {quote(unknown.partition('=')[0])}"
        hint = _option_hint(parser, unknown) or hint
    elif unknown:
        message = f"unexpected argument {quote(unknown)}"
        if parser.prog == "dibs task" and "take" in words[:1]:
            hint = "for a specific task, use: dibs task start TASK"
    elif message.startswith("argument "):
        message = _about_option(message)
    return BadUsage(f"{_name(parser)}: {cut(message, _LONG_LINE)}", hint=hint)


def _complete(parser: ArgumentParser, missing: list[str], words: Sequence[str]) -> str:
    """Return the command line with what is missing; without arguments, the command's first example."""
    import shlex
    from itertools import pairwise

    from dibs.cli.support.examples import examples_in, with_examples

    options = [name.partition("/")[0] for name in missing if name.startswith("-")]
    if len(options) < len(missing):
        examples = examples_in(with_examples(parser.prog, parser.description or ""))
        return f"for example: {examples[0].partition('  ')[0]}" if examples else ""
    typed, more = list(words), [(name, _placeholder(parser, name)) for name in options]
    # Neither an option nor the word after one, which is probably its value.
    plain = [at for at, pair in enumerate(pairwise(["", *typed])) if not any(map(_is_option, pair))]
    if options == ["--to"] and len(plain) > 1 and not os.path.lexists(typed[plain[-1]]):
        more = [("--to", typed.pop(plain[-1]))]  # `dibs transfer PATH AGENT`
    mark = typed.index("--") if "--" in typed else len(typed)
    added = [word for pair in more for word in pair]
    return f"run: {parser.prog} {shlex.join([*typed[:mark], *added, *typed[mark:]])}"


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _placeholder(parser: ArgumentParser, option: str) -> str:
    action = parser._option_string_actions[option]  # noqa: SLF001
    return "WHY" if option == "--reason" else str(action.metavar or "VALUE")


def choice_error(parser: ArgumentParser, action: Action, value: str) -> BadUsage:
    """Return the error for a subcommand, or an option's value, that does not exist."""
    choices = [str(choice) for choice in action.choices or ()]
    if action.dest == "verb":
        what, meant = f"unknown subcommand {quote(value)}", suggest_subcommand(value, choices)
    else:
        name = "/".join(action.option_strings) or action.metavar
        what, meant = f"invalid {name} {quote(value)}", closest(value, choices)
    hint = f"did you mean '{meant}'?" if meant else f"use one of {', '.join(choices)}"
    return BadUsage(f"{_name(parser)}: {what}", hint=hint)


def _name(parser: ArgumentParser) -> str:
    return parser.prog.removeprefix("dibs ")


def _subcommands(parser: ArgumentParser) -> list[str]:
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to list them
    return [
        str(name) for action in actions if action.dest == "verb" for name in action.choices or ()
    ]


def _unknown_option(parser: ArgumentParser, words: Sequence[str]) -> str:
    """Return the first word that looks like an option but is not one; empty if all are known."""
    known = parser._option_string_actions  # noqa: SLF001 - argparse has no other way to list them
    for word in words:
        if word == "--":
            break
        if len(word) > 1 and word.startswith("-") and word.partition("=")[0] not in known:
            return word
    return ""


def _option_hint(parser: ArgumentParser, word: str) -> str:
    """Return what to type instead of an unknown option: another one, or a path after ``--``."""
    takes_paths = any(
        not action.option_strings and action.dest != "verb"
        for action in parser._actions  # noqa: SLF001
    )
    if takes_paths and (os.path.lexists(word) or "." in word or "/" in word):
        from shlex import quote as shell_quoted

        return f"for a path, use -- first: {parser.prog} -- {shell_quoted(word)}"
    from dibs.cli.support.suggestions import suggest_option

    meant = suggest_option(word, parser._option_string_actions)  # noqa: SLF001
    return f"did you mean '{meant}'?" if meant else ""


def _about_option(message: str) -> str:
    """Return argparse's ``argument NAME: PROBLEM`` in plain words."""
    name, _, problem = message.removeprefix("argument ").partition(": ")
    if problem in _PLAIN:
        return _PLAIN[problem].format(name)
    if problem.startswith(_NOT_WITH):
        return f"{name} cannot be combined with {problem.removeprefix(_NOT_WITH)}"
    return f"{name}: {problem}"
