"""The jobs of the server over REST."""

from __future__ import annotations

from dibs.server.scheduler import Job


def test_the_jobs_of_all_projects_are_listed_with_their_last_run(api, resident):
    served = resident.projects.get()
    shown = {one["id"]: one for one in api().get("/api/v1/jobs").json()["jobs"]}

    cleanup = shown[f"{served.id}/expired-lock-cleanup"]
    assert (cleanup["project"], cleanup["name"]) == (served.name, "expired-lock-cleanup")
    assert (cleanup["every"], cleanup["runs"], cleanup["last_run"]) == (60.0, 0, None)


def test_an_agent_sees_the_jobs_of_its_project_only(api, resident):
    resident.scheduler.register(Job("other/job", 60.0, lambda: None))
    mine = resident.projects.get().id
    client = api("ada", project=mine)

    shown = client.get("/api/v1/jobs").json()["jobs"]
    assert shown
    assert all(one["id"].startswith(f"{mine}/") for one in shown)
