"""Find the files that a shell command would write, as far as its text shows.

Pure; never raises. Best effort: ``ShellWrites.unsure`` says whether some are unknown. Writes that are not
recognized are detected after the command has run (``services/guard/uncommitted/attribution.py``).
"""

from __future__ import annotations

from itertools import islice, product

from dibs.core.shell import git_config
from dibs.core.shell.effects import (
    MOST,
    NO_DISK,
    FileSource,
    ShellEffects,
    TreeCommand,
    WriteTarget,
    joined,
)
from dibs.core.shell.outputs import arguments
from dibs.core.shell.read_only import SHOWS, hides_program, is_read_only, may_start
from dibs.core.shell.rules import apply_rule, find_rule
from dibs.core.shell.syntax import ShellStep, StepKind, parse
from dibs.core.shell.words import (
    DECLARES,
    END,
    QUOTED,
    VAR,
    Arg,
    Scene,
    expand,
    split_values,
    value,
)
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dibs.core.shell.git_moves import BranchMove

__all__ = ["LONGEST", "ShellWrites", "TreeCommand", "WriteTarget", "writes"]

#: The deepest nesting of commands: ``bash -c 'bash -c …'``, and of substitutions with a known output.
_DEEPEST, _DEEPEST_OUTPUT = 12, 6
#: The most text that is parsed.
LONGEST = 1024 * 1024
#: The number of steps after ``while read`` in which to look for its end.
_FAR = 60
#: A step of a called function counts as so many arguments.
_CALL = 20
#: For how many values of variables a command is read again.
_MOST_RUNS = 200
#: Commands whose last argument is the target.
_ORDERED = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})
_OUT = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_IN = frozenset({"<", "<("})


class ShellWrites(Record):
    """What a command would write."""

    targets: tuple[WriteTarget, ...] = ()
    #: Whether it may write something unknown.
    unsure: bool = False
    whole: tuple[TreeCommand, ...] = ()
    #: Whether it certainly writes nothing, unless git is configured to run programs.
    quiet: bool = False
    #: How git moves HEAD and branches.
    moves: tuple[BranchMove, ...] = ()
    #: The files whose content it shows; at most a few.
    shown: tuple[WriteTarget, ...] = ()
    #: The folders in which it runs git; None for an unknown one.
    git_places: tuple[str | None, ...] = ()
    #: Words that may be paths: arguments, folders, and texts in programs; at most a few.
    words: tuple[str, ...] = ()


def writes(
    command: str,
    cwd: str = "",
    home: str = "",
    *,
    reads: bool = False,
    disk: FileSource = NO_DISK,
) -> ShellWrites:
    """Return what ``command`` would write, run by a shell in ``cwd``; with ``reads`` also what it reads.

    ``disk`` knows the files that commands take names from, such as patches and lists.
    """
    key = (command, cwd, home, reads)
    known, asked = _last.get(key, (None, True))
    if known is not None and (disk is NO_DISK or not asked):
        return known
    walk = _Walk(cwd, home, reads=reads, disk=disk)
    text = command[:LONGEST]
    if len(command) > LONGEST:
        walk.unsure = True
    walk.script(text)
    effects = walk.targets or walk.unsure or walk.whole or walk.moves
    quiet = walk.is_read_only and not (effects or hides_program(text))
    found = ShellWrites(
        tuple(walk.targets),
        walk.unsure,
        tuple(walk.whole),
        quiet,
        tuple(walk.moves),
        tuple(walk.shown),
        tuple(walk.git_places),
        tuple(walk.words),
    )
    if disk is NO_DISK or not walk.asked:
        _last.clear()
        _last[key] = found, walk.asked
    return found


#: The last result, and whether it would be another one with files: a hook asks several times.
_last: dict[tuple[str, str, str, bool], tuple[ShellWrites, bool]] = {}


