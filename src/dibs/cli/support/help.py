"""The help screens: all commands by purpose, or one command.

``dibs help`` itself loads no parser and no command.
"""

from __future__ import annotations

import os
import sys

from dibs.cli.support import COMMANDS, GROUPS, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PAGE, _NARROWEST = 80, 24
_NAME = 2 + max(map(len, COMMANDS)) + 2


def show(words: Sequence[str]) -> int:
    """Print the help for ``dibs help WORDS``, and return the exit status."""
    as_json = "--json" in words
    names = [word for word in words if not word.startswith("-") and word != "help"]
    if not names:
        return _print_overview(as_json=as_json)
    name = names[0]
    if name not in COMMANDS:
        raise _unknown(name)
    return _print_command(names, as_json=as_json)


def _print_overview(*, as_json: bool) -> int:
    if as_json:
        from dibs.cli.support.session import print_json

        groups = [
            {"name": name, "commands": [{"name": n, "summary": line} for n, line in group.items()]}
            for name, group in GROUPS.items()
        ]
        print_json({"groups": groups})
    else:
        print("\n".join(overview(page_width())))
    return OK


def overview(width: int) -> Iterator[str]:
    """Yield the lines of ``dibs help`` for a terminal with ``width`` columns."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    on, off = ("", "") if plain or not sys.stdout.isatty() else ("\x1b[1m", "\x1b[0m")
    yield from _wrapped("Dibs: many coding agents, one codebase, no collisions.", width)
    yield ""
    yield "usage: dibs COMMAND [ARGUMENTS]"
    for group, commands in GROUPS.items():
        yield f"\n{on}{group}{off}"
        for name, line in commands.items():
            yield from _wrapped(line, width, f"  {name:<{_NAME - 2}}")
    yield f"\n{on}more{off}"
    for name, line in (
        ("dibs help COMMAND", "options and examples (also: dibs COMMAND --help)"),
        ("docs/tutorial.md", "in the Dibs repository: two guarded agents in five minutes"),
    ):
        yield from _wrapped(line, width, f"  {name:<19}")
    yield ""
    yield from _wrapped("Every command takes --json. To get started, run: dibs init", width)


def _wrapped(line: str, width: int, start: str = "") -> list[str]:
    """Break ``line`` at spaces so that it fits next to ``start``."""
    lines, room = [start], max(width, _NARROWEST)
    for word in line.split(" "):
        blank = "" if lines[-1] in {start, " " * len(start)} else " "
        if len(lines[-1]) + len(blank) + len(word) > room and lines[-1].strip() != start.strip():
            lines.append(" " * len(start) + word)
        else:
            lines[-1] += blank + word
    return lines


def page_width() -> int:
    """Return the number of columns of the terminal, 80 where there is none."""
    try:
        return int(os.environ.get("COLUMNS", "")) or _PAGE
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _PAGE
    except (OSError, ValueError):
        return _PAGE


def _print_command(names: Sequence[str], *, as_json: bool) -> int:
    """Print the help for a command, or for one of its subcommands."""
    from dibs.cli.support import load
    from dibs.cli.support.parsing import build, parse

    name = names[0]
    if not as_json:
        parse(name, load(name), [*names[1:2], "--help"])  # exits
    from dibs.cli.support.examples import examples_in
    from dibs.cli.support.session import print_json
    from dibs.cli.support.verbs import subcommands

    parser, summary = build(name, load(name)), COMMANDS[name]
    for verb, line, inner in subcommands(parser):
        if names[1:2] == [verb]:
            parser, summary = inner, line
    text = parser.format_help()
    shape = {
        "name": parser.prog.removeprefix("dibs "),
        "summary": summary,
        "usage": " ".join(parser.format_usage().removeprefix("usage: ").split()),
        "examples": examples_in(text),
        "text": text,
    }
    print_json({"command": shape})
    return OK


def _unknown(name: str) -> Exception:
    from dibs.cli.support.suggestions import suggest
    from dibs.core.text.names import quote
    from dibs.errors import BadUsage

    meant = suggest(name).removeprefix("dibs ").partition(" ")[0]
    hint = f"did you mean 'dibs help {meant}'?" if meant else "`dibs help` lists the commands"
    return BadUsage(f"unknown command {quote(name)}", hint=hint)
