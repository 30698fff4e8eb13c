"""A cache of the parsed ``dibs.toml``, stored next to the state."""

# pathlib costs more to import than all of this module does.

from __future__ import annotations

import os
import stat
import sys
import time

from dibs.errors import Misconfigured
from dibs.local.files import regular
from dibs.startup import quickjson
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    #: Settings as written: field name, raw value, and line.
    Written = dict[str, tuple[Any, int]]

NAME = "dibs.toml"
CACHE = "config-cache.json"

#: What tells one version of the file from another.
Stamp = tuple[str | int, ...]

SIZE_MAX = 262_144
#: A newer file can change again without a new timestamp, because file system clocks are coarse.
_SETTLED_NS = 2 * 10**9


class FileSettings(Record):
    """The content of a file."""

    values: Written
    #: A warning for each key that is not a setting.
    unknown: tuple[str, ...] = ()


def stamp(path: str) -> Stamp:
    """Return what identifies this version of the file; empty if the file does not exist.

    Refuses a file that everyone can write.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise Misconfigured(f"cannot read {NAME}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise Misconfigured(f"{NAME} is not a regular file")
    if status.st_mode & stat.S_IWOTH and os.name == "posix":
        raise Misconfigured(
            f"{NAME} is writable by everyone (mode {stat.S_IMODE(status.st_mode):04o})",
            hint=f"review its content, then run: chmod o-w {NAME}",
        )
    if status.st_size > SIZE_MAX:
        raise Misconfigured(f"{NAME} is larger than {SIZE_MAX} bytes")
    # Importing dibs by name would be circular.
    version = sys.modules["dibs"].__version__
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (version, *times, status.st_size, status.st_ino, status.st_dev)


def recall(state: str, now: Stamp) -> FileSettings | None:
    """Return the cached settings for exactly this version of the file, if they are intact."""
    try:
        with open(f"{state}/{CACHE}", "rb", opener=regular) as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
                return None
            kept = quickjson.loads(file.read(SIZE_MAX))
        if tuple(kept["stamp"]) != now:
            return None
        values = {str(name): (value, int(line)) for name, (value, line) in kept["values"].items()}
        return FileSettings(values, tuple(map(str, kept["unknown"])))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def remember(state: str, now: Stamp, found: FileSettings) -> None:
    """Cache the settings if possible."""
    _, changed, *_ = now
    if time.time_ns() - int(changed) < _SETTLED_NS:
        return
    from dibs.local.files import write_file

    try:
        write_file(f"{state}/{CACHE}", quickjson.dumps({"stamp": now, **found._asdict()}))
    except OSError:
        return
