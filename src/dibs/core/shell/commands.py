"""What the plain commands of a shell write, and how the arguments of any command are taken apart.

Pure. ``core/shell/writes.py`` has the table of all; a command that is not in it is taken to write nothing.
"""

from __future__ import annotations

from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Act = Callable[["CommandEffects", list[Arg]], None]


class CommandEffects:
    """What a command can say of what it does; ``core/shell/writes.py`` listens."""

    #: What a here-document gives the command.
    stdin: str | None
    #: What the command before it gives, as arguments, where that is known.
    fed: list[Arg] | None
    #: What this one gives.
    gives: list[Arg] | None
    place: str | None
    reads: bool

    def touch(self, arg: Arg, how: str = How.WRITE, *, deep: bool = False, into: str = "") -> None:
        """Write, delete or read a path."""
        raise NotImplementedError

    def tree(self, verb: str, revision: str = "") -> None:
        """Change any file of the working tree by git."""
        raise NotImplementedError

    def stage(self, args: Sequence[Arg]) -> None:
        """Have git commit these with the next commit."""
        raise NotImplementedError

    def go(self, arg: Arg) -> None:
        """Stand in another folder from now on."""
        raise NotImplementedError

    def doubt(self, text: str) -> None:
        """Say that something cannot be told."""
        raise NotImplementedError

    def run(self, args: Sequence[Arg]) -> None:
        """Run another command."""
        raise NotImplementedError

    def script(self, text: str) -> None:
        """Run a text as a shell does."""
        raise NotImplementedError

    def code(self, text: str) -> None:
        """Run a text as an interpreter of a language does."""
        raise NotImplementedError

    def patch(self, text: str) -> None:
        """Apply a patch."""
        raise NotImplementedError

    def powershell(self, text: str) -> None:
        """Run a text as PowerShell does."""
        raise NotImplementedError


class ParsedOptions(Record):
    """Arguments, taken apart."""

    flags: dict[str, list[Arg]]
    operands: list[Arg]

    def has(self, *names: str) -> bool:
        """Tell whether one of these was given."""
        return any(name in self.flags for name in names)

    def of(self, *names: str) -> list[Arg]:
        """Return the values of these."""
        return [found for name in names for found in self.flags.get(name, ())]


NOTHING = Arg("")
HERE = Arg(".")


def options(args: Sequence[Arg], valued: str = "", *, single: bool = False) -> ParsedOptions:
    """Take apart what follows the name of a command.

    ``valued`` names the options that have a value: letters first, then long ones behind blanks. With
    ``single`` a long option begins with one dash.
    """
    letters, *names = valued.split(" ")
    flags: dict[str, list[Arg]] = {}
    operands: list[Arg] = []
    rest = iter(args[1:])
    for arg in rest:
        text = arg.text
        if text == "--" and not single:
            operands += rest
        elif len(text) < 2 or text[0] != "-" or not arg.sure:  # noqa: PLR2004 - "-" is an operand
            operands.append(arg)
        elif text.startswith("--") or single:
            name, given, value = text.lstrip("-").partition("=")
            held = flags.setdefault(name, [])
            if given:
                held.append(Arg(value, arg.glob))
            elif name in names:
                held.append(next(rest, NOTHING))
        else:
            _letters(arg, letters, flags, rest)
    return ParsedOptions(flags, operands)


def _letters(arg: Arg, valued: str, flags: dict[str, list[Arg]], rest: object) -> None:
    """Take apart letters behind one dash."""
    text = arg.text
    for place, letter in enumerate(text[1:], 1):
        held = flags.setdefault(letter, [])
        if letter in valued:
            value = text[place + 1 :]
            held.append(Arg(value) if value else next(rest, NOTHING))  # type: ignore[call-overload]
            return


def base(path: str) -> str:
    """Return the last name of a path."""
    return path.rstrip("/").rpartition("/")[2]


def within(folder: Arg, name: Arg) -> Arg:
    """Return what ``name`` is called in ``folder``."""
    sure = folder.sure and name.sure
    return Arg(
        f"{folder.text.rstrip('/') or '/'}/{base(name.text)}", folder.glob or name.glob, sure
    )


def each(how: str = How.WRITE, valued: str = "", *, deep: bool = False, skip: int = 0) -> Act:
    """Return an act that does the same to each operand."""
    recurses = how == How.DELETE or skip > 0

    def act(to: CommandEffects, args: list[Arg]) -> None:
        given = options(args, valued)
        for arg in given.operands[skip:]:
            to.touch(arg, how, deep=deep or (recurses and given.has("r", "R", "recursive")))

    return act


