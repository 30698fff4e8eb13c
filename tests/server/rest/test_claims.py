"""Claims, the queue, agents, and the ledger over REST."""

from __future__ import annotations

import threading

import anyio
import pytest
from tests.server.conftest import until
from tests.server.rest.conftest import agent

from dibs.server.security.identity import IDENTITY


def claim(client, *patterns, headers=None, **more):
    return client.post("/api/v1/claims", json={"patterns": patterns, **more}, headers=headers or {})


def call(client, path, **body):
    return client.post(f"/api/v1{path}", json=body)


def test_claims_are_listed_shown_and_released_by_path(api):
    ada = api("ada")
    claim(ada, "src/a b.py")

    assert [one["pattern"] for one in ada.get("/api/v1/claims").json()["claims"]] == ["src/a b.py"]
    for path in ("src/a%20b.py", "src%2Fa%20b.py"):
        shown = api("bob").get(f"/api/v1/claims/{path}").json()
        assert shown["holders"][0]["agent"] == "ada"
    assert ada.get("/api/v1/who", params={"path": ["src/**", "x"]}).json()["paths"][1] == {
        "path": "x", "holders": [], "waiters": [],
    }  # fmt: skip
    gone = ada.delete("/api/v1/claims/src%2Fa%20b.py")
    assert [one["pattern"] for one in gone.json()["released"]] == ["src/a b.py"]
    assert ada.delete("/api/v1/claims/src%2Fa%20b.py").json()["error"]["code"] == "NOT_HELD"


def test_a_claim_goes_through_request_reply_transfer_and_revocation(api):
    ada, bob, human = api("ada"), api("bob"), api()
    claim(ada, "a", "b")

    assert call(bob, "/claims/check", patterns=["a"]).json()["free"] is False
    assert call(bob, "/claims/ask", patterns=["a"]).json()["asked"][0]["holder"] == "ada"
    assert call(ada, "/claims/renew").json()["asks"][0]["asker"] == "bob"
    assert call(ada, "/claims/answer", answer="yes", pattern="a").json()["answered"]
    assert call(ada, "/claims/transfer", patterns=["b"], to="bob").json()["transferred"]
    assert call(ada, "/claims/escalate", patterns=["b"]).json()["escalated"][0]["holder"] == "bob"
    refused = call(bob, "/claims/revoke", pattern="b", reason="mine")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "TOKEN_SCOPE")
    assert call(human, "/claims/revoke", pattern="b", reason="stuck").json()["revoked"]
    lost = call(bob, "/claims/renew")
    assert (lost.status_code, lost.json()["outcome"]) == (409, "fenced")


def test_a_waiting_claim_is_granted_when_the_owner_releases(api):
    ada, bob = api("ada"), api("bob")
    claim(ada, "a")
    found = []
    waiting = threading.Thread(target=lambda: found.append(claim(bob, "a", wait="20s")))
    waiting.start()
    until(lambda: ada.get("/api/v1/queue").json()["queue"])

    ada.delete("/api/v1/claims/a")
    waiting.join(20)

    assert found[0].status_code == 201


@pytest.mark.parametrize("key", ["", "k1"])
def test_a_client_that_disconnects_leaves_the_queue(api, key):
    claim(api("ada"), "a")
    body = b'{"patterns": ["a"], "wait": 60}'
    headers = [(b"idempotency-key", key.encode())] if key else []

    async def disconnect():
        told = iter([{"type": "http.request", "body": body}])
        gone = anyio.Event()

        async def receive():
            for message in told:
                return message
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            raise AssertionError(message)

        scope = {
            "type": "http", "method": "POST", "path": "/api/v1/claims",
            "raw_path": b"/api/v1/claims", "query_string": b"", "headers": headers,
            IDENTITY: agent("bob"),
        }  # fmt: skip
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(api.app, scope, receive, send)
            await anyio.to_thread.run_sync(until, waiters)
            gone.set()

    def waiters():
        return api("ada").get("/api/v1/queue").json()["queue"]

    anyio.run(disconnect)

    assert waiters() == []


