"""Racing readers of one agent deliver each message once, on every engine."""

import threading

import pytest
from tests.services.briefs import store_of

from dibs.core.claims.agents import Caller

BOB = Caller("bob")
READERS, MESSAGES = 3, 12


@pytest.mark.parametrize(
    "engine", ["memory", "sqlite", "redis", pytest.param("git", marks=pytest.mark.slow)]
)
def test_racing_readers_deliver_each_message_once(request, engine):
    store = store_of(request, engine)
    writer, readers = store.open(), [store.open() for _ in range(READERS)]
    done, told, broken = threading.Event(), [], []

    def read(process):
        try:
            while not done.is_set():
                delivery = process.briefings.prepare(BOB, budget=400)
                if delivery is not None:
                    told.append(delivery)
                    process.briefings.delivered(BOB, delivery.number)
        except BaseException as error:  # reported by the test
            broken.append(error)
            raise

    threads = [threading.Thread(target=read, args=[process]) for process in readers]
    for thread in threads:
        thread.start()
    said = [writer.say("carol", ["bob"], f"word{n}") for n in range(MESSAGES)]
    while not broken and writer.rows("unread/bob/"):
        pass
    done.set()
    for thread in threads:
        thread.join()
    left = writer.rows("offer/")
    store.close()

    assert broken == []
    assert left == []
    assert sorted(id_ for delivery in told for id_ in delivery.mail) == sorted(said)
    numbers = [delivery.number for delivery in told]
    assert sorted(numbers) == list(range(1, len(numbers) + 1)), "every number exactly once"
