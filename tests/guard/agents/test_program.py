"""A hook answers any input, denied by default or allowed by the settings, and always in time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dibs as dibs_package
from dibs.core.claims.agents import Caller
from dibs.guard.agents.program import INPUT_MAX, answer
from dibs.install.entries.commands import Commands
from dibs.project.project import create, open_project
from dibs.services.state.deliveries import get_offer, reader_of

RUN = str(Path(dibs_package.__file__).parent / "guard" / "run.py")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with Dibs, in which bob holds ``held.txt``."""
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for variable in list(os.environ):
        if variable.startswith(("DIBS_", "CLAUDE", "COPILOT")):
            monkeypatch.delenv(variable)
    opened, _ = create(str(root))
    opened.close()
    (root / "src").mkdir()
    monkeypatch.chdir(root)
    assert said(call("Write", session="bob", file_path=str(root / "held.txt"))) == PASSED
    return root


PASSED = ("", "", 0)
#: A name for commits, in case git has none.
NAMED = {**os.environ, **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER")
                          for what in ("NAME", "EMAIL")}}  # fmt: skip


def call(tool, session="alice", cwd="", event="PreToolUse", **fields):
    sent = {
        "session_id": session,
        "cwd": cwd or os.getcwd(),
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": fields,
        "tool_use_id": "t1",
    }
    return json.dumps(sent).encode()


def said(given, words=("claude",), **environ):
    found, _ = answer(words, given, {**os.environ, **environ}, os.getcwd(), os.getpid())
    return tuple(found)


def reason(given, words=("claude",), **environ):
    """Return why a call is blocked."""
    out, _, status = said(given, words, **environ)
    assert status == 0
    decided = json.loads(out)["hookSpecificOutput"]
    assert decided["permissionDecision"] == "deny"
    return decided["permissionDecisionReason"]


def test_another_agents_file_is_blocked_with_the_owner_and_the_next_step(project):
    why = reason(call("Edit", file_path=str(project / "held.txt")))

    assert "held.txt: claude-bob holds it" in why
    assert "dibs claim held.txt --wait" in why


def test_an_unclaimed_file_is_allowed_and_claimed(project):
    assert said(call("Write", file_path=str(project / "free.txt"))) == PASSED
    assert "claude-alice" in reason(call("Write", "bob", file_path=str(project / "free.txt")))


BROKEN = {
    "empty": b"",
    "no JSON": b"{nope",
    "no object": b"[1, 2]",
    "no letters": b"\xff\xfe\x00",
    "no event": b"{}",
    "no tool": b'{"hook_event_name": "PreToolUse"}',
    "arguments are a list": b'{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":[]}',
    "no path": b'{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{}}',
    "path is a number": (
        b'{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":7}}'
    ),
    "path has a NUL": (
        b'{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"a\\u0000"}}'
    ),
    "path has half a character": (
        b'{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"\\ud800"}}'
    ),
    "one path of many is none": (
        b'{"hook_event_name":"PreToolUse","tool_name":"editFiles","tool_input":{"files":["a",1]}}'
    ),
    "command is a number": (
        b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":5}}'
    ),
    "patch without a path": (
        b'{"hook_event_name":"PreToolUse","tool_name":"apply_patch",'
        b'"tool_input":{"command":"*** Begin Patch\\n*** End Patch"}}'
    ),
    "a batch of batches": (
        b'{"hook_event_name":"PreToolUse","tool_name":"batch","tool_input":{"tool_calls":[{"tool":"batch"}]}}'
    ),
    "an editor's command is a list": (
        b'{"hook_event_name":"PreToolUse","tool_name":"str_replace_editor","tool_input":{"command":[]}}'
    ),
    "nested too deeply": b"[" * 200_000,
    "too long a number": b'{"hook_event_name": ' + b"9" * 10_000 + b"}",
    "larger than any call": b" " * (INPUT_MAX + 1),
}


@pytest.mark.parametrize("given", BROKEN.values(), ids=BROKEN)
def test_an_invalid_call_is_blocked_by_status_2_and_one_line(project, given):
    out, line, status = said(given)

    assert (out, status) == ("", 2)
    assert line.startswith("dibs: blocked because the claim check failed: ")
    assert "\n" not in line
    assert line.isprintable()


