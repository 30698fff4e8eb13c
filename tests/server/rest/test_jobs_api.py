"""The jobs of the server over REST."""

from __future__ import annotations

import threading

from dibs.server.scheduler import Job


def test_the_jobs_of_all_projects_are_listed_with_their_last_run(api, resident):
    served = resident.projects.get()
    shown = {one["id"]: one for one in api().get("/api/v1/jobs").json()["jobs"]}

    cleanup = shown[f"{served.id}/expired-lock-cleanup"]
    assert (cleanup["project"], cleanup["name"]) == (served.name, "expired-lock-cleanup")
    assert (cleanup["every"], cleanup["runs"], cleanup["last_run"]) == (60.0, 0, None)


def test_an_agent_sees_the_jobs_of_its_project_only_and_runs_none(api, resident):
    resident.scheduler.register(Job("other/job", 60.0, lambda: None))
    mine = resident.projects.get().id
    client = api("ada", project=mine)

    shown = client.get("/api/v1/jobs").json()["jobs"]
    assert shown
    assert all(one["id"].startswith(f"{mine}/") for one in shown)
    assert client.post(f"/api/v1/jobs/{mine}%2Fheartbeats/run").status_code == 403


def test_a_human_runs_a_job_now(api, resident):
    ran = threading.Event()
    resident.scheduler.register(Job("some/job", 60.0, ran.set, first=60.0))
    answer = api().post("/api/v1/jobs/some%2Fjob/run")

    assert (answer.status_code, answer.json()["job"]["id"]) == (202, "some/job")
    resident.scheduler.tick()
    assert ran.wait(20.0)
    by_name = f"{resident.projects.get().name}%2Fheartbeats"
    assert api().post(f"/api/v1/jobs/{by_name}/run").status_code == 202


def test_an_unknown_job_is_not_found(api):
    answer = api().post("/api/v1/jobs/nothing/run")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NO_JOB")
