"""Shared by the verbs of ``dibs task``: typed paths, file paths, and lines about similar tasks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.cli.support.session import Session
    from dibs.services.state.tasks import Stored
    from dibs.services.tasks.values import SimilarTask

#: How many similar tasks are shown, the most similar first.
MOST_SIMILAR = 20


def paths(session: Session, typed: Sequence[str] | None) -> tuple[str, ...]:
    """Return paths and globs typed in the current folder, relative to the repository."""
    return tuple(pattern.text for pattern in session.patterns(typed or ()))


def file_of(session: Session, stored: Stored) -> str:
    """Return the path of a task's file, relative to the current folder."""
    import os

    from dibs.services.tasks.values import QUEUE

    if stored.place == QUEUE:
        return stored.file
    path = os.path.join(session.project.board.path, stored.place, stored.file)
    return os.path.relpath(path)


def claim_facts(session: Session, token: int, expires_in: float) -> str:
    """Return when a claim expires, with its token if the reader should see it."""
    from dibs.cli.support.text import span

    expires = f"expires in {span(expires_in)}"
    return f"token {token}, {expires}" if session.tokens else expires


def print_moved(
    session: Session, word: str, stored: Stored, similar: Sequence[SimilarTask] | None = None
) -> None:
    """Print what happened to a task, its file's path, and tasks similar to work that it hands off."""
    from dibs.cli.support.text import dim, green, printable
    from dibs.services.tasks.values import QUEUE

    print_similar(similar or ())
    print(f"{green(word)} {printable(stored.task.id)}")
    if stored.place != QUEUE:
        print(f"  {dim(printable(file_of(session, stored)))}")


def print_similar(similar: Sequence[SimilarTask], *, several: bool = False) -> None:
    """Print which active tasks are similar; with ``several`` new tasks, name the new one on each line."""
    from dibs.cli.support.text import printable, yellow

    most_similar = sorted(similar, key=lambda like: -like.share) if several else similar
    for similar_task in most_similar[:MOST_SIMILAR]:
        print(f"{yellow('similar')} {printable(_similarity(similar_task, several=several))}")
    if len(most_similar) > MOST_SIMILAR:
        print(f"{yellow('similar')} {len(most_similar) - MOST_SIMILAR} more; --json lists all")


def _similarity(similar_task: SimilarTask, *, several: bool) -> str:
    """Return what a new task has in common with another one."""
    parts = [f"{similar_task.share:.0%} word overlap"] if similar_task.share else []
    if similar_task.paths:
        parts.append(f"same paths: {', '.join(similar_task.paths)}")
    title = f" {similar_task.title!r}" if similar_task.title else ""
    new = f" and {similar_task.id}" if several else ""
    return f"{similar_task.other}{title}{new}: {'; '.join(parts)}"
