"""A request gives the same answer as its command."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.server.conftest import own_environment
from tests.server.rest.twins import Step, twins_at, typed_in


@pytest.fixture
def twins(short_tmp, monkeypatch):
    """Two projects in the same state; the current folder is that of the commands."""
    base = short_tmp()
    for name, value in own_environment(base).items():
        monkeypatch.setenv(name, value)
    made = twins_at(base)
    monkeypatch.chdir(made.typed)
    return made


FILES = {
    "one": "title: First\n",
    "two": "title: Second\ndependencies: [one]\n",
    "three": "title: Third\n",
}
TASKS = [
    Step("ada", ("task", "ls"), "GET /tasks"),
    Step("ada", ("task", "ls", "--ready"), "GET /tasks?ready=true"),
    Step("ada", ("task", "ls", "--for", "bob"), "GET /tasks?agent=bob"),
    Step("ada", ("task", "graph"), "GET /board/graph"),
    Step("ada", ("task", "graph", "two"), "GET /board/graph?task=two"),
    Step("ada", ("task", "start", "one"), "POST /tasks/one/start", {}),
    Step("bob", ("task", "start", "one"), "POST /tasks/one/start", {}, 409, 3),
    Step("bob", ("task", "done", "one"), "POST /tasks/one/done", {}, 409, 4),
    Step("ada", ("task", "show", "one"), "GET /tasks/one"),
    Step("ada", ("task", "release", "one"), "POST /tasks/one/release", {}),
    Step("bob", ("task", "take", "--role", "tester"), "POST /board/take", {"roles": ["tester"]}),
    Step(
        "bob", ("task", "fail", "one", "--message", "no"), "POST /tasks/one/fail", {"message": "no"}
    ),
    Step("bob", ("task", "retry", "one"), "POST /tasks/one/retry", {}),
    Step("bob", ("task", "start", "one"), "POST /tasks/one/start", {"ttl": "5m"}),
    Step(
        "bob",
        ("task", "done", "one", "--summary", "ok", "--artefact", "a.py", "--next", "carl",
         "--next-title", "Check it", "--tokens-in", "5"),
        "POST /tasks/one/done",
        {"summary": "ok", "artefacts": ["a.py"], "next": {"agent": "carl", "title": "Check it"},
         "tokens_in": 5},
    ),
    Step("bob", ("task", "reopen", "one"), "POST /tasks/one/reopen", {}),
    Step(
        "", ("task", "block", "one", "--reason", "w"), "POST /tasks/one/block", {"reason": "w"}
    ),
    Step(
        "", ("task", "cancel", "three", "--reason", "w"), "POST /tasks/three/cancel", {"reason": "w"}
    ),
    Step(
        "", ("task", "reassign", "two", "--to", "carl"), "POST /tasks/two/reassign", {"to": "carl"}
    ),
    Step(
        "ada",
        ("task", "new", "Write docs", "--for", "dora", "--artefact", "docs/", "--note", "n"),
        "POST /tasks",
        {"title": "Write docs", "agent": "dora", "artefacts": ["docs/"], "notes": ["n"]},
        201,
    ),
    Step(
        "ada", ("task", "new", "Plan", "--dry-run"), "POST /tasks", {"title": "Plan", "dry_run": True}
    ),
    Step("ada", ("task", "validate"), "GET /board/validate"),
    Step("ada", ("task", "ls", "--all"), "GET /tasks?all=true"),
    Step("ada", ("orchestrate",), "POST /board/orchestrate", {}),
]  # fmt: skip


def test_tasks(twins):
    for name, text in FILES.items():
        twins.write(f"work/inbox/{name}.yaml", text.encode())
    for step in TASKS:
        twins.same(step)


MAIL = [
    Step("ada", ("inbox",), "GET /messages"),
    Step("bob", ("say", "ada", "hello"), "POST /messages", {"to": "ada", "text": "hello"}, 201, keep="m1"),
    Step("bob", ("say", "ada", "look"), "POST /messages", {"to": "ada", "text": "look"}, 201, keep="m2"),
    Step("bob", ("say", "nobody", "x"), "POST /messages", {"to": "nobody", "text": "x"}, 404, 6),
    Step("bob", ("inbox", "--sent"), "GET /messages?sent=true"),
    Step("ada", ("inbox", "{m1}"), "GET /messages/{m1}"),
    Step("ada", ("inbox",), "POST /messages/read", {"ids": ["{m2}"]}),
    Step(
        "ada", ("say", "--reply", "{m1}", "hi"), "POST /messages", {"reply_to": "{m1}", "text": "hi"}, 201
    ),
    Step("ada", ("group", "ls"), "GET /groups"),
    Step(
        "ada",
        ("group", "new", "crew", "ada", "role:tester"),
        "POST /groups",
        {"name": "crew", "members": ["ada", "role:tester"]},
        201,
    ),
    Step("ada", ("group", "add", "crew", "bob"), "POST /groups/crew/add", {"members": ["bob"]}),
    Step("ada", ("say", "crew", "all here"), "POST /messages", {"to": "crew", "text": "all here"}, 201),
    Step("ada", ("group", "show", "crew"), "GET /groups/crew"),
    Step("ada", ("group", "rm", "crew", "bob"), "POST /groups/crew/remove", {"members": ["bob"]}),
    Step("ada", ("group", "ls"), "GET /groups"),
    Step("ada", ("group", "drop", "crew"), "DELETE /groups/crew"),
    Step("ada", ("group", "show", "crew"), "GET /groups/crew", None, 404, 6),
]  # fmt: skip


def test_messages_and_groups(twins):
    twins.both("ada", "agent", "join", "--role", "tester")
    for step in MAIL:
        twins.same(step)


DECISIONS = [
    Step("ada", ("decide", "ls"), "GET /decisions"),
    Step(
        "ada",
        ("decide", "new", "tabs", "--rationale", "why"),
        "POST /decisions",
        {"title": "tabs", "rationale": "why"},
        201,
    ),
    Step(
        "ada",
        ("decide", "new", "httpx", "--confirm"),
        "POST /decisions",
        {"title": "httpx", "confirm": True},
        201,
        keep="d2",
    ),
    Step(
        "ada", ("decide", "new", "x", "--by", "human"), "POST /decisions",
        {"title": "x", "by": "human"}, 201, keep="d3",
    ),
    Step("bob", ("decide", "comment", "{d2}", "no"), "POST /decisions/{d2}/comment", {"text": "no"}),
    Step("bob", ("decide", "show", "{d2}"), "GET /decisions/{d2}"),
    Step("bob", ("decide", "show", "d99"), "GET /decisions/d99", None, 404, 6),
    Step("bob", ("decide", "confirm", "{d2}"), "POST /decisions/confirm", {"ids": ["{d2}"]}, 403, 77),
    Step("", ("decide", "revoke", "{d2}"), "POST /decisions/revoke", {"ids": ["{d2}"]}, 400, 65),
    Step("", ("decide", "confirm", "{d2}"), "POST /decisions/confirm", {"ids": ["{d2}"]}),
    Step("ada", ("decide", "withdraw", "{d3}"), "POST /decisions/{d3}/withdraw", {}),
    Step(
        "", ("decide", "reject", "{d3}", "--reason", "w"), "POST /decisions/reject",
        {"ids": ["{d3}"], "reason": "w"}, 400, 65,
    ),
    Step("ada", ("decide", "ls"), "GET /decisions"),
]  # fmt: skip


def test_decisions(twins):
    for step in DECISIONS:
        twins.same(step)


def test_a_conflict_has_both_sides_and_a_human_settles_it(twins):
    twins.both("judge", "claim", "--new", "x/**", "y/**")
    for path, word in (("x/a", "revoke"), ("y/a", "refuse")):
        words, body = ("escalate", path, "--note", "late"), {"patterns": [path], "note": "late"}
        told = twins.same(Step("loser", words, "POST /claims/escalate", body))
        id_ = told["escalated"][0]["decision"]
        twins.same(Step("loser", ("decide", "show", id_), f"GET /decisions/{id_}"))
        words, body = ("decide", word, id_, "--reason", "ok"), {"ids": [id_], "reason": "ok"}
        twins.same(Step("", words, f"POST /decisions/{word}", body))


COMMITS = [

    Step("cleo", ("changes",), "GET /changes"),
    Step("cleo", ("changes", "--mine"), "GET /changes?agent=cleo"),
    Step("cleo", ("changes", "--all-trees"), "GET /changes?all_trees=true"),
    Step("cleo", ("diff",), "GET /diff"),
    Step("dan", ("diff", "cleo", "src/a.py", "--stat"), "GET /diff?agent=cleo&path=src/a.py&stat=true"),
    Step("cleo", ("commit", "--dry-run"), "POST /commits", {"dry_run": True}),
    Step(
        "cleo", ("commit", "-m", "m", "other.py"), "POST /commits",
        {"message": "m", "paths": ["other.py"]}, 409, 3,
    ),
    Step(
        "cleo", ("commit", "-m", "m", "--release"), "POST /commits",
        {"message": "m", "release": True}, 201,
    ),
]  # fmt: skip


def test_commits_and_changes(twins):
    twins.both("cleo", "claim", "--new", "src/**")
    none = ("commit", "-m", "none")
    twins.same(Step("cleo", none, "POST /commits", {"message": "none"}, 404, 6))
    twins.write("src/a.py", b"a\n")
    twins.write("src/caf\udce9.py", b"\xff\n")
    twins.write("other.py", b"b\n")
    for step in COMMITS:
        twins.same(step)


TREES = [
    Step("eve", ("worktree", "ls"), "GET /worktrees"),
    Step("eve", ("worktree", "new"), "POST /worktrees", {}, 201),
    Step("eve", ("worktree", "new"), "POST /worktrees", {}),
    Step("eve", ("worktree", "env"), "GET /worktrees/eve/env"),
    Step("", ("worktree", "setup", "eve", "--setup", "true"), "POST /worktrees/eve/setup", {"setup": "true"}),
    Step("eve", ("worktree", "setup"), "POST /worktrees/eve/setup", {}, 404, 6),
    Step("eve", ("worktree", "gc", "--dry-run"), "POST /worktrees/gc", {"dry_run": True}),
    Step("eve", ("worktree", "env", "x"), "GET /worktrees/x/env", None, 404, 6),
]  # fmt: skip
FILLED = [
    Step("eve", ("worktree", "ls"), "GET /worktrees"),
    Step("eve", ("worktree", "rm", "eve"), "DELETE /worktrees/eve", None, 409, 3),
    Step("eve", ("worktree", "rm", "eve", "--force"), "DELETE /worktrees/eve?force=true", None, 400, 65),
    Step(
        "eve", ("worktree", "rm", "eve", "--force", "--reason", "w"),
        "DELETE /worktrees/eve?force=true&reason=w",
    ),
    Step("eve", ("salvage", "ls"), "GET /salvage"),
    Step("eve", ("salvage", "show", "eve"), "GET /salvage/eve"),
    Step(
        "eve", ("salvage", "restore", "eve", "--branch", "again"), "POST /salvage/eve/restore",
        {"branch": "again"}, 201,
    ),
    Step(
        "eve", ("salvage", "restore", "eve", "--branch", "again"), "POST /salvage/eve/restore",
        {"branch": "again"}, 400, 65,
    ),
    Step(
        "eve", ("salvage", "restore", "eve", "--to", "trees/back"), "POST /salvage/eve/restore",
        {"to": "trees/back"}, 201,
    ),
]  # fmt: skip


def test_worktrees_and_salvage(twins):
    for step in TREES:
        twins.same(step)
    for root in (twins.asked, twins.typed):
        (root.with_name(f"{root.name}.worktrees") / "eve" / "new.txt").write_text("work\n")
    for step in FILLED:
        twins.same(step)


CHECKS = [
    Step("ada", ("config",), "GET /settings"),
    Step("ada", ("config", "claims.ttl"), "GET /settings/claims.ttl"),
    Step("ada", ("config", "nothing"), "GET /settings/nothing", None, 404, 6),
    Step("ada", ("git", "status"), "GET /git", None, 200, 6),
    Step("ada", ("doctor",), "GET /doctor", None, 200, 0),
    Step("ada", ("forecast", "--no-warn"), "GET /forecast"),
    Step("ada", ("forecast",), "POST /forecast", {}),
    Step("ada", ("brief", "--peek"), "GET /briefing"),
    Step("zoe", ("brief", "--full"), "POST /briefing", {"full": True}),
]  # fmt: skip


def test_settings_and_checks(twins):
    for step in CHECKS:
        twins.same(step)
    twins.same(Step("", ("engine", "check"), "GET /engine"))


def test_patterns(twins):
    for a, b in (("src/**", "src/*.py"), ("a", "b")):
        step = Step(
            "ada", ("explain", a, b), f"GET /explain?a={a}&b={b}", None, 200, 0 if a > "b" else 3
        )
        told = twins.ask(step)
        words = ["explain", a, b, "--json"]
        assert json.loads(typed_in(twins.typed, words)[1]) == told


WORK = [
    Step(
        "ada",
        ("delegate", "tester", "Cover the login", "--path", "a.py", "--context", "soon"),
        "POST /delegations",
        {"to": "tester", "title": "Cover the login", "paths": ["a.py"], "context": "soon"},
        201,
    ),
    Step(
        "ada",
        ("delegate", "tester", "Cover the login", "--strict"),
        "POST /delegations",
        {"to": "tester", "title": "Cover the login", "strict": True},
        409,
        3,
    ),
    Step("ada", ("delegate", "x", "y"), "POST /delegations", {"to": "x", "title": "y"}, 404, 6),
    Step(
        "ada", ("delegate", "--cancel", "none"), "POST /delegations/none/cancel", {}, 404, 6
    ),
]  # fmt: skip


def test_delegations(twins):
    twins.both("tess", "agent", "join", "--role", "tester")
    for step in WORK:
        twins.same(step)
    for root in (twins.asked, twins.typed):
        (file,) = (root / "work").rglob("*-cover-the-login.yaml")
        twins.ids["task"] = (*twins.ids.get("task", ())[:1], file.stem)
    twins.ids["task"] = (twins.ids["task"][0], twins.ids["task"][-1])
    cancel = ("delegate", "--cancel", "{task}")
    twins.same(Step("ada", cancel, "POST /delegations/{task}/cancel", {}))


MERGES = [
    Step("fay", ("merge",), "POST /merges", {"wait": 0}, 404, 6),
    Step(
        "fay", ("merge", "agent/gus", "--dry-run"), "POST /merges",
        {"branches": ["agent/gus"], "dry_run": True}, 409, 3,
    ),
    Step(
        "", ("merge", "--all", "--allow-unclaimed", "--no-test"), "POST /merges",
        {"all": True, "allow_unclaimed": True, "test": ""},
    ),
    Step("", ("merge", "agent/gus"), "POST /merges", {"branches": ["agent/gus"]}),
]  # fmt: skip


def test_merges(twins):
    for root in (twins.asked, twins.typed):
        for words in (
            ["checkout", "-q", "-b", "agent/gus"],
            ["commit", "-q", "--allow-empty", "-m", "nothing"],
            ["rm", "-q", "a.py"],
            ["commit", "-q", "-m", "gone"],
            ["checkout", "-q", "main"],
        ):
            subprocess.run(["git", *words], cwd=root, check=True)
    for step in MERGES:
        twins.same(step)
