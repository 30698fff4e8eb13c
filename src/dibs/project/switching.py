"""Changing a clone's store: use another engine, or set the store aside and start a new one.

A store that is set aside gets another name, with the date, and can still be read under that name: the state
folder for SQLite, the branch for git, the project for Redis and PostgreSQL, and the schema for a PostgreSQL
database of another format. Nothing is deleted.
"""

from __future__ import annotations

import os
import time
from contextlib import closing

from dibs.errors import DibsError, Unavailable
from dibs.project import clone_record, local_store
from dibs.project.engines import GIT_TIMEOUT, copy_of, is_postgres, is_redis, name_of, open_engine
from dibs.project.store import open_store
from dibs.services.claims.leaving import refuse_in_use, refuse_left_work
from dibs.services.state.lifecycle import continue_numbers, newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Txn
    from dibs.project.location import Location
    from dibs.services.state.rows import Rows

#: Errors of a store that cannot be read: no version of Dibs that runs here can hold anything in it.
_UNREADABLE = frozenset({"STORE_FORMAT", "STORE_DAMAGED", "STORE_FOREIGN", "STORE_MISSING"})
#: What stays in the state folder when a store is set aside: it belongs to the clone, not to the store.
_STAYS = ("salvage", "wiring", "hooks", "clone", "sessions")


def use_engine(place: Location, *, force: bool) -> None:
    """Record that the clone uses the store that the settings select; its token numbers continue."""
    known = None if force else clone_record.recorded(place)
    last = (
        _leave(clone_record.as_recorded(place, known), refuse_left_work)
        if known is not None
        else None
    )
    with closing(open_engine(place, recreate=True)) as engine:
        engine.view(lambda _: None)  # an unreachable store is not recorded
        if last:
            continue_numbers(engine, last)
    clone_record.write(place, replace=True)


def set_aside(place: Location) -> str:
    """Rename the project's store, unless it is in use; return the new name, or "" if there is none."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    url, config = place.loaded.config.engine, place.loaded.config

    def check() -> None:
        _leave(place)

    if is_redis(url):
        from dibs.engines.redis.aside import rename_project
        from dibs.engines.redis.url import outside_password, parse

        target = parse(url)
        target = (
            target if target.password else target._replace(password=outside_password(os.environ))
        )
        return rename_project(target, name_of(place), stamp, config.timeout, check)
    if is_postgres(url):
        from dibs.engines.postgres.aside import rename_store

        return rename_store(url, name_of(place), stamp, config.timeout, check)
    if url.startswith("git:"):
        from dibs.engines.git.aside import rename_branch
        from dibs.project.remotes import resolve

        address = resolve(place.repository, url)
        folder = copy_of(place, address)
        return rename_branch(address, config.git_branch, folder, stamp, GIT_TIMEOUT, check)
    return _set_file_aside(place, stamp)


def _leave(place: Location, *more: Callable[[Rows], None]) -> int | None:
    """Refuse to leave a store that is in use; return its newest number, or None if it cannot be read.

    Each of ``more`` may refuse that, too.
    """

    def step(rows: Rows) -> int:
        for refuse in (refuse_in_use, *more):
            refuse(rows)
        return next((entry.seq for entry in rows.events(newest_first=True)), 0)

    try:
        with closing(open_engine(place, recreate=False)) as engine:
            last = open_store(engine, place.loaded.config, place.repository).look(step)
            if engine.as_of is not None:
                raise Unavailable("the remote is unreachable", hint="try again when it is back")
    except DibsError as error:
        if error.code not in _UNREADABLE:
            raise
        return None
    return last


def _set_file_aside(place: Location, stamp: str) -> str:
    """Rename a SQLite store while no other process can write to it."""
    url, state = place.loaded.config.engine, place.repository.state
    path = local_store.database(place, url)
    if not local_store.exists(path):
        return ""

    def rename() -> str:
        return _rename(path, stamp) if url else _rename_folder(state, stamp)

    def step(txn: Txn) -> str:
        if newest(txn) != last:
            raise Unavailable(
                "other processes keep using the store", code="STORE_BUSY", hint="try again"
            )
        return rename()

    last = _leave(place)
    if last is None:
        return rename()
    with closing(open_engine(place, recreate=False)) as engine:
        return engine.transact(step)


def _rename(path: str, stamp: str) -> str:
    new = f"{path}-{stamp}"
    os.rename(path, new)
    for ending in ("-wal", "-shm"):
        if os.path.exists(path + ending):
            os.rename(path + ending, new + ending)
    return new


def _rename_folder(state: str, stamp: str) -> str:
    new = f"{state}-{stamp}"
    os.rename(state, new)
    os.mkdir(state, 0o700)
    for name in _STAYS:
        if os.path.exists(f"{new}/{name}"):
            os.rename(f"{new}/{name}", f"{state}/{name}")
    return new
