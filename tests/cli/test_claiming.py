"""claim, renew, release, check, explain."""

from __future__ import annotations

import re

import pytest


def test_a_claim_is_granted_with_a_token(dibs):
    answer = dibs("claim", "src/a.py", "--reason", "fix login", "--task", "42", "--json")

    assert answer.status == 0
    assert answer.json["outcome"] == "granted"
    (claim,) = answer.json["claims"]
    assert claim["pattern"] == "src/a.py"
    assert claim["mode"] == "exclusive"
    assert claim["reason"] == "fix login"
    assert claim["task"] == "42"
    assert claim["token"] == answer.json["token"] > 0
    assert claim["expires_at"] > claim["since"]


def test_a_claim_says_in_text_what_was_granted(dibs):
    answer = dibs("claim", "src/a.py", "--ttl", "90", "--reason", "fix login")

    assert answer.out.startswith("granted src/a.py (exclusive, token ")
    assert "1m30s left" in answer.out
    assert "fix login" in answer.out


def test_a_refusal_names_the_holder_the_reason_and_what_to_do(dibs):
    dibs("claim", "src/**", "--reason", "big move", agent="alice")

    answer = dibs("claim", "src/a.py", agent="bob")

    assert answer.status == 3
    assert answer.out.startswith("denied src/a.py\n")
    assert "alice holds src/** (exclusive, gone in 5m unless it shows up again) " in answer.out
    assert re.search(r"<data-(\w+) from=\"alice\">big move</data-\1>", answer.out)
    assert "dibs ask src/a.py" in answer.out


def test_a_refusal_is_json_with_its_conflicts(dibs):
    dibs("claim", "src/**", agent="alice")

    answer = dibs("claim", "free", "src/*.py", "--json", agent="bob")

    assert answer.status == 3
    assert answer.json["outcome"] == "denied"
    assert answer.json["token"] is None
    (conflict,) = answer.json["conflicts"]
    assert (conflict["pattern"], conflict["held"], conflict["holder"]) == (
        "src/*.py",
        "src/**",
        "alice",
    )
    assert conflict["witness"].startswith("src/")
    assert answer.json["next"]


def test_shared_claims_overlap_each_other_and_nothing_else(dibs):
    assert dibs("claim", "a", "--shared", agent="alice").status == 0
    assert dibs("claim", "a", "--shared", agent="bob").status == 0
    assert dibs("claim", "a", agent="carol").status == 3


def test_a_wait_that_is_over_draws_no_other_ticket(dibs):
    dibs("claim", "a", agent="alice")

    dibs("claim", "a", "--wait", "0.05", agent="bob")

    kinds = [entry["kind"] for entry in dibs("log", "--json").json]
    assert kinds.count("lock_queued") == kinds.count("lock_unqueued") == 1


