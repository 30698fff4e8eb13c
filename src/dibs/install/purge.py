"""Delete a project's state: the store in the git directory and the refs of Dibs. Saved work stays.

Refs under ``refs/salvage/`` and the folder ``salvage`` are copies of uncommitted work, so they stay. A store
that is shared with other clones is not deleted either.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from secrets import token_hex

from dibs.core.text.secrets import mask
from dibs.errors import DibsError, NotAllowed
from dibs.git.calls import GitCalls
from dibs.local.repository import crew_folder
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.local.repository import Repository
    from dibs.project.project import Project

_REFS, _SAVED = "refs/dibs/", "refs/salvage/"
#: The folder in the state with saved copies of ignored files.
_COPIES = "salvage"
#: Folders of Dibs in the git directory of a linked worktree.
_IN_WORKTREE = ("dibs", "dibs-wiring")


class PurgePlan(Record):
    """What a purge deletes, and what it keeps."""

    #: Folders with the state, relative to the root if they are inside.
    folders: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    #: What the store contains; empty if it cannot be read.
    contents: dict[str, int] = {}  # noqa: RUF012 - a record's default, never changed in place
    #: Refs and the folder with saved work, which stay.
    kept: tuple[str, ...] = ()
    #: The URL of a store elsewhere, which stays; empty if the store is in a folder above.
    store: str = ""
    #: The agents that hold claims.
    owners: tuple[str, ...] = ()

    def check_unused(self, command: str) -> None:
        """Refuse while agents hold claims; ``command`` purges anyway."""
        if self.owners:
            raise NotAllowed(
                f"agents hold claims: {', '.join(self.owners)}; nothing was deleted",
                code="STORE_ACTIVE",
                hint=f"let them finish, or run: {command}",
            )


def plan_purge(repository: Repository, *, force: bool = False) -> PurgePlan:
    """Return what a purge would delete; refuse a store that cannot be read, unless ``force``."""
    folders = _folders(repository)
    contents: dict[str, int] = {}
    owners: list[str] = []
    store = ""
    if os.path.isdir(repository.state):
        try:
            contents, owners, store = _look(repository)
        except DibsError:
            if not force:
                raise
    root = repository.root
    places = [os.path.relpath(f, root) if f.startswith(root + os.sep) else f for f in folders]
    refs, kept = _refs_below(repository, _REFS), _refs_below(repository, _SAVED)
    copies = os.path.join(repository.state, _COPIES)
    if os.path.isdir(copies):
        kept = (
            *kept,
            os.path.relpath(copies, root) if copies.startswith(root + os.sep) else copies,
        )
    return PurgePlan(tuple(places), refs, contents, kept, store, tuple(owners))


def _look(repository: Repository) -> tuple[dict[str, int], list[str], str]:
    """Return what the store contains, the agents that hold claims, and its URL if it is elsewhere."""
    from dibs.core.claims.agents import HUMAN
    from dibs.project.project import open_project
    from dibs.services.briefing.snapshot import tally
    from dibs.services.claims.views import overview

    project: Project = open_project(repository.root)
    try:
        now = overview(project.store)
        people = {seen.agent.id for seen in now.agents if seen.agent.role == HUMAN}
        owners = sorted({held.claim.agent for held in now.claims} - people)
        contents = {
            "claim": len(now.claims),
            "task": project.store.look(tally).total,
            "ledger_entry": project.ledger.summary().entries,
        }
        url = project.config.engine
        return contents, owners, mask(url) if url not in {"", "sqlite"} else ""
    finally:
        project.close()


def _folders(repository: Repository) -> list[str]:
    """Return the folders with state that exist."""
    return [
        place
        for place in _places(repository)
        if os.path.isdir(place) and os.listdir(place) != [_COPIES]
    ]


def _places(repository: Repository) -> list[str]:
    above = os.path.join(repository.common, "worktrees")
    names = sorted(os.listdir(above)) if os.path.isdir(above) else []
    own = [os.path.join(above, name, own) for name in names for own in _IN_WORKTREE]
    return [repository.state, crew_folder(repository.state), *own]


def _refs_below(repository: Repository, prefix: str) -> tuple[str, ...]:
    found = GitCalls(repository.root).must("for-each-ref", "--format=%(refname)", prefix)
    return tuple(found.decode("utf-8", "surrogateescape").split())


def purge(repository: Repository, plan: PurgePlan) -> None:
    """Delete what the plan names. Each folder is renamed first, so no process uses half of a store."""
    named = [os.path.join(repository.root, folder) for folder in plan.folders]
    for place in dict.fromkeys((*named, *_folders(repository))):
        if not os.path.isdir(place):
            continue
        aside = f"{place}.deleted-{token_hex(4)}"
        os.rename(place, aside)
        if os.path.isdir(os.path.join(aside, _COPIES)):
            os.mkdir(place, 0o700)
            os.rename(os.path.join(aside, _COPIES), os.path.join(place, _COPIES))
        shutil.rmtree(aside)
    for place in _places(repository):
        with suppress(FileNotFoundError):
            os.unlink(f"{place}.mark")
    for ref in plan.refs:
        GitCalls(repository.root).must("update-ref", "-d", ref)
