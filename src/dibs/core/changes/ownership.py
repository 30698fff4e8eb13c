"""Whose the uncommitted changes of a working tree are.

Pure. A changed file is its holder's: that of the agent with the live, exclusive claim that matches it. What
nobody holds exclusively is nobody's, and that is where work gets lost.
"""

from __future__ import annotations

from dibs.core.claims.rules import EXCLUSIVE
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.core.claims.coverage import Cover, OwnedPattern


class What(metaclass=TextEnum):
    """What has happened to a file since the last commit."""

    NEW = "new"
    MODIFIED = "modified"
    DELETED = "deleted"
    CONFLICT = "conflict"
    #: A folder with a git repository of its own, which no commit knows.
    REPOSITORY = "repository"


class Dirty(Record):
    """A file that differs from the last commit, and by which claim it is held."""

    path: str
    what: str
    #: Whether the index differs from the last commit, and the disk from the index.
    staged: bool
    unstaged: bool
    held: OwnedPattern | None = None
    #: Who has it under a shared claim, where nobody holds it.
    shared_by: tuple[str, ...] = ()


class OwnedChanges(Record):
    """The changed files of one agent."""

    agent: str
    files: tuple[Dirty, ...]


class Shares(Record):
    """The changed files of a working tree, by whose they are."""

    agents: tuple[OwnedChanges, ...]
    nobody: tuple[Dirty, ...]


def shares(files: Iterable[Dirty], cover: Cover) -> Shares:
    """Give each changed file to its holder; new files of nobody come first."""
    parts: dict[str, list[Dirty]] = {}
    nobody: list[Dirty] = []
    for file in files:
        found = list(cover.of(file.path.rstrip("/")))
        held = next((h for h in found if h.claim.mode == EXCLUSIVE), None)
        if held is not None:
            parts.setdefault(held.claim.agent, []).append(file._replace(held=held))
        else:
            nobody.append(file._replace(shared_by=tuple(sorted({h.claim.agent for h in found}))))
    nobody.sort(key=lambda file: (file.what != What.NEW, file.path))
    return Shares(
        tuple(
            OwnedChanges(agent, tuple(sorted(own, key=lambda file: file.path)))
            for agent, own in sorted(parts.items())
        ),
        tuple(nobody),
    )
