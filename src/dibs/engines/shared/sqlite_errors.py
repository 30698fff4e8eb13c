"""What SQLite's failures mean to a caller: one clear line each."""

from __future__ import annotations

import apsw

from dibs.errors import DibsError, Misconfigured, Unavailable, Unknown

_DAMAGED = "the file is kept; restore a copy, or move it and its -wal away to start anew"


def translate(error: apsw.Error, path: str, *, committing: bool = False) -> DibsError:
    """Return our error for SQLite's; ``committing`` if it came out of COMMIT itself."""
    match error:
        case apsw.IOError() if committing:
            found: DibsError = Unknown(f"the disk failed while {path} was being written")
        case apsw.FullError():
            found = Unavailable(
                f"no space left for {path}", code="STORAGE_FULL", hint="free some, then try again"
            )
        case apsw.ReadOnlyError():
            found = read_only(path)
        case apsw.BusyError() | apsw.LockedError():
            found = busy(path)
        case apsw.CorruptError() | apsw.NotADBError():
            found = Unavailable(f"{path} is damaged: {error}", code="STORE_DAMAGED", hint=_DAMAGED)
        case _:
            found = Unavailable(f"SQLite cannot use {path}: {error}", code="STORAGE_IO")
    return found


def busy(path: str) -> Unavailable:
    """Return the error for a store that others held for the whole timeout."""
    return Unavailable(f"others kept {path} busy for too long", code="STORE_BUSY", hint="try again")


def read_only(path: str) -> Unavailable:
    """Return the error for a write to what can only be read."""
    return Unavailable(f"{path} can only be read", code="STORAGE_READONLY")


def replaced(path: str) -> Unavailable:
    """Return the error for a file that is no longer the one that was opened."""
    return Unavailable(
        f"{path} was deleted, replaced or cut while it was open",
        code="STORE_REPLACED",
        hint="stop, and open the store again",
    )


def not_a_database(path: str) -> Misconfigured:
    """Return the error for a file that SQLite does not know."""
    return Misconfigured(f"not a SQLite database: {path}", code="STORE_FOREIGN")
