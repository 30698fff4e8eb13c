"""The ACP driver, with a real agent process that a script controls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dibs.cli import main
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.crew.drivers.acp import AcpDriver, McpCommand
from dibs.crew.drivers.base import AgentCommandError, TurnEnd, TurnOutcome
from dibs.errors import Unavailable
from dibs.project.project import open_project

AGENT = str(Path(__file__).with_name("fake_acp_agent.py"))
#: Long enough for a busy machine; only a failing test waits so long.
PATIENCE = 60.0
ENDED = TurnEnd(TurnOutcome.ENDED, why="end_turn")


class Recorder:
    """Records what the agent says and does; denies writes to the paths in ``denied``."""

    def __init__(self):
        self.text, self.lines, self.usage, self.asked = "", [], [], []
        self.denied = {}

    def heard(self, text):
        self.text += text

    def noted(self, line):
        self.lines.append(line)

    def used(self, *, context=-1.0, tokens=0):
        self.usage.append((context, tokens))

    def may_write(self, paths, tool, arguments):
        self.asked.append((list(paths), tool, dict(arguments)))
        reasons = (why for path in paths for end, why in self.denied.items() if path.endswith(end))
        return next(reasons, "")


class Runner:
    """Owns the agent's processes, as the runner does."""

    def __init__(self, cwd, listener=None):
        self.cwd = cwd
        self.listener = listener or Recorder()
        self.processes, self.drivers = [], []

    def spawn(self, argv):
        process = subprocess.Popen(
            argv,
            cwd=self.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def driver(self, *turns, argv=(), start=None, **options):
        script = json.dumps({"turns": turns, "start": start or {}})
        command = argv or [sys.executable, AGENT, script]
        made = AcpDriver(command, str(self.cwd), self.spawn, self.listener, **options)
        self.drivers.append(made)
        return made

    def started(self, *turns, **options):
        made = self.driver(*turns, **options)
        made.start()
        return made

    def turn(self, *steps, **options):
        """Take one turn with a new agent, and return its end."""
        made = self.started(steps, **options)
        made.prompt("go")
        return made.wait(PATIENCE)

    def kill(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self.processes:
            process.wait()

    def close(self):
        self.kill()
        for driver in self.drivers:
            driver.close()


@pytest.fixture
def runner(tmp_path):
    made = Runner(tmp_path)
    yield made
    made.close()
    assert not driver_threads()


def driver_threads():
    return [one for one in threading.enumerate() if one.name == "dibs-acp"]


# -- turns


def test_each_prompt_is_a_turn_and_its_text_is_heard(runner):
    driver = runner.started([{"say": "Hello, "}, {"think": "hm"}, {"say": "world"}])

    driver.prompt("first")
    assert driver.wait(PATIENCE) == ENDED
    assert runner.listener.text == "Hello, world"
    driver.prompt("second \udcff")
    assert driver.wait(PATIENCE) == ENDED
    assert runner.listener.text == "Hello, worldsecond ?"


def test_the_agent_learns_its_folder_servers_and_that_it_cannot_read_files_here(runner):
    server = McpCommand("dibs", ("/bin/dibs", "mcp"), (("DIBS_AGENT", "bob"),))
    runner.turn({"describe": True}, mcp_servers=[server])

    servers = [["dibs", "/bin/dibs", ["mcp"], "bob"]]
    assert json.loads(runner.listener.text) == [True, False, False, str(runner.cwd), servers]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
def test_the_stop_reason_is_reported(runner, reason):
    assert runner.turn({"stop": reason}) == TurnEnd(TurnOutcome.ENDED, why=reason)


def test_an_error_ends_the_turn_and_not_the_session(runner):
    driver = runner.started([{"fail": "model\noverloaded"}])

    driver.prompt("first")
    assert driver.wait(PATIENCE) == TurnEnd(TurnOutcome.ENDED, why="model overloaded")
    driver.prompt("second")
    assert driver.wait(PATIENCE) == ENDED


def test_a_cancelled_turn_ends_as_cancelled_and_the_next_one_does_not(runner):
    driver = runner.started([{"until_cancelled": True}, {"ask": {"toolCallId": "1"}}])

    driver.prompt("first")
    driver.cancel()
    assert driver.wait(PATIENCE) == TurnEnd(TurnOutcome.CANCELLED, why="end_turn")
    assert runner.listener.text == "cancelled\n"  # the answer to its request for permission
    driver.prompt("second")
    assert driver.wait(PATIENCE) == ENDED


def test_usage_is_reported_as_a_share_of_the_context_and_as_new_tokens(runner):
    driver = runner.started(
        [{"usage": [100, 1000]}, {"usage": [250, 1000]}, {"tokens": 400}],
        [{"usage": [50, 1000]}, {"usage": [60, 0]}],
        [{"tokens": 30}],
    )

    for _ in range(3):
        driver.prompt("go")
        assert driver.wait(PATIENCE) == ENDED

    first = [(0.1, 100), (0.25, 150), (-1.0, 150)]
    assert runner.listener.usage == [*first, (0.05, 0), (-1.0, 10), (-1.0, 30)]


def test_tool_calls_and_plans_are_one_line_each_in_the_log(runner):
    runner.turn(
        {"call": "execute", "title": "`x`", "input": {"command": "make\x1b[31m test"}},
        {"call": "search", "title": "grep dibs", "status": "completed"},
        {"edit": str(runner.cwd / "src" / "a.py"), "options": ["reject_once"]},
        {"plan": ["completed", "in_progress", "pending"]},
    )

    assert runner.listener.lines == [
        "execute make\\x1b[31m test",
        "search grep dibs",
        "edit src/a.py",
        "plan: 1 of 3 done do in_progress",
    ]


# -- permissions


def test_a_denied_edit_is_rejected_once_and_the_reason_waits_for_the_next_prompt(runner):
    (runner.cwd / "a.py").write_text("old\n")
    runner.listener.denied = {"a.py": "alice holds a.py"}
    driver = runner.started([{"edit": "a.py"}, {"edit": "a.py"}, {"edit": "b.py"}])

    driver.prompt("go")
    driver.wait(PATIENCE)

    assert runner.listener.text == "reject_once\nreject_once\nallow_once\n"
    assert (runner.cwd / "a.py").read_text() == "old\n"
    assert (runner.cwd / "b.py").read_text() == "new\n"
    assert "blocked: edit a.py: alice holds a.py" in runner.listener.lines
    assert driver.pending_notes() == ["Dibs blocked edit a.py: alice holds a.py"]
    assert driver.pending_notes() == []


@pytest.mark.parametrize(
    ("options", "denied", "allowed"),
    [
        (["allow_always", "reject_always"], "reject_always", "allow_always"),
        (["allow_once"], "cancelled", "allow_once"),
        (["reject_once"], "reject_once", "cancelled"),
        ([], "cancelled", "cancelled"),
    ],
)
def test_the_decision_uses_the_options_that_the_agent_offers(runner, options, denied, allowed):
    runner.listener.denied = {"a.py": "held"}
    runner.turn(*({"edit": path, "options": options} for path in ("a.py", "b.py")))

    assert runner.listener.text == f"{denied}\n{allowed}\n"


@pytest.mark.parametrize(
    ("call", "paths", "tool"),
    [
        ({"kind": "edit", "locations": [{"path": "a.py"}, {"path": "b.py"}]}, "a.py b.py", "edit"),
        ({"kind": "delete", "rawInput": {"file_path": "a.py"}}, "a.py", "delete"),
        ({"kind": "move", "rawInput": {"source": "a.py", "to": "b.py"}}, "a.py b.py", "move"),
        ({"kind": "execute", "rawInput": "make test"}, "", "execute"),
        ({"kind": "execute", "rawInput": [1], "locations": [{"path": "."}]}, "", "execute"),
        ({"title": "mcp__dibs__claim", "rawInput": {"paths": ["a.py"]}}, "", "mcp__dibs__claim"),
        ({"title": "save_page", "rawInput": {"path": "a.py"}}, "a.py", "save_page"),
        ({"title": "read_page", "rawInput": {"path": "a.py"}}, "", "read_page"),
    ],
)
def test_the_listener_is_asked_about_every_path_that_a_call_may_write(runner, call, paths, tool):
    runner.turn({"ask": {"toolCallId": "1", **call}})

    whole = [str(runner.cwd / path) for path in paths.split()]
    assert [(asked[0], asked[1]) for asked in runner.listener.asked] == [(whole, tool)]
    assert runner.listener.text == "allow_once\n"


def test_an_edit_that_names_no_file_is_rejected(runner):
    runner.turn({"ask": {"toolCallId": "1", "kind": "edit"}})

    assert runner.listener.text == "reject_once\n"


def test_a_call_is_rejected_if_the_claim_check_fails(runner, monkeypatch):
    def unreachable(paths, tool, arguments):
        raise Unavailable("the store is unreachable")

    monkeypatch.setattr(runner.listener, "may_write", unreachable)
    runner.turn({"edit": "a.py"}, {"write": "a.py"})

    reason = "the claim check failed: the store is unreachable"
    assert runner.listener.text == f"reject_once\n-32001 LOCKED: {reason}\n"
    assert not (runner.cwd / "a.py").exists()


# -- files


def test_a_file_is_written_with_its_old_mode_and_in_a_new_folder(runner):
    script = runner.cwd / "run.sh"
    script.write_text("old\n")
    script.chmod(0o755)
    runner.turn({"write": str(script)}, {"write": "new/folder/ä.txt", "content": "ä\n"})

    assert runner.listener.text == "written\nwritten\n"
    assert script.read_text() == "new\n"
    assert script.stat().st_mode & 0o777 == 0o755
    assert (runner.cwd / "new" / "folder" / "ä.txt").read_text("utf-8") == "ä\n"
    assert runner.listener.asked[0] == ([str(script)], "write", {"path": str(script)})


def test_a_denied_file_is_not_written_and_the_agent_gets_the_reason(runner):
    runner.listener.denied = {"a.py": "alice holds a.py"}
    driver = runner.started([{"write": "link.py"}])
    (runner.cwd / "link.py").symlink_to("a.py")

    driver.prompt("go")
    driver.wait(PATIENCE)

    assert runner.listener.text == "-32001 LOCKED: alice holds a.py\n"
    assert not (runner.cwd / "a.py").exists()
    assert driver.pending_notes() == ["Dibs blocked write a.py: alice holds a.py"]


@pytest.mark.parametrize(
    "path", ["../b", "/etc/b", "out/b", ".", "", "a\0b", ".git/hooks/pre-commit", "sub/.GIT/config"]
)
def test_nothing_is_written_outside_the_folder_or_in_the_git_directory(tmp_path, runner, path):
    runner.cwd = tmp_path / "tree"
    runner.cwd.mkdir()
    (runner.cwd / "out").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    runner.turn({"write": path})

    assert runner.listener.text.startswith("-32602 ")
    assert sorted(tmp_path.rglob("*")) == before
    assert runner.listener.asked == []


def test_a_file_that_cannot_be_written_is_an_error_for_the_agent_only(runner):
    (runner.cwd / "a").mkdir()

    assert runner.turn({"write": "a"}) == ENDED
    assert runner.listener.text == "-32603 cannot write a: Is a directory\n"


# -- agents that do not start


def message_of(runner, **options):
    with pytest.raises(AgentCommandError) as caught:
        runner.started(**options)
    assert not driver_threads()
    return str(caught.value)


def test_a_program_that_does_not_exist_is_reported(runner):
    assert message_of(runner, argv=["./none"]) == "cannot start 'none': No such file or directory"


@pytest.mark.parametrize("step", ["initialize", "session"])
def test_an_agent_that_exits_before_its_first_turn_is_reported_with_its_status(runner, step):
    assert message_of(runner, start={step: 7}).endswith("exited with status 7")


def test_an_agent_that_never_answers_is_reported_after_the_timeout(runner):
    message = message_of(runner, argv=["sleep", "600"], timeout=0.01)

    assert message == "'sleep' did not answer initialize within 0.01s"


def test_an_agent_that_opens_no_session_is_reported(runner):
    message = message_of(runner, start={"session": "error"})

    assert message.endswith("rejected session/new: Internal error: no model \\x1b[31mred")


def test_an_agent_that_is_not_signed_in_says_how_to_sign_in(runner):
    with pytest.raises(AgentCommandError, match="is not signed in") as caught:
        runner.started(start={"session": "sign_in"})

    assert "set FAKE_KEY" in caught.value.hint


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 0, "result": 5}',
        '{"id": 0, "result": null}',
        '{"id": 0, "error": "boom"}',
        '{"id": 0, "error": {"code": "x", "message": null}}',
    ],
)
def test_an_invalid_answer_is_reported(runner, line):
    script = "import sys; sys.stdin.readline(); print(sys.argv[1], flush=True); sys.stdin.read()"
    message = message_of(runner, argv=[sys.executable, "-c", script, line])

    assert "sent an invalid answer to initialize" in message or "rejected initialize" in message


