"""Which files a shell command would write, as far as its text tells.

Pure; never raises. It is best effort: what it cannot tell it names in ``Found.unsure``, and what it does not
see at all is found after the command has run, by what has changed (``services/guard/attribution.py``).
"""

from __future__ import annotations

from dibs.core.shell import commands, formatters, runners, tools
from dibs.core.shell import git as shellgit
from dibs.core.shell.commands import CommandEffects
from dibs.core.shell.steps import ShellStep, StepKind
from dibs.core.shell.syntax import parse
from dibs.core.shell.words import TOP, Arg, Scene, expand, value
from dibs.core.toolcalls.values import How, Touch
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: More files than this are not named by one command.
_MOST = 2000
#: Commands within commands: ``bash -c 'bash -c …'``.
_DEEPEST = 12
#: Text beyond this is not looked at.
LONGEST = 4 * 1024 * 1024
#: What begins so is no file, or none that lasts.
_NOWHERE = (
    *(
        "/dev/null",
        "/dev/std",
        "/dev/fd/",
        "/dev/tty",
        "/dev/zero",
        "/dev/full",
        "/dev/tcp/",
        "/dev/udp/",
    ),
    "/proc/self/fd/",
)
COMMANDS = {
    **commands.ACTS, **runners.ACTS, **tools.ACTS, **formatters.ACTS, **shellgit.ACTS,
}  # fmt: skip
#: Commands that only look, unless the table says what they write, or only start another.
_LOOKS = frozenset({
    "ls", "cat", "head", "tail", "more", "nl", "wc", "diff", "cmp", "grep", "egrep",
    "fgrep", "rg", "ag", "echo", "printf", "cd", "pushd", "popd", "pwd", "true", "false",
    "test", "[", "[[", ":", "which", "type", "whereis", "file", "stat", "du", "df", "date",
    "sleep", "uniq", "cut", "tr", "jq", "ps", "whoami", "id", "uname", "hostname", "tree",
    "basename", "dirname", "realpath", "readlink", "seq", "column", "comm", "fold", "rev",
    "tac", "paste", "expr", "exit", "return", "break", "continue", "set", "shift", "wait",
    "jobs", "kill", "sudo", "nice", "timeout", "command", "builtin", "time", "xargs",
    "export", "local", "declare", "unset", "read",
})  # fmt: skip
_GIT_LOOKS = frozenset({
    "status", "log", "diff", "show", "blame", "branch", "rev-parse", "ls-files", "ls-tree",
    "cat-file", "describe", "shortlog", "reflog", "grep", "rev-list", "merge-base",
    "name-rev", "for-each-ref", "remote", "config", "add", "fetch", "tag",
})  # fmt: skip
#: Options by which git runs another program, though its command only looks.
_GIT_RUNS = ("-O", "--open-files-in-pager", "--upload-pack")
_OUT = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})


class WriteTarget(Record):
    """A place that a command writes to; ``path`` is relative to where the agent stands, or absolute.

    One that begins with ``:/`` is relative to the top of the working tree.
    """

    path: str
    how: str = How.WRITE
    #: Whether all beneath it is meant as well.
    deep: bool = False
    #: Whether it is a pattern.
    glob: bool = False
    #: If the path is a folder, then the file of this name in it is what is written.
    into: str = ""


class TreeCommand(Record):
    """A git command that may change any file of the working tree."""

    #: checkout, switch, reset, stash, unstash, clean, merge, pick, commit
    verb: str
    #: What it goes to, takes or applies; empty for the last commit.
    revision: str = ""
    #: Where it runs: relative to where the agent stands, or absolute.
    place: str = ""
    #: Of a commit, what is added to it: as the paths of targets are, or patterns as git knows them.
    paths: tuple[str, ...] = ()


class ShellWrites(Record):
    """What a command would write."""

    targets: tuple[WriteTarget, ...] = ()
    #: What of it could not be told, in its own words.
    unsure: tuple[str, ...] = ()
    whole: tuple[TreeCommand, ...] = ()
    #: Whether all of it is known to write nothing.
    quiet: bool = False

    @property
    def touches(self) -> tuple[Touch, ...]:
        """The same without a look at the disk: a pattern stands for its folder, git for the whole tree."""
        found = [_touch(target) for target in self.targets]
        found += [Touch(TOP, How.WRITE, True) for _ in self.whole[:1]]
        return tuple(dict.fromkeys(found))


