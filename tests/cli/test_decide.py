"""``dibs decide`` from asking to deciding, as agents and humans use it."""

from __future__ import annotations

import re


def asked(dibs, *words, agent="alice"):
    return dibs("decide", "new", "use httpx", "--confirm", "--json", *words, agent=agent).json[
        "decision"
    ]


def test_a_decision_is_recorded_and_listed(dibs):
    answer = dibs("decide", "new", "tabs", agent="alice")

    assert (answer.status, answer.out) == (0, "recorded d2: tabs\n")
    assert re.fullmatch(r"d2 recorded \(by alice, \d+s ago\): tabs\n", dibs("decide", "ls").out)


def test_the_asker_sees_who_may_decide(dibs):
    answer = dibs("decide", "new", "use httpx", "--confirm", "--by", "role:qa", agent="alice")

    assert answer.out.splitlines() == [
        "pending d2: use httpx",
        "  - an agent with the role 'qa' or a human may decide",
        "  - the outcome goes to your inbox; check with `dibs decide show d2`",
    ]


def test_a_human_confirms_and_the_asker_is_notified(dibs):
    asked(dibs)

    answer = dibs("decide", "confirm", "d2", "--reason", "fine")

    assert answer.out == "confirmed d2: use httpx (alice is notified)\n"
    inbox = dibs("inbox", "--json", agent="alice").json
    assert "d2 (use httpx) was confirmed by " in str(inbox)
    assert "was confirmed by" in dibs("decide", "show", "d2").out


def test_the_list_can_be_filtered_and_counts_older_decisions(dibs):
    for title in ("one", "two", "three"):
        dibs("decide", "new", title, agent="alice")
    asked(dibs)

    assert [d["id"] for d in dibs("decide", "ls", "--pending", "--json").json["decisions"]] == [
        "d5"
    ]
    found = dibs("decide", "ls", "--limit", "2", "--json").json
    assert ([d["title"] for d in found["decisions"]], found["left"]) == (["three", "use httpx"], 2)
    assert dibs("decide", "ls", "--limit", "1").out.startswith(
        "3 older decisions; show them with --limit 4\n"
    )


def test_an_empty_list_says_how_to_record_a_decision(dibs):
    assert '`dibs decide new "TITLE"`' in dibs("decide", "ls").out


def test_a_conflict_shows_both_sides_and_can_be_revoked(dibs):
    dibs("claim", "src/", "--reason", "big move", agent="alice")
    conflict = dibs("escalate", "src/a.py", "--note", "a hotfix", "--json", agent="bob")
    assert conflict.status == 0
    (waiting,) = dibs("decide", "ls", "--pending", "--json").json["decisions"]

    page = dibs("decide", "show", waiting["id"]).out
    assert "OWNER     alice" in page
    assert "WANTED BY bob" in page
    assert f"dibs decide revoke {waiting['id']}" in page
    assert dibs("decide", "revoke", waiting["id"], agent="bob").status == 77

    assert dibs("decide", "revoke", waiting["id"], "--reason", "release day").status == 0
    assert dibs("status", "--json").json["claims"] == []
    assert dibs("decide", "ls", "--pending", "--json").json["decisions"] == []


def test_a_list_with_a_pending_decision_shows_a_human_how_to_decide(dibs):
    made = asked(dibs)["id"]

    last = dibs("decide", "ls").out.splitlines()[-1]

    assert (
        last
        == f"to decide: `dibs decide confirm {made}` or `dibs decide reject {made} --reason WHY`"
    )
    assert "to decide" not in dibs("decide", "ls", agent="alice").out
    assert dibs("decide", "reject", made, "--reason", "WHY").status == 0
    assert "to decide" not in dibs("decide", "ls").out