# -- agents that misbehave


def test_output_that_is_not_a_message_is_logged_and_ignored(runner, caplog):
    lines = ["Welcome \x1b[1m!", "5", "[]", "{}", '{"id": []}', '{"method": []}', "\xff", ""]
    lines += ['{"method": "session/update", "params": {"update": 1}}', '{"method": "other"}']
    lines += ["[" * 100_000, '{"id": 99, "method": "session/request_permission", "params": 1}']
    lines += ['{"id": 98, "method": "unknown"}', '{"method": "_own", "params": {}}']

    assert runner.turn(*({"print": f"{line}\n"} for line in lines), {"say": "done"}) == ENDED
    assert runner.listener.text == "done"
    assert "ignored output: Welcome \\x1b[1m!" in runner.listener.lines
    assert max(map(len, runner.listener.lines)) < 300
    assert caplog.records == []  # the SDK would print a traceback for each of them


def test_a_line_without_an_end_is_dropped(runner):
    steps = {"print": "x", "times": 40 << 20}, {"print": "\n"}, {"say": "done"}

    assert runner.turn(*steps) == ENDED
    assert runner.listener.text == "done"
    assert any("of a line without an end" in line for line in runner.listener.lines)


def test_an_exit_in_the_middle_of_a_turn_is_reported_with_its_status(runner):
    end = runner.turn({"say": "half"}, {"exit": 3})

    assert end == TurnEnd(TurnOutcome.EXITED, 3, "exited with status 3")


