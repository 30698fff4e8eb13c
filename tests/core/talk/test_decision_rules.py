"""Rules for decisions: what may be asked, and who may decide."""

from itertools import product

import pytest

from dibs.core.talk import decision_rules
from dibs.core.talk.decision_rules import Voter
from dibs.core.talk.decisions import Decision, Outcome
from dibs.errors import BadInput, NotAllowed, NotFound

NOW = 1_000.0
DRAFT = Decision("d7", NOW, "asker", "backend", "use httpx", "", Outcome.PENDING)

VOTERS = {
    "human": Voter("user-pts-1", human=True, role="human"),
    "asker": Voter("asker", human=False, role="backend"),
    "parent": Voter("parent", human=False, role="lead"),
    "grandparent": Voter("grandparent", human=False, role="human"),  # claims to be, and is not
    "child": Voter("child", human=False, role="backend"),
    "peer": Voter("peer", human=False, role="Reviewer"),
    "lead": Voter("lead", human=False, role="other"),  # an agent may have this name
}
MAY = {
    "human": {"human"},
    "lead": {"human", "parent", "grandparent"},
    "agent:peer": {"human", "peer"},
    "agent:lead": {"human", "lead"},
    "agent:asker": {"human"},
    "role:reviewer": {"human", "peer"},
    "role:backend": {"human", "child"},
    "role:human": {"human", "grandparent"},
    "role:nobody-has-it": {"human"},
    "of a newer version": {"human"},
}


@pytest.mark.parametrize(("decider", "name"), list(product(MAY, VOTERS)))
def test_only_those_entitled_may_decide(decider, name):
    decision = DRAFT._replace(decider=decider)
    above = ["parent", "grandparent"]

    allowed = decision_rules.may_decide(decision, VOTERS[name], above)

    assert allowed == (name in MAY[decider])
    if not allowed:
        with pytest.raises(NotAllowed) as refused:
            decision_rules.check_voter(decision, VOTERS[name], above)
        assert refused.value.code == "MAY_NOT_DECIDE"
        assert "a human may" in refused.value.message


def test_the_role_human_means_the_humans():
    assert decision_rules.check_decider("role:Human", "asker", ()) == "human"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("human", "human"),
        ("lead", "lead"),
        (" bob ", "agent:bob"),
        ("agent:lead", "agent:lead"),
        ("role:tech  lead", "role:tech lead"),
    ],
)
def test_a_decider_is_stored_unambiguously(text, stored):
    assert decision_rules.check_decider(text, "asker", {"bob", "lead"}) == stored


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "DECIDER"),
        ("role:", "DECIDER"),
        ("group:x", "DECIDER"),
        ("agent:", "DECIDER"),
        ("agent:asker", "DECIDER"),
        ("asker", "DECIDER"),
        ("a b", "DECIDER"),
        ("bib", "NO_AGENT"),
        ("role:" + "x" * 101, "LIMIT"),
    ],
)
def test_an_invalid_decider_is_refused_in_one_line(text, code):
    with pytest.raises((BadInput, NotFound)) as refused:
        decision_rules.check_decider(text, "asker", {"bob"})

    assert refused.value.code == code
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "text", ["", "d", "12", "D12", "d-1", "d1.5", "d٣", "d12 ", "d" + "9" * 17, "m3"]
)
def test_an_invalid_decision_id_is_not_found(text):
    with pytest.raises(NotFound) as refused:
        decision_rules.check_id(text)

    assert refused.value.code == "NO_DECISION"


def test_an_id_with_leading_zeros_is_the_same():
    assert decision_rules.check_id("d007") == "d7"


def test_a_title_is_one_line_without_secrets():
    token = "ghp_" + "a1B2c3D4e5" * 4

    title = decision_rules.check_title(f"  use\nthe token\t{token} ")

    assert title.startswith("use the token ")
    assert token not in title


@pytest.mark.parametrize(("text", "code"), [(" \n ", "TITLE"), ("x" * 201, "LIMIT")])
def test_an_empty_or_too_long_title_is_refused(text, code):
    with pytest.raises(BadInput) as refused:
        decision_rules.check_title(text)

    assert refused.value.code == code
