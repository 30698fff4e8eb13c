"""Files that were named on the command line: read whole, or refused in one line."""

from __future__ import annotations

from dibs.core.text.names import quote
from dibs.errors import BadInput

#: The largest file that is read, in bytes; what is longer is refused by whoever looks into it.
MOST = 256 * 1024


def content_of(path: str, most: int = MOST) -> bytes:
    """Return what a file says, or ``-`` for standard input; at most one byte more than ``most``."""
    import sys

    try:
        if path == "-":
            return sys.stdin.buffer.read(most + 1)
        with open(path, "rb") as file:
            return file.read(most + 1)
    except OSError as error:
        message = f"{quote(path)} cannot be read: {error.strerror}"
        raise BadInput(message, code="TASK_FILE", field="file") from None
