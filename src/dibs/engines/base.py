"""The port: what every engine keeps, and the only thing that services know of one.

``dibs.testing.EngineContract`` is the definition; this is its summary. A project's state is a sorted map
from text keys to text values, beside an append-only ledger. All changes go through ``transact``, which
applies a step as if nobody else were there.

The sequence number that ``emit`` returns doubles as the fencing token of a grant: it is unique, it only
grows over the project's life, and the entry with that number in the ledger is the grant itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.core.claims.ledger import Entry, Event
    from dibs.core.text.findings import Finding

T = TypeVar("T")


class Txn(Protocol):
    """One step's view of the state. It sees its own writes."""

    #: Seconds on the engine's clock, near to Unix time; never goes back; fixed for the whole step.
    now: float

    def get(self, key: str) -> str | None:
        """Return the value of ``key``."""
        ...

    def scan(self, *ranges: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the keys and values of each range in turn, in key order (by code point) inside a range.

        A range is a pair: what its keys start with, and a text that they have in them (see ``Range``).
        """
        ...

    def put(self, key: str, value: str) -> None:
        """Set ``key`` to ``value``."""
        ...

    def delete(self, key: str) -> None:
        """Remove ``key``; do nothing if it is not there."""
        ...

    def emit(self, event: Event) -> int:
        """Append ``event`` to the ledger and return its sequence number."""
        ...

    def events(self, after: int = 0, *, newest_first: bool = False) -> Iterator[Entry]:
        """Yield the ledger's entries with a sequence number above ``after``."""
        ...

    def restore(self, entry: Entry) -> None:
        """Append an entry of another store, with the number and the moment that it has there.

        Its number must be above all numbers in this ledger, else it is a ``ValueError``.
        """
        ...

    def trim(self, upto: int) -> int:
        """Drop the entries up to and including ``upto``, never the newest; return how many went."""
        ...


class Engine(Protocol):
    """Where the state of one project lives.

    ``Unavailable`` means that nothing happened; ``Unknown`` that a change may or may not have happened.
    """

    #: None while the last view was fresh; else when the state that it saw was last known to be current.
    as_of: float | None
    #: The shortest ttl that this engine can keep, in seconds; 0 if it keeps whatever the settings allow.
    shortest_ttl: float

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` as if alone, make it durable, and return its answer.

        The step may run more than once, so it has no effect but through its ``Txn``. If it raises, nothing is
        written.
        """
        ...

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on a consistent snapshot; a step that writes is a ``RuntimeError``.

        It may run more than once, too.
        """
        ...

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger has moved past ``after`` or ``timeout`` seconds went by.

        Returns the newest sequence number, 0 for an empty ledger.
        """
        ...

    def close(self) -> None:
        """Give back what the engine holds; a closed engine is not used again."""
        ...

    def inspect(self) -> list[Finding]:
        """Say what the store promises as it is configured, and what stands in the way."""
        ...

    def repair(self) -> list[str]:
        """Put right what can be put right without losing anything; say what was done, a line each."""
        ...
