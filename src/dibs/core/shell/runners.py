"""Commands that run others: shells, interpreters, ``env``, ``find``, and ``xargs``. Pure."""

from __future__ import annotations

from dibs.core.shell.git_config import HOMES, assigned
from dibs.core.shell.options import HERE, text_of
from dibs.core.shell.outputs import arguments, input_text, lines, standard_input
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.shell.effects import ShellEffects
    from dibs.core.shell.options import ParsedOptions


#: Shells that take the text of a script after ``-c``.
SHELLS = frozenset(
    ["bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "rbash", "mksh", "csh", "tcsh"]
)


def run_operands(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the operands after variable assignments; as one text if an option says so."""
    rest = given.operands[given.rule.skip :]
    if given.has(given.rule.script):
        run_text(to, rest)
        return
    if rest and rest[0].text in {"-c", "--command"}:  # flock FILE -c TEXT
        run_text(to, rest[1:2])
        return
    outer = dict(to.variables)
    while rest and (rest[0].text == "-" or "=" in rest[0].text):
        name, _, value = rest[0].text.partition("=")
        assigned(to, name, [value] if rest[0].sure else [])
        if name in HOMES:
            to.variables[name] = (value,)
        del rest[0]
        to.is_read_only = False  # PAGER, PATH: may start another program
    to.run(rest)
    to.variables = outer


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
    operands = [arg for arg in given.operands if arg.text[:1] != "+"]
    if any(arg.text[:1] == "+" for arg in given.operands[:1]):
        rest = given.operands[1:]
        at = next((place for place, arg in enumerate(rest) if arg.text[:1] not in "-+"), len(rest))
        if any("c" in arg.text for arg in rest[:at]):
            given = given._replace(flags={**given.flags, "c": []})
            operands = rest[at:]
    if given.has("c command"):
        outer = dict(to.variables)
        text = given.of("c command")[:1] or operands[:1]
        rest = operands if given.of("c command") else operands[1:]
        arguments(to, rest[1:])
        for arg in rest[:1]:
            to.variables["0"] = (arg.text,) if arg.sure else ()
        run_text(to, text)
        to.variables = outer
        return
    operands = [arg for arg in operands if arg.text != "-"]
    if given.has("s"):
        arguments(to, operands)
    if (not operands or given.has("s")) and not run_input(to, to.script) and len(given.args) > 1:
        to.unsure = True


def trap(to: ShellEffects, given: ParsedOptions) -> None:
    """Run the first operand at a signal, or at the end."""
    if len(given.operands) > 1 and given.operands[0].sure:
        to.script(given.operands[0].text)


def run_input(to: ShellEffects, act: Callable[[str], None]) -> bool:
    """Run standard input as far as it is known; return whether it is."""
    text = input_text(to)
    if text is not None:
        act(text)
    return text is not None


def code(to: ShellEffects, text: str, given: ParsedOptions) -> None:
    """Find what a program writes, in its interpreter's language."""
    to.mention(text)
    if len(text) > to.code_left:
        to.unsure = True
        text = text[: to.code_left]
    to.code_left -= len(text)
    language = given.args[0].text.rpartition("/")[2].rstrip("0123456789.")
    if language in {"python", "pypy"}:
        from dibs.core.shell import python_code

        kept = to.place
        to.code_args = given.operands[given.operands[:1] == [Arg("-")] :]
        python_code.look(to, text)
        to.place = kept
    else:
        from dibs.core.shell import inline_code

        inline_code.look(to, text, shell_quotes=language in {"perl", "ruby", "php"})


def evaluate_code(to: ShellEffects, given: ParsedOptions) -> None:
    """Run a program that is an operand."""
    for arg in given.operands[:1]:
        code(to, arg.text, given)


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
    _print_found(to, words, found, deep=deep)


def _print_found(
    to: ShellEffects, words: Sequence[str], found: Sequence[Arg], *, deep: bool
) -> None:
    """Pass the output of ``find`` to the next command, and to files."""
    for at, word in enumerate(words[:-1]):
        if word in {"-fprint", "-fprint0", "-fls", "-fprintf"}:
            to.touch(Arg(words[at + 1]))
    if _RARE.isdisjoint(words) and not _only_folders(words):
        to.gives = [
            arg._replace(text=f"{arg.text.rstrip('/')}/**".removeprefix("./"), glob=True)
            if deep
            else arg
            for arg in found
        ]


#: What ``find`` does with a file for which all conditions before it are true.
_ACTIONS = frozenset({
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-print", "-print0", "-printf", "-ls",
})  # fmt: skip
_NOT = frozenset({"!", "-not"})
#: The most file patterns for which a command is read again.
_MOST_FOUND = 20
#: Conditions that few files satisfy, so the output is not known.
_RARE = frozenset({
    "-newer", "-mtime", "-mmin", "-ctime", "-atime", "-size", "-empty", "-perm", "-user", "-regex", "-links",
})  # fmt: skip


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
        elif word in {"-path", "-wholename"} and not (at and words[at - 1] in _NOT):
            path = "".join(words[at + 1 : at + 2]).removeprefix("./").removeprefix("*/")
            if path.strip("*/"):
                return [f"{path}*" if path.endswith("/*") else path]
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
    if not any("{}" in arg.text for arg in filled[1:]):
        to.run(filled)
        return
    for one in found[:_MOST_FOUND]:
        path = f"{one.text.rstrip('/')}/**".removeprefix("./") if deep else one.text
        to.run([_with(arg, "{}", Arg(path, "*" in path, one.sure)) for arg in filled])


def xargs(to: ShellEffects, given: ParsedOptions) -> None:
    """Run a command on the arguments from standard input, or from a file."""
    rest = given.operands
    files = given.of("a arg-file")
    fed = lines(to.text_at(files[0])) if files else standard_input(to)
    if fed is None:
        to.run([*rest, Arg("…", sure=False)] if rest else [])
        return
    replaced = [arg.text for arg in given.of("I")] or ["{}"] * given.has("i replace")
    to.stdin = to.source = to.fed = None
    if not replaced:
        to.run([*rest, *fed])
        return
    mark = replaced[0]
    for one in fed if any(mark in arg.text for arg in rest) else fed[:1]:
        to.run([_with(arg, mark, one) for arg in rest])


def parallel(to: ShellEffects, given: ParsedOptions) -> None:
    """Run a command on the arguments after ``:::``, or from standard input."""
    texts = [arg.text for arg in given.operands]
    if ":::" not in texts:
        xargs(to, given)
        return
    at = texts.index(":::")
    command, fed = given.operands[:at], given.operands[at + 1 :]
    if len(command) == 1 and " " in command[0].text:  # a text for the shell
        command = [Arg("sh"), Arg("-c"), *command]
    if not any("{}" in arg.text for arg in command):
        to.run([*command, *fed])
        return
    for one in fed[:_MOST_FOUND]:
        to.run([_with(arg, "{}", one) for arg in command])


def _with(arg: Arg, mark: str, instead: Arg) -> Arg:
    """Return an argument with a mark replaced."""
    if mark not in arg.text:
        return arg
    sure = arg.sure and instead.sure
    return Arg(arg.text.replace(mark, instead.text), arg.glob or instead.glob, sure)
