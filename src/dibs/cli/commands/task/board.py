"""The board as the verbs of ``dibs task`` use it: in line with its files before and after."""

from __future__ import annotations

import sys
from contextlib import nullcontext

from dibs.errors import NotFound, Unavailable
from dibs.services.board.reconcile_values import Settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import TypeVar

    from dibs.cli.support.session import Session
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.plain_queue import Queue
    from dibs.services.tasks.service import Tasks
    from dibs.services.tasks.values import SimilarTask

    T = TypeVar("T")

NOTHING_SETTLED = Settled([], [], [], 0, [])
#: How many similar tasks are shown, the likest.
MOST_ALIKE = 20


class on_board:  # noqa: N801 - it is used as a word of a with statement
    """A block in which the board can be changed; may be entered again, tells each finding once."""

    def __init__(
        self, session: Session, *, makes: bool = False, reads: bool = False, lists: bool = False
    ) -> None:
        """Open the board; only one that is there, or has tasks, unless the command ``makes`` some.

        One that only ``reads`` is answered also where files cannot be taken in now. One that ``lists`` the
        files that are set aside need not hear that there are some.
        """
        self.tasks: Tasks = session.project.tasks
        self.settled: Settled
        self._session = session
        self._makes = makes
        self._reads = reads
        self._lists = lists
        self._block: AbstractContextManager[Settled]
        self._told: set[str] = set()

    def __enter__(self) -> on_board:
        board, caller = self._session.project.board, self._session.caller
        self._block = board.settled(caller, writes=self._makes or board.begun())
        try:
            self.settled = self._block.__enter__()
        except Unavailable as error:
            if not self._reads:
                raise
            print(f"dibs: files are not taken in now: {error}", file=sys.stderr)
            self._block = nullcontext(NOTHING_SETTLED)
            self.settled = NOTHING_SETTLED
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._block.__exit__(kind, error, trace)
        lines = [*_findings(self.settled, aside=not self._lists)]
        commits = self._session.project.board.commits
        if commits is not None and commits.left:
            lines.append(f"not committed: {commits.left}")
        for line in lines:
            if line not in self._told:
                self._told.add(line)
                print(f"dibs: {line}", file=sys.stderr)

    def known(self, act: Callable[[Tasks], Stored]) -> Stored | NotFound:
        """Do it to a task of the board; if the board has none of its id, return the error that says so."""
        try:
            return act(self.tasks)
        except NotFound as missing:
            if missing.code != "NO_TASK":
                raise
            return missing


def in_queue(session: Session, id_: str, missing: NotFound, act: Callable[[Queue], T]) -> T:
    """Do it to a task of the queue of shell agents; raise ``missing`` if that has none of the name either."""
    queue = session.project.queue
    try:
        return act(queue)
    except NotFound:
        if any(task.name == id_ for task in queue.all()):
            raise
        raise missing from None


def _findings(settled: Settled, *, aside: bool) -> Iterator[str]:
    """Yield which files are set aside or were put back."""
    from dibs.core.text.names import printable

    for path in settled.restored:
        yield (
            f"{printable(str(path))} was gone and is restored"
            " (`dibs task cancel` takes a task off the board)"
        )
    for path in settled.kept:
        yield f"what a hand wrote is kept in {printable(str(path))}"
    if aside and settled.aside:
        count = len(settled.aside)
        what = "one file is" if count == 1 else f"{count} files are"
        yield f"{what} set aside (`dibs task validate` says why)"


def paths(session: Session, typed: Sequence[str] | None) -> tuple[str, ...]:
    """Return paths or globs that were typed in the current folder as the repository names them."""
    return tuple(pattern.text for pattern in session.patterns(typed or ()))


def file_of(session: Session, stored: Stored) -> str:
    """Return where the file of a task lies, as one can type it in the current folder."""
    import os

    path = os.path.join(session.project.board.path, stored.place, stored.file)
    return os.path.relpath(path)


def print_moved(
    session: Session, word: str, stored: Stored, similar: Sequence[SimilarTask] | None = None
) -> None:
    """Print what has become of a task, where its file lies now, and what looks like the work handed on."""
    from dibs.cli.support.text import dim, green, printable

    print_similar(similar or ())
    print(f"{green(word)} {printable(stored.task.id)}")
    print(f"  {dim(printable(file_of(session, stored)))}")


def print_similar(similar: Sequence[SimilarTask], *, several: bool = False) -> None:
    """Print which active tasks look like new work; the new task is named where there are ``several``."""
    from dibs.cli.support.text import printable, yellow

    likest = sorted(similar, key=lambda like: -like.share) if several else similar
    for likeness in likest[:MOST_ALIKE]:
        print(f"{yellow('similar')} {printable(_alike(likeness, several=several))}")
    if len(likest) > MOST_ALIKE:
        print(f"{yellow('similar')} {len(likest) - MOST_ALIKE} times more; --json lists all")


def _alike(likeness: SimilarTask, *, several: bool) -> str:
    """Return what a new task has in common with another; it is named where there are ``several``."""
    parts = [f"{likeness.share:.0%} of the words"] if likeness.share else []
    if likeness.paths:
        parts.append(f"both are about {', '.join(likeness.paths)}")
    title = f" {likeness.title!r}" if likeness.title else ""
    new = f" and {likeness.id}" if several else ""
    return f"{likeness.other}{title}{new}: {'; '.join(parts)}"
