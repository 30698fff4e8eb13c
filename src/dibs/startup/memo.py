"""The parts of ``functools`` that hooks need, without its slow import.

``partial`` is that of ``functools``. ``remembered`` replaces ``lru_cache``: a full cache is cleared, which is
good enough for few and small results.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import partial
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")
else:
    try:
        from _functools import partial
    except ImportError:
        from functools import partial

__all__ = ["partial", "remembered"]


def remembered(size: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache the results of a pure function; its arguments must be hashable."""

    def around(function: Callable[P, T]) -> Callable[P, T]:
        known: dict[object, T] = {}

        def asked(*values: P.args, **named: P.kwargs) -> T:
            key = (values, *named.items())
            try:
                return known[key]
            except KeyError:
                answer = function(*values, **named)
            if len(known) >= size:
                known.clear()
            known[key] = answer
            return answer

        asked.__doc__, asked.__name__ = function.__doc__, function.__name__
        return asked

    return around
