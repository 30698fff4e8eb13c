"""Carry a plan out, and take everything back: each file in one step, and what it was written down before."""

from __future__ import annotations

import contextlib
import os

from dibs.core.names import quote
from dibs.core.values import Record
from dibs.errors import Unavailable
from dibs.wiring import hiding
from dibs.wiring import manifest as keeping
from dibs.wiring.ground import Ground
from dibs.wiring.manifest import Kept, Manifest
from dibs.wiring.plan import read, restored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.repository import Repository
    from dibs.wiring.plan import Change, Plan


def carry_out(repository: Repository, plan: Plan) -> Manifest:
    """Do what was planned; refuse if a file has changed since."""
    with keeping.alone(repository):
        known = keeping.load(repository)
        _check(repository, plan.changes)
        hidden = tuple(change.path for change in plan.changes if change.hide)
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
            files=files,
            folders=(*known.folders, *(f for f in folders if f not in known.folders)),
            hidden=hidden,
        )
        if done != known:
            keeping.save(repository, done)  # first: a kill in between leaves what to go back to
        hiding.hide(repository, hidden)
        for change in plan.pending:
            _write(repository, change)
        return done


def _record(repository: Repository, change: Change, known: Manifest) -> Kept:
    assert change.new is not None
    before = keeping.keep(repository, change.base) if change.base is not None else ""
    old = known.files.get(change.path)
    mode = old.mode if old is not None and old.before == before else change.mode
    return Kept(before, keeping.digest(change.new), mode)


def _check(repository: Repository, changes: Iterable[Change]) -> None:
    for change in changes:
        if change.act != "keep" and read(repository, change.path)[0] != change.old:
            raise Unavailable(
                f"{quote(change.path)} was changed while this was planned; nothing was done",
                code="WIRING_BUSY",
                hint="run it again",
            )


def _missing_folders(repository: Repository, changes: Iterable[Change]) -> list[str]:
    found: dict[str, None] = {}
    for change in changes:
        parts = change.path.split("/")[:-1]
        for length in range(1, len(parts) + 1):
            folder = "/".join(parts[:length])
            if not os.path.isdir(os.path.join(repository.root, folder)):
                found[folder] = None
    return list(found)


def _write(repository: Repository, change: Change) -> None:
    place = os.path.join(repository.root, change.path)
    if change.new is None:
        os.unlink(place)
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if Ground(repository).inside(change.path) != change.path:  # a link was put in its way
        raise Unavailable(
            f"{quote(change.path)} was moved while it was written",
            code="WIRING_BUSY",
            hint="run it again",
        )
    keeping.write_file(place, change.new, change.mode)


class Undone(Record):
    """What was taken back."""

    changes: tuple[Change, ...]
    #: Folders of ours that stay because something else is in them.
    left: tuple[str, ...] = ()


def undoing(repository: Repository) -> tuple[Change, ...]:
    """Return what taking back would do; change nothing."""
    known = keeping.load(repository)
    return tuple(restored(repository, path, known) for path in known.files)


def take_back(repository: Repository) -> Undone:
    """Take back all that was ever carried out in this working tree."""
    with keeping.alone(repository):
        known = keeping.load(repository)
        changes = undoing(repository)
        _check(repository, changes)
        for change in changes:
            if change.act != "keep":
                _write(repository, change)
        left = []
        for folder in reversed(known.folders):
            with contextlib.suppress(FileNotFoundError):
                try:
                    os.rmdir(os.path.join(repository.root, folder))
                except OSError:
                    left.append(folder)
        hiding.show(repository, known.hidden)
        keeping.forget(repository)
    return Undone(changes, tuple(left))
