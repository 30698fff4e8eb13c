"""A step's view that refuses to write, whatever engine it is of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from dibs.core.claims.ledger import Entry, Event


class RefusesWrites:
    """Goes before an engine's own ``Txn`` among the bases: a step that writes is a mistake in it."""

    __slots__ = ()

    def put(self, key: str, value: str) -> NoReturn:
        """Refuse."""
        raise _mistake()

    def delete(self, key: str) -> NoReturn:
        """Refuse."""
        raise _mistake()

    def emit(self, event: Event) -> NoReturn:
        """Refuse."""
        raise _mistake()

    def restore(self, entry: Entry) -> NoReturn:
        """Refuse."""
        raise _mistake()

    def trim(self, upto: int) -> NoReturn:
        """Refuse."""
        raise _mistake()


def not_above(number: int, newest: int) -> ValueError:
    """Return the error for an entry that cannot stand at the end of the ledger."""
    return ValueError(f"entry {number} is not above {newest}, the newest of this ledger")


def _mistake() -> RuntimeError:
    return RuntimeError("a view does not write")
