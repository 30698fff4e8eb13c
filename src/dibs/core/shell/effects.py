"""The writes found in a shell command so far, and its current folder. Pure."""

from __future__ import annotations

from dibs.core.shell.words import TOP, Arg
from dibs.core.toolcalls.values import How
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.shell.git_moves import BranchMove
    from dibs.core.shell.options import ParsedOptions

#: One command names at most this many files.
MOST = 2000
#: The most words that may be paths, and the longest text in which they are looked for.
MOST_WORDS, LONGEST_TEXT = 200, 20_000
#: What surrounds a path in an option or a program.
_AROUND = dict.fromkeys(map(ord, "'\"`()[]{},;:=<>|&"), " ")
#: The most text of programs that is read.
MOST_CODE = 64_000
#: The most files that a command shows; each one costs time.
MOST_SHOWN = 20
#: Prefixes of paths that are not lasting files.
_NOWHERE = (
    "/dev/null", "/dev/std", "/dev/fd/", "/dev/tty", "/dev/zero", "/dev/full", "/dev/tcp/",
    "/dev/udp/", "/proc/self/fd/", ":memory:",
)  # fmt: skip


class WriteTarget(Record):
    """A place that a command writes to; ``path`` is relative to the agent's folder, or absolute.

    One that begins with ``:/`` is relative to the top of the working tree.
    """

    path: str
    how: str = How.WRITE
    #: Whether everything below it is included.
    deep: bool = False
    #: Whether it is a pattern.
    glob: bool = False
    #: If the path is a folder, the file of this name in it is written.
    into: str = ""


class TreeCommand(Record):
    """A git command that may change any file of the working tree."""

    #: checkout, force, switch, reset, abort, stash, unstash, drop, unbranch, clean, merge, pick, add, commit
    verb: str
    #: The commit that it checks out, merges or applies, or the stash or branch that it deletes; empty for the
    #: last one.
    revision: str = ""
    #: Where it runs: relative to the agent's folder, or absolute.
    place: str = ""
    #: The paths added to a commit: like targets' paths, or git pathspecs. Of another command, those in
    #: ``place`` to which it is limited.
    paths: tuple[str, ...] = ()


class FileSource:
    """The files that a command would read. This base class knows none; the guard's class reads the disk.

    Paths are relative to the agent's folder, or absolute. None means unknown.
    """

    def text(self, path: str) -> str | None:
        """Return the text of a small file."""
        del path
        return None

    def names(self, path: str) -> list[str] | None:
        """Return the names in a folder."""
        del path
        return None

    def members(self, path: str) -> list[str] | None:
        """Return the names in an archive."""
        del path
        return None

    def holding(self, place: str, paths: Sequence[Arg], wanted: FileSearch) -> list[str] | None:
        """Return the files at ``paths`` in the folder ``place`` whose text matches, as grep prints them."""
        del place, paths, wanted
        return None


class FileSearch(Record):
    """A search in files, as by ``grep -l``."""

    #: A regular expression.
    pattern: str
    fold_case: bool = False
    #: Whether files without a match are wanted.
    without: bool = False
    #: Whether folders are searched.
    deep: bool = False
    #: The patterns of names that are searched; empty for all.
    names: tuple[str, ...] = ()


NO_DISK = FileSource()


