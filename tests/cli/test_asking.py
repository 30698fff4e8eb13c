"""who, ask, revoke, transfer: dealing with other agents' claims."""

from __future__ import annotations


def test_who_names_owners_and_waiters(dibs):
    dibs("claim", "src/**", "--reason", "big move", "--task", "7", agent="alice")
    dibs("claim", "src/a.py", "--queue", "--reason", "fix", agent="bob")

    answer = dibs("who", "src/a.py", "docs/b.md")

    assert answer.status == 0
    assert answer.out.splitlines()[0] == "src/a.py: claimed"
    assert "  alice holds src/** (exclusive, expires in 5m, task 7) - big move" in answer.out
    assert (
        "  bob is waiting for src/a.py (exclusive, position 1, for at most 5m) - fix" in answer.out
    )
    assert answer.out.endswith("docs/b.md: unclaimed\n")


def test_owners_and_waiters_as_json(dibs):
    dibs("claim", "a", agent="alice")
    dibs("claim", "a", "--queue", agent="bob")

    answer = dibs("who", "a", "b", "--json")

    held, free = answer.json["paths"]
    assert held["path"] == "a"
    assert [claim["agent"] for claim in held["holders"]] == ["alice"]
    assert [waiter["agent"] for waiter in held["waiters"]] == ["bob"]
    assert free == {"path": "b", "holders": [], "waiters": []}


def test_the_owner_is_asked_to_release_by_a_deadline(dibs):
    dibs("claim", "src/**", agent="alice")

    answer = dibs("ask", "src/a.py", "--within", "2m", agent="bob")

    assert answer.status == 0
    assert answer.out.startswith("asked alice to release src/** within 2m (by ")


def test_a_human_revokes_every_overlapping_claim(dibs):
    dibs("claim", "src/a.py", agent="alice")
    dibs("claim", "src/b.py", agent="bob")

    answer = dibs("revoke", "src/", "--reason", "release day")

    assert answer.status == 0
    assert "revoked src/a.py from alice\n" in answer.out
    assert answer.out.count(" from ") == 2
    assert dibs("status", "--json").json["claims"] == []


def test_what_was_revoked_is_json(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("revoke", "a", "--reason", "mine", "--json")

    assert [claim["agent"] for claim in answer.json["revoked"]] == ["alice"]


def test_a_revocation_needs_a_reason(dibs):
    dibs("claim", "a", agent="alice")

    assert dibs("revoke", "a", "--reason", " ").status == 65
    assert dibs("who", "a", "--json").json["paths"][0]["holders"]


def test_a_transfer_names_the_new_owner(dibs):
    dibs("agent", "join", agent="bob")
    dibs("claim", "a", agent="alice")

    answer = dibs("transfer", "a", "--to", "bob", agent="alice")

    assert answer.out.startswith("transferred a to bob (token ")


def test_a_transfer_to_a_reserved_name_suggests_no_name_that_cannot_join(dibs):
    dibs("claim", "a", agent="alice")

    answer = dibs("transfer", "a", "--to", "human", agent="alice")

    assert answer.err == "dibs: unknown agent human (`dibs agent ls` lists the agents)\n"
