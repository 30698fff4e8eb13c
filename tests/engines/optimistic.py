"""A small engine without locks: at the end of a step, it checks what the step has read.

It satisfies the contract. Each rule is in its own method, so that ``test_contract_teeth`` can break
them one at a time.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from itertools import count

from dibs.core.claims.ledger import Entry
from dibs.engines.shared.writes import RefusesWrites, filter_entries, not_above


class State:
    """The state that all handles share."""

    def __init__(self):
        self.values = {}
        self.ledger = []
        self.newest = 0
        #: Empty before the first step and after a loss.
        self.life = ""

    def copy(self):
        twin = copy.copy(self)
        twin.values, twin.ledger = dict(self.values), list(self.ledger)
        return twin


class Store:
    """The state, and what survives its loss."""

    def __init__(self):
        self.state = State()
        self.changed = threading.Condition()
        self.latest = 0.0
        #: Kept apart from the state, as an anchor outside the store is: how many lives it has had.
        self.lives = count(1)

    def forget(self):
        with self.changed:
            self.state = State()


class Attempt:
    """One run of a step, with everything it read and wrote."""

    def __init__(self, state, now):
        self.state = state
        self.now = now
        self.points = {}
        self.ranges = {}
        self.ledger = None
        self.pending = {}
        self.told = []
        self.trimmed = 0
        self.base = state.newest

    def get(self, key):
        if key in self.pending:
            return self.pending[key]
        return self.points.setdefault(key, self.state.values.get(key))

    def scan(self, *ranges):
        for wanted in ranges:
            prefix, containing = wanted
            found = self.ranges.setdefault((prefix, containing), self.read_range(*wanted))
            own = self.pending.items()
            found = found | {k: v for k, v in own if k.startswith(prefix) and containing in k}
            for key in self.in_order(found):
                if found[key] is not None:
                    yield key, found[key]

    def read_range(self, prefix, containing):
        values = self.state.values.copy()
        return {k: v for k, v in values.items() if k.startswith(prefix) and containing in k}

    def in_order(self, keys):
        return sorted(keys)

    def put(self, key, value):
        self.pending[key] = value

    def delete(self, key):
        self.pending[key] = None

    def emit(self, event):
        number = self.newest() + 1
        details = json.loads(json.dumps(event.details))
        self.told.append(Entry(number, self.now, *event[:4], details))
        return number

    def restore(self, entry):
        if entry.seq <= self.newest():
            raise not_above(entry.seq, self.newest())
        self.told.append(entry)

    def newest(self):
        return self.told[-1].seq if self.told else self.base

    def entries(self):
        if self.ledger is None:
            self.ledger = list(self.state.ledger)
        return [entry for entry in self.ledger + self.told if entry.seq > self.trimmed]

    def events(self, after=0, *, newest_first=False, agents=(), kinds=()):
        entries = [entry for entry in self.entries() if entry.seq > after]
        return filter_entries(entries[::-1] if newest_first else entries, agents, kinds)

    def trim(self, upto):
        going = [entry.seq for entry in self.entries()[:-1] if entry.seq <= upto]
        self.trimmed = max([self.trimmed, *going])
        return len(going)

    # at the end of the step

    def holds(self):
        return self.points_hold() and self.ranges_hold() and self.ledger_holds()

    def points_hold(self):
        return all(self.state.values.get(key) == value for key, value in self.points.items())

    def ranges_hold(self):
        return all(self.read_range(*wanted) == found for wanted, found in self.ranges.items())

    def ledger_holds(self):
        if self.told and self.state.newest != self.base:
            return False
        return self.ledger is None or self.ledger == self.state.ledger

    def apply(self):
        for key, value in self.pending.items():
            self.state.values.pop(key, None)
            if value is not None:
                self.state.values[key] = value
        everything = self.state.ledger + self.told
        self.state.ledger = [entry for entry in everything if entry.seq > self.trimmed]
        self.state.newest = self.newest() if self.told else self.state.newest


class View(RefusesWrites, Attempt):
    """An attempt that must not write."""


class OptimisticEngine:
    """An engine over a store in this process."""

    attempt = Attempt
    view_attempt = View
    as_of = None
    shortest_ttl = 0.0

    def __init__(self, store=None, renew=None):
        self.store = store or Store()
        self.renew = renew

    def connect(self, renew=None):
        return type(self)(self.store, renew)

    def transact(self, step):
        self.begin_life()
        attempt = self.new_attempt()
        while True:
            try:
                answer = step(attempt)
            except Exception:
                if self.stands_after_failure(attempt):
                    raise
            else:
                if self.commit(attempt):
                    return answer
            attempt = self.next_attempt(attempt)

    def new_attempt(self):
        return self.attempt(self.store.state, self.now())

    def next_attempt(self, failed):
        return self.new_attempt()

    def stands_after_failure(self, attempt):
        with self.store.changed:
            return attempt.holds()

    def commit(self, attempt):
        with self.store.changed:
            if not attempt.holds():
                return False
            attempt.apply()
            self.store.changed.notify_all()
            return True

    def begin_life(self):
        with self.store.changed:
            state = self.store.state
            if state.life:
                return
            life = next(self.store.lives)
            state.life, state.newest = f"life {life}", self.first_number(life)
            if self.renew is not None and life > 1:
                attempt = self.attempt(state, self.now())
                self.renew(attempt, "the store lost its state")
                attempt.apply()

    def first_number(self, life):
        return (life - 1) << 32

    def now(self):
        self.store.latest = max(self.store.latest, time.time())
        return self.store.latest

    def view(self, step):
        return step(self.view_attempt(self.snapshot(), self.now()))

    def snapshot(self):
        with self.store.changed:
            return self.store.state.copy()

    def wait(self, after, timeout):
        with self.store.changed:
            self.store.changed.wait_for(lambda: self.store.state.newest > after, timeout)
            return self.store.state.newest if self.store.state.ledger else 0

    def close(self):
        pass

    def inspect(self):
        return []
