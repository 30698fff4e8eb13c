"""Plan what ``dibs init`` does to the files of a working tree, before anything is changed."""

from __future__ import annotations

import os
import stat

from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.install import manifest
from dibs.install.agents.edits import SETTINGS_FILE, Choice, file_edits, settings_edit
from dibs.install.agents.table import AGENTS
from dibs.install.board.scaffold import settings_table
from dibs.install.entries.commands import commands
from dibs.install.entries.pieces import Block, put_all, take_all
from dibs.install.working_tree import WorkingTree, is_hidden
from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.install.agents.edits import FileEdit
    from dibs.install.entries.pieces import Piece
    from dibs.install.manifest import InstalledFile, Manifest
    from dibs.local.repository import Repository

_SIZE_MAX = 4 * 1024 * 1024
_NEW_MODE = 0o644


class PlannedChange(Record):
    """One file, before and after; None if it does not exist."""

    path: str
    old: bytes | None
    new: bytes | None
    #: Its content without Dibs.
    base: bytes | None
    mode: int = _NEW_MODE
    #: What Dibs adds to it, and for which agents.
    what: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    #: Whether it is machine-specific.
    local: bool = False
    #: Whether git has to ignore it, and a note for the user.
    hide: bool = False
    note: str = ""

    @property
    def act(self) -> str:
        """What happens to the file: create, change, remove, or keep."""
        if self.old == self.new:
            return "keep"
        if self.old is None:
            return "create"
        return "remove" if self.new is None else "change"


class InstallPlan(Record):
    """All changes, and the manifest's new content."""

    changes: tuple[PlannedChange, ...]
    agents: tuple[str, ...]
    choice: Choice
    notes: tuple[str, ...] = ()

    @property
    def pending(self) -> list[PlannedChange]:
        """The changes, without files that stay as they are."""
        return [change for change in self.changes if change.act != "keep"]


def plan(
    repository: Repository, agents: Sequence[str], choice: Choice, more: Iterable[FileEdit] = ()
) -> InstallPlan:
    """Return the changes for these agents and those already set up; change nothing."""
    known = manifest.load(repository)
    names = tuple(name for name in AGENTS if name in {*agents, *known.agents})
    ground = WorkingTree(repository)
    edits = [(name, edit) for name in names for edit in file_edits(AGENTS[name], choice)]
    edits += [("", edit) for edit in more]
    files: dict[str, list[tuple[str, FileEdit]]] = {}
    notes: dict[str, None] = {}
    for name, edit in edits:
        place = ground.inside(edit.path)  # two paths may be one file
        if place is None:
            notes[f"{edit.path} is outside the repository, so it is not changed"] = None
        else:
            files.setdefault(place, []).append((name, edit))
    changes = [_change(ground, path, some, known) for path, some in files.items()]
    gone = [path for path in known.files if path not in files]
    changes += [plan_restore(repository, path, known) for path in gone]
    return InstallPlan(tuple(changes), names, choice, tuple(notes))


def _change(
    ground: WorkingTree, path: str, edits: list[tuple[str, FileEdit]], known: Manifest
) -> PlannedChange:
    """Return the change of one file, for all agents that use it."""
    old, mode = read(ground.repository, path)
    pieces = _once([edit.piece for _, edit in edits])
    record = known.files.get(path)
    wanted = {type(piece) for piece in pieces}
    # The settings are the user's once they exist.
    others = every_piece(ground.repository, path, known) if path != SETTINGS_FILE else ()
    unwanted = tuple(piece for piece in others if type(piece) not in wanted)
    base = _base(ground.repository, path, (*pieces, *unwanted), old, record)
    kept = (
        old is not None and put_all(pieces, old, path) == old and not _has_ours(unwanted, old, path)
    )
    new = old if kept else put_all(pieces, base or b"", path)
    local = any(edit.local for _, edit in edits)
    hide = note = False
    if local:
        made = old is None or (record is not None and not record.before)
        ignored = ground.is_ignored(path)
        hide = made and not ground.is_tracked(path)
        note = not hide and not ignored
        hide = hide and (is_hidden(ground.repository, path) or not ignored)
    return PlannedChange(
        path, old, new, base, mode, _once([edit.what for _, edit in edits]),
        _once([name for name, _ in edits if name]), local, hide,
        "contains paths of this machine: do not commit it, or use --shared" if note else "",
    )  # fmt: skip


