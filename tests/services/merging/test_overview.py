"""The merge queue as people see it; short because the merges themselves have their own tests."""

from dibs.shapes.merging import overview


def test_merges_are_listed_as_running_waiting_and_ended(yard):
    yard.work("alice", {"a.txt": "alice\n"})
    yard.merge("alice")
    yard.claim("bob", "@merge/main", reason="dibs merge into main")
    yard.claim("carol", "@merge/main", queue=True)
    yard.claim("carol", "b.txt")

    shown = overview(yard.project.merges.overview(10))

    assert [(one["agent"], one["pattern"]) for one in shown["running"]] == [("bob", "@merge/main")]
    assert [(one["agent"], one["blocked_by"][0]["holder"]) for one in shown["waiting"]] == [
        ("carol", "bob")
    ]
    (result,) = shown["results"]
    assert (result["kind"], result["agent"]) == ("merge", "alice")
