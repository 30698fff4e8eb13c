"""The contract catches broken engines.

A correct engine passes. Then one of its rules at a time is broken, and the tests named here must
fail.
"""

from __future__ import annotations

import time

import pytest
from tests.engines.optimistic import Attempt, OptimisticEngine, View

import dibs.testing
from dibs.testing import EngineContract, NewLifeContract


class TestSound(EngineContract, NewLifeContract):
    """The engine is correct before it is broken: the contract does not fail everything."""

    @pytest.fixture
    def engine(self):
        return OptimisticEngine()

    @pytest.fixture
    def connect(self, engine):
        return engine.connect

    @pytest.fixture
    def forget(self, engine):
        return engine.store.forget


def attempts(**rules):
    """Return an engine whose steps override ``rules``, methods of an attempt."""
    attempt = type("BrokenAttempt", (Attempt,), rules)
    view = type("BrokenView", (View, attempt), {})
    return type("Broken", (OptimisticEngine,), {"attempt": attempt, "view_attempt": view})


def engines(**rules):
    """Return an engine that overrides ``rules``, its own methods."""
    return type("Broken", (OptimisticEngine,), rules)


def always(*_):
    return True


def guarded_by_count(attempt):
    return all(
        len(attempt.read_range(*wanted)) == len(found) for wanted, found in attempt.ranges.items()
    )


def guarded_by_keys(attempt):
    return all(
        attempt.read_range(*wanted).keys() == found.keys()
        for wanted, found in attempt.ranges.items()
    )


def won_if_it_looks_so(engine, attempt):
    """Commit; or assume success, like a push without a nonce, if the same content is already there."""
    written = {key: engine.store.state.values.get(key) for key in attempt.pending}
    ours = attempt.pending == written and not attempt.told
    return ours or OptimisticEngine.commit(engine, attempt)


def numbers_given_at_the_commit(attempt):
    shift = attempt.state.newest - attempt.base
    attempt.told = [entry._replace(seq=entry.seq + shift) for entry in attempt.told]
    attempt.base += shift
    Attempt.apply(attempt)


def first_run_left_behind(engine, failed):
    attempt = engine.new_attempt()
    attempt.pending, attempt.told = failed.pending, failed.told
    return attempt


def half_applied(engine, attempt):
    with engine.store.changed:
        attempt.apply()
    return True


def nap_before_sleep(engine, after, timeout):
    """Check first, and only then prepare to be woken."""
    if engine.store.state.newest > after:
        return engine.store.state.newest
    time.sleep(0.001)
    with engine.store.changed:
        engine.store.changed.wait(timeout)
        return engine.store.state.newest


class LiveView(OptimisticEngine):
    """A view that reads the current state at each read."""

    class view_attempt(View):  # noqa: N801
        def get(self, key):
            return self.state.values.get(key)

    def snapshot(self):
        return self.store.state


class MovingNow(OptimisticEngine):
    """A clock that is read again each time."""

    class attempt(Attempt):  # noqa: N801
        now = property(lambda _: time.time(), lambda *_: None)


GUARDED_POINTS = [
    "test_a_rival_in_the_middle_of_a_step_is_not_lost",
    "test_a_missing_key_that_was_read_is_guarded",
    "test_a_value_that_was_read_is_guarded",
    "test_a_key_that_was_read_and_then_deleted_is_guarded",
]
NEW_KEYS = [
    "test_a_key_that_a_rival_adds_to_a_scanned_range_is_noticed",
    "test_an_empty_range_within_a_wider_key_space_is_guarded",
    "test_a_key_before_the_end_of_an_abandoned_scan_is_noticed",
]
LOST_KEYS = ["test_a_key_deleted_from_a_scanned_range_is_noticed"]
SWAPPED_KEYS = ["test_a_key_that_replaces_another_one_is_noticed"]
CHANGED_VALUES = ["test_a_value_in_a_scanned_range_is_guarded"]
READ_LEDGER = [
    "test_an_entry_added_to_a_ledger_that_was_read_is_noticed",
    "test_an_entry_trimmed_from_a_ledger_that_was_read_is_noticed",
]