def test_an_agent_joins_reports_beats_and_leaves_only_as_itself(api):
    ada, human = api("ada"), api()

    assert call(ada, "/agents", role="tester").json()["agent"]["role"] == "tester"
    assert call(ada, "/agents/ada/report", status="idle").json()["agent"]["status"] == "idle"
    assert call(ada, "/agents/ada/beat").json()["outcome"] == "granted"
    for path in ("/agents/bob/report", "/agents/bob/beat", "/agents/bob/leave"):
        refused = call(ada, path, **({"note": "x"} if "beat" not in path else {}))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "NOT_YOU")
    assert call(ada, "/agents", id="bob").status_code == 403
    assert call(human, "/agents", id="bob").json()["agent"]["id"] == "bob"
    assert [one["id"] for one in human.get("/api/v1/agents").json()["agents"]] == ["ada", "bob"]
    assert human.get("/api/v1/agents/ada").json()["claims"] == []
    assert call(human, "/agents/bob/stop", reason="done").json()["stopped"] == ["bob"]
    assert call(ada, "/agents/ada/leave").json()["agent"] == "ada"


def test_the_log_is_paged_in_both_directions_without_gaps(api):
    ada = api("ada")
    for number in range(5):
        claim(ada, f"f{number}")
    for order in ("newest", "oldest"):
        seen, cursor = [], ""
        while cursor is not None:
            query = {"limit": 2, "order": order, "kind": "claim_acquired", "cursor": cursor}
            page = ada.get("/api/v1/log", params=query).json()
            seen += [entry["seq"] for entry in page["entries"]]
            cursor = page["next_cursor"]
        assert len(seen) == 5
        assert seen == sorted(seen, reverse=order == "newest")
    assert ada.get("/api/v1/log/summary").json()["by_kind"]["lock_acquired"] == 5


def test_a_listing_that_changes_between_pages_repeats_and_skips_nothing(api):
    ada = api("ada")
    claim(ada, "b", "d", "f", "h")
    first = ada.get("/api/v1/claims?limit=2").json()
    ada.delete("/api/v1/claims/d")
    claim(ada, "a", "e")

    rest = ada.get("/api/v1/claims", params={"limit": 9, "cursor": first["next_cursor"]}).json()

    assert [one["pattern"] for one in first["claims"]] == ["b", "d"]
    assert [one["pattern"] for one in rest["claims"]] == ["e", "f", "h"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    "query",
    [
        "limit=-1", "limit=0", "limit=1001", "limit=1e9", "limit=x", "limit=1&limit=2", "limit=",
        "since=yesterday", "cursor=abc", "cursor=AAAAAAAAAAAAAAAAAAAAAA", "kind=nothing", "nothing=1",
        "since=99999999999999999999", "since=1e999", "order=up", "agent=%00",
    ],
)  # fmt: skip
def test_a_wrong_parameter_of_a_listing_is_refused(api, query):
    assert api("ada").get(f"/api/v1/log?{query}").status_code == 400


def test_a_cursor_of_another_listing_is_refused(api):
    ada = api("ada")
    claim(ada, "a", "b")
    cursor = ada.get("/api/v1/claims?limit=1").json()["next_cursor"]

    answer = ada.get("/api/v1/agents", params={"cursor": cursor})

    assert answer.json()["error"]["code"] == "CURSOR"


def test_the_server_tells_its_health_its_projects_and_who_you_are(api, resident):
    ada = api("ada")
    health = ada.get("/api/v1/health").json()

    assert health["ok"] is True
    assert health["projects"][0]["root"] == str(resident.repo)
    assert ada.get("/api/v1/whoami").json()["agent"] == "ada"
    assert ada.get("/api/v1/projects").json()["projects"][0]["name"] == "repo"
    assert call(ada, "/projects", folder="/tmp").json()["error"]["code"] == "TOKEN_SCOPE"
    assert call(api(), "/projects", folder=str(resident.repo)).status_code == 200


def test_a_token_for_one_project_is_refused_for_another(api, resident):
    (served,) = resident.projects.all()

    assert api("ada", project=served.id).get("/api/v1/status").status_code == 200
    other = api("ada", project=served.id).get("/api/v1/status?project=other")
    assert (other.status_code, other.json()["error"]["code"]) == (403, "NOT_YOU")
    assert api("ada", project="0" * 12).get("/api/v1/projects").json()["projects"] == []
