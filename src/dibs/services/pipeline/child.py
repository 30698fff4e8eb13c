"""The process of a Python handler: reads events, calls the function, and answers each with one line.

What the function prints goes nowhere, and it reads nothing: the pipes are for events and answers.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[dict[str, Any], str], object]

#: How many lines of a traceback an answer has.
_LINES = 6


def main(name: str, root: str) -> None:
    """Answer events from standard input until it ends; neither pipe is left to the function's children."""
    events, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    function: Function | None = None
    for line in events:
        answer: dict[str, Any] = {}
        try:
            function = function or _function(name)
            function(json.loads(line), root)
        except Exception as error:  # noqa: BLE001 - whatever the function raises is its own failure
            answer = {"error": f"{type(error).__name__}: {error}"[:500], "trace": _trace()}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _function(name: str) -> Function:
    from importlib.metadata import entry_points

    from dibs.services.pipeline.entry_points import GROUP

    for point in entry_points(group=GROUP):
        if point.name == name:
            found: Function = point.load()
            return found
    raise LookupError(f"no entry point {name} in the group {GROUP}")


def _trace() -> list[str]:
    return traceback.format_exc().splitlines()[-_LINES:]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