BROKEN = {
    "reads outside the transaction": (
        attempts(points_hold=always),
        [*GUARDED_POINTS, "test_rivals_that_write_the_same_change_are_still_two"],
    ),
    "phantoms: ranges are not checked": (
        attempts(ranges_hold=always),
        [*NEW_KEYS, *LOST_KEYS, *SWAPPED_KEYS, *CHANGED_VALUES],
    ),
    "phantoms: ranges are checked by their count": (
        attempts(ranges_hold=guarded_by_count),
        [*SWAPPED_KEYS, *CHANGED_VALUES],
    ),
    "phantoms: ranges are checked by their keys": (
        attempts(ranges_hold=guarded_by_keys),
        CHANGED_VALUES,
    ),
    "a ledger read is not checked": (
        attempts(ledger_holds=lambda _: not _.told or _.state.newest == _.base),
        READ_LEDGER,
    ),
    "no nonce: the content decides who won": (
        engines(commit=won_if_it_looks_so),
        ["test_rivals_that_write_the_same_change_are_still_two"],
    ),
    "emit returns a wrong number": (
        attempts(ledger_holds=always, apply=numbers_given_at_the_commit),
        ["test_emit_returns_the_number_of_its_entry"],
    ),
    "a step that runs again keeps its first run": (
        engines(next_attempt=first_run_left_behind),
        ["test_a_step_that_runs_again_leaves_nothing_of_its_first_run"],
    ),
    "a step that only reads is not checked": (
        attempts(holds=lambda _: not (_.pending or _.told) or Attempt.holds(_)),
        ["test_a_step_that_writes_nothing_sees_one_snapshot"],
    ),
    "a failure counts although the reads were inconsistent": (
        engines(stands_after_failure=always),
        ["test_a_step_never_sees_an_inconsistent_state"],
    ),
    "a step that fails is half applied": (
        engines(stands_after_failure=half_applied),
        ["test_a_step_that_fails_changes_nothing"],
    ),
    "a lost wakeup": (
        engines(wait=nap_before_sleep),
        ["test_no_write_is_missed_between_the_check_and_the_sleep"],
    ),
    "no epoch: numbers restart with the state": (
        engines(first_number=lambda *_: 0),
        [
            "test_numbers_of_a_new_life_are_above_all_old_ones",
            "test_a_handle_from_the_old_life_continues_in_the_new_one",
            "test_numbers_grow_across_many_lives",
        ],
    ),
    "a new life starts without notice": (
        engines(connect=lambda engine, renew=None: type(engine)(engine.store)),
        ["test_a_new_life_starts_once_and_with_the_given_step"],
    ),
    "a view reads the current state": (
        LiveView,
        [
            "test_a_view_sees_one_snapshot_whatever_is_written_meanwhile",
            "test_a_view_sees_one_snapshot_even_of_what_it_has_not_read_yet",
        ],
    ),
    "now moves inside a step": (
        MovingNow,
        ["test_now_is_constant_during_a_step_and_never_decreases"],
    ),
}  # fmt: skip


class Whole(EngineContract, NewLifeContract):
    """The contract, to be called test by test."""

    __test__ = False


@pytest.mark.parametrize(
    ("broken", "rule"),
    [(broken, rule) for broken, (_, rules) in BROKEN.items() for rule in rules],
)
def test_the_contract_catches(broken, rule, monkeypatch):
    monkeypatch.setattr(
        dibs.testing.ledger, "LONG", 2.0
    )  # fail sooner if the engine sleeps forever
    engine = BROKEN[broken][0]()
    with_loss = [engine.store.forget] if rule in vars(NewLifeContract) else []

    with pytest.raises((AssertionError, dibs.testing.steps.Broken)):
        getattr(Whole(), rule)(engine.connect, *with_loss)


def test_each_race_rule_has_caught_a_broken_engine():
    named = {rule for _, rules in BROKEN.values() for rule in rules}

    assert {name for name in vars(dibs.testing.races.Races) if name.startswith("test_")} <= named
    assert {name for name in vars(NewLifeContract) if name.startswith("test_")} <= named
