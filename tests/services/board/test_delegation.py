"""Sending work: nobody is sent what somebody has, and whoever gets it is told in the same step."""

import pytest
from tests.services.board_crew import BoardCrew
from tests.services.crew import caller

from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Kind
from dibs.core.patterns.filing import Range
from dibs.core.tasks.rules import Status
from dibs.errors import BadInput, NotAllowed, NotFound
from dibs.services.board.delegation import Delegated, Delegation, Repeated
from dibs.services.state.ledger import Query
from dibs.services.state.rows import decode


class Sending(BoardCrew):
    def __init__(self):
        super().__init__()
        self.delegation = Delegation(self.store)
        self.agents.join(Agent("lead", role="lead"))
        self.agents.join(Agent("ada", role="tester"))
        self.agents.join(Agent("bob", role="tester"))

    def send(self, to, title, by="lead", **options):
        return self.delegation.delegate(caller(by), to, title, **options)

    def mail(self, box):
        rows = self.engine.view(lambda txn: list(txn.scan(Range(f"unread/{box}/"))))
        return [self._message(key) for key, _ in rows]

    def _message(self, key):
        row = key.rpartition("/")[2]
        return decode(self.engine.view(lambda txn: txn.get(f"mail/{row}")))


@pytest.fixture
def crew():
    return Sending()


def test_sent_work_is_a_task_for_the_agent_and_a_message_to_it(crew):
    sent = crew.send("ada", "Cover the login", context="start small", artefacts=["tests/**"])

    assert isinstance(sent, Delegated)
    assert (sent.stored.task.agent, sent.stored.task.artefacts) == ("ada", ("tests/**",))
    assert "start small" in sent.stored.text
    (message,) = crew.mail("ada")
    assert (message["kind"], message["sender"], message["role"]) == ("delegated", "lead", "lead")
    assert message["data"]["task"] == sent.stored.id
    assert "start small" in message["text"]
    entry = crew.ledger.newest(Query(), 1)[0]
    assert entry.kind == Kind.DELEGATED
    assert (entry.details["toAgentId"], entry.details["toRole"]) == ("ada", "tester")


def test_work_for_a_role_is_told_to_all_that_work_and_have_it_but_the_sender(crew):
    crew.agents.leave(caller("bob"))
    crew.agents.join(Agent("cleo", role="Tester"))

    sent = crew.send("tester", "Cover the login", by="ada")

    assert sent.to == ("cleo",)
    assert crew.mail("bob") == []
    assert crew.take("cleo", roles=["tester"]).stored.id == sent.stored.id


def test_work_like_an_open_task_is_not_sent_and_its_holder_is_named(crew):
    first = crew.send("bob", "Cover the login with tests")
    before = crew.rows()

    answer = crew.send("ada", "cover login tests")

    assert isinstance(answer, Repeated)
    (alike,) = answer.alike
    assert (alike.id, alike.agent) == (first.stored.id, "bob")
    assert crew.rows() == before
    assert crew.mail("ada") == []


def test_work_like_what_an_agent_says_that_it_does_is_not_sent(crew):
    crew.agents.report(caller("bob"), task="mending the parser tests")

    (alike,) = crew.send("ada", "Mending parser tests").alike

    assert (alike.id, alike.agent, alike.title) == ("", "bob", "mending the parser tests")


def test_work_on_the_paths_of_an_open_task_is_not_sent(crew):
    crew.send("bob", "Cover the login", artefacts=["src/auth/**"])

    (alike,) = crew.send("ada", "Rename things", artefacts=["src/auth/a.py"]).alike

    assert (alike.share, alike.paths) == (0.0, ("src/auth/**",))


def test_a_sender_that_insists_sends_it_and_is_told_all_the_same(crew):
    crew.send("bob", "Cover the login")

    sent = crew.send("ada", "Cover the login", anyway=True)

    assert isinstance(sent, Delegated)
    assert [alike.agent for alike in sent.alike] == ["bob"]