def test_an_invalid_call_is_allowed_if_the_settings_say_so(project):
    (project / "dibs.toml").write_text('[guard]\non_error = "allow"\n')

    for out, line, status in map(said, BROKEN.values()):
        assert (out, status) == ("", 0)
        assert line.startswith("dibs: allowed although the claim check failed: ")


def test_outside_a_project_the_hook_says_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert {said(given) for given in BROKEN.values()} == {PASSED}


def test_copilot_is_blocked_by_json_because_a_status_loses_the_reason(project):
    out, _, status = said(b"nope", ["copilot", "preToolUse"])

    assert status == 0
    assert json.loads(out)["permissionDecision"] == "deny"


@pytest.mark.parametrize("size", [INPUT_MAX - 400, 1 << 20])
def test_a_large_write_is_handled_like_a_small_one(project, size):
    large = call("Write", file_path=str(project / "held.txt"), content="x" * size)

    assert "claude-bob" in reason(large)


PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: src/../held.txt\n*** End Patch"
MANY = {
    "patch": ("apply_patch", {"command": PATCH}),
    "edits": ("MultiEdit", {"edits": [{"file_path": "a"}, {"file_path": "held.txt"}]}),
    "move": ("mcp__fs__move_file", {"source": "a", "destination": "held.txt"}),
    "of a server that nobody knows": ("mcp__fs__frobnicate", {"path": "held.txt"}),
    "a batch": (
        "batch",
        {
            "tool_calls": [
                {"tool": "read", "parameters": {"filePath": "a"}},
                {"tool": "edit", "parameters": {"filePath": "held.txt"}},
            ]
        },
    ),
    "an object in a uri": ("mcp__ide__edit", {"uri": "file://@/held.txt"}),
    "a path as a URL": ("Write", {"file_path": "FILE://localhost@/h%65ld.txt"}),
    "a patch with the scheme file": (
        "apply_patch",
        {"command": PATCH.replace("src/../", "file:./")},
    ),
}


@pytest.mark.parametrize("case", MANY.values(), ids=MANY)
def test_every_path_of_a_call_is_checked(project, case):
    tool, fields = case
    given = json.loads(json.dumps(fields).replace("@", str(project)))

    assert "claude-bob" in reason(call(tool, **given))


UNKNOWN = [("WebFetch", {"url": "x"}), ("TodoWrite", {"todos": []}), ("mcp__x__ask", {"q": "held.txt"}),
           ("Grep", {"path": "."}), ("mcp__dibs__claim", {"paths": ["held.txt"]}), ("Bash", {}),
           ("mcp__fs__read_file", {"path": "held.txt"})]  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_tool_that_touches_no_file_is_allowed(project, case):
    tool, fields = case

    assert said(call(tool, **fields)) == PASSED


def test_a_deleted_folder_in_a_path_does_not_hide_an_existing_file(project, tmp_path):
    gone = str(tmp_path / "gone")

    assert "claude-bob" in reason(call("Write", cwd=gone, file_path=str(project / "held.txt")))


