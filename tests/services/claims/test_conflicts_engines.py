"""Conflicts on every engine: the waiter, the owner, and the human are separate processes."""

from __future__ import annotations

from threading import Barrier, Thread

from tests.services.court import Court
from tests.services.engines import common_store, on_lasting_engines
from tests.services.several_agents import caller

from dibs.core.claims.rules import Granted
from dibs.core.talk.decisions import Outcome
from dibs.errors import BadInput


@on_lasting_engines
def connect(request):
    """Return a function that opens the shared store as another machine would."""
    with common_store(request, apart=True) as another:
        yield lambda **settings: Court(another(), **settings)


def wait_in_thread(court, *patterns):
    answers = []
    thread = Thread(
        target=lambda: answers.append(court.claim("bob", *patterns, wait=120)), daemon=True
    )
    thread.start()
    return thread, answers


def until(court, so):
    """Wait until a condition is true, checking it after every change."""
    seq = 0
    for _ in range(300):
        if so():
            return
        seq = court.engine.wait(seq, 0.2)
    raise AssertionError("it did not happen")


def test_a_yes_and_a_refusal_reach_a_waiter_elsewhere(connect):
    holder, waiter, boss = connect(), connect(), connect()
    holder.claim("alice", "a", "b", ttl=600)
    thread, answers = wait_in_thread(waiter, "a")
    until(holder, holder.waiting)
    boss.ask("bob", "a")

    holder.answer("alice", "yes", "a")

    thread.join(30)
    assert isinstance(answers[0], Granted)
    thread, answers = wait_in_thread(waiter, "b")
    until(holder, holder.waiting)
    (decision,) = boss.escalate("bob", "b")
    boss.refuse(decision, "alice first")
    thread.join(30)
    assert (answers[0].why, answers[0].reason) == ("refused", "alice first")
    assert holder.held() == {("bob", "a"), ("alice", "b")}


def test_only_one_of_two_simultaneous_humans_decides(connect):
    one, other = connect(), connect()
    one.claim("alice", "a", ttl=600)
    (decision,) = one.escalate("bob", "a")
    ready = Barrier(2)
    results = {}

    def decide(court, human, outcome):
        who = caller("human")._replace(id=human)
        ready.wait(10)
        try:
            results[human] = court.decisions.decide(who, [decision.id], outcome, "so")[0]
        except BadInput as refused:
            results[human] = refused

    threads = [
        Thread(target=decide, args=(one, "user-1", Outcome.CONFIRMED)),
        Thread(target=decide, args=(other, "user-2", Outcome.REJECTED)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    codes = [getattr(result, "code", "done") for result in results.values()]
    assert sorted(codes) == ["DECIDED", "done"]
    revoked = not isinstance(results["user-1"], BadInput)
    assert one.held() == (set() if revoked else {("alice", "a")})
