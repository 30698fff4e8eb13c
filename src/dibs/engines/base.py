"""The engine interface: all that services know about an engine.

``dibs.testing.EngineContract`` defines it in full. A project's state is a sorted map of text keys
to text values, plus an append-only ledger. Every change goes through ``transact``, which applies a
step atomically.

The sequence number that ``emit`` returns is also the fencing token of a grant: it is unique, it
only increases over the project's lifetime, and the ledger entry with that number is the grant
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from dibs.core.claims.ledger import Entry, Event
    from dibs.core.text.findings import Finding

    #: Rows as people may read them elsewhere: names that a group no longer holds (group, name, until when it
    #: held it); groups that were heard (group, when); and names that a group holds (group, name, until when,
    #: and the text " LASTS SINCE LATEST": how long it does after its group is heard, since when, and until
    #: when at the latest). Times are in milliseconds on the server's clock.
    #: Three flat lists.
    Mirrored = tuple[list[str | int], list[str | int], list[str | int]]

T = TypeVar("T")


class Txn(Protocol):
    """One step's view of the state. It sees its own writes."""

    #: Seconds on the engine's clock, close to Unix time. Never decreases; constant during a step.
    now: float

    def get(self, key: str) -> str | None:
        """Return the value of ``key``."""
        ...

    def scan(self, *ranges: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the keys and values of each range in turn, each range in key order (by code point).

        A range is a pair: a prefix, and a text that every key contains (see ``Range``).
        """
        ...

    def put(self, key: str, value: str) -> None:
        """Set ``key`` to ``value``."""
        ...

    def delete(self, key: str) -> None:
        """Remove ``key``, if it exists."""
        ...

    def emit(self, event: Event) -> int:
        """Append ``event`` to the ledger and return its sequence number."""
        ...

    def events(
        self,
        after: int = 0,
        *,
        newest_first: bool = False,
        agents: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> Iterator[Entry]:
        """Yield the ledger entries above the number ``after``, of some agents and kinds or of all."""
        ...

    def restore(self, entry: Entry) -> None:
        """Append an entry of another store with its original number and time.

        Raise ``ValueError`` unless its number is greater than every number in this ledger.
        """
        ...

    def trim(self, upto: int) -> int:
        """Drop the entries up to ``upto``, but never the newest; return how many were dropped."""
        ...


class Engine(Protocol):
    """Stores the state of one project.

    ``Unavailable`` means that nothing changed; ``Unknown`` means that a change may or may not have
    happened.
    """

    #: None if the last view was fresh; otherwise the time at which the state it saw was last known
    #: to be current.
    as_of: float | None
    #: The shortest ttl that this engine supports, in seconds; 0 if it has no minimum of its own.
    shortest_ttl: float

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` atomically, make it durable, and return its result.

        The step may run more than once, so it must have no effect except through its ``Txn``. If it
        raises, nothing is written.
        """
        ...

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on a consistent snapshot; raise ``RuntimeError`` if it writes.

        The step may run more than once.
        """
        ...

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger has moved past ``after`` or ``timeout`` seconds have passed.

        Return the newest sequence number, or 0 if the ledger is empty.
        """
        ...

    def close(self) -> None:
        """Release all resources; a closed engine cannot be used again."""
        ...

    def inspect(self) -> list[Finding]:
        """Report what the store guarantees as it is configured, and any problems."""
        ...
