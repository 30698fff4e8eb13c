"""Tasks, messages, briefings, worktrees, and merges over HTTP: versions, pages, paths, and refusals."""

from __future__ import annotations

import os
import threading
from urllib.parse import quote

import pytest
from tests.server.conftest import own_environment, until
from tests.server.rest.conftest import agent
from tests.server.rest.twins import twins_at, typed_in

from dibs.project.stopping import WaitStopped
from dibs.server.rest.app import PREFIX
from dibs.server.rest.nouns.attempts import TakeBody, take
from dibs.server.rest.routes import Call


class Shop:
    """A project, and requests to it."""

    def __init__(self, twins):
        self.root = twins.asked
        self._twins = twins

    def ask(self, who, call, body=None, **headers):
        method, path = call.split(" ", 1)
        more = {} if body is None else {"json": body}
        return self._twins.client(who).request(
            method,
            PREFIX + path,
            headers={k.replace("_", "-"): v for k, v in headers.items()},
            **more,
        )

    def get(self, path, who="ada"):
        answer = self.ask(who, f"GET {path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, body=None, who="ada", **headers):
        return self.ask(who, f"POST {path}", {} if body is None else body, **headers)

    def dibs(self, who, *words):
        status, out = typed_in(self.root, words, who)
        assert status == 0, out
        return out

    def tasks(self, *ids):
        for id_ in ids:
            self.file(f"{id_}.yaml", f"title: do {id_}\n")

    def file(self, name, text):
        """Write a task file."""
        inbox = self.root / "work" / "inbox"
        inbox.mkdir(parents=True, exist_ok=True)
        (inbox / name).write_text(text)


@pytest.fixture
def shop(short_tmp, monkeypatch):
    base = short_tmp()
    for name, value in own_environment(base).items():
        monkeypatch.setenv(name, value)
    made = twins_at(base, only=True)
    monkeypatch.chdir(base)  # the server's folder is not the project's
    return Shop(made)


def refused(answer, status, code):
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text


# -- versions


def test_a_change_of_a_task_that_has_changed_since_is_refused_with_412(shop):
    shop.tasks("one")
    seen = shop.get("/tasks/one")["task"]["version"]
    assert shop.post("/tasks/one/block", {"reason": "w"}).status_code == 200

    for verb, body in (("cancel", {"reason": "x"}), ("start", {}), ("reassign", {"to": "bob"})):
        refused(shop.post(f"/tasks/one/{verb}", body, if_match=str(seen)), 412, "TASK_VERSION")

    assert shop.get("/tasks/one")["task"]["state"] == "blocked"


@pytest.mark.parametrize("spelling", ["{}", '"{}"', "*"])
def test_a_change_of_the_current_version_is_made(shop, spelling):
    shop.tasks("one")
    seen = shop.get("/tasks/one")["task"]["version"]

    answer = shop.post("/tasks/one/cancel", {"reason": "x"}, if_match=spelling.format(seen))

    assert answer.json()["cancel"]["state"] == "cancelled"


@pytest.mark.parametrize("header", ["x", '"', 'W/"3"', "-1", "1" * 400, "3, 4"])
def test_a_version_that_cannot_be_one_is_refused(shop, header):
    shop.tasks("one")

    refused(shop.post("/tasks/one/cancel", {"reason": "x"}, if_match=header), 400, "BAD_INPUT")


def test_a_path_without_versions_does_not_ignore_one(shop):
    refused(shop.post("/messages", {"to": "human", "text": "x"}, if_match="3"), 400, "BAD_INPUT")


def test_a_repeated_request_with_a_version_succeeds_again(shop):
    shop.tasks("one")
    seen = shop.get("/tasks/one")["task"]["version"]
    for _ in range(2):
        answer = shop.post("/tasks/one/start", {}, if_match=str(seen), idempotency_key="k1")
        assert answer.status_code == 200, answer.text


# -- pages


def test_pages_of_tasks_follow_the_order_of_taking_and_skip_nothing(shop):
    shop.tasks(*(f"t{number}" for number in range(5)))
    shop.file("z.yaml", "title: urgent\npriority: critical\n")
    whole = [task["id"] for task in shop.get("/tasks")["tasks"]]
    found, cursor = [], ""
    for _ in range(3):
        page = shop.get(f"/tasks?limit=2&cursor={cursor}")
        found += [task["id"] for task in page["tasks"]]
        cursor = page["next_cursor"]
        shop.post("/tasks", {"title": "later", "priority": "low"})

    assert whole[0] == "z"
    assert found == whole


def test_pages_of_messages_say_how_many_are_left(shop):
    shop.post("/agents", {}, who="ada")
    for number in range(3):
        shop.post("/messages", {"to": "ada", "text": f"n{number}"}, who="bob")

    first = shop.get("/messages?limit=2")
    last = shop.get(f"/messages?limit=2&cursor={first['next_cursor']}")

    assert [one["text"] for one in first["messages"]] == ["n0", "n1"]
    assert (first["left"], last["left"], last["next_cursor"]) == (1, 0, None)


def test_a_listing_of_messages_accepts_notices_that_were_sent_together(shop):
    shop.post("/claims", {"patterns": ["src/a.py"]}, who="ada")
    shop.post("/claims/ask", {"patterns": ["src/a.py"]}, who="bob")
    shop.post("/claims/ask", {"patterns": ["src/a.py"]}, who="carol")
    shop.post("/claims/answer", {"pattern": "src/a.py", "answer": "yes"}, who="ada")

    for who in ("bob", "carol"):
        listed = shop.get("/messages?limit=1", who=who)["messages"]
        assert [one["kind"] for one in listed] == ["answer"]


def test_only_reading_on_purpose_marks_messages_as_read(shop):
    shop.post("/agents", {}, who="ada")
    shop.post("/messages", {"to": "ada", "text": "hello"}, who="bob")

    assert len(shop.get("/messages")["messages"]) == 1
    assert len(shop.post("/messages/read").json()["messages"]) == 1
    assert shop.get("/messages")["messages"] == []
    assert shop.get("/messages?all=true")["messages"][0]["read"]


# -- briefings


def test_a_briefing_is_delivered_once_it_is_confirmed(shop):
    shop.post("/agents", {}, who="ada")
    shop.post("/messages", {"to": "ada", "text": "hello"}, who="bob")
    told = shop.post("/briefing").json()
    assert told["number"] == 1

    assert not shop.get("/messages?all=true")["messages"][0]["briefed"]
    refused(shop.post("/briefing/delivered", {"number": 7}), 404, "NO_BRIEFING")
    refused(shop.post("/briefing/delivered", {"number": 1}, who="bob"), 404, "NO_BRIEFING")
    assert shop.post("/briefing/delivered", {"number": 1}).json()["delivered"]

    assert shop.get("/messages?all=true")["messages"][0]["briefed"] == 1
    refused(shop.post("/briefing/delivered", {"number": 1}), 404, "NO_BRIEFING")
    assert shop.post("/briefing").json()["changed"] is False


# -- files and commands

OUTSIDE = ["../secret.yaml", "/etc/passwd", "link/secret.yaml", ".git/config", "a.py/b", "x\x00y"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_files_outside_the_project_are_not_read(shop, path):
    (shop.root.parent / "secret.yaml").write_text("- {title: secret}\n")
    os.symlink(shop.root.parent, shop.root / "link")

    assert shop.ask("ada", f"GET /board/validate?file={quote(path)}").status_code == 400
    assert shop.get("/tasks")["tasks"] == []


@pytest.mark.parametrize("path", ["../out", "/tmp/out", "link/out"])
def test_nothing_is_created_outside_the_project(shop, path):
    os.symlink(shop.root.parent, shop.root / "link")
    shop.dibs("eve", "worktree", "new")
    (shop.root.with_name("shop.worktrees") / "eve" / "new.txt").write_text("work\n")
    shop.dibs("eve", "worktree", "rm", "eve", "--force", "--reason", "w")

    refused(shop.post("/worktrees", {"path": path}, who=""), 400, _code(path))
    refused(shop.post("/salvage/eve/restore", {"to": path}, who=""), 400, _code(path))
    assert not (shop.root.parent / "out").exists()


def _code(path):
    return "PATH_ABSOLUTE" if path[0] == "/" else "PATH_ESCAPE"


def test_a_commit_with_another_agents_lines_is_refused_with_409_and_says_how_to_repeat_it(shop):
    for who, text in (("ada", "ada\n"), ("bob", "ada\nbob\n")):
        shop.dibs(who, "claim", "left.txt", *(["--new"] if who == "ada" else []))
        (shop.root / "left.txt").write_text(text)
        if who == "ada":
            shop.dibs(who, "release", "left.txt")
    answer = shop.post("/commits", {"message": "x"}, "bob")
    assert (answer.status_code, answer.json()["code"]) == (409, "INHERITED")
    (stop,) = answer.json()["blocked"]
    assert (stop["landed"], stop["yours"]) == (["ada"], ["bob"])
    assert stop["hint"].endswith('; to commit both: repeat the request with "inherited": true')
    answer = shop.post("/commits", {"message": "x", "inherited": True}, "bob")
    assert (answer.status_code, answer.json()["included"][0]["agent"]) == (201, "ada")


def test_findings_name_files_as_seen_from_the_project(shop):
    shop.tasks("one")
    (shop.root / "work" / "inbox" / "bad.yaml").write_text("title: [\n")

    aside = shop.get("/tasks")["set_aside"]
    found = shop.get("/board/validate")["findings"]
    cycle = shop.post("/board/orchestrate").json()["set_aside"]

    for one in (aside, found, cycle):
        assert "work/inbox/bad.yaml" in {item["file"] for item in one}


COMMANDS = [
    ("/worktrees", {"setup": "touch made"}),
    ("/worktrees/ada/setup", {"setup": "touch made"}),
    ("/merges", {"test": "touch made"}),
]


@pytest.mark.parametrize(("path", "body"), COMMANDS)
def test_only_a_human_names_a_command_that_the_machine_runs(shop, path, body):
    refused(shop.post(path, body), 403, "HUMANS_ONLY")
    assert not list(shop.root.parent.rglob("made"))


def test_a_human_may_name_a_setup_command_for_an_agent(shop):
    answer = shop.post("/worktrees", {"setup": "touch made"}, who="", Dibs_Agent="ada")

    assert answer.status_code == 201, answer.text
    assert (shop.root.with_name("shop.worktrees") / "ada" / "made").exists()


# -- waiting


def test_a_waiting_client_gets_the_task_that_is_created_meanwhile(shop):
    found = []
    waiter = threading.Thread(
        target=lambda: found.append(shop.post("/board/take", {"wait": 20}, who="bob").json())
    )
    waiter.start()
    until(lambda: shop.get("/queue")["queue"])
    shop.tasks("one")
    waiter.join(20)

    assert found[0]["task"]["id"] == "one"


def test_a_task_whose_taker_is_gone_is_released(shop):
    shop.tasks("one")
    bob, gone = agent("bob"), threading.Event()
    served = shop._twins.resident.projects.get()
    call = Call(shop._twins.resident, bob, bob.caller, {}, served, "", "", "tasks.take", gone)
    gone.set()

    with pytest.raises(WaitStopped):
        take(call, TakeBody(wait=5))

    assert shop.get("/tasks/one")["task"]["holder"] is None


# -- rights


def test_what_a_service_reserves_for_humans_is_refused_to_agents(shop):
    asked = shop.post("/decisions", {"title": "x", "confirm": True}).json()["decision"]["id"]
    shop.post("/worktrees", {}, who="eve")

    refused(shop.post("/decisions/confirm", {"ids": [asked]}, who="bob"), 403, "MAY_NOT_DECIDE")
    refused(
        shop.post("/merges", {"branches": ["main"], "allow_unclaimed": True}), 403, "HUMANS_ONLY"
    )
    refused(shop.ask("bob", "DELETE /worktrees/eve"), 403, "HUMANS_ONLY")
    repaired = shop.post("/doctor", {}, who="").json()
    assert "done" in repaired


MISSING = [
    ("GET /tasks/none", "NO_TASK"),
    ("POST /board/take", "QUEUE_EMPTY"),
    ("GET /messages/m9", "NO_MESSAGE"),
    ("GET /groups/none", "NO_GROUP"),
    ("GET /decisions/d9", "NO_DECISION"),
    ("GET /worktrees/none/env", "NO_WORKTREE"),
    ("GET /salvage/none", "NO_SALVAGE"),
    ("GET /settings/none", "NO_SETTING"),
    ("POST /merges", "NO_BRANCH"),
]


def test_what_does_not_exist_is_404_with_its_code(shop):
    for call, code in MISSING:
        body = {} if call.startswith("POST") else None
        refused(shop.ask("ada", call, body), 404, code)


def test_who_you_are_comes_from_the_token_or_the_header(shop):
    own = shop.get("/whoami")
    acting = shop.ask("", "GET /whoami", Dibs_Agent="ada").json()

    assert (own["agent"], own["source"], own["human"], own["scope"]) == (
        "ada",
        "token",
        False,
        "agent",
    )
    assert (acting["agent"], acting["source"], acting["human"]) == ("ada", "flag", False)
    assert own["project"] == str(shop.root)
