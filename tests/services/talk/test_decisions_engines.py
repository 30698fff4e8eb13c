"""Decisions on every engine: whatever races, each is decided once."""

import threading

from tests.services.engines import common_store, on_every_engine
from tests.services.several_agents import caller
from tests.services.wired import deciding, wired

from dibs.config.load import Config
from dibs.core.talk.decisions import Outcome
from dibs.errors import BadInput
from dibs.services.state.mailbox import messages


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


def test_of_racing_voters_one_decides_and_the_others_get_an_error(connect):
    store = connect()
    asked = deciding(store).new(caller("alice"), "use httpx", confirm=True)
    rivals = [
        (deciding(connect()), outcome, place)
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
    assert deciding(connect()).show(asked.id) == won
    assert made(store) == [asked.id]
    assert told(store, "alice") == [asked.id]
