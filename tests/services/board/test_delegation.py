"""Delegation: similar work is a warning, or a refusal if strict; the recipient is notified in one step."""

import pytest
from tests.services.board_crew import BoardCrew
from tests.services.several_agents import caller

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


def test_delegated_work_is_a_task_and_a_message_for_the_agent(crew):
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


def test_work_for_a_role_notifies_all_its_active_agents_except_the_sender(crew):
    crew.agents.leave(caller("bob"))
    crew.agents.join(Agent("cleo", role="Tester"))

    sent = crew.send("tester", "Cover the login", by="ada")

    assert sent.to == ("cleo",)
    assert crew.mail("bob") == []
    assert crew.take("cleo", roles=["tester"]).stored.id == sent.stored.id


def test_strict_work_similar_to_an_open_task_is_not_sent_and_its_owner_is_named(crew):
    first = crew.send("bob", "Cover the login with tests")
    before = crew.rows()

    answer = crew.send("ada", "cover login tests", strict=True)

    assert isinstance(answer, Repeated)
    (alike,) = answer.alike
    assert (alike.id, alike.agent) == (first.stored.id, "bob")
    assert crew.rows() == before
    assert crew.mail("ada") == []


def test_work_similar_to_what_an_agent_reports_is_named(crew):
    crew.agents.report(caller("bob"), task="fixing the parser tests")

    (alike,) = crew.send("ada", "Fixing parser tests").alike

    assert (alike.id, alike.agent, alike.title) == ("", "bob", "fixing the parser tests")


def test_finished_work_and_work_of_stopped_agents_does_not_count(crew):
    first = crew.send("bob", "Cover the login").stored
    crew.tasks.cancel(caller("lead"), first.id)
    crew.agents.report(caller("bob"), task="cover the login")
    crew.agents.leave(caller("bob"))

    assert isinstance(crew.send("ada", "Cover the login", strict=True), Delegated)


def test_a_prefix_decides_if_an_agent_and_a_role_share_a_name(crew):
    crew.agents.join(Agent("tester", role="other"))

    assert crew.send("tester", "Cover the login").to == ("tester",)
    assert crew.send("role:tester", "Paint the wall").to == ("ada", "bob")
    assert crew.mail("bob")[0]["data"]["title"] == "Paint the wall"


def test_work_for_a_human_goes_to_the_inbox_of_all_humans(crew):
    sent = crew.send("human", "Look at the license")

    assert (sent.to, sent.stored.task.agent) == (("@human",), "human")


@pytest.mark.parametrize(
    ("to", "code"), [("lead", "TO_SELF"), ("testr", "NO_ADDRESSEE"), ("all", "NO_ADDRESSEE")]
)
def test_work_for_oneself_or_everyone_is_refused_and_changes_nothing(crew, to, code):
    before = crew.rows()

    with pytest.raises((BadInput, NotFound)) as caught:
        crew.send(to, "Cover the login")

    assert caught.value.code == code
    assert crew.rows() == before


def test_a_role_that_a_file_cannot_name_is_refused_with_its_agents(crew):
    crew.agents.join(Agent("rita", role="\u5be9\u67fb"))

    with pytest.raises(BadInput) as caught:
        crew.send("\u5be9\u67fb", "Look at it")

    assert (caught.value.code, caught.value.hint) == ("AGENT_ID", "name one of its agents: rita")


def test_a_repeated_request_sends_once_with_the_same_result(crew):
    first = crew.send("ada", "Cover the login", request_id="r1")
    again = crew.send("ada", "Cover the login", request_id="r1")

    assert (again.stored.id, again.to) == (first.stored.id, first.to)
    assert len(crew.mail("ada")) == 1


def test_unstarted_work_can_be_cancelled_and_its_agent_is_notified(crew):
    sent = crew.send("ada", "Cover the login").stored

    back = crew.delegation.cancel(caller("lead"), sent.id, reason="not needed")

    assert back.stored.task.status == Status.CANCELLED
    assert [m["data"]["state"] for m in crew.mail("ada")] == ["delegated", "delegation_cancelled"]
    assert crew.mail("ada")[1]["text"].endswith("was cancelled: not needed")
    assert crew.kinds()[-1] == Kind.DELEGATION_CANCELLED


def test_started_work_cannot_be_cancelled(crew):
    sent = crew.send("ada", "Cover the login").stored
    crew.start("ada", sent.id)

    with pytest.raises(BadInput) as caught:
        crew.delegation.cancel(caller("lead"), sent.id)

    assert caught.value.code == "TASK_TRANSITION"


def test_only_the_sender_or_a_human_can_cancel_work(crew):
    sent = crew.send("ada", "Cover the login").stored

    with pytest.raises(NotAllowed) as caught:
        crew.delegation.cancel(caller("bob"), sent.id)

    assert caught.value.code == "NOT_SENDER"
    crew.delegation.cancel(caller("human"), sent.id)
    assert crew.row(sent.id).task.status == Status.CANCELLED
