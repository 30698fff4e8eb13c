"""Commands that run others: prefixes, shells, interpreters, ``find`` and ``xargs``. Pure."""

from __future__ import annotations

from dibs.core.shell.commands import HERE, options
from dibs.core.shell.words import Arg
from dibs.core.toolcalls.values import How

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.shell.commands import Act, CommandEffects

#: Actions of ``find`` that take an argument; of all others the tests do not matter here.
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def prefix(valued: str = "", *, skip: int = 0) -> Act:
    """Return an act that runs what stands behind its own options and ``skip`` operands."""
    letters, *names = valued.split(" ")

    def act(to: CommandEffects, args: list[Arg]) -> None:
        place, left = 1, skip
        while place < len(args):
            text = args[place].text
            if text == "--":
                place += 1
                break
            if text.startswith("-") and len(text) > 1:
                bare = text.lstrip("-")
                alone = text[1:2] != "-" and len(text) == 2 and text[1] in letters  # noqa: PLR2004
                place += 2 if alone or bare in names else 1
            elif left:
                left, place = left - 1, place + 1
            else:
                break
        to.run(args[place + left :])

    return act


def timed(to: CommandEffects, args: list[Arg]) -> None:
    """Run a command; the program of this name, not the word of the shell, may write how long it took."""
    place = 1
    while place < len(args) - 1 and args[place].text.startswith("-"):
        if args[place].text in {"-o", "--output"}:
            to.touch(args[place + 1])
        place += 2 if args[place].text in {"-o", "--output", "-f", "--format"} else 1
    prefix("fo format output")(to, args)


def environment(to: CommandEffects, args: list[Arg]) -> None:
    """Run what stands behind settings of variables; ``-S`` gives it as one text."""
    rest = list(args[1:])
    while rest:
        text = rest[0].text
        if text in {"-u", "--unset"}:
            del rest[:2]
        elif text in {"-C", "--chdir"} and len(rest) > 1:
            to.go(rest[1])
            del rest[:2]
        elif text in {"-S", "--split-string"}:
            to.script(" ".join(arg.text for arg in rest[1:]))
            return
        elif text.startswith("-") or "=" in text:
            del rest[0]
        else:
            break
    to.run(rest)


def evaluate(to: CommandEffects, args: list[Arg]) -> None:
    """Run the arguments as one text."""
    if all(arg.sure for arg in args):
        to.script(" ".join(arg.text for arg in args[1:]))
    else:
        to.doubt(" ".join(arg.text for arg in args))


def shell(to: CommandEffects, args: list[Arg]) -> None:
    """Run the text behind ``-c``, or what comes by standard input."""
    for place, arg in enumerate(args[1:], 1):
        if arg.text.startswith("-") and not arg.text.startswith("--") and arg.text.endswith("c"):
            text = args[place + 1] if place + 1 < len(args) else HERE
            if text.sure:
                to.script(text.text)
            else:
                to.doubt(text.text)
            return
        if not arg.text.startswith(("-", "+")):
            return  # a file of commands: what it does is found afterwards
    _by_input(to, args, to.script)


def _by_input(to: CommandEffects, args: list[Arg], act: object) -> None:
    if to.stdin is not None:
        act(to.stdin)  # type: ignore[operator]
    elif to.fed is not None:
        act(" ".join(arg.text for arg in to.fed))  # type: ignore[operator]
    elif len(args) > 1 or to.fed:
        to.doubt(" ".join(arg.text for arg in args))


def powershell(to: CommandEffects, args: list[Arg]) -> None:
    """Run the text behind ``-Command``."""
    for place, arg in enumerate(args[1:], 1):
        if arg.text.casefold() in {"-command", "-c"}:
            to.powershell(" ".join(found.text for found in args[place + 1 :]))
            return


