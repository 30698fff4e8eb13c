"""What ``dibs.toml`` says: kept beside the state, and parsed again only when the file has changed."""

# pathlib costs more to import than all of this module does.

from __future__ import annotations

import os
import stat
import sys
import time

from dibs.errors import Misconfigured
from dibs.startup import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    #: Settings as they are written: the name of the field, the raw value and its line.
    Written = dict[str, tuple[Any, int]]

NAME = "dibs.toml"
CACHE = "config-cache.json"

#: What tells one version of the file from another.
Stamp = tuple[str | int, ...]

SIZE_MAX = 262_144
#: A younger file can change again without a new stamp, as the clocks of file systems are coarse.
_SETTLED_NS = 2 * 10**9


def stamp(path: str) -> Stamp:
    """Return what identifies this version of the file, empty if there is no file.

    Refuses a file that everybody may write.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise Misconfigured(f"{NAME} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise Misconfigured(f"{NAME} is not a file.")
    if status.st_mode & stat.S_IWOTH and os.name == "posix":
        raise Misconfigured(
            f"{NAME} can be written by everybody (mode {stat.S_IMODE(status.st_mode):04o}).",
            hint=f"Run chmod o-w {NAME} after a look at what it says.",
        )
    if status.st_size > SIZE_MAX:
        raise Misconfigured(f"{NAME} is larger than {SIZE_MAX} bytes.")
    # Not imported by name: the package's face imports what is above this module.
    version = sys.modules["dibs"].__version__
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (version, *times, status.st_size, status.st_ino, status.st_dev)


def recall(state: str, now: Stamp) -> Written | None:
    """Return what was read from this very version of the file, if that is kept and whole."""
    try:
        with open(f"{state}/{CACHE}", "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
                return None
            kept = quickjson.loads(file.read(SIZE_MAX))
        if tuple(kept["stamp"]) != now:
            return None
        return {str(name): (value, int(line)) for name, (value, line) in kept["values"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def remember(state: str, now: Stamp, written: Written) -> None:
    """Keep what was read, if there is a folder for it; nothing is lost if that fails."""
    _, changed, *_ = now
    if time.time_ns() - int(changed) < _SETTLED_NS:
        return
    from dibs.local.files import write_file

    try:
        write_file(f"{state}/{CACHE}", quickjson.dumps({"stamp": now, "values": written}))
    except OSError:
        return
