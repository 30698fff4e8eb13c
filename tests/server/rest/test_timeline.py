"""``GET /timeline``: the history of a project as spans, marks, and figures."""


def test_the_timeline_has_claims_waits_agents_and_figures(api):
    ada, bob = api("ada"), api("bob")
    wish = {"patterns": ["src/a.py"], "reason": "rename"}
    ada.post("/api/v1/claims", json=wish)
    bob.post("/api/v1/claims", json=wish)
    bob.post("/api/v1/claims", json={**wish, "queue": True})
    ada.post("/api/v1/claims/release", json={"patterns": ["src/a.py"]})
    bob.post("/api/v1/claims", json=wish)
    got = api().get("/api/v1/timeline", params={"since": "1h"})
    assert got.status_code == 200, got.text
    found = got.json()
    first, second = found["claims"]
    assert (first["agent"], first["pattern"], first["how"]) == ("ada", "src/a.py", "released")
    assert (second["agent"], second["end"], second["how"]) == ("bob", None, "")
    (wait,) = found["waits"]
    assert (wait["how"], wait["blocked_by"], wait["standing"]) == ("granted", ["ada"], True)
    assert wait["end"] == second["begin"]
    assert {one["agent"] for one in found["agents"]} == {"ada", "bob"}
    assert [mark["kind"] for mark in found["marks"]] == ["lock_denied"]
    assert found["totals"]["denied"] == 1
    assert found["files"][0]["pattern"] == "src/a.py"
    assert max(found["series"]["held"]) == 1


def test_the_timeline_can_be_about_one_agent_or_one_path(api):
    api("ada").post("/api/v1/claims", json={"patterns": ["src/a.py", "docs/"]})
    api("bob").post("/api/v1/claims", json={"patterns": ["src/b.py"]})

    def patterns(**query):
        got = api().get("/api/v1/timeline", params=query)
        assert got.status_code == 200, got.text
        return [claim["pattern"] for claim in got.json()["claims"]]

    assert patterns(agent="bob") == ["src/b.py"]
    assert sorted(patterns(path="src/*")) == ["src/a.py", "src/b.py"]
    assert patterns(path="docs/guide.md") == ["docs/"]
    assert patterns(path="other.py") == []


def test_a_name_with_brackets_is_found_as_it_is(api):
    body = {"patterns": ["app/[id].tsx"], "literal": True}
    api("ada").post("/api/v1/claims", json=body)
    api("ada").post("/api/v1/claims", json={"patterns": ["app/x.tsx"]})
    for path in ("app/[id].tsx", "app/[id"):
        got = api().get("/api/v1/timeline", params={"path": path})
        assert got.status_code == 200, got.text
        found = [claim["agent"] for claim in got.json()["claims"]]
        assert found == (["ada"] if path.endswith("tsx") else [])


def test_a_time_that_is_none_is_refused(api):
    for query in ({"since": "yesterday"}, {"until": "soon"}, {"since": "1h", "until": "2h"}):
        got = api().get("/api/v1/timeline", params=query)
        assert (got.status_code, got.json()["error"]["code"]) == (400, "SINCE")
