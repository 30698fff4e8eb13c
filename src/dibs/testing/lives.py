"""Contract tests for new lives: for an engine whose store can lose data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.testing.steps import entries, event, everything, increment

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.engines.base import Txn
    from dibs.testing.steps import Connect


class NewLifeContract:
    """After a loss, a new life starts, and none of the old numbers is used again.

    The fixture ``forget`` returns a function that makes the store lose everything, in whatever way
    its technology allows. The function that ``connect`` returns must accept ``renew``.
    """

    def test_numbers_of_a_new_life_are_above_all_old_ones(
        self, connect: Connect, forget: Callable[[], object]
    ) -> None:
        last = [connect().transact(increment) for _ in range(5)][-1]

        forget()

        assert connect().transact(increment) > last

    def test_a_handle_from_the_old_life_continues_in_the_new_one(
        self, connect: Connect, forget: Callable[[], object]
    ) -> None:
        engine = connect()
        last = [engine.transact(increment) for _ in range(5)][-1]

        forget()

        assert engine.transact(increment) > last
        assert engine.view(lambda txn: txn.get("count")) == "1"

    def test_numbers_grow_across_many_lives(
        self, connect: Connect, forget: Callable[[], object]
    ) -> None:
        numbers = []

        for _ in range(3):
            numbers += [connect().transact(increment) for _ in range(2)]
            forget()

        assert numbers == sorted(set(numbers))

    def test_a_new_life_starts_once_and_with_the_given_step(
        self, connect: Connect, forget: Callable[[], object]
    ) -> None:
        reasons: list[str] = []

        def renew(txn: Txn, why: str) -> None:
            reasons.append(why)
            txn.put("renewed", why)
            txn.emit(event("a new life"))

        connect(renew=renew).transact(increment)
        forget()
        connect(renew=renew).transact(increment)
        connect(renew=renew).transact(increment)

        assert [entry.summary for entry in entries(connect())] == ["a new life", *["one more"] * 2]
        assert everything(connect()) == [("count", "2"), ("renewed", reasons[-1])]
        assert reasons[-1]
        assert "\n" not in reasons[-1]
