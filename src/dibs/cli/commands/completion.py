"""Print shell completion for bash, zsh or fish.

  bash:  eval "$(dibs completion bash)"       in ~/.bashrc
  zsh:   eval "$(dibs completion zsh)"        in ~/.zshrc, after compinit
  fish:  dibs completion fish | source        in ~/.config/fish/config.fish

Agents, tasks and claimed patterns are looked up while you type.
"""

from __future__ import annotations

import argparse

from dibs.errors import BadUsage, DibsError
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from dibs.cli.support.session import Session

SHELLS = ("bash", "zsh", "fish")

#: What completes the word that a metavar stands for: values that are looked up, or files.
LOOKED_UP = {
    "AGENT": "agents",
    "PATTERN": "claims",
    "PATH": "claims",
    "KIND": "kinds",
    "TASK": "tasks",
}
FILES = frozenset({"PATTERN", "PATH", "FILE"})
FOLDERS = frozenset({"DIR"})


class Option(Record):
    """One option of a command: its spellings, and what its value is, if it has one."""

    spellings: tuple[str, ...]
    #: Empty for a flag.
    value: str
    choices: tuple[str, ...]
    help: str


class Completions(Record):
    """What can stand behind a command or a verb of one."""

    #: The command, or the command and its verb.
    names: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    #: What its arguments are, and those that can be listed.
    value: str
    choices: tuple[str, ...]


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs completion``."""
    parser.add_argument("shell", nargs="?", choices=SHELLS, metavar="SHELL", help="bash, zsh, fish")
    parser.add_argument("--values", choices=LOOKED_UP.values(), help=argparse.SUPPRESS)


def run(args: Namespace) -> int:
    """Print the script, or the values that the script asks for."""
    if args.values:
        for value in _values(args):
            print(value)
        return 0
    if args.shell is None:
        raise BadUsage("completion: name a shell", hint="bash, zsh or fish")
    from dibs.cli.commands.completion_scripts import script

    text = script(args.shell, list(grammar()))
    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"shell": args.shell, "script": text})
    else:
        print(text)
    return 0


def _values(args: Namespace) -> list[str]:
    """Return what can be typed; nothing where that cannot be found out: a shell asks in passing."""
    if args.values == "kinds":
        from dibs.core.claims.ledger import Kind

        return list(Kind)
    from dibs.cli.support.session import Session
    from dibs.cli.support.text import printable

    try:
        with Session(args, timeout=0.5) as session:
            if args.values == "agents":
                return [seen.agent.id for seen in session.project.agents.all(ended=False)]
            if args.values == "tasks":
                return [printable(name) for name in _tasks(session)]
            held, _ = session.project.claims.all()
            return sorted({printable(h.claim.pattern) for h in held})
    except DibsError:
        return []


def _tasks(session: Session) -> list[str]:
    """Return the tasks that are not finished, of the board and of the queue; looks at no files."""
    from dibs.services.tasks.plain_queue import DONE

    board = [task.stored.id for task in session.project.tasks.all(None)]
    return [*board, *(task.name for task in session.project.queue.all() if task.state != DONE)]


def grammar() -> Iterator[Completions]:
    """Yield every command, and every verb of one, as its own parser describes it."""
    from dibs.cli.support import COMMANDS, load
    from dibs.cli.support.parsing import build

    for name, summary in COMMANDS.items():
        parser = build(name, load(name))
        verbs = next((a for a in parser._actions if a.dest == "verb"), None)  # noqa: SLF001
        yield _words((name,), summary, parser)
        if verbs is not None and isinstance(verbs.choices, dict):
            for verb, inner in verbs.choices.items():
                yield _words((name, verb), _first_line(inner.description), inner)


def _words(names: tuple[str, ...], summary: str, parser: ArgumentParser) -> Completions:
    options: list[Option] = []
    value, choices = "", tuple[str, ...]()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to be asked
        if action.help == argparse.SUPPRESS:
            continue
        words = tuple(str(choice) for choice in action.choices or ())
        kind = action.metavar if isinstance(action.metavar, str) else ""
        if action.option_strings:
            takes = "" if action.nargs == 0 else kind or action.dest.upper()
            options.append(Option(tuple(action.option_strings), takes, words, action.help or ""))
        elif not value:
            value, choices = kind, words
    return Completions(names, summary, tuple(options), value, choices)


def _first_line(text: str | None) -> str:
    return (text or "").partition(".")[0]
