"""Find the files that a shell command would write, as far as its text shows.

Pure; never raises. Best effort: ``ShellWrites.unsure`` says whether some are unknown. Writes that are not
recognized are detected after the command has run (``services/guard/uncommitted/attribution.py``).
"""

from __future__ import annotations

from dibs.core.shell.effects import MOST, ShellEffects, TreeCommand, WriteTarget, joined
from dibs.core.shell.rules import apply_rule, find_rule
from dibs.core.shell.syntax import ShellStep, StepKind, parse
from dibs.core.shell.words import Arg, Scene, expand, value
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.shell.git_moves import BranchMove

__all__ = ["LONGEST", "ShellWrites", "TreeCommand", "WriteTarget", "writes"]

#: The deepest nesting of commands: ``bash -c 'bash -c …'``.
_DEEPEST = 12
#: The most text that is parsed.
LONGEST = 4 * 1024 * 1024
#: Commands that only read (apart from writes in the rules table) or only start another command.
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
#: Options with which even a read-only git command runs another program.
_GIT_RUNS = ("-O", "--open-files-in-pager", "--upload-pack")
#: A sed script of these characters only prints lines.
_PRINTS = frozenset("0123456789,$;p ")
_OUT = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})


class ShellWrites(Record):
    """What a command would write."""

    targets: tuple[WriteTarget, ...] = ()
    #: Whether it may write something unknown.
    unsure: bool = False
    whole: tuple[TreeCommand, ...] = ()
    #: Whether it certainly writes nothing.
    quiet: bool = False
    #: How git moves HEAD and branches.
    moves: tuple[BranchMove, ...] = ()
    #: The files whose content it shows; at most a few.
    shown: tuple[WriteTarget, ...] = ()


def writes(
    command: str, cwd: str = "", home: str = "", *, powershell: bool = False, reads: bool = False
) -> ShellWrites:
    """Return what ``command`` would write, run by a shell in ``cwd``; with ``reads`` also what it reads."""
    walk = _Walk(cwd, home, reads=reads)
    text = command[:LONGEST]
    if len(command) > LONGEST:
        walk.unsure = True
    if not powershell:
        walk.script(text)
    if powershell or "-" in text:
        from dibs.core.shell.powershell import look, names_cmdlet

        if powershell or names_cmdlet(text):
            look(walk, text)
    effects = walk.targets or walk.unsure or walk.whole or walk.moves
    quiet = walk.only_looks and not (effects or powershell)
    return ShellWrites(
        tuple(walk.targets),
        walk.unsure,
        tuple(walk.whole),
        quiet,
        tuple(walk.moves),
        tuple(walk.shown),
    )


class _Walk(ShellEffects):
    """Processes a command's steps and collects what they write."""

    def __init__(self, cwd: str, home: str, *, reads: bool) -> None:
        super().__init__(reads=reads)
        self._cwd = cwd
        self._home = home
        self._variables: dict[str, tuple[str, ...]] = {}
        self._level = 0
        #: How many more arguments are processed.
        self._left = 50 * MOST

    @property
    def _scene(self) -> Scene:
        place = "" if self.place is None else joined(self._cwd, self.place)
        return Scene(self._variables, self._home, place)

    def script(self, text: str) -> None:
        """Collect what the text of a shell script writes."""
        if self._level >= _DEEPEST:
            self.unsure = True
            return
        self._level += 1
        kept = (self.stdin, self.fed, self.gives)
        steps, whole = parse(text)
        if not whole:
            self.unsure = True
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
        """Assign a variable all values of its loop or array."""
        scene = self._scene
        found = tuple(text for word in step.words[1:] for text in value(word, scene))
        if found:
            self._variables[step.words[0]] = found[:MOST]
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
            self.unsure = True
            return
        args = [arg for word in words for arg in expand(word, scene)]
        self._left -= len(args)
        self.stdin = step.stdin
        self.fed = self.gives if step.piped else None
        self.gives = None
        self.run(args)

    def _assigned(self, words: list[str]) -> list[str]:
        """Set the variables at the start of a command; return the rest."""
        place = 0
        if words and words[0] in {"export", "local", "declare", "readonly", "typeset"}:
            place = 1
        while place < len(words):
            name, sign, word = words[place].partition("=")
            if not sign or not name.isidentifier():
                break
            self._variables[name] = value(word, self._scene)
            if name.isupper():  # PAGER, GIT_EXTERNAL_DIFF, PATH: may start another program
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
        """Collect what a command writes; its name is the first argument."""
        if not args:
            return
        if not args[0].sure:
            self.unsure = True
            return
        name = args[0].text.rpartition("/")[2]
        if name not in _LOOKS and not _only_looks(name, args):
            self.only_looks = False
        rule = find_rule(name)
        if rule is None:
            return
        if self._level >= _DEEPEST:
            self.unsure = True
            return
        self._level += 1
        apply_rule(self, rule, args)
        self._level -= 1


def _only_looks(name: str, args: Sequence[Arg]) -> bool:
    """Return whether the arguments of ``git``, ``sed``, or ``sort`` make it only read."""
    texts = [arg.text for arg in args]
    if name == "git":
        runs = any(text.startswith(_GIT_RUNS) for text in texts)
        return len(args) > 1 and texts[1] in _GIT_LOOKS and not runs
    if name == "sort":  # -o names an output file, --compress-program runs another program
        return not any(text.startswith("-") and "o" in text for text in texts)
    if name != "sed" or texts[1:2] != ["-n"] or any(text.startswith("-") for text in texts[3:]):
        return False
    return _PRINTS.issuperset("".join(texts[2:3]))