def writes(
    command: str, cwd: str = "", home: str = "", *, powershell: bool = False, reads: bool = False
) -> ShellWrites:
    """Return what ``command`` would write, run by a shell in ``cwd``; with ``reads`` also what it reads."""
    walk = _Walk(cwd, home, reads=reads)
    text = command[:LONGEST]
    if len(command) > LONGEST:
        walk.doubt("the rest of a very long command")
    if powershell:
        walk.powershell(text)
    else:
        walk.script(text)
        if "-" in text and _speaks_powershell(text):
            walk.powershell(text)
    quiet = walk.only_looks and not (walk.targets or walk.unsure or walk.whole or powershell)
    return ShellWrites(tuple(walk.targets), tuple(walk.unsure), tuple(walk.whole), quiet)


class _Walk(CommandEffects):
    """Goes through the steps of a command and notes what they write."""

    def __init__(self, cwd: str, home: str, *, reads: bool) -> None:
        self.targets: dict[WriteTarget, None] = {}
        self.unsure: dict[str, None] = {}
        self.whole: dict[TreeCommand, None] = {}
        self.only_looks = True
        self.reads = reads
        self.stdin: str | None = None
        self.fed: list[Arg] | None = None
        self.gives: list[Arg] | None = None
        #: Where the command stands now: relative to ``cwd``, absolute, or None where that is unknown.
        self.place: str | None = ""
        self._cwd = cwd
        self._home = home
        self._variables: dict[str, tuple[str, ...]] = {}
        self._level = 0
        self._staged: list[str] = []
        #: How many arguments are still read.
        self._left = 50 * _MOST

    @property
    def _scene(self) -> Scene:
        place = "" if self.place is None else joined(self._cwd, self.place)
        return Scene(self._variables, self._home, place)

    def script(self, text: str) -> None:
        """Go through the text of a script."""
        if self._level >= _DEEPEST:
            self.doubt(text)
            return
        self._level += 1
        kept = (self.stdin, self.fed, self.gives)
        steps, whole = parse(text)
        if not whole:
            self.doubt("a command that ends in the middle")
        self._steps(steps)
        self.stdin, self.fed, self.gives = kept
        self._level -= 1

    def _steps(self, steps: Iterable[ShellStep]) -> None:
        outer: list[tuple[dict[str, tuple[str, ...]], str | None, list[Arg] | None]] = []
        for step in steps:
            if step.kind == StepKind.OPEN:
                outer.append((dict(self._variables), self.place, self.gives))
            elif step.kind == StepKind.CLOSE:
                if outer:
                    self._variables, self.place, self.gives = outer.pop()
            elif step.kind == StepKind.LOOP:
                self._loop(step)
            else:
                self._step(step)

    def _loop(self, step: ShellStep) -> None:
        """Let a variable have all values of its loop, or of its array."""
        scene = self._scene
        found = tuple(text for word in step.words[1:] for text in value(word, scene))
        if found:
            self._variables[step.words[0]] = found[:_MOST]
        for sign, word in step.redirects:
            self._redirected(sign, word)

    def _step(self, step: ShellStep) -> None:
        for sign, word in step.redirects:
            self._redirected(sign, word)
        words = self._assigned(step.words)
        if not words:
            return
        scene = self._scene
        if self._left <= 0:
            self.doubt("more commands than can be told")
            return
        args = [arg for word in words for arg in expand(word, scene)]
        self._left -= len(args)
        self.stdin = step.stdin
        self.fed = self.gives if step.piped else None
        self.gives = None
        self.run(args)

    def _assigned(self, words: list[str]) -> list[str]:
        """Set the variables that a command begins with; return the rest of it."""
        place = 0
        if words and words[0] in {"export", "local", "declare", "readonly", "typeset"}:
            place = 1
        while place < len(words):
            name, sign, word = words[place].partition("=")
            if not sign or not name.isidentifier():
                break
            self._variables[name] = value(word, self._scene)
            if name.isupper():  # PAGER, GIT_EXTERNAL_DIFF, PATH: another program may run by it
                self.only_looks = False
            place += 1
        return words[place:]

    def _redirected(self, sign: str, word: str) -> None:
        how = How.WRITE if sign in _OUT else How.READ
        if sign not in _OUT and (sign != "<" or not self.reads):
            return
        for arg in expand(word, self._scene):
            if sign == ">&" and (arg.text.isdigit() or arg.text == "-"):
                continue
            self.touch(arg, how)

    def run(self, args: Sequence[Arg]) -> None:
        """Note what a command writes that gets these arguments, its name the first of them."""
        if not args:
            return
        if not args[0].sure:
            self.doubt(" ".join(arg.text for arg in args))
            return
        name = args[0].text.rpartition("/")[2]
        if name not in _LOOKS and not (name == "git" and _only_looks(args)):
            self.only_looks = False
        act = COMMANDS.get(name) or COMMANDS.get(name.rstrip("0123456789."))
        if act is None:
            return
        if self._level >= _DEEPEST:
            self.doubt(name)
            return
        self._level += 1
        act(self, list(args))
        self._level -= 1

    def touch(self, arg: Arg, how: str = How.WRITE, *, deep: bool = False, into: str = "") -> None:
        """Note that a place is written to."""
        path = arg.text
        if not arg.sure:
            self.doubt(path)
            return
        if (
            not path
            or path == "-"
            or path.startswith(_NOWHERE)
            or (how == How.READ and not self.reads)
        ):
            return
        if self.place is None and not path.startswith(("/", TOP)):
            self.doubt(path)
            return
        if len(self.targets) >= _MOST:
            self.doubt("more files than can be told")
            return
        self.targets[WriteTarget(joined(self.place or "", path), how, deep, arg.glob, into)] = None

    def tree(self, verb: str, revision: str = "") -> None:
        """Note that git may change any file."""
        if self.place is None:
            self.doubt(f"git {verb} {revision}")
        else:
            paths = tuple(self._staged) if verb == "commit" else ()
            self.whole[TreeCommand(verb, revision, self.place, paths)] = None

    def stage(self, args: Sequence[Arg]) -> None:
        """Note what git adds to the next commit."""
        for arg in args:
            if not arg.sure or self.place is None:
                self.doubt(f"git add {arg.text}")
            elif len(self._staged) < _MOST:
                self._staged.append(joined(self.place, arg.text))

    def go(self, arg: Arg) -> None:
        """Stand somewhere else from now on."""
        if not arg.sure or arg.glob or arg.text == "-":
            self.place = None
        elif self.place is not None or arg.text.startswith(("/", TOP)):
            self.place = joined(self.place or "", arg.text)

    def doubt(self, text: str) -> None:
        """Note what cannot be told."""
        if len(self.unsure) < 20:  # noqa: PLR2004 - more says no more
            self.unsure[text[:200]] = None

    def code(self, text: str) -> None:
        """Look for what a program writes, in the language that its interpreter was given."""
        from dibs.core.shell.inline_code import look

        look(self, text)

    def patch(self, text: str) -> None:
        """Note the files that a patch changes."""
        from dibs.core.shell.inline_code import patched

        patched(self, text)

    def powershell(self, text: str) -> None:
        """Go through a command of PowerShell."""
        from dibs.core.shell.powershell import look

        look(self, text)