def test_a_wait_that_is_over_is_a_denial(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("claim", "a", "--wait", "0.05", "--json", agent="bob")

    assert answer.status == 3
    assert answer.json["why"] == "timeout"
    assert dibs("status", "--json").json["queue"] == []


def test_a_place_in_the_queue_is_kept_and_collected(dibs):
    dibs("claim", "a", agent="alice")

    queued = dibs("claim", "a", "--queue", "--json", agent="bob")
    place = dibs("status", "--json").json["queue"]
    dibs("release", "a", agent="alice")
    collected = dibs("claim", "a", "--queue", "--json", agent="bob")

    assert queued.status == 3
    assert queued.json["outcome"] == "queued"
    assert [waiter["agent"] for waiter in place] == ["bob"]
    assert collected.json["outcome"] == "granted"


def test_a_queued_claim_names_its_ticket_in_text(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("claim", "a", "--queue", agent="bob")

    assert answer.out.startswith("queued a: ticket ")


def test_a_circle_of_waiters_is_refused_and_named(dibs):
    dibs("claim", "a", agent="alice")
    dibs("claim", "b", agent="bob")
    dibs("claim", "b", "--queue", agent="alice")

    answer = dibs("claim", "a", "--wait", "5", agent="bob")

    assert answer.status == 3
    assert "would close a circle: bob waits for alice (a), alice waits for bob (b)" in answer.out


def test_the_same_request_id_gets_the_same_answer(dibs):
    first = dibs("claim", "a", "--request-id", "r1", "--json", agent="alice")
    again = dibs("claim", "a", "--request-id", "r1", "--json", agent="alice")

    assert again.json == first.json


def test_a_literal_name_may_hold_special_characters(dibs):
    dibs("claim", "a[1].txt", "--literal", agent="alice")

    assert dibs("claim", "a1.txt", agent="bob").status == 0
    assert dibs("claim", "a[1].txt", "--literal", agent="bob").status == 3


def test_an_agent_does_not_claim_everything_but_a_human_does(dibs):
    assert dibs("claim", "**", agent="alice").status == 77
    assert dibs("claim", "**").status == 0


def test_a_renewal_lists_what_is_held(dibs):
    dibs("claim", "a", "b", agent="alice")

    answer = dibs("renew", agent="alice")

    assert answer.status == 0
    assert answer.out.count("renewed ") == 2


def test_a_renewal_gives_a_new_ttl_to_the_claims_named(dibs):
    dibs("claim", "a", "b", agent="alice")

    answer = dibs("renew", "a", "--ttl", "1h", "--json", agent="alice")

    spans = {claim["pattern"]: claim["ttl"] for claim in answer.json["claims"]}
    assert spans == {"a": 3600.0, "b": 300.0}


def test_a_renewal_of_nothing_says_so(dibs):
    answer = dibs("renew", agent="alice")

    assert (answer.status, answer.out) == (0, "you hold nothing\n")


def test_a_holder_hears_of_its_loss_once_and_of_who_asks(dibs):
    dibs("claim", "a", "b", agent="alice")
    dibs("revoke", "a", "--reason", "I need it")
    dibs("ask", "b", "--note", "soon please", agent="bob")

    first = dibs("renew", agent="alice")
    second = dibs("renew", "--json", agent="alice")

    assert first.status == 4
    assert "lost your claim on a was revoked by " in first.out
    assert re.search(r">I need it</data-\w+>; stop working on it", first.out)
    assert re.search(r"asked bob asks for b in 5m: <data-\w+ from=\"bob\">soon please<", first.out)
    assert second.status == 0
    assert second.json["lost"] == []


def test_a_claim_is_given_back(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("release", "a", agent="alice")

    assert (answer.status, answer.out) == (0, "released a\n")
    assert dibs("claim", "a", agent="bob").status == 0


def test_everything_is_given_back_as_json(dibs):
    dibs("claim", "a", "b", agent="alice")

    answer = dibs("release", "--all", "--json", agent="alice")

    assert sorted(claim["pattern"] for claim in answer.json["released"]) == ["a", "b"]


@pytest.mark.parametrize("words", [(), ("a", "--all")])
def test_a_release_names_patterns_or_all_of_them(dibs, words):
    assert dibs("release", *words, agent="alice").status == 64


def test_what_is_not_held_cannot_be_released(dibs):
    assert dibs("release", "a", agent="alice").status == 6


def test_what_was_lost_cannot_be_released(dibs):
    dibs("claim", "a", agent="alice")
    dibs("revoke", "a", "--reason", "mine")

    answer = dibs("release", "a", "--json", agent="alice")

    assert answer.status == 4
    assert answer.json["outcome"] == "fenced"


def test_a_wrong_token_is_fenced(dibs):
    token = dibs("claim", "a", "--json", agent="alice").json["token"]

    assert dibs("release", "a", "--token", str(token + 1), agent="alice").status == 4
    assert dibs("release", "a", "--token", str(token), agent="alice").status == 0


def test_a_check_tells_free_from_held_and_changes_nothing(dibs):
    dibs("claim", "a", agent="alice")

    free, held = dibs("check", "b", agent="bob"), dibs("check", "a", agent="bob")

    assert (free.status, free.out) == (0, "free\n")
    assert held.status == 3
    assert held.out.startswith("held\n  alice holds a ")
    assert [a["id"] for a in dibs("agent", "ls", "--json").json["agents"]] == ["alice"]


def test_a_check_is_json(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("check", "a", "--json", agent="bob")

    assert answer.json["free"] is False
    assert answer.json["conflicts"][0]["holder"] == "alice"


def test_two_patterns_that_overlap_are_explained_by_a_path(dibs):
    answer = dibs("explain", "src/**", "*/a.py")

    assert (answer.status, answer.out) == (0, "src/** and */a.py overlap: both match src/a.py\n")


def test_two_patterns_apart_are_explained_too(dibs):
    answer = dibs("explain", "a/*", "b/*", "--json")

    assert answer.status == 3
    assert answer.json == {"a": "a/*", "b": "b/*", "overlap": False, "witness": None}


def test_case_counts_where_it_is_said_to(dibs):
    assert dibs("explain", "README", "readme").status == 0
    assert dibs("explain", "README", "readme", "--case-sensitive").status == 3