def _once(items: Sequence[Any]) -> tuple[Any, ...]:
    """Return the items without duplicates; not all are hashable."""
    return tuple(item for at, item in enumerate(items) if item not in items[:at])


def _base(
    repository: Repository, path: str, pieces: tuple[Piece, ...], old: bytes | None,
    record: InstalledFile | None,
) -> bytes | None:  # fmt: skip
    """Return the content of a file without Dibs."""
    if old is None:
        return None
    before = b""
    if record is not None:
        kept = manifest.kept(repository, record.before)
        if record.after == manifest.digest(old):
            return kept
        before = kept or b""
    elif take_all(pieces, old, path, old) == old:
        return old  # it contains nothing of ours
    return take_all(pieces, old, path, before) or (None if not before else b"")


def plan_restore(repository: Repository, path: str, known: Manifest) -> PlannedChange:
    """Return how to restore a file: byte for byte if unchanged since, else without our entries."""
    record = known.files[path]
    old, mode = read(repository, path)
    before = manifest.kept(repository, record.before)
    if old is None or (record.before and before is None):
        # The file or its backup no longer exists.
        return PlannedChange(path, old, old, old, mode)
    if manifest.digest(old) == record.after:
        return PlannedChange(path, old, before, before, record.mode if before is not None else mode)
    pieces = every_piece(repository, path, known)
    if not record.after and not _has_ours(pieces, old, path):
        return PlannedChange(path, old, old, old, mode)
    new = take_all(pieces, old, path, before or b"")
    gone = not new and before is None
    note = "" if gone else "it was changed since, so only the entries of Dibs are removed"
    return PlannedChange(path, old, None if gone else new, None if gone else new, mode, note=note)


def _has_ours(pieces: tuple[Piece, ...], content: bytes, path: str) -> bool:
    """Return whether a file that is not in the manifest contains anything of ours."""
    try:
        return take_all(pieces, content, path, content) != content
    except BadInput:  # so it cannot contain our entries
        return False


def guess_manifest(repository: Repository) -> Manifest:
    """Return a manifest of all files that may contain our entries, if none was saved, as in a clone."""
    ground = WorkingTree(repository)
    paths = [edit.path for edit in _every_edit(repository, shared=True)]
    places = filter(None, map(ground.inside, (*paths, "CLAUDE.md")))
    return manifest.Manifest(files={path: manifest.InstalledFile("", "") for path in places})


def _every_edit(repository: Repository, *, shared: bool) -> list[FileEdit]:
    """Return everything that Dibs may have written, first what it writes with this ``shared``."""
    found = [settings_edit(), settings_table()]
    for each in (shared, not shared):
        choice = Choice(repository.root, commands(shared=each), each)
        found += [edit for agent in AGENTS.values() for edit in file_edits(agent, choice)]
    return found


def every_piece(repository: Repository, path: str, known: Manifest) -> tuple[Piece, ...]:
    """Return everything that Dibs may have added to a file."""
    ground = WorkingTree(repository)
    edits = _every_edit(repository, shared=known.shared)
    found = [edit.piece for edit in edits if ground.inside(edit.path) == path]
    if path.endswith(".md") and not found:
        found.append(Block(""))  # it got its block when the repository had other pages
    return _once(found)


def read(repository: Repository, path: str) -> tuple[bytes | None, int]:
    """Return the bytes and the mode of a file; None if it does not exist."""
    place = os.path.join(repository.root, path)
    try:
        status = os.lstat(place)
    except FileNotFoundError:
        return None, _NEW_MODE
    except NotADirectoryError:
        raise _no_file(path, "a file is where a folder is needed") from None
    if not stat.S_ISREG(status.st_mode):
        raise _no_file(path, "it is not a regular file")
    if status.st_size > _SIZE_MAX:
        raise _no_file(path, f"it is larger than {_SIZE_MAX} bytes")
    with open(place, "rb", opener=regular) as file:
        return file.read(), stat.S_IMODE(status.st_mode)


def _no_file(path: str, why: str) -> BadInput:
    return BadInput(
        f"cannot change {quote(path)}: {why}",
        code="SETTINGS_INVALID",
        field=path,
        hint="move it and run this again; nothing was changed",
    )
