"""The manifest of ``dibs init``: the files it changed, with their content before and after."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager, suppress
from hashlib import sha256

from dibs.errors import Unavailable
from dibs.local.files import read_file, read_or_empty, write_file
from dibs.local.locks import FileLock
from dibs.local.repository import refuse_links, with_own_state
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.local.repository import Repository

_NAME, _LOCK, _BACKUPS = "manifest.json", "lock", "before"


class InstalledFile(Record):
    """One file, before and after Dibs changed it."""

    #: The digest of its old bytes, which names their backup; empty if the file did not exist.
    before: str
    #: The digest of the bytes that Dibs wrote.
    after: str
    mode: int = 0o644


class Manifest(Record):
    """Everything that ``dibs init`` did in one working tree."""

    agents: tuple[str, ...] = ()
    shared: bool = False
    servers: bool = True
    instructions: bool = True
    #: Whether it installed the git hooks.
    gates: bool = False
    files: dict[str, InstalledFile] = {}  # noqa: RUF012 - never changed in place
    #: Folders that were created, outer ones first.
    folders: tuple[str, ...] = ()
    #: Files that git ignores because of ``info/exclude``.
    hidden: tuple[str, ...] = ()
    #: Machine-specific files; a new worktree gets copies.
    local: tuple[str, ...] = ()

    def made(self) -> set[str]:
        """Return the files and folders that Dibs created."""
        return {path for path, kept in self.files.items() if not kept.before} | set(self.folders)


def folder_of(repository: Repository) -> str:
    """Return the folder of a worktree's manifest; a linked worktree has its own, deleted with it."""
    own = with_own_state(repository)
    if own.state == repository.state:
        return os.path.join(repository.state, "wiring")
    return os.path.join(os.path.dirname(own.state), "dibs-wiring")


def load(repository: Repository) -> Manifest:
    """Return the manifest of a working tree; an empty one if it is missing or unreadable."""
    try:
        found = json.loads(read_file(os.path.join(folder_of(repository), _NAME)))
        files = {path: InstalledFile(*kept) for path, kept in found.pop("files").items()}
        for name in ("agents", "folders", "hidden", "local"):
            found[name] = tuple(found[name])
        return Manifest(files=files, **found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Manifest()


def save(repository: Repository, manifest: Manifest) -> None:
    """Save a manifest atomically."""
    folder = folder_of(repository)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    shape = manifest._asdict()
    shape["files"] = {path: list(kept) for path, kept in manifest.files.items()}
    place = os.path.join(folder, _NAME)
    replace_file(repository, place, json.dumps(shape, indent=1).encode(), 0o600)


def forget(repository: Repository) -> None:
    """Remove the manifest and the backups, and the state's folder if nothing else is in it."""
    shutil.rmtree(folder_of(repository), ignore_errors=True)
    with suppress(OSError):
        os.rmdir(repository.state)


def keep(repository: Repository, content: bytes) -> str:
    """Back up the content of a file; return the name to pass to ``kept``."""
    name = digest(content)
    place = os.path.join(folder_of(repository), _BACKUPS, name)
    if not os.path.exists(place):
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        replace_file(repository, place, content, 0o600)
    return name


def kept(repository: Repository, name: str) -> bytes | None:
    """Return a backup; None if it is missing or damaged."""
    if not name:
        return None
    content = read_or_empty(os.path.join(folder_of(repository), _BACKUPS, name))
    return content if digest(content) == name else None


def digest(content: bytes) -> str:
    """Return the hash of some content."""
    return sha256(content).hexdigest()


@contextmanager
def lock(repository: Repository) -> Iterator[None]:
    """Let one process at a time change the files of a working tree."""
    refuse_links(repository.state)
    folder = folder_of(repository)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    file = FileLock(os.path.join(folder, _LOCK))
    if not file.take():
        raise Unavailable(
            "another dibs init is running here",
            code="WIRING_BUSY",
            hint="run the same command again in a moment",
        )
    try:
        yield
    finally:
        file.release()


def replace_file(repository: Repository, place: str, content: bytes, mode: int) -> None:
    """Replace a file atomically, synced to disk, and keep its owner.

    The draft is in the state's folder, unless that is on another disk, so a kill leaves nothing in the tree.
    """
    folder = folder_of(repository)
    if not _on_one_disk(folder, os.path.dirname(place)):
        folder = os.path.dirname(place)
    write_file(place, content, mode=mode, sync=True, drafts=folder, owner=_owner(place))


def _on_one_disk(one: str, other: str) -> bool:
    return os.path.isdir(one) and os.stat(one).st_dev == os.stat(other).st_dev


def _owner(place: str) -> tuple[int, int] | None:
    """Return the owner of the file, or else of its folder; None if it cannot be set."""
    if os.geteuid() != 0:
        return None
    status = os.stat(place if os.path.exists(place) else os.path.dirname(place))
    return status.st_uid, status.st_gid
