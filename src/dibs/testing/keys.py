"""Contract tests for keys, values, and scans, with one handle at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.patterns.filing import Range
from dibs.testing.steps import drop, everything, put, scan

if TYPE_CHECKING:
    from dibs.engines.base import Txn
    from dibs.testing.steps import Connect


class Keys:
    """A step reads what was written, in order."""

    def test_one_handle_reads_what_another_one_wrote(self, connect: Connect) -> None:
        connect().transact(lambda txn: txn.put("k", "v"))

        assert connect().transact(lambda txn: txn.get("k")) == "v"

    def test_a_key_that_was_never_put_has_no_value(self, connect: Connect) -> None:
        assert connect().transact(lambda txn: txn.get("k")) is None

    def test_a_later_put_replaces_the_value(self, connect: Connect) -> None:
        put(connect(), k="old")

        put(connect(), k="new")

        assert everything(connect()) == [("k", "new")]

    def test_a_deleted_key_is_gone_and_deleting_it_again_does_nothing(
        self, connect: Connect
    ) -> None:
        put(connect(), k="v", other="w")

        connect().transact(lambda txn: txn.delete("k"))
        connect().transact(lambda txn: txn.delete("k"))

        assert everything(connect()) == [("other", "w")]

    def test_any_text_is_returned_unchanged(self, connect: Connect) -> None:
        quotes, wide = 'it\'s "so"; --\n\r\t\\', "ünï ☃ 😀 \uffff \U0010ffff"
        texts = ["", quotes, wide, "%_*?[", "x" * 1_000_000]

        put(connect(), **{"k" + text[:50]: text for text in texts})

        found = connect().transact(lambda txn: [txn.get("k" + text[:50]) for text in texts])
        assert found == texts

    def test_the_result_of_the_step_is_returned(self, connect: Connect) -> None:
        answer = object()

        assert connect().transact(lambda _: answer) is answer
        assert connect().view(lambda _: answer) is answer

    def test_a_step_sees_its_own_writes(self, connect: Connect) -> None:
        put(connect(), **{"p/b": "1", "p/c": "2", "p/d": "3"})

        def step(txn: Txn) -> tuple[list[str | None], list[tuple[str, str]]]:
            for key in ("p/a", "p/c", "p/e", "q"):
                txn.put(key, "new")
            txn.delete("p/b")
            txn.delete("p/e")
            found = [txn.get(key) for key in ("p/a", "p/b", "p/c", "p/d", "p/e")]
            return found, list(txn.scan(Range("p/")))

        found, scanned = connect().transact(step)

        assert found == ["new", None, "new", "3", None]
        assert scanned == [("p/a", "new"), ("p/c", "new"), ("p/d", "3")]
        assert everything(connect()) == [*scanned, ("q", "new")]

    def test_a_step_can_put_back_a_key_that_it_deleted(self, connect: Connect) -> None:
        put(connect(), k="old")

        def step(txn: Txn) -> None:
            txn.delete("k")
            txn.put("k", "new")
            txn.put("l", "x")
            txn.delete("l")

        connect().transact(step)

        assert everything(connect()) == [("k", "new")]

    def test_a_scan_is_in_the_order_of_code_points(self, connect: Connect) -> None:
        keys = ["A", "a", "a/", "a/b", "a0", "aa", "z", "é"]
        keys += ["\uffff", "😀", "\U0010ffff", "\U0010ffffx"]
        put(connect(), **dict.fromkeys(reversed(keys), ""))

        assert [key for key, _ in everything(connect())] == sorted(keys)

    def test_a_range_contains_exactly_the_keys_with_its_prefix(self, connect: Connect) -> None:
        keys = ["a", "a/", "a//x", "a/b", "a/\U0010ffff", "a/\uffff\uffff", "a.", "a0", "b"]
        keys += ["\ud7ff", "\ue000"]
        put(connect(), **dict.fromkeys(keys, ""))

        prefixes = ["", "a", "a/", "a//", "a/\U0010ffff", "a/\uffff", "\ud7ff", "nothing"]
        for prefix in [*prefixes, "\U0010ffff"]:
            found = scan(connect(), Range(prefix))

            assert found == sorted(key for key in keys if key.startswith(prefix))

    def test_a_range_can_require_a_text_inside_the_key(self, connect: Connect) -> None:
        put(
            connect(), **dict.fromkeys(["p/a//x/1", "p/b//xy/1", "p/c//x/2", "q//x/1", "p/%x%"], "")
        )

        assert scan(connect(), Range("p/", "//x/")) == ["p/a//x/1", "p/c//x/2"]
        assert scan(connect(), Range("p/", "%")) == ["p/%x%"]
        assert scan(connect(), Range("", "//x/")) == ["p/a//x/1", "p/c//x/2", "q//x/1"]

    def test_ranges_are_returned_in_the_requested_order(self, connect: Connect) -> None:
        put(connect(), **dict.fromkeys(["a1", "a2", "b1", "b2"], ""))

        found = scan(connect(), Range("b"), Range("a", "2"), Range("c"), Range("b2"))
        assert found == ["b1", "b2", "a2", "b2"]
        assert scan(connect()) == []

    def test_a_step_can_read_hundreds_of_ranges_and_write_hundreds_of_keys(
        self, connect: Connect
    ) -> None:
        keys = [f"k{number:03}" for number in range(600)]
        put(connect(), **dict.fromkeys(keys, ""))

        assert scan(connect(), *map(Range, reversed(keys))) == keys[::-1]

        drop(connect(), *keys)
        assert everything(connect()) == []

    def test_a_scan_can_be_abandoned_and_others_can_run_during_it(self, connect: Connect) -> None:
        put(connect(), a="1", b="2", c="3")
        engine = connect()

        def step(txn: Txn) -> list[tuple[str, str | None, int]]:
            next(txn.scan(Range("")))
            return [
                (key, txn.get(key), len(list(txn.scan(Range(key)))))
                for key, _ in txn.scan(Range(""))
            ]

        assert engine.transact(step) == [("a", "1", 1), ("b", "2", 1), ("c", "3", 1)]
        put(connect(), d="4")
        assert engine.transact(lambda txn: txn.get("d")) == "4"
