"""Apply a plan and undo it: each file is replaced atomically, after its old content was saved."""

from __future__ import annotations

import contextlib
import os

from dibs.core.text.names import quote
from dibs.errors import Unavailable
from dibs.install import manifest
from dibs.install.manifest import InstalledFile, Manifest
from dibs.install.plan import guess_manifest, plan_restore, read
from dibs.install.working_tree import WorkingTree, hide, is_main, others, unhide
from dibs.local.files import regular
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.install.plan import InstallPlan, PlannedChange
    from dibs.local.repository import Repository


def apply_plan(repository: Repository, plan: InstallPlan, *, gates: bool = False) -> Manifest:
    """Apply a plan; refuse if a file has changed since it was made.

    With ``gates``, the caller installs git hooks next, and the manifest records them now.
    """
    with manifest.lock(repository):
        known = manifest.load(repository)
        _check(repository, plan.changes)
        hidden = tuple(change.path for change in plan.changes if change.hide)
        unhidden = tuple(path for path in known.hidden if path not in hidden)
        files = {
            change.path: _record(repository, change, known)
            for change in plan.changes
            if change.what and change.new is not None
        }
        folders = _missing_folders(repository, plan.changes)
        done = known._replace(
            agents=plan.agents,
            shared=plan.choice.shared,
            servers=plan.choice.servers,
            instructions=plan.choice.instructions,
            gates=known.gates or gates,
            files=files,
            folders=(*known.folders, *(f for f in folders if f not in known.folders)),
            hidden=(*hidden, *unhidden),
            local=tuple(change.path for change in plan.changes if change.local and change.what),
        )
        if done != known:
            manifest.save(repository, done)  # first, so that a killed run can be undone
        hide(repository, hidden)
        for change in plan.pending:
            _write(repository, change)
        if unhidden:
            unhide(repository, unhidden)
            done = done._replace(hidden=hidden)
            manifest.save(repository, done)
        return done


def _record(repository: Repository, change: PlannedChange, known: Manifest) -> InstalledFile:
    assert change.new is not None
    before = manifest.keep(repository, change.base) if change.base is not None else ""
    old = known.files.get(change.path)
    mode = old.mode if old is not None and old.before == before else change.mode
    return InstalledFile(before, manifest.digest(change.new), mode)


def _check(repository: Repository, changes: Iterable[PlannedChange]) -> None:
    for change in changes:
        if change.act != "keep" and read(repository, change.path)[0] != change.old:
            raise Unavailable(
                f"{quote(change.path)} changed in the meantime; nothing was done",
                code="WIRING_BUSY",
                hint="run the same command again",
            )


def _missing_folders(repository: Repository, changes: Iterable[PlannedChange]) -> list[str]:
    found: dict[str, None] = {}
    for change in changes:
        parts = change.path.split("/")[:-1]
        for length in range(1, len(parts) + 1):
            folder = "/".join(parts[:length])
            if not os.path.isdir(os.path.join(repository.root, folder)):
                found[folder] = None
    return list(found)


def _write(repository: Repository, change: PlannedChange) -> None:
    place = os.path.join(repository.root, change.path)
    if change.new is None:
        os.unlink(place)
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if WorkingTree(repository).inside(change.path) != change.path:  # a link appeared on the way
        raise Unavailable(
            f"{quote(change.path)} was moved in the meantime",
            code="WIRING_BUSY",
            hint="run the same command again",
        )
    manifest.replace_file(repository, place, change.new, change.mode)


class UninstallResult(Record):
    """The result of an uninstall."""

    changes: tuple[PlannedChange, ...]
    #: Folders that Dibs created and that stay because they contain other files.
    left: tuple[str, ...] = ()


def plan_uninstall(repository: Repository) -> tuple[PlannedChange, ...]:
    """Return the changes that an uninstall would make; change nothing."""
    known = manifest.load(repository)
    if known.files:
        changes = (plan_restore(repository, path, known) for path in known.files)
        return tuple(change for change in changes if change.old is not None)
    known = guess_manifest(repository)
    changes = (plan_restore(repository, path, known) for path in known.files)
    return tuple(change for change in changes if change.act != "keep")


def uninstall(repository: Repository) -> UninstallResult:
    """Undo everything that was applied in this working tree."""
    with manifest.lock(repository):
        known = manifest.load(repository)
        changes = plan_uninstall(repository)
        _check(repository, changes)
        for change in changes:
            if change.act != "keep":
                _write(repository, change)
        left = _empty(repository.root, known)
        if is_main(repository):
            for tree in others(repository):
                _take_copies(tree, known)
        unhide(repository, known.hidden)
        manifest.forget(repository)
    return UninstallResult(changes, tuple(left))


def _empty(root: str, known: Manifest) -> list[str]:
    """Remove folders that Dibs created; return those that are not empty."""
    left = []
    for folder in reversed(known.folders):
        with contextlib.suppress(FileNotFoundError):
            try:
                os.rmdir(os.path.join(root, folder))
            except OSError:
                left.append(folder)
    return left


def _take_copies(tree: str, known: Manifest) -> None:
    """Remove the copies that a worktree got when it was created, unless they were changed."""
    for path in known.local:
        place = os.path.join(tree, path)
        record = known.files.get(path)
        if record is None or record.before or os.path.realpath(place) != place:
            continue
        with contextlib.suppress(OSError):
            with open(place, "rb", opener=regular) as file:
                same = manifest.digest(file.read()) == record.after
            if same:
                os.unlink(place)
    _empty(tree, known)
