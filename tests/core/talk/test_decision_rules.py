"""Rules for decisions: who may decide, and what happens at the deadline."""

from itertools import product

import pytest

from dibs.core.talk import decision_rules
from dibs.core.talk.categories import CATEGORIES
from dibs.core.talk.decision_rules import DecisionPolicy, Voter
from dibs.core.talk.decisions import CONFLICT, Decision, Outcome, Silence
from dibs.errors import BadInput, NotAllowed, NotFound

NOW = 1_000.0
DRAFT = Decision("d7", NOW, "asker", "backend", "use httpx", "", "general", Outcome.PENDING)

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


@pytest.mark.parametrize("category", [*CATEGORIES, CONFLICT])
def test_a_decision_without_a_policy_has_no_deadline(category):
    assert decision_rules.terms(category, NOW, DecisionPolicy(), 5.0)[:2] == (Silence.WAIT, 0.0)


def test_the_project_file_can_make_a_deadline_confirm():
    policy = DecisionPolicy(allow=("style",), allow_place="dibs.toml:4", deadline=60.0)

    terms = decision_rules.terms("style", NOW, policy, None)

    assert terms == (Silence.ALLOW, NOW + 60, "confirmed automatically (dibs.toml:4 allows style)")


def test_no_other_setting_can_make_a_deadline_confirm():
    policy = DecisionPolicy(unproven=("style",))

    terms = decision_rules.terms("style", NOW, policy, None)

    assert terms[:2] == (Silence.WAIT, 0.0)
    assert "only in dibs.toml" in terms.why


def test_deny_wins_over_allow():
    policy = DecisionPolicy(allow=("style",), allow_place="dibs.toml:4", deny=("style",))

    assert decision_rules.terms("style", NOW, policy, None).silence == Silence.DENY


@pytest.mark.parametrize(("given", "deadline"), [(None, 60.0), (1.0, 60.0), (90.0, 90.0)])
def test_an_asker_cannot_shorten_a_deadline_that_confirms(given, deadline):
    policy = DecisionPolicy(allow=("style",), allow_place="dibs.toml:4", deadline=60.0)

    assert decision_rules.terms("style", NOW, policy, given).deadline == NOW + deadline


@pytest.mark.parametrize(("given", "deadline"), [(None, 60.0), (1.0, 1.0), (90.0, 90.0)])
def test_an_asker_may_set_a_deadline_that_rejects(given, deadline):
    policy = DecisionPolicy(deny=("style",), deadline=60.0)

    assert decision_rules.terms("style", NOW, policy, given).deadline == NOW + deadline


def test_a_deadline_never_confirms_a_conflict():
    assert decision_rules.by_silence(DRAFT._replace(silence=Silence.ALLOW)) == Outcome.CONFIRMED
    conflict = DRAFT._replace(silence=Silence.ALLOW, category=CONFLICT)
    assert decision_rules.by_silence(conflict) == Outcome.REJECTED


def test_a_deadline_has_passed_at_its_exact_time():
    decision = DRAFT._replace(deadline=NOW)

    assert decision_rules.has_passed(decision, NOW)
    assert not decision_rules.has_passed(decision, NOW - 1e-6)
    assert not decision_rules.has_passed(DRAFT, 1e12)
    assert not decision_rules.has_passed(decision._replace(outcome=Outcome.CONFIRMED), NOW)


@pytest.mark.parametrize("text", ["tool_access", "tool access", "Tool-Access", " tool_access\n"])
def test_a_category_may_be_spelled_with_spaces_or_dashes(text):
    assert decision_rules.check_category(text) == "tool_access"


@pytest.mark.parametrize("text", ["", "styl", "conflict", "general;"])
def test_an_unknown_category_is_refused_with_the_valid_ones(text):
    with pytest.raises(BadInput) as refused:
        decision_rules.check_category(text)
    assert refused.value.code == "CATEGORY"
    assert refused.value.hint


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
