"""The ledger over REST: its filters, the numbers of entries, and entries by number."""

from __future__ import annotations

import pytest


@pytest.fixture
def ada(api):
    """Return ada's client, after some claims of ada and bob."""
    found = api("ada")
    bob = api("bob")
    for client, pattern in (
        (found, "src/auth/login.py"), (found, "docs/guide.md"), (bob, "src/auth/**"), (bob, "db:main"),
    ):  # fmt: skip
        client.post("/api/v1/claims", json={"patterns": [pattern], "reason": f"Fix {pattern}"})
    return found


def entries(client, **query):
    return client.get("/api/v1/log", params={"order": "oldest", **query}).json()["entries"]


def numbers(client, **query):
    answer = client.get("/api/v1/log/numbers", params=query).json()
    ranges = answer["ranges"]
    found = [n for i in range(0, len(ranges), 2) for n in range(ranges[i], ranges[i + 1] - 1, -1)]
    assert answer["count"] == len(found)
    return found


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({"path": "docs"}, ["lock_acquired"]),
        ({"path": "src/auth/login.py"}, ["lock_acquired", "lock_denied"]),
        ({"path": "src/**/*.py"}, ["lock_acquired", "lock_denied"]),
        ({"path": "*.md"}, []),
        ({"text": "GUIDE ada"}, ["lock_acquired"]),
        ({"text": "claim_denied"}, ["lock_denied"]),
        ({"text": "nothing"}, []),
        ({"until": "1h"}, []),
        ({"agent": "bob", "path": "src", "since": "1h"}, ["lock_denied"]),
    ],
)
def test_entries_are_selected_by_file_text_and_time(ada, query, kinds):
    found = [one for one in entries(ada, **query) if one["kind"].startswith("lock_")]

    assert [one["kind"] for one in found] == kinds
    assert sorted(numbers(ada, **query)) == [one["seq"] for one in entries(ada, **query)]


def test_entries_with_given_numbers_are_returned_in_order(ada):
    every = entries(ada)
    wanted = [every[0]["seq"], every[-1]["seq"], every[1]["seq"], 10**9]

    assert entries(ada, seq=wanted) == [every[0], every[1], every[-1]]
    assert numbers(ada) == [one["seq"] for one in reversed(every)]


def test_an_invalid_time_is_refused_by_its_field(ada):
    answer = ada.get("/api/v1/log/numbers?until=soon")

    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "until")
