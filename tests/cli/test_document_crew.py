"""The crew document: its examples and rules, run with the commands that our page for it names."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import git
from tests.guard.hooking import call, command, environment

from dibs.cli.support.text import conflict_line
from dibs.core.claims.rules import Conflict
from dibs.shapes.quoting import Quoting

PAGE = Path(__file__).parents[2] / "docs/how-to/from-crew.md"
#: The fourteen action types of the document.
KINDS = {
    "file_edit", "file_read", "decision_made", "task_started", "task_completed", "sub_agent_spawned",
    "lock_acquired", "lock_released", "message_sent", "delegated", "agent_terminated",
    "delegation_cancelled", "group_message", "error",
}  # fmt: skip


@pytest.fixture
def shop(repo):
    """The repository of the document's examples."""
    for name in ("src/auth.ts", "src/utils.ts", "src/auth/login.ts", "src/auth/session.ts"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("old\n")
    git("add", "-A")
    git("commit", "-qm", "start")
    git("config", "user.name", "t")
    git("config", "user.email", "t@t")
    return repo


def hook(folder, event, path, tool="Write", session="11111111", **more):
    """Call the hook of Claude Code as its own process."""
    told = json.loads(call(folder, path, session, tool)) | {"hook_event_name": event, **more}
    done = subprocess.run(
        command(), input=json.dumps(told).encode(), cwd=folder, env=environment(),
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    return json.loads(done.stdout) if done.stdout else {}


def entries(dibs, *words):
    return dibs("log", "-n", "200", "--json", *words).json


# -- the text commands


def test_every_text_command_of_the_document_has_a_command_that_runs(shop, dibs):
    rows = re.findall(r"(?m)^\| `⟦⟦ (\w+) .*?⟧⟧` \| `dibs ([^`]+)` \|$", PAGE.read_text("utf-8"))
    assert [name for name, _ in rows] == ["LOCK_FILE", "COMMIT", "UNLOCK_FILE"]
    (shop / "src/auth.ts").write_text("new\n")

    for _, words in rows:
        answer = dibs(*shlex.split(words), agent="a")
        assert answer.status == 0, (words, answer)

    assert git("log", "-1", "--format=%s") == "feat: add login endpoint"
    assert dibs("status", "--json").json["claims"] == []


# -- locks


def test_the_example_of_two_agents_and_one_lock(shop, dibs):
    first = dibs("claim", "src/auth.ts", "--reason", "implementing login", agent="a")
    denied = dibs("claim", "src/auth.ts", "--reason", "fixing bug", agent="b")
    released = dibs("release", "src/auth.ts", agent="a")
    second = dibs("claim", "src/auth.ts", "--reason", "fixing bug", agent="b")

    assert (first.status, denied.status, released.status, second.status) == (0, 3, 0, 0)
    assert first.out.startswith("granted src/auth.ts (exclusive, token ")
    assert re.match(r"denied: a holds src/auth.ts \(expires in (5m|4m\d\ds) unless", denied.out)
    assert "implementing login" in denied.out
    assert released.out == "released src/auth.ts\n"


def test_a_denial_shows_the_remaining_time_like_the_document():
    conflict = Conflict("a", "a", "ada", "exclusive", "", "", 0.0, 270.0, "a")

    assert (
        conflict_line(conflict, Quoting(None, []))
        == "ada holds a (expires in 4m30s unless renewed)"
    )


def test_a_lock_lasts_300_seconds_and_its_own_agent_refreshes_it(shop, dibs):
    first = dibs("claim", "src/auth.ts", "--json", agent="a").json
    again = dibs("claim", "src/auth.ts", "--json", agent="a").json

    assert first["claims"][0]["ttl"] == 300
    assert again["outcome"] == "granted"
    assert again["token"] == first["token"]
    assert again["claims"][0]["expires_at"] >= first["claims"][0]["expires_at"]


def test_a_lock_on_a_glob_blocks_the_files_that_it_matches(shop, dibs):
    assert dibs("claim", "src/auth/*", agent="a").status == 0

    for path in ("src/auth/login.ts", "src/auth/session.ts", "src/auth/new.ts"):
        assert dibs("claim", path, agent="b").status == 3
    assert dibs("claim", "src/auth.ts", agent="b").status == 0


def test_an_agent_that_exits_releases_everything(shop, dibs):
    dibs("claim", "src/auth.ts", "src/utils.ts", agent="a")

    assert dibs("agent", "leave", agent="a").status == 0

    assert dibs("claim", "src/auth.ts", "src/utils.ts", agent="b").status == 0


# -- scoped commits


def test_a_commit_contains_only_locked_files_and_names_those_missing_from_it(shop, dibs):
    dibs("claim", "src/auth.ts", "src/utils.ts", agent="a")
    dibs("claim", "src/auth/login.ts", agent="b")
    for name in ("src/auth.ts", "src/auth/login.ts", "src/auth/session.ts"):
        (shop / name).write_text("new\n")

    answer = dibs("commit", "-m", "feat: add login endpoint", agent="a")

    assert answer.status == 0
    assert git("diff", "--name-only", "HEAD~1", "HEAD") == "src/auth.ts"
    assert re.match(r"committed [0-9a-f]{10}: 1 file to \w+\n", answer.out)
    assert "claimed, but unchanged: src/utils.ts\n" in answer.out
    (entry,) = entries(dibs, "--kind", "commit")
    assert entry["details"]["paths"] == ["src/auth.ts"]
    assert git("status", "--short") == "M src/auth/login.ts\n M src/auth/session.ts"


def test_a_locked_file_that_git_ignores_is_named_as_missing_and_not_as_unchanged(shop, dibs):
    (shop / ".gitignore").write_text("dist/\n")
    (shop / "dist").mkdir()
    (shop / "dist/out.js").write_text("new\n")
    (shop / "src/auth.ts").write_text("new\n")
    dibs("claim", "src/auth.ts", "src/utils.ts", "dist/out.js", agent="a")

    trial = dibs("commit", "--dry-run", "--json", agent="a").json
    answer = dibs("commit", "-m", "x", agent="a")

    assert sorted(trial["unchanged"]) == ["dist/out.js", "src/utils.ts"]
    assert trial["ignored"] == ["dist/out.js"]
    assert "claimed, but unchanged: src/utils.ts\n" in answer.out
    assert "claimed, but ignored by git: dist/out.js\n" in answer.out


@pytest.mark.parametrize("name", ["a b.ts", "it's.ts", "$(touch pwned).ts", "-A", "ü*.ts"])
def test_any_file_name_is_committed_as_it_is(shop, dibs, name):
    (shop / name).write_text("new\n")
    (shop / "src/utils.ts").write_text("another agent's\n")
    assert dibs("claim", f"./{name}", "--literal", agent="a").status == 0

    assert dibs("commit", "-m", "odd", agent="a").status == 0

    shown = git("-c", "core.quotePath=false", "diff", "--name-only", "HEAD~1", "HEAD")
    assert shown == name
    assert not (shop / "pwned").exists()


def test_a_commit_that_was_refused_is_not_in_the_ledger_as_a_commit(shop, dibs):
    dibs("claim", "src/auth.ts", agent="a")
    (shop / "src/auth.ts").write_text("new\n")

    assert dibs("commit", "-m", "x", "src/auth.ts", agent="b").status == 3

    assert entries(dibs, "--kind", "commit") == []


# -- delegations


@pytest.mark.parametrize(
    ("title", "similar"),
    [
        ("Implement the login endpoint", True),
        ("implement LOGIN endpoint now please", True),
        ("Implement a logout endpoint", True),
        ("Login page redesign", False),
        ("Read the docs of it", False),
    ],
)
def test_a_delegation_with_more_than_half_the_words_warns_and_proceeds(shop, dibs, title, similar):
    dibs("agent", "join", agent="ada")
    dibs("agent", "join", agent="bob")
    dibs("delegate", "ada", "Implement login endpoint", agent="lead")

    answer = dibs("delegate", "bob", title, "--json", agent="lead").json

    assert (answer["outcome"], answer["told"]) == ("delegated", ["bob"])
    assert bool(answer["similar"]) == similar
    strict = dibs("delegate", "bob", title, "--strict", agent="lead").status
    assert strict == 3  # at least its own twin is active now


# -- the ledger


def test_every_action_type_of_the_document_is_logged(shop, dibs):
    (shop / "dibs.toml").write_text('[ledger]\nfiles = "all"\n')
    lead = "lead"
    dibs("agent", "join", "--role", "lead", agent=lead)
    dibs("agent", "join", "--role", "developer", "--parent", lead, agent="dev")
    hook(shop, "PreToolUse", "src/utils.ts", "Read")
    hook(shop, "PreToolUse", "src/auth.ts")
    hook(shop, "PostToolUse", "src/auth.ts")
    dibs("decide", "new", "use JWT for session tokens", agent="dev")
    task = dibs("delegate", "dev", "Implement login endpoint", "--json", agent=lead).json["task"]
    dibs("task", "start", task["id"], agent="dev")
    dibs("task", "done", task["id"], "--summary", "done", agent="dev")
    other = dibs("delegate", "dev", "Paint the door", "--json", agent=lead).json["task"]
    dibs("delegate", "--cancel", other["id"], agent=lead)
    dibs("claim", "src/auth/login.ts", agent="dev")
    dibs("release", "src/auth/login.ts", agent="dev")
    dibs("say", "dev", "hello", agent=lead)
    dibs("say", "all", "hello, all", agent=lead)
    (shop.parent / "repo.worktrees").write_text("in the way\n")
    dibs("worktree", "new", "dev", "--or-shared", agent=lead)
    dibs("agent", "stop", "dev", "--reason", "enough", agent=lead)

    found = entries(dibs)

    assert KINDS - {entry["kind"] for entry in found} == set()
    for kind in ("delegated", "delegation_cancelled", "agent_terminated", "message_sent"):
        details = next(entry["details"] for entry in found if entry["kind"] == kind)
        assert (details["toAgentId"], details["toRole"]) == ("dev", "developer"), kind


def test_what_was_written_is_read_at_once_and_can_be_filtered(shop, dibs):
    for number in range(3):
        dibs("claim", "src/auth.ts", agent=f"a{number}")
        dibs("release", "src/auth.ts", agent=f"a{number}")
        (entry,) = entries(dibs, "--agent", f"a{number}", "--kind", "lock_released")
        assert entry["agent"] == f"a{number}"

    counts = dibs("log", "--summary", "--json").json
    assert "lock_released" in json.dumps(counts)


# -- context refresh


def test_a_lead_and_a_specialist_get_the_documents_pages(shop, dibs):
    dibs("agent", "join", "--role", "lead", agent="boss")
    words = ("--role", "developer", "--parent", "boss", "--model", "claude-opus-4.6")
    dibs("agent", "join", *words, agent="abc12345")
    dibs("agent", "join", "--role", "reviewer", "--parent", "boss", agent="def67890")
    dibs("agent", "report", "--task", "Implement login endpoint", agent="abc12345")
    dibs("claim", "src/auth.ts", agent="abc12345")
    dibs("decide", "new", "use JWT", "--confirm", agent="abc12345")

    lead = dibs("brief", agent="boss").out
    peer = dibs("brief", agent="def67890").out

    assert lead.startswith("<!-- CREW_UPDATE\n")
    assert "== PROJECT HEALTH ==\n✅ " in lead
    assert "⚠️ 1 decision pending" in lead
    assert "\n0 blocked tasks\n== YOUR AGENTS ==\n" in lead
    assert re.search(
        r"- abc12345 — developer \[claude-opus-4.6\] — running, task: \S+ \S+Implement", lead
    )
    assert "== CURRENT CREW STATUS ==" in peer
    assert re.search(r"- Agent abc12345 \(developer\) — running, Task: .*Claims: src/auth.ts", peer)
    assert re.search(
        r"== RECENT ACTIVITY ==\n(.*\n)*- \[\d\d:\d\d:\d\d\] developer abc12345: ", peer
    )


@pytest.mark.parametrize(
    "event",
    [
        ("agent", "join", "--agent", "new"),
        ("agent", "leave", "--agent", "other"),
        ("agent", "stop", "other", "--reason", "enough"),
        ("claim", "src/utils.ts", "--agent", "other"),
        ("release", "src/auth.ts", "--agent", "other"),
    ],
)
def test_each_event_of_the_document_makes_a_new_briefing_and_nothing_else_does(shop, dibs, event):
    dibs("agent", "join", agent="other")
    dibs("claim", "src/auth.ts", agent="other")
    assert "CREW_UPDATE" in dibs("brief", agent="me").out
    dibs("claim", "src/auth.ts", agent="other")  # a heartbeat, no change

    assert dibs("brief", agent="me").out == ""
    assert dibs(*event).status == 0

    assert "CREW_UPDATE" in dibs("brief", agent="me").out
    assert dibs("brief", agent="me").out == ""


def test_after_context_compaction_an_agent_gets_its_whole_context_again(shop, dibs):
    dibs("claim", "src/auth.ts", "--reason", "login", agent="other")

    def told(event, **more):
        return json.dumps(hook(shop, event, "src/utils.ts", **more))

    assert "src/auth.ts" in told("SessionStart", source="startup")
    assert "src/auth.ts" not in told("UserPromptSubmit", prompt="go on")

    assert "src/auth.ts" in told("SessionStart", source="compact")


def test_after_context_compaction_an_agent_sees_its_active_delegations_and_the_rules(shop, dibs):
    dibs("agent", "join", agent="bob")
    name = "claude-11111111"

    def told(event, **more):
        said = hook(shop, event, "src/utils.ts", **more)
        return said.get("hookSpecificOutput", {}).get("additionalContext", "")

    told("SessionStart", source="startup")
    dibs("delegate", "bob", "Write the tests", agent=name)
    dibs("delegate", name, "Write the parser", agent="bob")
    done = dibs("delegate", "bob", "Paint the door", "--json", agent=name).json["task"]["id"]
    dibs("delegate", "--cancel", done, agent=name)
    assert "Write the parser" in told("UserPromptSubmit", prompt="go on")
    assert "Write the parser" not in told("UserPromptSubmit", prompt="go on")

    again = told("SessionStart", source="compact")

    section = again.partition("== DELEGATIONS ==\n")[2].partition("\n==")[0]
    assert re.search(
        r"- to bob: \S+ \S+Write the tests\S* \(\S+-bob-write-the-tests, new\)", section
    )
    assert re.search(r"- to you from bob: \S+ \S+Write the parser\S* \(", section)
    assert "Paint" not in section
    assert f"you are {name}. Your first edit of a file claims it." in again


# -- termination


def test_stopping_a_lead_stops_its_children_and_exiting_is_something_else(shop, dibs):
    dibs("agent", "join", "--role", "lead", agent="boss")
    dibs("agent", "join", "--parent", "boss", agent="child")
    dibs("agent", "join", "--parent", "child", agent="grandchild")
    dibs("agent", "join", agent="other")
    dibs("claim", "src/auth.ts", agent="grandchild")
    assert dibs("agent", "join", "--parent", "grandchild", agent="boss").status == 65

    stopped = dibs("agent", "stop", "boss", "--reason", "enough")
    dibs("agent", "leave", agent="other")

    assert stopped.out.split() == ["stopped", "boss", "stopped", "child", "stopped", "grandchild"]
    agents = dibs("agent", "ls", "--all", "--json").json["agents"]
    statuses = {agent["id"]: agent["status"] for agent in agents}
    assert {statuses[name] for name in ("boss", "child", "grandchild")} == {"terminated"}
    assert statuses["other"] == "exited"
    assert dibs("claim", "src/auth.ts", agent="new").status == 0
    assert dibs("claim", "src/utils.ts", agent="grandchild").status == 77


# -- worktrees


def test_agents_in_worktrees_commit_independently_and_merge_back(shop, dibs, monkeypatch):
    dibs("merge", "--help")
    for agent, path in (("ada", "src/auth.ts"), ("bob", "src/utils.ts")):
        assert dibs("worktree", "new", agent, agent=agent).status == 0
        folder = shop.parent / "repo.worktrees" / agent
        (folder / path).write_text(f"by {agent}\n")
        monkeypatch.chdir(folder)
        assert dibs("claim", path, agent=agent).status == 0
        assert dibs("commit", "-m", f"work of {agent}", agent=agent).status == 0
        assert git("branch", "--show-current") == f"agent/{agent}"
        assert git("status", "--short") == ""
    monkeypatch.chdir(shop)
    assert (shop / "src/auth.ts").read_text() == "old\n"

    for agent in ("ada", "bob"):
        answer = dibs("merge", f"agent/{agent}")
        assert answer.status == 0, answer

    assert (shop / "src/auth.ts").read_text() == "by ada\n"
    assert (shop / "src/utils.ts").read_text() == "by bob\n"
