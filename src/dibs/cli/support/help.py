"""The help screens: all commands by purpose, one command, or one topic.

``dibs help`` itself loads no parser and no command.
"""

from __future__ import annotations

import os
import sys

from dibs.cli.support import COMMANDS, GROUPS, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Each topic and what its page explains.
TOPICS = {
    "claims": "what a claim is, how long it lasts, and who can end it",
    "queue": "how to wait for a path that another agent holds",
    "engines": "where Dibs stores its state, on one machine or several",
    "guards": "how Dibs blocks edits to files that another agent holds",
}
_PAGE, _NARROWEST = 80, 24
_NAME = 2 + max(map(len, COMMANDS)) + 2


def show(words: Sequence[str]) -> int:
    """Print the help for ``dibs help WORDS``, and return the exit status."""
    as_json = "--json" in words
    names = [word for word in words if not word.startswith("-") and word != "help"]
    if not names:
        return _print_overview(as_json=as_json)
    name = names[0]
    if name in TOPICS:
        return _print_topic(name, as_json=as_json)
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
        topics = [{"name": name, "summary": line} for name, line in TOPICS.items()]
        print_json({"groups": groups, "topics": topics})
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
    names = list(TOPICS)
    for name, line in (
        ("dibs help COMMAND", "options and examples (also: dibs COMMAND --help)"),
        ("dibs help TOPIC", f"a page about {', '.join(names[:-1])}, or {names[-1]}"),
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


def _print_topic(name: str, *, as_json: bool) -> int:
    from dibs.cli.support.topics import PAGES

    text = PAGES[name]
    if as_json:
        from dibs.cli.support.session import print_json

        print_json({"topic": {"name": name, "summary": TOPICS[name], "text": text}})
        return OK
    print("\n".join(topic_lines(text, min(page_width(), _PAGE))))
    return OK


def topic_lines(text: str, width: int) -> Iterator[str]:
    """Yield a topic's page for a terminal; a comment that does not fit goes below its command."""
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        lines = paragraph.strip("\n").split("\n")
        if not lines[0].startswith(" "):
            yield from _wrapped(" ".join(lines), width)
            continue
        for line in lines:
            command, _, about = line.strip().partition("  ")
            if len(line) <= width or not about:
                yield line
            else:
                yield f"  {command}"
                yield from _wrapped(about.strip(), width, "      ")


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
    from dibs.cli.support.suggestions import suggest, suggest_topic
    from dibs.core.text.names import quote
    from dibs.errors import BadUsage

    topic = suggest_topic(name)
    command = suggest(name).removeprefix("dibs ").partition(" ")[0]
    meant = topic or command
    hint = f"did you mean 'dibs help {meant}'?" if meant else f"topics: {', '.join(TOPICS)}"
    return BadUsage(f"unknown command or topic {quote(name)}", hint=hint)