def copy(valued: str = "tS target-directory suffix", *, moves: bool = False) -> Act:
    """Return an act that writes its last operand, or into the folder that an option names."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        given = options(args, valued)
        folder = given.of("t", "target-directory")
        sources = given.operands if folder else given.operands[:-1]
        deep = moves or given.has("r", "R", "a", "recursive", "archive")
        for source in sources:
            to.touch(source, How.DELETE if moves else How.READ, deep=deep)
            if folder:
                to.touch(within(folder[0], source), deep=deep)
        if folder or not given.operands:
            return
        last = given.operands[-1]
        if not sources:  # ln with one operand makes a link of its name here
            to.touch(Arg(base(last.text), last.glob, last.sure))
        elif len(sources) == 1 and not last.text.endswith("/"):
            to.touch(last, deep=deep, into="" if sources[0].glob else base(sources[0].text))
            if sources[0].glob:
                to.touch(within(last, sources[0]), deep=deep)
        else:
            for source in sources:
                to.touch(within(last, source), deep=deep)

    return act


def option(*names: str, valued: str) -> Act:
    """Return an act that writes what these options name."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        for arg in options(args, valued).of(*names):
            to.touch(arg)

    return act


def dd(to: CommandEffects, args: list[Arg]) -> None:
    """Write what ``of=`` names."""
    for arg in args[1:]:
        if arg.text.startswith("of="):
            to.touch(Arg(arg.text[3:], arg.glob, arg.sure))


def sed(to: CommandEffects, args: list[Arg]) -> None:
    """Write the operands behind the script, if in place."""
    places = any(a.text.startswith(("-i", "--in-place")) for a in args[1:])
    cut = [Arg("-i") if a.text.startswith("-i") else a for a in args]
    given = options(cut, "efl expression file line-length")
    places = places or given.has("i")
    scripted = given.has("e", "expression", "f", "file")
    files = [arg for arg in given.operands if arg.text]
    for arg in files if scripted else files[1:]:
        to.touch(arg, How.WRITE if places else How.READ)


def change_folder(to: CommandEffects, args: list[Arg]) -> None:
    """Stand elsewhere."""
    given = [arg for arg in args[1:] if arg.text not in {"-P", "-L", "--", "-e"}]
    to.go(given[0] if given else Arg("~", sure=False))


def echo(to: CommandEffects, args: list[Arg]) -> None:
    """Give the arguments to the next command."""
    to.gives = [arg for arg in args[1:] if not arg.text.startswith("-")]


def read(to: CommandEffects, args: list[Arg]) -> None:
    """Read each operand."""
    for arg in options(args, "ncm").operands if to.reads else ():
        to.touch(arg, How.READ)


def search(to: CommandEffects, args: list[Arg]) -> None:
    """Read each operand but the first."""
    for arg in options(args, "efmABC").operands[1:] if to.reads else ():
        to.touch(arg, How.READ)


ACTS: dict[str, Act] = {
    "tee": each(), "touch": each(valued="rdt reference date"), "sponge": each(),
    "truncate": each(valued="sr size reference"), "rm": each(How.DELETE),
    "unlink": each(How.DELETE), "rmdir": each(How.DELETE), "shred": each(valued="ns"),
    "chmod": each(skip=1), "trash": each(How.DELETE, deep=True), "ed": each(valued="p"),
    "ex": each(valued="c"), "vim": each(valued="cSu"), "vi": each(valued="cSu"),
    "nvim": each(valued="cSu"), "cp": copy(), "mv": copy(moves=True), "ln": copy(),
    "install": copy("tSmog target-directory suffix mode owner group"), "dd": dd, "sed": sed,
    "gsed": sed, "sort": option("o", "output", valued="oktTS output"), "cd": change_folder,
    "pushd": change_folder, "popd": lambda to, _: to.go(Arg("-")), "echo": echo, "printf": echo,
    "ls": echo, "cat": read, "head": read, "tail": read, "less": read, "more": read, "nl": read,
    "wc": read, "diff": read, "grep": search, "rg": search, "uniq": each(valued="fsw", skip=1),
    "tree": option("o", valued="oLPI"),
}  # fmt: skip
