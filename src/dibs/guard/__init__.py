"""Where work is stopped outside of Dibs' own commands: hooks of git, hooks of agents, and a library for both.

>>> from dibs.guard import Guard, Word
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.toolcalls.values import Verdict, Word
    from dibs.guard.library import Guard

__all__ = ["Guard", "Verdict", "Word"]

_HOMES = {
    "Guard": "dibs.guard.library",
    "Verdict": "dibs.core.toolcalls.values",
    "Word": "dibs.core.toolcalls.values",
}


def __getattr__(name: str) -> object:
    """Load what is asked for: hooks import this package, and need none of it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys

    __import__(home)
    found: object = getattr(sys.modules[home], name)
    return found
