"""Sort the uncommitted changes of a working tree by owner. Pure.

A changed file belongs to the agent with a live, exclusive claim that matches it. That does not say who
changed it: only a hook or a record of the store knows that.
"""

from __future__ import annotations

from dibs.core.claims.agents import HUMAN
from dibs.core.claims.rules import EXCLUSIVE
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.core.claims.coverage import Cover, OwnedPattern


class What(metaclass=TextEnum):
    """How a file changed since the last commit."""

    NEW = "new"
    MODIFIED = "modified"
    DELETED = "deleted"
    CONFLICT = "conflict"
    #: A folder that is a separate git repository, unknown to any commit.
    REPOSITORY = "repository"


class Dirty(Record):
    """A file that differs from the last commit, and the claim on it."""

    path: str
    what: str
    #: Whether the index differs from the last commit, and the disk from the index.
    staged: bool
    unstaged: bool
    held: OwnedPattern | None = None
    #: The agents with a shared claim on it, without an exclusive one.
    shared_by: tuple[str, ...] = ()
    #: The agents that are known to have changed it, or ``human``; empty if nobody knows.
    changed_by: tuple[str, ...] = ()


class OwnedChanges(Record):
    """The changed files of one agent."""

    agent: str
    files: tuple[Dirty, ...]


class Shares(Record):
    """The changed files of a working tree by owner."""

    agents: tuple[OwnedChanges, ...]
    nobody: tuple[Dirty, ...]


def changed_by(path: str, wrote: Mapping[str, str], left: Mapping[str, str]) -> tuple[str, ...]:
    """Return who is known to have changed a file.

    ``wrote`` names the agent whose own call left the file as it is now. ``left`` names the author of older
    content, with an empty name for a person.
    """
    found = [left[path] or HUMAN] if path in left else []
    if path in wrote:
        found.append(wrote[path])
    return tuple(dict.fromkeys(found))


def shares(files: Iterable[Dirty], cover: Cover) -> Shares:
    """Sort changed files by owner; among unclaimed files, new ones come first."""
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
