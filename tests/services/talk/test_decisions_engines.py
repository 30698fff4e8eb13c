"""Decisions and their deadlines on every engine: whoever races whom, each is decided once."""

import threading

from tests.services.crew import caller
from tests.services.engines import common_store, on_every_engine

from dibs.config.load import Config, Loaded
from dibs.core.talk.decisions import Outcome
from dibs.errors import BadInput
from dibs.services.state import deadlines
from dibs.services.state.mailbox import messages
from dibs.services.state.store import Desk
from dibs.services.talk.decisions import Decisions

WRITTEN = Loaded(Config(decide_deny=("style",)), {})


@on_every_engine
def connect(request):
    """Return a way to open the store as one more process would."""
    with common_store(request) as another:
        yield lambda: Desk(another(), Config())


def made(desk):
    entries = desk.engine.view(lambda txn: list(txn.events()))
    return [e.details["decision"] for e in entries if e.kind == "decision_made"]


def told(desk, box):
    found = desk.look(lambda book: list(messages(book)))
    return [message.data["decision"] for message in found if box in message.boxes]


def at_once(*acts):
    """Run each in a thread of its own, all from one moment on; return what they answered or raised."""
    start, answers = threading.Barrier(len(acts)), [None] * len(acts)

    def run(place):
        start.wait()
        try:
            answers[place] = acts[place]()
        except BadInput as error:
            answers[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_rivals_carry_out_each_deadline_once(connect):
    desk = connect()
    decisions = Decisions(desk, WRITTEN)
    asked = [
        decisions.new(caller("alice"), str(number), category="style", confirm=True).id
        for number in range(5)
    ]
    desk.apply(
        lambda book: [deadlines.put(book, 5.0, "decision", id_) for id_ in asked]
    )  # long ago
    desks = [connect() for _ in range(3)]

    counts = at_once(*(lambda rival=rival: deadlines.settle(rival) for rival in desks))

    assert sum(counts) == 5
    assert sorted(made(desk)) == sorted(asked)
    assert sorted(told(desk, "alice")) == sorted(asked)
    rows = desk.look(lambda book: [key for key, _ in book.txn.scan(("due/", ""))])
    assert rows == []


def test_of_rivals_with_different_answers_one_decides_and_the_others_hear_so(connect):
    desk = connect()
    asked = Decisions(desk, WRITTEN).new(caller("alice"), "use httpx", confirm=True)
    rivals = [
        (Decisions(connect(), WRITTEN), outcome, place)
        for place, outcome in enumerate((Outcome.CONFIRMED, Outcome.REJECTED, Outcome.CONFIRMED))
    ]

    def vote(decisions, outcome, place):
        voter = caller("human")._replace(id=f"human-{place}")
        return decisions.decide(voter, [asked.id], outcome, "because")[0]

    answers = at_once(*(lambda rival=rival: vote(*rival) for rival in rivals))

    (won,) = [answer for answer in answers if not isinstance(answer, BadInput)]
    lost = [answer for answer in answers if isinstance(answer, BadInput)]
    assert [error.code for error in lost] == ["DECIDED", "DECIDED"]
    assert all(f"by {won.decided_by}" in error.message for error in lost)
    assert Decisions(connect(), WRITTEN).show(asked.id) == won
    assert made(desk) == [asked.id]
    assert told(desk, "alice") == [asked.id]