def test_finished_work_and_that_of_ended_agents_is_nobodys(crew):
    first = crew.send("bob", "Cover the login").stored
    crew.tasks.cancel(caller("lead"), first.id)
    crew.agents.report(caller("bob"), task="cover the login")
    crew.agents.leave(caller("bob"))

    assert isinstance(crew.send("ada", "Cover the login"), Delegated)


def test_an_agent_that_has_ended_is_named_as_such(crew):
    crew.agents.leave(caller("bob"))

    assert crew.send("bob", "Cover the login").ended == ("bob",)


def test_a_prefix_decides_where_an_agent_and_a_role_have_one_name(crew):
    crew.agents.join(Agent("tester", role="other"))

    assert crew.send("tester", "Cover the login").to == ("tester",)
    assert crew.send("role:tester", "Paint the wall").to == ("ada", "bob")
    assert crew.mail("bob")[0]["data"]["title"] == "Paint the wall"


def test_work_for_a_human_lies_in_the_box_of_all_humans(crew):
    sent = crew.send("human", "Look at the licence")

    assert (sent.to, sent.stored.task.agent) == (("@human",), "human")


@pytest.mark.parametrize(
    ("to", "code"), [("lead", "TO_SELF"), ("testr", "NO_ADDRESSEE"), ("all", "NO_ADDRESSEE")]
)
def test_work_for_oneself_or_for_nobody_is_refused_and_nothing_changes(crew, to, code):
    before = crew.rows()

    with pytest.raises((BadInput, NotFound)) as caught:
        crew.send(to, "Cover the login")

    assert caught.value.code == code
    assert crew.rows() == before


def test_a_role_that_no_file_can_name_is_refused_with_its_agents(crew):
    crew.agents.join(Agent("rita", role="\u5be9\u67fb"))

    with pytest.raises(BadInput) as caught:
        crew.send("\u5be9\u67fb", "Look at it")

    assert (caught.value.code, caught.value.hint) == ("AGENT_ID", "name one of its agents: rita")


def test_the_closest_name_is_hinted_at(crew):
    with pytest.raises(NotFound) as caught:
        crew.send("testr", "Cover the login")

    assert caught.value.hint == "did you mean tester?"


def test_a_repeated_request_sends_once_and_is_answered_alike(crew):
    first = crew.send("ada", "Cover the login", request_id="r1")
    again = crew.send("ada", "Cover the login", request_id="r1")

    assert (again.stored.id, again.to) == (first.stored.id, first.to)
    assert len(crew.mail("ada")) == 1


def test_a_secret_in_the_context_is_masked_in_the_task_and_in_the_message(crew):
    secret = "ghp_" + "a1B2" * 9

    sent = crew.send("ada", "Cover the login", context=f"use {secret}")

    assert secret not in sent.stored.text
    assert secret not in crew.mail("ada")[0]["text"]


def test_work_that_nobody_has_begun_is_taken_back_and_whoever_it_was_for_is_told(crew):
    sent = crew.send("ada", "Cover the login").stored

    back = crew.delegation.cancel(caller("lead"), sent.id, reason="not needed")

    assert back.stored.task.status == Status.CANCELLED
    assert [m["data"]["state"] for m in crew.mail("ada")] == ["delegated", "delegation_cancelled"]
    assert crew.mail("ada")[1]["text"].endswith("was cancelled: not needed")
    assert crew.kinds()[-1] == Kind.DELEGATION_CANCELLED


def test_work_that_somebody_has_begun_is_not_taken_back(crew):
    sent = crew.send("ada", "Cover the login").stored
    crew.start("ada", sent.id)

    with pytest.raises(BadInput) as caught:
        crew.delegation.cancel(caller("lead"), sent.id)

    assert caught.value.code == "TASK_TRANSITION"


def test_only_its_sender_or_a_human_takes_work_back(crew):
    sent = crew.send("ada", "Cover the login").stored

    with pytest.raises(NotAllowed) as caught:
        crew.delegation.cancel(caller("bob"), sent.id)

    assert caught.value.code == "NOT_SENDER"
    crew.delegation.cancel(caller("human"), sent.id)
    assert crew.row(sent.id).task.status == Status.CANCELLED
