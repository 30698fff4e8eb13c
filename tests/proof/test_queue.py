"""The queue among real processes: first come, first served, and dead waiters are skipped."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest
from proof_crew import Repo, eventually

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.engines.memory import MemoryEngine
from dibs.services.claims.agents import Agents
from dibs.services.claims.service import Claims
from dibs.services.state.store import WAITER_TTL, Store


@pytest.mark.slow
def test_waiters_are_served_in_order_others_pass_and_a_dead_one_is_skipped(repo: Repo):
    assert repo.dibs("claim", "src/", agent="holder").returncode == 0
    crew = [f"w{number}" for number in range(1, 7)]
    waiting = {}
    for place, agent in enumerate(crew, 1):
        text = "src/*.py" if place % 2 else "src/x.py"
        waiting[agent] = repo.start("claim", text, "--wait", "120s", "--json", agent=agent)
        eventually(f"{agent} is in the queue", lambda: repo.tickets() == crew[:place])  # noqa: B023
    os.kill(waiting["w3"].pid, signal.SIGKILL)
    waiting.pop("w3").communicate()

    assert repo.dibs("claim", "docs/", agent="other").returncode == 0
    assert repo.dibs("claim", "src/y.py", agent="late").returncode == 3
    holder = "holder"
    for agent, process in waiting.items():
        assert repo.dibs("release", "--all", agent=holder).returncode == 0
        out, err = process.communicate(timeout=120)
        assert json.loads(out)["outcome"] == "granted", err
        holder = agent

    entries = repo.ledger()
    served = [e.agent for e in entries if e.kind == "lock_acquired" and e.agent != "other"]
    assert served == ["holder", "w1", "w2", "w4", "w5", "w6"]
    (drawn,) = [e for e in entries if e.kind == "lock_queued" and e.agent == "w3"]
    (fourth,) = [e for e in entries if e.kind == "lock_acquired" and e.agent == "w4"]
    kept = fourth.at - drawn.at
    assert WAITER_TTL <= kept <= WAITER_TTL + 10, (
        "a position is kept for the waiter's ttl, not longer"
    )


def test_a_waiter_wakes_up_when_an_owner_that_returned_expires():
    """The owner sends a heartbeat after the waiter has checked, and none after that."""
    engine = MemoryEngine(time.monotonic)
    store = Store(engine, Config(ttl=1.0))
    holder, got = Caller("holder"), []
    Claims(store).claim(holder, [parse("src/x.py")])

    def wait() -> None:
        answer = Claims(store).claim(Caller("waiter"), [parse("src/x.py")], wait=10)
        got.append((isinstance(answer, Granted), time.monotonic()))

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.3)
    Agents(store).beat(holder)
    seen = time.monotonic()
    waiter.join()

    ((granted, at),) = got
    assert granted
    assert 1.0 - 0.05 <= at - seen <= 1.0 + 0.4


def test_a_live_waiter_keeps_its_position_for_longer_than_the_waiter_ttl():
    store = Store(MemoryEngine(time.monotonic), Config(ttl=30.0), waiter_ttl=0.3)
    claims = Claims(store)
    claims.claim(Caller("holder"), [parse("src/x.py")])
    waiter = threading.Thread(
        target=lambda: claims.claim(Caller("waiter"), [parse("src/x.py")], wait=10)
    )
    waiter.start()
    (first,) = eventually("an agent waits", lambda: claims.all()[1])

    for _ in range(10):
        time.sleep(0.1)
        (place,) = claims.all()[1]

        assert place.ticket.number == first.ticket.number
    Agents(store).leave(Caller("holder"))
    waiter.join()
    assert [held.claim.agent for held in claims.all()[0]] == ["waiter"]