def test_an_agent_in_another_folder_is_checked_where_it_writes(project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert "claude-bob" in reason(call("Write", file_path=str(project / "held.txt")))
    assert said(call("Write", file_path=str(tmp_path / "elsewhere.txt"))) == PASSED


def test_a_file_in_another_project_is_checked_there(project, tmp_path, monkeypatch):
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    create(str(other))[0].close()
    monkeypatch.chdir(other)

    assert "claude-bob" in reason(call("Write", file_path=str(project / "held.txt")))
    assert said(call("Write", file_path="held.txt")) == PASSED


def test_a_repository_without_dibs_stays_unchanged(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)

    assert said(call("Write", file_path="a.txt")) == PASSED
    assert not (tmp_path / ".git" / "dibs").exists()


def test_an_unreadable_store_blocks(project):
    database = project / ".git" / "dibs" / "dibs.db"
    for file in database.parent.glob("dibs.db*"):
        file.unlink()
    database.write_bytes(b"no database at all" * 1000)

    out, line, status = said(call("Write", file_path="a.txt"))

    assert (out, status) == ("", 2)
    assert "claim check failed" in line


def test_an_unknown_agents_name_is_refused_with_the_valid_ones(project):
    _, line, status = said(b"", ("nosuch",))

    assert status == 2
    assert "unknown agent 'nosuch'; the agents are: claude, codex, " in line


def test_a_missing_store_blocks_and_says_so(project):
    for file in (project / ".git" / "dibs").glob("dibs.db*"):
        file.unlink()
    (project / "dibs.toml").write_text("")

    _, line, status = said(call("Write", file_path="a.txt"))

    assert status == 2
    assert "is missing" in line


def test_an_unreachable_server_blocks_within_the_deadline(project):
    (project / "dibs.toml").write_text('engine = "redis://127.0.0.1:1/0"\n')

    _, line, status = said(call("Write", file_path="a.txt"))

    assert status == 2
    assert "claim check failed" in line


def test_invalid_settings_block_unless_the_environment_says_otherwise(project):
    (project / "dibs.toml").write_text("[claims]\nttl = 1\n")

    assert said(call("Write", file_path="a.txt"))[2] == 2
    assert said(call("Write", file_path="a.txt"), DIBS_GUARD_ON_ERROR="allow")[2] == 0


UNKNOWN = ("nonsense = 1\n", "[guard]\nhott = []\n", "[nonsense]\na = 1\n")


@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_key_in_the_settings_blocks_nothing(project, text):
    (project / "dibs.toml").write_text(text)

    assert said(call("Write", file_path="a.txt")) == PASSED
    assert "bob" in reason(call("Write", file_path="held.txt"))


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
def test_a_failure_at_another_event_blocks_nothing(project, event):
    (project / "dibs.toml").write_text("[claims]\nttl = 1\n")

    out, line, status = said(call("Write", event=event, file_path="a.txt"))

    assert (out, status) == ("", 0)
    assert line.startswith("dibs: allowed although the claim check failed: ")


@pytest.mark.parametrize(
    ("agent", "sent"),
    [
        ("cursor", {"hook_event_name": "afterFileEdit", "cursor_version": "2", "file_path": {}}),
    ],
)
def test_an_invalid_report_of_a_finished_call_blocks_nothing(project, agent, sent):
    out, line, status = said(json.dumps(sent).encode(), [agent])

    assert (out in {"", "{}"}, line, status) == (True, "", 0)


@pytest.mark.parametrize("field", ["session_id", "tool_use_id", "agent_id", "agent_type", "cwd"])
def test_a_lone_surrogate_in_a_field_is_not_an_error(project, field):
    sent = json.loads(call("Bash", command="echo x > a.txt"))
    sent[field] = "x\ud800y"

    assert said(json.dumps(sent).encode()) == PASSED


@pytest.mark.parametrize(
    "command", ["rm -rf ../tree", "rm -rf ..", "rm -rf ../in", "rm -r ../in/b"]
)
def test_a_folder_that_contains_a_worktree_in_use_cannot_be_deleted(project, command):
    (project.parent / "in").mkdir()
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], env=NAMED, check=True)
    for tree, session in (("../tree", "carol"), ("../in/b", "dan"), ("../done", "")):
        subprocess.run(["git", "worktree", "add", "-q", tree], check=True)
        path, place = os.path.realpath(f"{tree}/{session}.txt"), os.path.realpath(tree)
        if session:
            assert said(call("Write", session, place, file_path=path)) == PASSED

    why = reason(call("Bash", command=command))
    assert why.startswith("Dibs blocked this command.")
    assert "- claude-" in why
    assert said(call("Bash", command="rm -rf ../done ../elsewhere")) == PASSED


