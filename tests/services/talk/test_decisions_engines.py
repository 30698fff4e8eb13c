"""Decisions and deadlines on every engine: whatever races, each is decided once."""

import threading

from tests.services.engines import common_store, on_every_engine
from tests.services.several_agents import caller
from tests.services.wired import deciding, settle, wired

from dibs.config.load import Config, Loaded
from dibs.core.talk.decisions import Outcome
from dibs.errors import BadInput
from dibs.services.state import deadlines
from dibs.services.state.mailbox import messages

WRITTEN = Loaded(Config(decide_deny=("style",)), {})


@on_every_engine
def connect(request):
    """Return a function that opens the store as another process would."""
    with common_store(request) as another:
        yield lambda: wired(another(), Config())


def made(store):
    entries = store.engine.view(lambda txn: list(txn.events()))
    return [e.details["decision"] for e in entries if e.kind == "decision_made"]


def told(store, box):
    found = store.look(lambda rows: list(messages(rows)))
    return [message.data["decision"] for message in found if box in message.boxes]


def at_once(*acts):
    """Run each in its own thread, all at once; return the results or errors."""
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


def test_racing_processes_apply_each_deadline_once(connect):
    store = connect()
    decisions = deciding(store, WRITTEN)
    asked = [
        decisions.new(caller("alice"), str(number), category="style", confirm=True).id
        for number in range(5)
    ]
    store.apply(
        lambda rows: [deadlines.put(rows, 5.0, "decision", id_) for id_ in asked]
    )  # long ago
    stores = [connect() for _ in range(3)]

    counts = at_once(*(lambda rival=rival: settle(rival) for rival in stores))

    assert sum(counts) == 5
    assert sorted(made(store)) == sorted(asked)
    assert sorted(told(store, "alice")) == sorted(asked)
    listed = store.look(lambda rows: [key for key, _ in rows.txn.scan(("due/", ""))])
    assert listed == []


def test_of_racing_voters_one_decides_and_the_others_get_an_error(connect):
    store = connect()
    asked = deciding(store, WRITTEN).new(caller("alice"), "use httpx", confirm=True)
    rivals = [
        (deciding(connect(), WRITTEN), outcome, place)
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
    assert deciding(connect(), WRITTEN).show(asked.id) == won
    assert made(store) == [asked.id]
    assert told(store, "alice") == [asked.id]
