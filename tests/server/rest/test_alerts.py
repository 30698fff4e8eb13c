"""Alerts over HTTP: list, acknowledge, check."""

from dibs.core.claims.agents import Caller


def test_alerts_are_listed_acknowledged_and_resolved_by_a_check(resident, api):
    project = resident.projects.all()[0].project()
    for name, share in (("bob", 0.9), ("carol", 0.99)):
        project.agents.report(Caller(name), context=share)

    checked = api().post("/api/v1/alerts/check", json={})
    assert [one["severity"] for one in checked.json()["opened"]] == ["critical", "warning"]
    page = api("bob").get("/api/v1/alerts", params={"limit": 1}).json()
    (alert,) = page["alerts"]
    assert alert["kind"] == "context_pressure"
    rest = api("bob").get("/api/v1/alerts", params={"cursor": page["next_cursor"]}).json()
    assert len(rest["alerts"]) == 1

    path = f"/api/v1/alerts/{alert['id']}"
    done = api().post(f"{path}/ack", json={"reason": "mine"}).json()["acknowledged"]
    assert (done[0]["state"], done[0]["reason"], done[0]["by"]) == ("acknowledged", "mine", "human")
    project.agents.report(Caller(alert["subject"]), context=0.1)
    assert len(api().post("/api/v1/alerts/check", json={}).json()["resolved"]) == 1
    assert api().post(f"{path}/ack", json={}).json()["error"]["code"] == "ALERT_RESOLVED"
    assert len(api().get("/api/v1/alerts").json()["alerts"]) == 1
    assert len(api().get("/api/v1/alerts", params={"all": "true"}).json()["alerts"]) == 2
    assert api().get(path).json()["alert"]["id"] == alert["id"]


def test_an_unknown_alert_is_not_found(api):
    assert api().get("/api/v1/alerts/a99").status_code == 404
    assert api().post("/api/v1/alerts/a99/ack", json={}).status_code == 404
    assert api().get("/api/v1/alerts/x").status_code in {400, 422}
