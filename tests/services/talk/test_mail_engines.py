"""Messages on every engine: the life of a message, and many senders at once."""

import threading

from tests.services.engines import common_store, on_every_engine
from tests.services.several_agents import caller
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Agent
from dibs.core.patterns.pattern import parse
from dibs.services.claims.agents import Agents
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.talk.groups import Groups
from dibs.services.talk.mail import Mail


@on_every_engine
def store(request):
    """Return a function that opens the project as another process would."""
    with common_store(request) as another:
        yield lambda: wired(another(), Config())


def texts(mail, agent):
    return [letter.message.text for letter in mail.inbox(caller(agent))]


def test_a_message_behaves_the_same_on_every_engine(store):
    here, there = store(), store()
    mail, theirs = Mail(here), Mail(there)
    for name in ("alice", "bob"):
        Agents(here).join(Agent(name, role="dev"))
    Groups(here).new(caller("alice"), "web", ["bob", "human"])
    Claims(here).claim(caller("bob"), [parse("src/**")])

    asked = mail.say(caller("alice"), "web", "wörds\nand lines")
    Holdings(here).ask(caller("alice"), [parse("src/a")], note="soon")
    assert texts(theirs, "bob") == ["wörds\nand lines", "alice requested src/**: soon"]
    assert texts(theirs, "human") == ["wörds\nand lines"]
    theirs.say(caller("human"), "", "fine", reply_to=asked.id)
    Holdings(there).release(caller("bob"))

    assert texts(mail, "alice") == ["fine", "bob released src/**, which you requested"]
    mail.read(caller("alice"), [letter.message.id for letter in mail.inbox(caller("alice"))])
    assert texts(theirs, "alice") == []


def test_concurrent_messages_arrive_complete_and_once(store):
    senders, each = 4, 5
    Agents(store()).join(Agent("bob"))
    stores = [store() for _ in range(senders)]
    ready = threading.Barrier(senders)

    def talk(number):
        mail = Mail(stores[number])
        ready.wait()
        for count in range(each):
            mail.say(caller(f"a{number}"), "bob", f"{number} {count}", request_id=f"r{count}")

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    letters = Mail(store()).inbox(caller("bob"))
    said = [letter.message.text for letter in letters]

    assert sorted(said) == sorted(f"{n} {c}" for n in range(senders) for c in range(each))
    assert len({letter.message.id for letter in letters}) == senders * each
    for number in range(senders):
        mine = [text for text in said if text.startswith(f"{number} ")]
        assert mine == [f"{number} {count}" for count in range(each)]
