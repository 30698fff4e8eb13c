"""What the verbs of ``dibs task`` have in common: typed paths, a file's place, similar tasks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.values import SimilarTask

#: How many similar tasks are shown, the likest.
MOST_ALIKE = 20


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
    from dibs.services.tasks.values import QUEUE

    print_similar(similar or ())
    print(f"{green(word)} {printable(stored.task.id)}")
    if stored.place != QUEUE:
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
