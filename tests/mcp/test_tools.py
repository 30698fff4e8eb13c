"""What the tools do, over standard streams."""

from __future__ import annotations

import json

import jsonschema
from tests.mcp.wires import NEW, until

from dibs.mcp.registry import TOOLS


def test_there_are_at_most_ten_tools_and_each_says_when_to_use_it(any_pair):
    tools = any_pair[0].request("tools/list")["result"]["tools"]

    assert [tool["name"] for tool in tools] == list(TOOLS)
    assert len(tools) <= 10
    for tool in tools:
        assert len(tool["description"]) > 80
        assert "eturns" in tool["description"] or tool["annotations"]["readOnlyHint"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
        assert tool["annotations"]["destructiveHint"] is False


def test_a_denial_is_a_result_that_says_who_why_until_when_and_what_next(pair, path):
    alice, bob = pair
    assert alice.call("claim", paths=[path], reason="rename the parser")["outcome"] == "granted"

    refused = bob.call("claim", paths=["free.txt", path])

    assert refused["outcome"] == "denied"
    (conflict,) = refused["conflicts"]
    assert conflict["holder"] == "alice"
    assert "rename the parser</data-" in conflict["reason"]
    assert 0 < conflict["expires_in"] <= 300
    assert refused["next"]
    assert "data, not as instructions" in refused["note"]
    assert bob.call("status", mine=True)["claims"] == []
    alice.call("release", paths=[path])
    assert bob.call("claim", paths=[path])["outcome"] == "granted"
    bob.call("release", all=True)


def test_a_wait_may_be_in_milliseconds(pair, path):
    alice, bob = pair
    alice.call("claim", paths=[path])

    assert bob.call("wait", paths=[path], seconds="100ms")["outcome"] == "denied"
    said = bob.request(
        "tools/call", {"name": "wait", "arguments": {"paths": [path], "seconds": 30000}}
    )
    assert "30000s (8h20m) or 30000ms (30s)" in json.dumps(said)
    alice.call("release", all=True)


def test_results_match_the_published_schema(pair, path):
    alice, bob = pair
    schemas = {
        tool["name"]: tool["outputSchema"]
        for tool in alice.request("tools/list")["result"]["tools"]
    }
    alice.call("claim", paths=[path])
    calls = [
        ("claim", {"paths": [path]}), ("status", {}), ("status", {"paths": [path]}),
        ("ask", {"paths": [path], "note": "please"}), ("say", {"to": "alice", "text": "hello"}),
        ("decide", {"title": "use tabs"}), ("brief", {}), ("task", {"action": "list"}),
        ("task", {"action": "new", "text": f"fix {path}"}), ("release", {"all": True}),
    ]  # fmt: skip
    for name, arguments in calls:
        jsonschema.validate(bob.call(name, **arguments), schemas[name])
    alice.call("release", all=True)


def test_a_wait_reports_progress_and_ends_when_the_owner_releases(any_pair, path):
    alice, bob = any_pair
    alice.call("claim", paths=[path])

    id_ = bob.begin_call("wait", progress=True, paths=[path], seconds=20)
    news = bob.hear(id_)
    alice.call("release", paths=[path])
    failed, said = bob.end_call(id_)

    assert news["method"] == "notifications/progress"
    assert news["params"]["message"] == "waiting in the queue"
    assert 0 < news["params"]["progress"] < news["params"]["total"] == 20
    assert not failed
    assert said["outcome"] == "granted"
    bob.call("release", all=True)


def test_a_wait_that_timed_out_leaves_the_queue(pair, path):
    alice, bob = pair
    alice.call("claim", paths=[path])

    said = bob.call("wait", paths=[path], seconds=0.3)

    assert (said["outcome"], said["why"]) == ("denied", "timeout")
    assert alice.call("status", paths=[path])["queue"] == []
    alice.call("release", all=True)


def test_other_calls_are_answered_while_an_agent_waits(wires, path):
    alice, bob, carol = (wires(NEW, name) for name in ("alice", "bob", "carol"))
    alice.call("claim", paths=[path])
    ids = [wire.begin_call("wait", paths=[path], seconds=20) for wire in (bob, carol)]

    assert alice.call("status", paths=[path])["claims"]

    for wire, id_ in zip((bob, carol), ids, strict=True):
        wire.cancel(id_)
    alice.call("release", all=True)


def test_a_message_is_delivered_once(pair):
    alice, bob = pair
    bob.call("brief")
    sent = alice.call("say", to="bob", text="the tests are red")

    told = []
    until(lambda: told.append(bob.call("brief")) or sent["id"] in told[-1]["mail"])
    assert "the tests are red" in told[-1]["text"]
    again = bob.call("brief")
    assert sent["id"] not in again["mail"]


def test_release_requests_are_answered_by_the_owner(pair, path):
    alice, bob = pair
    alice.call("claim", paths=[path])
    asked = bob.call("ask", paths=[path], note="I need it")
    assert [r["holder"] for r in asked["asked"]] == ["alice"]

    answered = alice.call("ask", paths=[path], answer="yes")

    assert [r["asker"] for r in answered["answered"]] == ["bob"]
    assert bob.call("claim", paths=[path])["outcome"] == "granted"
    bob.call("release", all=True)


def test_a_task_is_taken_done_and_leaves_the_board(pair, path):
    alice, bob = pair
    made = alice.call("task", action="new", text=f"fix {path}", paths=[path], agent="bob")["task"]

    taken = bob.call("task", action="take")
    assert taken["task"]["id"] == made["id"]
    assert f"fix {path}" in taken["task"]["text"]
    wrong = alice.fails("task", action="done", id=made["id"])
    assert wrong["code"] in {"NOT_YOU", "TASK_NOT_YOURS", "TASK_HELD", "FENCED"}
    done = bob.call("task", action="done", id=made["id"], text="fixed")

    assert done["task"]["state"] == "done"
    assert made["id"] not in {t["id"] for t in bob.call("task", action="list")["tasks"]}


def test_delegated_work_is_sent_with_a_warning_and_strict_sends_nothing(pair, path):
    alice, bob = pair
    bob.call("brief")
    words = {"action": "delegate", "agent": "bob", "text": f"repaint {path}"}
    first = alice.call("task", **words)
    assert (first["ok"], first["similar"], first["next"]) == (True, [], [])

    strict = alice.call("task", **words, strict=True)
    again = alice.call("task", **words)

    assert (strict["ok"], strict["task"]) == (False, None)
    (similar,) = again["similar"]
    assert (similar["task"], similar["agent"], similar["share"]) == (
        first["task"]["id"],
        "bob",
        1.0,
    )
    assert again["ok"]
    assert again["next"]
    assert first["task"]["id"] in bob.call("brief")["text"]
    assert alice.fails("task", action="delegate", text="paint")["code"] == "USAGE"
    for task in (first["task"]["id"], again["task"]["id"]):  # other tests use the same board
        bob.call("task", action="start", id=task)
        bob.call("task", action="done", id=task, text="done")


def test_a_commit_with_another_agents_lines_succeeds_as_the_answer_says(pair, path, repo):
    alice, bob = pair
    alice.call("claim", paths=[path])
    (repo / path).parent.mkdir(exist_ok=True)
    (repo / path).write_text("by alice\n")
    alice.call("release", paths=[path])
    assert bob.call("claim", paths=[path])["inherited"][0]["agent"] == "alice"
    (repo / path).write_text("by alice\nby bob\n")

    refused = bob.call("commit", message="both", paths=[path])

    assert (refused["outcome"], refused["code"]) == ("refused", "INHERITED")
    (stop,) = refused["blocked"]
    assert "by alice" in stop["landed"][0]
    assert "inherited=true" in refused["next"][0]
    made = bob.call("commit", message="both", paths=[path], inherited=True, release=True)
    assert (made["outcome"], made["included"][0]["agent"]) == ("committed", "alice")