class ShellEffects:
    """Collects what commands write."""

    #: Whether the result depends on files.
    asked = False
    #: The user's home folder; empty if unknown.
    home = ""
    #: Whether it may write something unknown.
    unsure = False
    #: Whether all commands so far are known to write nothing.
    is_read_only = True
    #: The text of a here-document, and the file that the command reads instead.
    stdin: str | None = None
    source: str | None = None
    #: The patch or archive that git prints to the next command.
    made: TreeCommand | None = None
    fed_made: TreeCommand | None = None
    #: Whether another command uses what this one prints.
    feeds = False
    #: How much more text of programs is read.
    code_left = MOST_CODE
    #: The arguments of a program in a command.
    code_args: Sequence[Arg] = ()
    #: The file that the command before this one prints.
    shows: Arg | None = None
    fed_file: Arg | None = None
    #: The output of the command before it and of this one, as arguments, where known.
    fed: list[Arg] | None = None
    gives: list[Arg] | None = None
    #: The current folder: relative to the first one, absolute, or None if unknown.
    place: str | None = ""
    #: How many stashes git has made and not popped.
    stashes = 0

    def __init__(self, *, reads: bool, disk: FileSource = NO_DISK) -> None:
        self._disk = disk
        #: The known variables, with all their possible values.
        self.variables: dict[str, tuple[str, ...]] = {}
        self.targets: dict[WriteTarget, None] = {}
        self.whole: dict[TreeCommand, None] = {}
        #: How git moves HEAD and branches.
        self.moves: dict[BranchMove, None] = {}
        #: Whether reads are collected among the targets, too.
        self.reads = reads
        #: Words of commands and programs that may be paths.
        self.words: dict[str, None] = {}
        #: The files that commands show.
        self.shown: dict[WriteTarget, None] = {}
        self._staged: list[str] = []

    @property
    def disk(self) -> FileSource:
        """The files that commands take names from."""
        self.asked = True
        return self._disk

    def run(self, args: Sequence[Arg]) -> None:
        """Collect what a command writes; its name is the first argument."""
        raise NotImplementedError

    def script(self, text: str) -> None:
        """Collect what the text of a shell script writes."""
        raise NotImplementedError

    def touch(self, arg: Arg, how: str = How.WRITE, *, deep: bool = False, into: str = "") -> None:
        """Record that a path is written, deleted, or read."""
        path = arg.text
        if how == How.READ and not self.reads:
            return
        if arg.sure and (path in {"", "-"} or path.startswith(_NOWHERE)):
            return
        placed = self.place is not None or path.startswith(("/", TOP))
        if not arg.sure or not placed or len(self.targets) >= MOST:
            self.unsure = True
        else:
            place = joined(self.place or "", path)
            self.targets[WriteTarget(place, how, deep, arg.glob, into)] = None

    def mention(self, text: str) -> None:
        """Record the words of an argument or a program that may be paths."""
        for word in text[:LONGEST_TEXT].translate(_AROUND).split():
            if len(self.words) < MOST_WORDS and ("/" in word or word == ".." or self.place):
                path = word[2:] if word[0] == "-" else word  # -C../sibling
                self.words[joined(self.place or "", path)] = None

    def show(self, arg: Arg) -> None:
        """Record that a command shows a file's content, where its path is known."""
        placed = self.place is not None or arg.text.startswith(("/", TOP))
        if arg.sure and placed and arg.text not in {"", "-"} and len(self.shown) < MOST_SHOWN:
            place = joined(self.place or "", arg.text)
            self.shown[WriteTarget(place, How.READ, False, arg.glob)] = None

    def tree(self, verb: str, revision: str = "", within: tuple[str, ...] = ()) -> None:
        """Record that git may change any file, or those ``within`` paths in the current folder."""
        if self.place is None:
            self.unsure = True
        else:
            paths = tuple(self._staged) if verb in {"commit", "add"} else within
            self.whole[TreeCommand(verb, revision, self.place, paths)] = None

    def move(self, given: ParsedOptions) -> None:
        """Record how a git command moves HEAD or a branch."""
        from dibs.core.shell.git_moves import find_moves

        self.moves.update(dict.fromkeys(find_moves(given, self.place)))

    def at(self, arg: Arg) -> str | None:
        """Return a file's path relative to the agent's folder; None if it is unknown."""
        placed = self.place is not None or arg.text.startswith("/")
        if not arg.sure or arg.glob or not placed or not arg.text:
            return None
        return joined(self.place or "", arg.text)

    def text_at(self, arg: Arg) -> str | None:
        """Return the text of a file, where known."""
        path = self.at(arg)
        return None if path is None else self.disk.text(path)

    def stage(self, args: Sequence[Arg]) -> None:
        """Record what git adds to the next commit."""
        for arg in args:
            if not arg.sure or self.place is None:
                self.unsure = True
            elif len(self._staged) < MOST:
                self._staged.append(joined(self.place, arg.text))

    def go(self, arg: Arg) -> None:
        """Change the current folder."""
        if not arg.sure or arg.glob or arg.text == "-":
            self.place = None
        elif self.place is not None or arg.text.startswith(("/", TOP)):
            self.place = joined(self.place or "", arg.text)


def joined(place: str, path: str) -> str:
    """Return ``path`` relative to the base of ``place``, without a leading ``./``."""
    while path.startswith("./") and len(path) > 2:  # noqa: PLR2004 - more than the two signs
        path = path[2:].lstrip("/")
    if path.startswith(TOP):
        return TOP + path[len(TOP) :].lstrip("/")
    if not place or path.startswith("/"):
        return path
    if path in {"", "."}:
        return place
    return place + path if place == TOP else f"{place.rstrip('/')}/{path}"
