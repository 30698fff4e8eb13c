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
    names = _found_names([arg.text if arg.sure else "*" for arg in args])
    deep = names is None
    found = places if names is None else [
        Arg(f"**/{name}" if p.text == "." else f"{p.text.rstrip('/')}/**/{name}", True, p.sure)
        for p in places for name in names
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


#: What ``find`` does with a file for which all conditions before it are true.
_ACTIONS = frozenset({
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-print", "-print0", "-printf", "-ls",
})  # fmt: skip
_NOT = frozenset({"!", "-not"})


def _found_names(words: Sequence[str]) -> list[str] | None:
    """Return names of which each found file has one; None if some may have any name."""
    branches = _alternatives(words)
    acting = [branch for branch in branches if _ACTIONS.intersection(branch)] or branches
    names: list[str] = []
    for branch in acting:
        at = next((i for i, word in enumerate(branch) if word in _ACTIONS), len(branch))
        before, after = branch[:at], branch[at:]
        if after == ["-delete"] and _only_folders(before):
            continue  # only empty ones can be deleted
        more = _names_in(before) if before.count("(") == before.count(")") else None
        if more is None:
            return None
        names += more
    return names


def _only_folders(words: Sequence[str]) -> bool:
    at = words.index("-type") if "-type" in words else 0
    plain = "(" not in words and not _NOT.intersection(words)
    return plain and bool(at) and words[at + 1 : at + 2] == ["d"]


def _names_in(words: Sequence[str]) -> list[str] | None:
    """Return names of which a file has one if all these conditions are true; None if it may have any."""
    depth = 0
    start = -1
    for at, word in enumerate(words):
        if word == "(" and not depth:
            start = -1 if at and words[at - 1] in _NOT else at
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth:
            continue
        if word == ")" and start >= 0:
            each = [_names_in(branch) for branch in _alternatives(words[start + 1 : at])]
            if None not in each:
                return [name for names in each for name in names or ()]
        elif word in {"-name", "-iname"} and not (at and words[at - 1] in _NOT):
            name = words[at + 1 : at + 2]
            if name and name != ["*"]:
                return list(name)
    return None


def _alternatives(words: Sequence[str]) -> list[list[str]]:
    """Split an expression at ``-o``, except in groups."""
    found: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if not depth and word in {"-o", "-or", ","}:
            found.append([])
        else:
            found[-1].append(word)
    return found


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