def interpreter(*flags: str, module: bool = False) -> Act:
    """Return an act that looks into the program behind one of ``flags``, or in standard input."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        for place, arg in enumerate(args[1:], 1):
            text = arg.text
            if text in flags:
                if place + 1 < len(args):
                    to.code(args[place + 1].text)
                return
            if module and text == "-m":
                to.run(args[place + 1 :])
                return
            if not text.startswith("-") or text == "-":
                if text != "-":
                    return
                break
        if to.stdin is not None:
            to.code(to.stdin)
        elif to.fed is not None:
            to.code(" ".join(arg.text for arg in to.fed))

    return act


def inline(to: CommandEffects, args: list[Arg]) -> None:
    """Perl and Ruby: with ``-i`` the operands are written, else the program behind ``-e`` is looked into."""
    writes = code = False
    operands: list[Arg] = []
    rest = iter(args[1:])
    for arg in rest:
        text = arg.text
        if text.startswith("-") and len(text) > 1 and not operands:
            cluster = text[1:].split(".", 1)[0]
            writes = writes or "i" in cluster
            if cluster.endswith(("e", "E")) and not text.startswith("--"):
                code = True
                to.code(next(rest, HERE).text)
        else:
            operands.append(arg)
    if writes:
        for arg in operands if code else operands[1:]:
            to.touch(arg)
    elif not code and not operands and to.stdin is not None:
        to.code(to.stdin)


def find(to: CommandEffects, args: list[Arg]) -> None:
    """Delete, or run commands on, what lies beneath the folders and has the name that is asked for."""
    places = []
    for arg in args[1:]:
        if arg.text.startswith(("-", "(", "!")) and arg.text not in {"-H", "-L", "-P"}:
            break
        if not arg.text.startswith("-"):
            places.append(arg)
    words = [arg.text for arg in args]
    name = next((words[i + 1] for i, w in enumerate(words[:-1]) if w in {"-name", "-iname"}), "*")
    simple = "-o" not in words and "-or" not in words and words.count("-name") <= 1
    found = [
        Arg(f"{p.text.rstrip('/')}/**/{name}" if p.text != "." else f"**/{name}", True, p.sure)
        for p in places or [HERE]
    ] if simple and name != "*" else []  # fmt: skip
    for place in places or [HERE]:
        if "-delete" in words and not found:
            to.touch(place, How.DELETE, deep=True)
    for arg in found if "-delete" in words else ():
        to.touch(arg, How.DELETE)
    to.gives = found or [Arg(p.text, p.glob, p.sure) for p in places or [HERE]]
    at, given = 0, to.gives
    while at < len(words):
        begin = at + 1
        if words[at] in _FIND_RUNS:
            while at < len(words) and words[at] not in {";", "+"}:
                at += 1
            _run_on(to, args[begin:at], given, deep=not found)
        at += 1
    to.gives = given


def _run_on(to: CommandEffects, args: list[Arg], found: list[Arg], *, deep: bool) -> None:
    """Run a command with what was found in the place of ``{}``."""
    filled: list[Arg] = []
    for arg in args:
        if arg.text == "{}":
            filled += [
                Arg(a.text if not deep else f"{a.text.rstrip('/')}/**", True, a.sure) for a in found
            ]
        else:
            filled.append(arg)
    if any("{}" in arg.text for arg in filled[1:]):
        to.script(" ".join(arg.text for arg in filled[2 if filled[1].text == "-c" else 0 :]))
        return
    to.run(filled)


def xargs(to: CommandEffects, args: list[Arg]) -> None:
    """Run a command on what comes by standard input."""
    place = 1
    replaced = ""
    while place < len(args) and args[place].text.startswith("-"):
        text = args[place].text
        if text in {"-I", "-i", "--replace"}:
            replaced = args[place + 1].text if text == "-I" and place + 1 < len(args) else "{}"
        elif text.startswith("-I"):
            replaced = text[2:]
        place += 2 if text in {"-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E"} else 1
    rest = args[place:]
    if to.fed is None:
        if rest:
            to.run([*rest, Arg("…", sure=False)])
        return
    if replaced:
        filled = [found for arg in rest for found in (to.fed if arg.text == replaced else [arg])]
        to.run(filled)
    else:
        to.run([*rest, *to.fed])


def watch(to: CommandEffects, args: list[Arg]) -> None:
    """Run the operands as one text."""
    to.script(" ".join(arg.text for arg in options(args, "n").operands))


def package_runner(*words: str) -> Act:
    """Return an act that runs what stands behind ``words``: ``uv run``, ``npm exec --``."""

    def act(to: CommandEffects, args: list[Arg]) -> None:
        if len(args) > 1 and args[1].text in words:
            prefix("p with package")(to, args[1:])

    return act


ACTS: dict[str, Act] = {
    "sudo": prefix("ugpCDhrtU user group chdir host"), "doas": prefix("uC"), "env": environment,
    "nice": prefix("n adjustment"), "ionice": prefix("cnp class classdata"), "nohup": prefix(),
    "timeout": prefix("ks kill-after signal", skip=1), "gtimeout": prefix("ks", skip=1),
    "command": prefix(), "builtin": prefix(), "exec": prefix("a"), "time": timed,
    "setsid": prefix(), "stdbuf": prefix("ioe"), "unbuffer": prefix(), "chronic": prefix(),
    "flock": prefix("wE", skip=1), "busybox": prefix(), "npx": prefix("pc package"),
    "bunx": prefix(), "pnpx": prefix(), "uvx": prefix("p from with python"), "strace": prefix("eopu"),
    "eval": evaluate, "bash": shell, "sh": shell, "zsh": shell, "dash": shell, "ksh": shell,
    "fish": shell, "su": shell, "watch": watch, "pwsh": powershell, "powershell": powershell,
    "python": interpreter("-c", module=True), "pypy": interpreter("-c", module=True),
    "python3": interpreter("-c", module=True), "node": interpreter("-e", "--eval", "-p", "--print"),
    "bun": interpreter("-e"), "php": interpreter("-r"),
    "perl": inline, "ruby": inline, "find": find, "xargs": xargs,
    "pdm": package_runner("run"), "hatch": package_runner("run"), "rye": package_runner("run"),
}  # fmt: skip
