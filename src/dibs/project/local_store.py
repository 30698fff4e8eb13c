"""A project's SQLite store: where it is, whether it existed before, and creating it at first use only."""

from __future__ import annotations

import os
import stat

from dibs.errors import Misconfigured
from dibs.local.files import read_file
from dibs.startup import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Engine, Txn
    from dibs.project.location import Location

#: Records that state was created in this folder, and how many times.
MARKER = "project.json"
DATABASE = "dibs.db"
#: The distance between the first numbers of a lost ledger and of its replacement.
STRIDE = 1_000_000_000


def open_sqlite(
    place: Location, url: str, *, recreate: bool, renew: Callable[[Txn, str], None]
) -> Engine:
    """Open a project's SQLite store; create it at first use, and again only if ``recreate``."""
    path, mark = database(place, url), _mark_file(place, url)
    # In this order: marker and mark are written after the store, so if they exist, the store does too.
    made = _times_created(path) or int(existed(place, url))
    there = exists(path)
    if not there and not recreate and (made or url):
        raise Misconfigured(
            f"this project's state is missing: {path} does not exist",
            code="STORE_MISSING",
            hint="restore the file, or run `dibs init` to start over",
        )
    if not there and not recreate:
        from dibs.project.first_use import FirstUseEngine

        return FirstUseEngine(
            lambda: exists(path),
            lambda: open_sqlite(place, url, recreate=not existed(place, url), renew=renew),
        )
    from dibs.engines.sqlite.engine import SqliteEngine

    config = place.loaded.config
    engine = SqliteEngine(
        path,
        synchronous=config.synchronous,
        timeout=config.timeout,
        first_seq=1 if there else made * STRIDE + 1,
        mark=mark,
        renew=renew,
    )
    if not there or not _times_created(path):
        _mark(path, 1 if there else made + 1)
    return engine


def exists(path: str) -> bool:
    """Return whether a store is at ``path``; SQLite would accept an empty file as a new store.

    What is not a file counts, too: the engine reports what it is.
    """
    try:
        found = os.lstat(path)
        return found.st_size > 0 or not stat.S_ISREG(found.st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def database(place: Location, url: str) -> str:
    """Return the path of a SQLite store; by default, it is in the state folder."""
    scheme, _, rest = url.partition(":")
    if scheme == "sqlite":
        return rest.removeprefix("//")
    return os.path.join(place.repository.state, DATABASE)


def _mark_file(place: Location, url: str) -> str:
    """Return the file with the store's high-water mark, which outlives the state folder."""
    if url:
        return f"{database(place, url)}.mark"
    return f"{place.repository.state}.mark"


def existed(place: Location, url: str) -> bool:
    """Return whether a store existed before, according to the files that outlive it."""
    marker = os.path.join(os.path.dirname(database(place, url)), MARKER)
    return os.path.exists(marker) or os.path.exists(_mark_file(place, url))


def _times_created(path: str) -> int:
    """Return how many times a store was created at ``path``; the marker outlives the file."""
    try:
        content = read_file(os.path.join(os.path.dirname(path), MARKER))
        times: int = quickjson.loads(content)["made"]
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError):
        return 1
    return times


def _mark(path: str, times: int) -> None:
    """Write the marker; if that fails, another process does it later."""
    from dibs.local.files import write_file

    marker = os.path.join(os.path.dirname(path), MARKER)
    try:
        write_file(marker, quickjson.dumps({"made": times}), sync=True)
    except OSError:
        return


def store_identity(place: Location) -> tuple[int, int]:
    """Return what changes if the file of a store is deleted or replaced; constant for other engines."""
    url = place.loaded.config.engine
    if url.partition(":")[0] in {"", "sqlite"}:
        try:
            found = os.stat(database(place, url))
        except OSError:
            return 0, 0
        return found.st_dev, found.st_ino
    return 0, 0