@pytest.mark.parametrize("closed", [">&-", ">/dev/full", ">&- 2>&-"])
@pytest.mark.parametrize("program", [f"-I -S '{RUN}'", "-m dibs hook"])
def test_a_denial_that_cannot_be_printed_blocks_by_its_status(project, closed, program):
    hook = f"'{sys.executable}' {program} claude {closed}"
    given = {name: call("Write", file_path=f"{name}.txt") for name in ("held", "free")}

    done = [subprocess.run(["sh", "-c", hook], input=given[name], check=False, stderr=subprocess.PIPE)
            for name in ("held", "free")]  # fmt: skip

    assert [one.returncode for one in done] == [2, 0]
    lines = [one.stderr.count(b"could not be printed") for one in done]
    assert lines == [0 if "2>&-" in closed else 1, 0]


@pytest.mark.parametrize("missing", ["apsw", "dibs.services"])
def test_a_damaged_installation_is_named_with_the_hooks_to_delete(project, tmp_path, missing):
    package = tmp_path / "site-packages" / "dibs"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(dibs_package.__file__).parent, package, ignore=ignored)
    if missing == "apsw":
        text = "raise ModuleNotFoundError(\"No module named 'apsw'\")"
        (package.parent / "apsw.py").write_text(text)
    else:
        shutil.rmtree(package / "services")
    words = (sys.executable, "-I", "-S", str(package / "guard" / "run.py"))
    hook = Commands(words, ()).hook("claude", file=".claude/settings.json")
    code = f"import sys; sys.path += [{str(package.parent)!r}]; import dibs.guard.githook as g; g.program()"
    git = [sys.executable, "-I", "-S", "-c", code, "pre-commit", str(tmp_path / "note"), "1"]

    done = subprocess.run(
        ["sh", "-c", hook], input=call("Write", file_path="x"), capture_output=True, check=False
    )
    asked = subprocess.run(git, input=b"free.txt\0", capture_output=True, check=False)

    assert done.returncode == 2
    assert done.stderr.count(b"No module named") == 1
    assert f"damaged in {package}: No module named '{missing}'" in done.stderr.decode()
    assert b"delete its hooks from .claude/settings.json" in done.stderr
    said = asked.stderr.decode()
    assert (asked.returncode, said.count("\n")) == (113, 1), said  # the script says what to do
    assert f"No module named '{missing}'" in said


def test_a_hook_in_a_deleted_folder_uses_the_agents_folder(project, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    hook = f"rmdir '{gone}'; '{sys.executable}' -I -S '{RUN}' claude"
    given = call("Write", file_path=str(project / "held.txt"))

    done = subprocess.run(
        ["sh", "-c", hook], cwd=gone, input=given, capture_output=True, check=True
    )

    assert b"held by claude-bob" in done.stdout


def test_an_internal_error_is_an_answer_too(project, monkeypatch):
    from dibs.services.guard.service import Guarding

    def broken(*_, **__):
        raise ZeroDivisionError("odd\x1b[31m")

    monkeypatch.setattr(Guarding, "hear", broken)

    _, line, status = said(call("Write", file_path="a.txt"))

    assert status == 2
    assert "ZeroDivisionError" in line
    assert line.isprintable()


def run(given, words=("claude",), command=(sys.executable, "-I", "-S", RUN), **options):
    return subprocess.run(
        [*command, *words], input=given, capture_output=True, check=False, **options
    )


@pytest.mark.parametrize(
    "command", [(sys.executable, "-I", "-S", RUN), (sys.executable, "-m", "dibs", "hook")]
)
def test_the_program_gives_the_same_answer_as_the_function(project, command):
    refused = run(call("Write", file_path="held.txt"), command=command)
    passed = run(call("Write", file_path="free.txt"), command=command)
    broken = run(b"nope", command=command)

    assert (refused.returncode, refused.stderr) == (0, b"")
    assert (
        "claude-bob" in json.loads(refused.stdout)["hookSpecificOutput"]["permissionDecisionReason"]
    )
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, b"", b"")
    assert (broken.returncode, broken.stdout, len(broken.stderr.splitlines())) == (2, b"", 1)


def test_a_call_that_is_never_complete_is_answered(project):
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", RUN, "claude"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None
    line = child.stderr.readline()
    with child:
        assert child.wait(timeout=30) == 2
        assert b"timed out" in line


