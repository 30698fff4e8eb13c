"""Finding a step's writes by prefix, however many there are."""

from random import Random

from dibs.engines.shared.writes import FEW, Pending


def test_keys_are_found_in_order_among_few_and_among_many():
    random, pending, plain = Random(4), Pending(), {}
    for number in range(5 * FEW):
        key = f"{random.choice('abc')}/{random.choice('xy')}//{random.randrange(999)}"
        pending[key] = plain[key] = str(number) if number % 3 else None
        if number % 50 == 0 or number > 5 * FEW - 20:
            for prefix, containing in (
                ("", ""),
                ("b/", ""),
                ("b/x//1", ""),
                ("a/", "y//"),
                ("d", ""),
            ):
                expected = sorted(k for k in plain if k.startswith(prefix) and containing in k)
                assert pending.under(prefix, containing) == expected
                there = any(k.startswith((prefix, "d/")) for k in plain)
                assert pending.touches((prefix, "d/")) == there
    assert dict(pending) == plain


def test_many_keys_are_not_all_checked_for_each_query():
    """Counted, not timed: a query looks at the keys it finds and at one more."""
    looked = 0

    class Key(str):
        __slots__ = ()

        def startswith(self, *words):
            nonlocal looked
            looked += 1
            return super().startswith(*words)

    pending = Pending((Key(f"task/{n:05}"), "") for n in range(40 * FEW))
    pending.under("task/")
    looked = 0

    for number in range(100):
        pending[Key(f"version/{number}")] = ""
        assert pending.under(f"needs/{number}//") == []
        assert pending.under(f"task/{number:05}") == [f"task/{number:05}"]
        assert not pending.touches((f"needs/{number}//", f"task/{number:05}//"))

    assert looked <= 500
