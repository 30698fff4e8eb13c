"""The lock and activity API of the crew document: its routes, parameters, and forms."""

from __future__ import annotations

import re

import pytest

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def lock(client, agent, path, **more):
    body = {"agentId": agent, "filePath": path, **more}
    return client.post("/api/coordination/locks", json=body)


def test_a_lock_is_acquired_listed_and_released(api):
    ada = api("ada")

    assert lock(ada, "ada", "src/auth.ts", reason="login").status_code == 201
    (found,) = ada.get("/api/coordination/locks").json()
    assert {**found, "acquiredAt": "", "expiresAt": "", "projectId": ""} == {
        "filePath": "src/auth.ts", "agentId": "ada", "agentRole": "agent", "reason": "login",
        "acquiredAt": "", "expiresAt": "", "projectId": "",
    }  # fmt: skip
    assert TIME.fullmatch(found["acquiredAt"])
    assert TIME.fullmatch(found["expiresAt"])
    gone = ada.delete("/api/coordination/locks/src%2Fauth.ts?agentId=ada")
    assert (gone.status_code, gone.json()) == (200, {"ok": True})
    assert ada.delete("/api/coordination/locks/src%2Fauth.ts?agentId=ada").json() == {"ok": False}
    assert ada.get("/api/coordination/locks").json() == []


def test_a_lock_that_another_agent_holds_is_denied_with_its_holder(api):
    lock(api("ada"), "ada", "src/auth/*", reason="mine")

    answer = lock(api("bob"), "bob", "src/auth/login.ts")

    assert answer.status_code == 409
    assert answer.json()["ok"] is False
    assert answer.json()["holder"] == "ada"
    assert 0 < answer.json()["expiresIn"] <= 300


def test_the_same_agent_refreshes_its_lock(api):
    assert lock(api("ada"), "ada", "a").status_code == 201
    assert lock(api("ada"), "ada", "a").status_code == 201


@pytest.mark.parametrize("path", ["src/a.ts", "src%2Fa.ts", "src/*", "src%2F%2A"])
def test_a_path_or_a_glob_is_released_with_plain_or_encoded_slashes(api, path):
    ada = api("ada")
    lock(ada, "ada", "src/a.ts")

    assert ada.delete(f"/api/coordination/locks/{path}?agentId=ada").json() == {"ok": True}


def test_no_agent_acts_as_another(api):
    ada, bob = api("ada"), api("bob")
    lock(ada, "ada", "a")

    for refused in (
        lock(bob, "ada", "b"),
        bob.delete("/api/coordination/locks/a?agentId=ada"),
    ):
        assert refused.status_code == 403
        error = refused.json()["error"]
        assert (error["code"], error["field"]) == ("NOT_YOU", "agentId")
        assert error["hint"] == "send bob as agentId, or use that agent's token"
    assert lock(api(), "ada", "b").status_code == 201
    assert api().delete("/api/coordination/locks/a?agentId=ada").json() == {"ok": True}


@pytest.mark.parametrize(
    "path", ["..%2f..%2fetc%2fpasswd", "%00", "%c0%ae%c0%ae", "..", "src/../../x", "%2fetc"]
)
def test_a_path_outside_of_the_repository_is_refused(api, path):
    answer = api("ada").request("DELETE", f"/api/coordination/locks/{path}?agentId=ada")

    assert answer.status_code in {400, 404}, answer.text
    assert "error" in answer.json()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"agentId": "ada"}, "filePath"), ({"filePath": "a"}, "agentId"),
        ({"agentId": "ada", "filePath": ""}, "filePath"),
        ({"agentId": "ada", "filePath": "a", "agent": "x"}, "agent"),
        ({"agentId": "../x", "filePath": "a"}, "agentId"),
    ],
)  # fmt: skip
def test_a_wrong_lock_request_is_refused_with_its_field(api, body, field):
    answer = api("ada").post("/api/coordination/locks", json=body)

    assert answer.status_code in {400, 403}
    assert answer.json()["error"]["field"] == field


def test_activity_is_filtered_by_agent_type_limit_and_time(api):
    ada, bob = api("ada"), api("bob")
    lock(ada, "ada", "a")
    lock(bob, "bob", "b")
    lock(bob, "bob", "c")

    def activity(**query):
        return ada.get("/api/coordination/activity", params=query).json()

    newest = activity(type="lock_acquired")
    assert [one["agentId"] for one in newest] == ["bob", "bob", "ada"]
    assert newest[0]["actionType"] == "lock_acquired"
    assert newest[0]["id"] > newest[1]["id"]
    assert TIME.fullmatch(newest[0]["timestamp"])
    assert {one["agentId"] for one in activity(agentId="ada")} == {"ada"}
    assert len(activity(limit=1)) == 1
    since = activity(type="lock_acquired", since=newest[-1]["timestamp"])
    assert [one["agentId"] for one in since][-2:] == ["bob", "bob"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "limit=1e9", "type=x", "since=yesterday", "x=1"]
)
def test_wrong_parameters_of_the_activity_are_refused(api, query):
    assert api("ada").get(f"/api/coordination/activity?{query}").status_code == 400


def test_the_summary_counts_actions_by_agent_and_type(api):
    lock(api("ada"), "ada", "a")

    found = api("ada").get("/api/coordination/summary").json()

    assert found["byType"]["lock_acquired"] == 1
    assert found["byAgent"]["ada"] == found["totalActions"]
    assert found["recentFiles"] == []


def test_alerts_are_a_list(api):
    assert api("ada").get("/api/coordination/alerts").json() == []


def test_metrics_count_answers_and_show_the_state_of_each_project(api, resident):
    lock(api("ada"), "ada", "a")
    lock(api("bob"), "bob", "a")

    text = api("ada").get("/metrics").text

    (served,) = resident.projects.all()
    assert f'dibs_claims{{project="{served.id}"}} 1.0' in text
    assert f'dibs_engine_up{{project="{served.id}"}} 1.0' in text
    assert 'dibs_requests_total{route="coordination.lock",status="409"} 1.0' in text
    bound = api("ada", project=served.id).get("/metrics")
    assert bound.status_code == 403