def test_a_busy_store_times_out(project):
    import apsw

    (project / "dibs.toml").write_text("[guard]\ndeadline = 0.3\n")
    holder = apsw.Connection(str(project / ".git" / "dibs" / "dibs.db"))
    holder.execute("BEGIN IMMEDIATE")

    done = run(call("Write", file_path="a.txt"))

    holder.execute("ROLLBACK")
    holder.close()
    assert done.returncode == 2
    assert b"claim check failed" in done.stderr


def answered(path):
    """Return the answer to a call with a deadline, as in the program."""
    from dibs.guard.agents.deadline import Deadline

    given, here = call("Write", file_path=path), os.getcwd()
    with Deadline(30.0) as deadline:
        return answer(["claude"], given, os.environ, here, os.getpid(), deadline)


def test_a_call_that_takes_too_long_is_interrupted_and_leaves_nothing_behind(project, monkeypatch):
    from dibs.services.guard.service import Guarding

    def slow(*_, **__):
        while True:
            time.sleep(0.01)

    (project / "dibs.toml").write_text("[guard]\ndeadline = 0.1\n")
    monkeypatch.setattr(Guarding, "hear", slow)

    found, confirm = answered("a.txt")

    assert (found.status, confirm) == (2, None)
    assert "timed out" in found.stderr
    monkeypatch.undo()
    monkeypatch.chdir(project)
    (project / "dibs.toml").unlink()
    assert said(call("Write", "carol", file_path="a.txt")) == PASSED


def test_an_intended_wait_extends_the_deadline(project, monkeypatch):
    from dibs.core.toolcalls.values import PASSED as NOTHING
    from dibs.services.guard.service import Guarding

    left = []

    def waiting(self, *_, **__):
        for wanted in (0.0, 500.0):
            self.waits(wanted)
            left.append(signal.getitimer(signal.ITIMER_REAL)[0])
        return NOTHING

    (project / "dibs.toml").write_text("[guard]\ndeadline = 8\n")
    monkeypatch.setattr(Guarding, "hear", waiting)

    found, _ = answered("a.txt")

    before, after = left
    assert before <= 8
    assert after > 480
    assert tuple(found) == PASSED


def test_a_briefing_counts_as_delivered_once_it_is_printed(project):
    start = call("", event="SessionStart", source="startup")
    sent = (["claude"], start, os.environ, os.getcwd(), os.getpid())

    first, confirm = answer(*sent)
    assert confirm is not None
    confirm()
    prompt = call("", event="UserPromptSubmit", prompt="go")

    assert "claude-bob" in json.loads(first.stdout)["hookSpecificOutput"]["additionalContext"]
    assert said(prompt) == PASSED


@pytest.mark.parametrize("there", [True, False])
def test_a_briefing_to_a_closed_pipe_is_not_delivered(project, there):
    read, write = os.pipe()
    if not there:
        os.close(read)
    start = call("", event="SessionStart", source="startup")
    command = [sys.executable, "-I", "-S", RUN, "claude"]
    done = subprocess.run(command, input=start, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    if there:
        os.close(read)

    with_offers = open_project()
    reader = reader_of(Caller("claude-alice", "agent"))
    offered = with_offers.store.look(lambda rows: get_offer(rows, reader))
    with_offers.close()
    assert done.returncode == 0
    assert (offered is None) == there


RECORDED = sorted((Path(__file__).parents[1] / "payloads").rglob("*.json"))
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_change_in_a_payload_is_answered(project, data):
    file = data.draw(st.sampled_from(RECORDED))
    sent = json.loads(file.read_text())
    sent["cwd"] = str(project)
    for _ in range(data.draw(st.integers(0, 3))):
        place = sent
        key = data.draw(st.sampled_from(sorted(place)))
        if isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        place[key] = data.draw(ODD)
    words = [file.parent.name, *data.draw(st.lists(st.text(max_size=8), max_size=1))]

    found, confirm = answer(words, json.dumps(sent).encode(), os.environ, os.getcwd(), os.getpid())

    if confirm is not None:
        confirm()
    assert found.status in {0, 2}
    assert not found.stdout or isinstance(json.loads(found.stdout), dict)
    assert "Error:" not in found.stderr
