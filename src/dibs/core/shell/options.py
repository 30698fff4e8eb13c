"""A rule of the command table, and a command's arguments parsed by it. Pure."""

from __future__ import annotations

from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from dibs.core.shell.effects import ShellEffects

    Act = Callable[["ShellEffects", "ParsedOptions"], None]

NOTHING = Arg("")
HERE = Arg(".")


class CommandRule(Record):
    """What a command writes. Fields with options list them separated by blanks, without dashes."""

    #: Options that take a value: the letters in one word, then the long ones.
    values: str = ""
    #: Letters whose value, if any, is the rest of their word: ``sed -i.bak``.
    attached: str = ""
    #: Long options begin with one dash: ``go build -o``.
    one_dash: bool = False
    #: The first word is letters, even without a dash: ``tar xf``.
    bundled: bool = False
    #: What happens to the operands; empty for nothing.
    how: str = How.WRITE
    #: How many operands come before the paths, or the command that it runs; -1 if only the last is a path.
    skip: int = 0
    #: The first operand is a program, unless one of these options provides it.
    program: str = ""
    #: It has an effect only with one of these options.
    needs: str = ""
    #: It has no effect with one of these, unless one of ``despite`` is given.
    unless: str = ""
    despite: str = ""
    #: Everything below an operand is written: always, or only with ``-r``.
    deep: bool = False
    recursive: bool = False
    #: Without an operand it affects the current folder.
    here: bool = False
    #: Options whose values are a file to write, a folder to run in, and the text of a program.
    output: str = ""
    folder: str = ""
    code: str = ""
    #: The operands are another command; with one of the options ``script`` they are its text.
    wraps: bool = False
    script: str = ""
    #: The first operand is a subcommand with its own rule: ``ruff format``.
    subcommands: bool = False
    #: The kind of change of the whole working tree, for git.
    tree: str = ""
    #: It can move HEAD or a branch; see core/shell/git_moves.py.
    moves: bool = False
    #: Handles what the fields above cannot describe.
    act: Act | None = None
    #: Records what it prints to the next command.
    prints: Act | None = None


_PLAIN = CommandRule()


def rule_of(values: str = "", attached: str = "", **fields: Any) -> CommandRule:
    """Return a rule; changing a plain one takes a third of the time of creating a new one at each start."""
    return _PLAIN._replace(values=values, attached=attached, **fields)


def rules(names: str, rule: CommandRule) -> dict[str, CommandRule]:
    """Return the same rule for several commands."""
    return dict.fromkeys(names.split(), rule)


def output(options: str, values: str) -> CommandRule:
    """Return the rule of a command that writes only what an option names."""
    return rule_of(values, output=options, how="")


class ParsedOptions(Record):
    """The arguments of one command."""

    rule: CommandRule
    args: Sequence[Arg]
    flags: dict[str, list[Arg]]
    operands: list[Arg]

    def has(self, names: str) -> bool:
        """Return whether one of these options was given."""
        return any(name in self.flags for name in names.split())

    def of(self, names: str) -> list[Arg]:
        """Return the values of these options."""
        return [found for name in names.split() for found in self.flags.get(name, ())]

    @property
    def acts(self) -> bool:
        """Whether the options let the command have an effect."""
        rule = self.rule
        if rule.needs and not self.has(rule.needs):
            return False
        return not self.has(rule.unless) or self.has(rule.despite)


def text_of(args: Sequence[Arg]) -> str:
    """Return arguments as one text."""
    return " ".join(arg.text for arg in args)


def parse_options(args: Sequence[Arg], rule: CommandRule) -> ParsedOptions:
    """Parse the arguments of a command; its name is the first."""
    names = rule.values.split(" ")[1:]
    first_ends = rule.wraps or rule.subcommands
    flags: dict[str, list[Arg]] = {}
    operands: list[Arg] = []
    rest = iter(args[1:])
    for place, arg in enumerate(rest):
        text = arg.text
        if rule.bundled and not place and not text.startswith("-"):
            text = f"-{text}"
        if text == "--" and not rule.one_dash:
            operands += rest
        elif len(text) < 2 or text[0] != "-" or not arg.sure:  # noqa: PLR2004 - "-" is an operand
            operands.append(arg)
            if first_ends:
                operands += rest
        elif text.startswith("--") or rule.one_dash:
            name, given, value = text.lstrip("-").partition("=")
            held = flags.setdefault(name, [])
            if given:
                held.append(Arg(value, arg.glob))
            elif name in names:
                held.append(next(rest, NOTHING))
        else:
            _letters(text, rule, flags, rest)
    return ParsedOptions(rule, args, flags, operands)


def _letters(
    text: str, rule: CommandRule, flags: dict[str, list[Arg]], rest: Iterator[Arg]
) -> None:
    """Parse letters after one dash."""
    valued = rule.values.split(" ")[0]
    for place, letter in enumerate(text[1:], 1):
        held = flags.setdefault(letter, [])
        if letter in rule.attached:
            return
        if letter in valued:
            value = text[place + 1 :]
            held.append(Arg(value) if value else next(rest, NOTHING))
            return


def base(path: str) -> str:
    """Return the last name of a path."""
    return path.rstrip("/").rpartition("/")[2]


def within(folder: Arg, name: Arg, *, whole: bool = False) -> Arg:
    """Return the path of ``name`` in ``folder``; with ``whole``, including its own folders."""
    inner = name.text if whole else base(name.text)
    text = f"{folder.text.rstrip('/') or '/'}/{inner}"
    return Arg(text, folder.glob or name.glob, folder.sure and name.sure)