def joined(place: str, path: str) -> str:
    """Return a path as seen from where ``place`` is relative to; ``./`` in front is dropped."""
    while path.startswith("./") and len(path) > 2:  # noqa: PLR2004 - more than the two signs
        path = path[2:].lstrip("/")
    if path.startswith(TOP):
        return TOP + path[len(TOP) :].lstrip("/")
    if not place or path.startswith("/"):
        return path
    if path in {"", "."}:
        return place
    return place + path if place == TOP else f"{place.rstrip('/')}/{path}"


def _only_looks(args: Sequence[Arg]) -> bool:
    runs = any(arg.text.startswith(_GIT_RUNS) for arg in args)
    return len(args) > 1 and args[1].text in _GIT_LOOKS and not runs


def _touch(target: WriteTarget) -> Touch:
    path, deep = target.path, target.deep
    if target.glob:
        whole = path.split("/")
        fixed = next((i for i, name in enumerate(whole) if any(c in name for c in "*?[")), 0)
        path, deep = "/".join(whole[:fixed]) or ("/" if path.startswith("/") else "."), True
    return Touch(path, target.how, deep)


def _speaks_powershell(text: str) -> bool:
    from dibs.core.shell.powershell import CMDLETS

    folded = text.casefold()
    return any(name in folded for name in CMDLETS if "-" in name)