class _Walk(ShellEffects):
    """Processes a command's steps and collects what they write."""

    def __init__(self, cwd: str, home: str, *, reads: bool, disk: FileSource) -> None:
        super().__init__(reads=reads, disk=disk)
        self._cwd = cwd
        self.home = home
        self._level = 0
        self.git_places: dict[str | None, None] = {}
        #: The steps of each function of the script.
        self._functions: dict[str, Sequence[ShellStep]] = {}
        #: Whether the output of the script is wanted.
        self._captured = False
        #: The output of the last script, where known.
        self.printed: list[Arg] | None = None
        #: How many more arguments are processed.
        self._left = 50 * MOST

    @property
    def _scene(self) -> Scene:
        place = "" if self.place is None else joined(self._cwd, self.place)
        return Scene(self.variables, self.home, place, self._output)

    def _output(self, text: str) -> str | None:
        """Return what a command in a substitution prints, where known: names of files."""
        if self.disk is NO_DISK or self._level >= _DEEPEST_OUTPUT:
            return None
        inner = _Walk(self._cwd, self.home, reads=False, disk=self.disk)
        inner.variables, inner.place = dict(self.variables), self.place
        inner._functions = self._functions
        inner._level = self._level + 2
        inner._left = self._left // 4
        inner._captured = True
        inner.code_left = self.code_left
        inner.script(text)
        self.code_left = inner.code_left
        self._left = min(self._left, inner._left + self._left // 2)
        given = inner.printed
        if given is None or not all(arg.sure for arg in given):
            return None
        return " ".join(arg.text for arg in given)

    def script(self, text: str) -> None:
        """Collect what the text of a shell script writes."""
        if self._level >= _DEEPEST:
            self.unsure = True
            return
        self._level += 1
        kept = (self.stdin, self.fed, self.gives, self.source)
        steps, whole = parse(text)
        if not whole:
            self.unsure = True
        self._steps(steps)
        self.printed = self.gives
        self.stdin, self.fed, self.gives, self.source = kept
        self._level -= 1

    def _steps(self, steps: Sequence[ShellStep]) -> None:
        outer: list[tuple[dict[str, tuple[str, ...]], str | None, list[Arg] | None]] = []
        for number, step in enumerate(steps):
            if step.kind == StepKind.OPEN:
                outer.append((dict(self.variables), self.place, self.gives))
            elif step.kind == StepKind.CLOSE:
                if outer:
                    self.variables, self.place, self.gives = outer.pop()
            elif step.kind == StepKind.LOOP:
                self._loop(step)
            elif step.kind == StepKind.FUNCTION:
                self._functions[step.words[0]] = step.body
            else:
                if "read" in step.words[:2]:
                    _redirect_loop(step, steps[number + 1 : number + _FAR])
                following = steps[number + 1 : number + 2]
                self.feeds = self._captured or any(other.piped for other in following)
                self._step(step)

    def _loop(self, step: ShellStep) -> None:
        """Assign a variable all values of its loop or array."""
        scene = self._scene
        found = [text for word in step.words[1:] for text in split_values(word, scene)]
        if may_start(step.words[0]):
            self.is_read_only = False
        if found:
            self.variables[step.words[0]] = tuple(found[:MOST])
        for sign, word in step.redirects:
            self._redirected(sign, word)

    def _step(self, step: ShellStep) -> None:
        self.source = None
        for sign, word in step.redirects:
            self._redirected(sign, word)
            if sign == "<":
                named = expand(word, self._scene)
                self.source = self.at(named[0]) if named else None
            elif sign == "<(" and (printed := self._output(word)) is not None:
                step.stdin = "\n".join(printed.split())
        before = {name: self.variables.get(name) for name in git_config.HOMES}
        words = self._assigned(step.words)
        if not words:
            # $(< file)
            text = None if self.source is None or step.words else self.disk.text(self.source)
            self.gives = None if text is None else [Arg(word) for word in text.split()]
            return
        scene = self._scene
        if words[0] in SHOWS and not self.feeds:  # its output need not be known
            scene = scene._replace(output=None)
        if self._left <= 0:
            self.unsure = True
            return
        self.stdin = step.stdin
        self.fed = self.gives if step.piped else None
        self.fed_made = self.made if step.piped else None
        self.fed_file = self.shows if step.piped else None
        self.gives = self.made = self.shows = None
        for args in self._arguments(words, scene):
            self._left -= len(args)
            self.run(args)
        for name, found in before.items():  # an assignment before a command is for it alone
            self.variables.pop(name, None)
            if found is not None:
                self.variables[name] = found

    def _arguments(self, words: list[str], scene: Scene) -> Iterator[list[Arg]]:
        """Yield the arguments of a command: once, or if their order matters, for each value in a loop."""
        ordered = words[0] in self._functions or not _ORDERED.isdisjoint(words)
        many = _loop_variables(words, self.variables) if ordered else []
        each = product(*(self.variables[name] for name in many))
        for values in islice(each, _MOST_RUNS):
            known = {name: (value,) for name, value in zip(many, values, strict=True)}
            one = scene._replace(variables={**self.variables, **known}) if many else scene
            yield [arg for word in words for arg in expand(word, one)]
        self.unsure = self.unsure or next(each, None) is not None

    def _assigned(self, words: list[str]) -> list[str]:
        """Set the variables at the start of a command; return the rest."""
        place = 0
        if words and words[0] in DECLARES:
            place = 1
        while place < len(words):
            name, sign, word = words[place].partition("=")
            if not sign or not name.isidentifier():
                break
            self.variables[name] = value(word, self._scene)
            if name.startswith("GIT_"):
                git_config.assigned(self, name, self.variables[name])
            if may_start(name):
                self.is_read_only = False
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
        if self.is_read_only and not is_read_only(args):
            self.is_read_only = False
        if name == "git":
            self.git_places[self.place] = None
        for arg in args:
            self.mention(arg.text)
        body = self._functions.get(name)
        rule = find_rule(name)
        if body is None and rule is None:
            return
        if self._level >= _DEEPEST:
            self.unsure = True
            return
        self._level += 1
        if body is not None:
            self._call(body, args[1:])
        elif rule is not None:
            apply_rule(self, rule, args)
        self._level -= 1

    def _call(self, body: Sequence[ShellStep], args: Sequence[Arg]) -> None:
        """Run a function of the script."""
        self._left -= _CALL * len(body)
        outer = dict(self.variables)
        arguments(self, args)
        self._steps(body)
        self.variables = outer


def _loop_variables(words: Sequence[str], variables: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the variables with several values that a command uses, other than as arrays."""
    found: dict[str, None] = {}
    for part in "".join(words).replace(QUOTED, VAR).split(VAR)[1:]:
        name = part.partition(END)[0]
        for sign in "%#:/":  # ${name%.old}
            name = name.partition(sign)[0]
        if name.isidentifier() and len(variables.get(name, ())) > 1:
            found[name] = None
    return list(found)


def _redirect_loop(step: ShellStep, following: Sequence[ShellStep]) -> None:
    """Let ``while read`` read the redirection at the end of its loop."""
    if step.piped or step.stdin is not None or any(sign in _IN for sign, _ in step.redirects):
        return
    for other in following:
        found = [one for one in other.redirects if one[0] in _IN]
        if not other.words and (other.stdin is not None or found):
            step.stdin = other.stdin
            step.redirects += found
            return
