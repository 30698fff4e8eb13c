"""Each message is in exactly one delivery per box, whatever readers, writers, crashes, and clocks do."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run
from tests.services.briefs import human, store_of
from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.core.talk.mail import HUMANS
from dibs.errors import DibsError
from dibs.services.briefing.service import LEASE
from dibs.services.state.deliveries import reader_of
from dibs.services.state.mailbox import boxes_of

READERS = (Caller("ann"), Caller("bob"), human("hugo"), human("hilda"))
BOXES = ("ann", "bob", HUMANS, "hugo")
PROCESSES = 3


class Reading:
    """A process in the middle of a delivery."""

    def __init__(self, caller, process, delivery):
        self.caller = caller
        self.process = process
        self.delivery = delivery
        self.written = False


class Deliveries(RuleBasedStateMachine):
    """A crew that sends messages, and readers that die at any point."""

    def __init__(self, store):
        super().__init__()
        self.store = store
        self.processes = [store.open() for _ in range(PROCESSES)]
        self.readings = []
        #: Each message with its boxes.
        self.said = {}
        #: By reader and number: the text and the messages of the delivery.
        self.offered = {}
        self.confirmed = set()
        self.written = set()
        #: By box and message: the number of the delivery that contained it.
        self.told = {}

    def process(self, data):
        return data.draw(st.sampled_from(self.processes))

    # -- actions

    @rule(data=st.data(), boxes=st.lists(st.sampled_from(BOXES), min_size=1, unique=True))
    def say(self, data, boxes):
        text = f"word{len(self.said)}word" + " lorem" * data.draw(st.sampled_from((0, 3, 80)))
        self.said[self.process(data).say("carol", boxes, text)] = (text, boxes)

    @rule(data=st.data(), path=st.sampled_from(("a", "b")), give=st.booleans())
    def work(self, data, path, give):
        """Change the state, so that there is news without messages."""
        process = self.process(data)
        act = process.holdings.release if give else process.claims.claim
        with suppress(DibsError):
            act(Caller("carol"), [parse(path)])

    @rule(
        data=st.data(), caller=st.sampled_from(READERS), full=st.booleans(),
        budget=st.sampled_from((200, 400, 5_000)), between=st.sampled_from(("", "", "read", "tell", "end")),
    )  # fmt: skip
    def prepare(self, data, caller, full, budget, between):
        process = self.process(data)
        if between in {
            "read",
            "tell",
        }:  # another process starts the same delivery after we read
            rival = data.draw(st.sampled_from([p for p in self.processes if p is not process]))
            process.engine.rival = lambda: self.rival(caller, rival, between == "tell")
        elif between == "end" and self.written_readings():
            reading = data.draw(st.sampled_from(self.written_readings()))
            if reading.process is not process:
                process.engine.rival = lambda: self.end(reading)
        self.begin(caller, process, full=full, budget=budget)
        process.engine.rival = None

    def rival(self, caller, process, tell):
        """Start a delivery, and maybe finish it, while another process is between two steps."""
        delivery = self.begin(caller, process)
        if tell and delivery is not None and delivery.number:
            self.written.add((reader_of(caller), delivery.number))
            self.end(self.readings.pop())

    def begin(self, caller, process, **options):
        delivery = process.briefings.prepare(caller, **options)
        if delivery is not None and delivery.number:
            self.check(caller, delivery)
            self.readings.append(Reading(caller, process, delivery))
        return delivery

    def check(self, caller, delivery):
        mark = reader_of(caller), delivery.number
        assert mark not in self.confirmed, "delivered again after confirmation"
        fresh = mark not in self.offered
        first = self.offered.setdefault(mark, (delivery.text, delivery.mail))
        assert first == (delivery.text, delivery.mail), "two texts with one number"
        for id_ in delivery.mail if fresh else ():
            text, boxes = self.said[id_]
            # A text that does not fit is referred to by its id: `dibs inbox` shows it.
            assert text.split()[0] in delivery.text or id_ in delivery.text
            own = set(boxes_of(caller.id, human=caller.human)) & set(boxes)
            news = [box for box in own if (box, id_) not in self.told]
            assert news, "a message that was delivered before"
            self.told.update({(box, id_): delivery.number for box in news})

    # -- steps of a delivery, and deaths between them

    @precondition(lambda self: self.readings)
    @rule(data=st.data())
    def write(self, data):
        reading = data.draw(st.sampled_from(self.readings))
        reading.written = True
        self.written.add((reader_of(reading.caller), reading.delivery.number))

    def written_readings(self):
        return [reading for reading in self.readings if reading.written]

    @precondition(lambda self: self.written_readings())
    @rule(data=st.data(), twice=st.booleans())
    def confirm(self, data, twice):
        reading = data.draw(st.sampled_from(self.written_readings()))
        self.end(reading)
        if not twice:
            self.readings.remove(reading)

    def end(self, reading):
        mark = reader_of(reading.caller), reading.delivery.number
        news = reading.process.briefings.delivered(reading.caller, reading.delivery.number)
        assert news == (mark not in self.confirmed)
        self.confirmed.add(mark)

    @precondition(lambda self: self.readings)
    @rule(data=st.data())
    def die(self, data):
        self.readings.remove(data.draw(st.sampled_from(self.readings)))

    @rule(place=st.integers(0, PROCESSES - 1))
    def restart(self, place):
        old = self.processes[place]
        self.readings = [reading for reading in self.readings if reading.process is not old]
        self.processes[place] = self.store.open()

    @rule(span=st.sampled_from((0.5, LEASE - 1, LEASE + 1, 400.0)))
    def time_passes(self, span):
        self.store.later += span

    # -- final checks

    def teardown(self):
        try:
            self.drain()
        finally:
            self.store.close()

    def drain(self):
        """Let everyone read to the end; then everything was delivered."""
        process = self.processes[0]
        for caller in READERS:
            for _ in range(3 * len(self.said) + 5):
                self.store.later += LEASE + 1
                delivery = self.begin(caller, process)
                if delivery is None or not delivery.number:
                    break
                self.end(self.readings[-1])
                self.written.add((reader_of(caller), delivery.number))
            else:
                raise AssertionError("reading never ends")
        waits = [key for key, _ in process.rows("unread/") if not key.startswith("unread/carol/")]
        assert waits == []
        assert process.rows("offer/") == []
        assert set(self.told) == {(b, id_) for id_, (_, boxes) in self.said.items() for b in boxes}
        assert set(self.offered) == self.confirmed <= self.written


#: Number of histories and steps per history, by engine.
EFFORT = {"memory": (80, 40), "sqlite": (10, 30), "redis": (5, 30), "git": (2, 15)}


@pytest.mark.parametrize(
    "engine",
    ["memory", "sqlite", "redis", pytest.param("git", marks=pytest.mark.slow)],
)
def test_each_message_is_in_exactly_one_delivery_per_recipient(request, engine):
    examples, steps = EFFORT[engine]
    run(
        lambda: Deliveries(store_of(request, engine)),
        settings=settings(
            max_examples=effort(examples, 20 * examples),
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
