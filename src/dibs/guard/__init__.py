"""Guards outside of Dibs' own commands: agent hooks, git hooks, and a library.

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
    """Load a name on first use: hooks import this package and need none of them."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys

    __import__(home)
    found: object = getattr(sys.modules[home], name)
    return found