def test_a_prompt_to_an_agent_that_has_exited_reports_its_exit(runner):
    driver = runner.started()
    runner.kill()

    driver.prompt("go")
    assert driver.wait(PATIENCE).status == -signal.SIGKILL


def test_waiting_for_an_agent_that_never_answers_returns_at_the_timeout(runner):
    driver = runner.started([{"silence": True}])

    driver.prompt("go")
    assert driver.wait(0.01) is None
    driver.cancel()
    assert driver.wait(0.01) is None
    runner.kill()
    assert driver.wait(PATIENCE).status == -signal.SIGKILL


def test_an_agent_that_exits_while_its_child_holds_the_output_open_has_exited(runner):
    driver = runner.started([{"leave_child": 4}], grace=0.0)

    driver.prompt("go")
    runner.processes[0].wait(PATIENCE)
    assert driver.wait(0.01) == TurnEnd(TurnOutcome.EXITED, 4)


def test_an_agent_that_reads_nothing_does_not_block_the_driver(runner):
    driver = runner.started([{"silence": True}])
    runner.processes[0].send_signal(signal.SIGSTOP)

    driver.prompt("x" * (1 << 20))
    assert driver.wait(0.01) is None
    driver.close()
    driver.close()


# -- claims


class ClaimingRecorder(Recorder):
    """Claims what the agent wants to write."""

    def __init__(self, project):
        super().__init__()
        self.project = project

    def may_write(self, paths, tool, arguments):
        patterns = [self.project.tree.resolve(path, literal=True) for path in paths]
        answer = self.project.claims.claim(Caller("bob"), patterns)
        return "" if isinstance(answer, Granted) else answer.conflicts[0].reason


def test_the_claims_decide_what_the_agent_may_write(tmp_path, monkeypatch):
    root = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("DIBS_AGENT", "alice")
    assert main(["init", "--agents", "none"]) == 0
    assert main(["claim", "held.py", "--reason", "rework it"]) == 0
    project = open_project(str(root))
    runner = Runner(root, ClaimingRecorder(project))
    driver = runner.driver([{"edit": "held.py"}, {"write": "held.py"}, {"write": "free.py"}])
    try:
        driver.start()
        driver.prompt("go")
        assert driver.wait(PATIENCE) == ENDED
        notes = driver.pending_notes()
    finally:
        runner.close()
        project.close()

    rejected, locked, *_, written = runner.listener.text.splitlines()
    assert (rejected, written) == ("reject_once", "written")
    assert locked.startswith("-32001 LOCKED: ")
    assert "rework it" in notes[0]
    assert not (root / "held.py").exists()
    assert (root / "free.py").read_text() == "new\n"
