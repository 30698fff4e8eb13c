"""Commands that run others: shells, interpreters, ``env``, ``find``, and ``xargs``. Pure."""

from __future__ import annotations

from dibs.core.shell.options import HERE, text_of
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import ParsedOptions


def run_operands(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the operands after variable assignments; as one text if an option says so."""
    rest = given.operands[given.rule.skip :]
    if given.has(given.rule.script):
        run_text(to, rest)
        return
    while rest and (rest[0].text == "-" or "=" in rest[0].text):
        del rest[0]
        to.only_looks = False  # PAGER, PATH: may start another program
    to.run(rest)


def run_text(to: ShellEffects, args: Sequence[Arg]) -> None:
    """Run arguments as one shell command."""
    if all(arg.sure for arg in args):
        to.script(text_of(args))
    else:
        to.unsure = True


def evaluate(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the operands as one text."""
    run_text(to, given.operands)


def shell(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the text after ``-c``, or standard input; a script file's writes are detected afterwards."""
    operands = [arg for arg in given.operands if arg.text[:1] != "+" and arg.text != "-"]
    if given.has("c command"):
        run_text(to, given.of("c command") or operands[:1])
    elif (not operands or given.has("s")) and not run_input(to, to.script) and len(given.args) > 1:
        to.unsure = True


def run_input(to: ShellEffects, act: Callable[[str], None]) -> bool:
    """Run standard input as far as it is known; return whether it is."""
    text = to.stdin if to.stdin is not None else None if to.fed is None else text_of(to.fed)
    if text is not None:
        act(text)
    return text is not None


def code(to: ShellEffects, text: str) -> None:
    """Find what a program writes, in its interpreter's language."""
    from dibs.core.shell.inline_code import look

    look(to, text)


def evaluate_code(to: ShellEffects, given: ParsedOptions) -> None:
    """Run a program that is an operand."""
    for arg in given.operands[:1]:
        code(to, arg.text)


def powershell(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the text after ``-Command``."""
    from dibs.core.shell.powershell import look

    for place, arg in enumerate(given.args[1:], 1):
        if arg.text.casefold() in {"-command", "-c"}:
            look(to, text_of(given.args[place + 1 :]))
            return


def find(to: ShellEffects, given: ParsedOptions) -> None:
    """Delete the found files, or run commands on them."""
    args, places = given.args, []
    for arg in args[1:]:
        if arg.text.startswith(("-", "(", "!")) and arg.text not in {"-H", "-L", "-P"}:
            break
        if not arg.text.startswith("-"):
            places.append(arg)
    places = places or [HERE]
    words = [arg.text for arg in args]
    name = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in {"-name", "-iname"}), "*")
    simple = "-o" not in words and "-or" not in words and words.count("-name") <= 1
    deep = not simple or name == "*"
    found = places if deep else [
        Arg(f"**/{name}" if p.text == "." else f"{p.text.rstrip('/')}/**/{name}", True, p.sure)
        for p in places
    ]  # fmt: skip
    for arg in found if "-delete" in words else ():
        to.touch(arg, How.DELETE, deep=deep)
    begin = 0
    for at, word in enumerate([*words, ";"]):
        if word in {"-exec", "-execdir", "-ok", "-okdir"} and not begin:
            begin = at + 1
        elif word in {";", "+"} and begin:
            _run_on(to, args[begin:at], found, deep=deep)
            begin = 0
    to.gives = found


def _run_on(to: ShellEffects, args: Sequence[Arg], found: list[Arg], *, deep: bool) -> None:
    """Run a command with the found files in place of ``{}``."""
    filled: list[Arg] = []
    for arg in args:
        if arg.text == "{}":
            paths = [f"{a.text.rstrip('/')}/**" if deep else a.text for a in found]
            filled += [Arg(p, True, a.sure) for p, a in zip(paths, found, strict=True)]
        else:
            filled.append(arg)
    if any("{}" in arg.text for arg in filled[1:]):
        to.script(text_of(filled[2 if filled[1].text == "-c" else 0 :]))
    else:
        to.run(filled)


def xargs(to: ShellEffects, given: ParsedOptions) -> None:
    """Run a command on the arguments from standard input."""
    rest = given.operands
    if to.fed is None:
        to.run([*rest, Arg("…", sure=False)] if rest else [])
        return
    replaced = [arg.text for arg in given.of("I")] or ["{}"] * given.has("i replace")
    if replaced:
        to.run([found for arg in rest for found in (to.fed if arg.text in replaced else [arg])])
    else:
        to.run([*rest, *to.fed])
