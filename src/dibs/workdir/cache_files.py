"""Files in which this machine notes what it knows: losing one costs time, nothing else."""

from __future__ import annotations

import os
from contextlib import suppress


def write_note(path: str, text: str) -> None:
    """Write a file aside and put it in place; what cannot be written leaves the old one and nothing else.

    It need not survive a power cut, so the disk is not waited for.
    """
    aside = f"{path}.{os.getpid()}"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(aside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(aside)
        raise
