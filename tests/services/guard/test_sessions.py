"""The agent behind a hook: sessions with one name, subagents, dead and returning processes."""

import os
import subprocess
import sys

import pytest

from dibs.core.toolcalls.values import EventKind, Word
from dibs.local.noted_agents import acting, note, noted_agents
from dibs.local.processes import RunningProcess, above, agent_above, is_there, running
from dibs.services.state.sessions import guarded_since, session_key

ONE, TWO = "claude-11111111", "claude-22222222"
A, B = "11111111-a", "22222222-b"
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def sleeper():
    """Return a function that starts processes to be killed."""
    started = []

    def start():
        process = subprocess.Popen(["sleep", "60"])
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_two_sessions_with_one_name_are_two_agents(guarded):
    guarded.named = {A: "tester", B: "tester"}

    assert guarded.edit(A, "a.py").word == Word.PASS
    assert guarded.edit(B, "a.py").word == Word.DENY
    assert guarded.edit(A, "a.py").word == Word.PASS
    assert guarded.ids() == ["tester", "tester-2"]


def test_a_name_is_available_again_after_its_session_ended(guarded):
    guarded.named = {A: "tester", B: "tester"}
    guarded.start(A)
    guarded.end(A)
    guarded.start(B)

    assert guarded.ids() == ["tester"]
    assert guarded.status("tester") == "running"


@linux
def test_a_name_is_available_again_after_its_process_died(guarded, sleeper):
    guarded.named = {A: "tester", B: "tester"}
    process = sleeper()
    guarded.processes[A] = running(process.pid)
    guarded.start(A)
    process.kill()
    process.wait()
    guarded.edit(B, "a.py")

    assert guarded.ids() == ["tester"]


def test_an_agent_that_ran_only_commands_keeps_its_name_in_a_session(guarded):
    guarded.claim("tester", "a.py")
    guarded.named = {A: "tester"}

    assert guarded.edit(A, "a.py").word == Word.PASS


def test_no_session_takes_a_humans_name(guarded):
    guarded.agents.beat(_human("anna-pts-1"))
    guarded.named = {A: "anna-pts-1"}
    guarded.edit(A, "a.py")

    assert "anna-pts-1-2" in guarded.ids()


def _human(id_):
    from dibs.core.claims.agents import Caller

    return Caller(id_, "human")


def test_session_ids_that_start_alike_are_distinguished(guarded):
    guarded.edit("019a2b3c-1111", "a.py")
    guarded.edit("019a2b3c-2222", "b.py")

    assert guarded.ids() == ["claude-019a2b3c", "claude-019a2b3c-2"]


@pytest.mark.parametrize("odd", ["", "../../x", "a" * 500, "line\nend", "\ud800", "a/b"])
def test_every_session_has_its_own_row_whatever_its_name(guarded, odd):
    key = session_key("claude", odd)

    assert key.count("/") == 2
    key.encode()
    assert guarded.edit(odd, "a.py").word == Word.PASS
    assert guarded.edit(A, "a.py").word == Word.DENY


@linux
def test_agents_without_session_ids_are_distinguished_by_process(guarded):
    guarded.edit("", "a.py")
    guarded.processes[""] = running(os.getppid())

    assert guarded.edit("", "a.py").word == Word.DENY
    assert len(guarded.ids()) == 2


def test_a_subagent_is_an_agent_named_after_its_parent(guarded):
    guarded.start(A)
    guarded.edit(A, "x.py", subagent="sub-1234567", subagent_type="explorer")

    agent = guarded.agents.show(f"{ONE}.sub12345")[0].agent
    assert (agent.parent, agent.role) == (ONE, "explorer")
    assert "sub_agent_spawned" in guarded.kinds()


def test_subagents_of_one_session_exclude_each_other(guarded):
    guarded.edit(A, "a.py", subagent="s1")

    assert guarded.edit(A, "a.py", subagent="s2").word == Word.DENY
    assert guarded.edit(A, "a.py").word == Word.DENY


def test_a_subagent_gets_its_parents_claim_on_the_same_file(guarded):
    guarded.edit(A, "a.py")

    assert guarded.edit(A, "a.py", subagent="s1").word == Word.PASS
    assert guarded.held() == {(f"{ONE}.s1", "a.py")}


def test_a_subagent_writes_inside_its_parents_claim(guarded):
    guarded.edit(A, "x")
    guarded.claim(ONE, "src/")

    for _ in range(2):
        assert guarded.edit(A, "src/a.py", subagent="s1").word == Word.PASS
    assert guarded.edit(B, "src/a.py").word == Word.DENY
    assert guarded.edit(A, "src/a.py", subagent="s2").word == Word.DENY
    assert guarded.edit(A, "src/b.py", subagent="s2").word == Word.PASS
    guarded.hear(A, EventKind.SUBAGENT_STOPPED, subagent="s1")
    assert guarded.edit(A, "src/a.py", subagent="s2").word == Word.PASS


def test_a_stopped_subagents_changes_stay_under_its_parents_claim(guarded):
    guarded.edit(A, "x")
    guarded.claim(ONE, "src/")
    guarded.edit(A, "src/a.py", "y.py", subagent="s1")
    guarded.write("src/a.py")
    guarded.write("y.py")
    guarded.hear(A, EventKind.SUBAGENT_STOPPED, subagent="s1")

    assert guarded.held() == {(ONE, "x"), (ONE, "src/"), (ONE, "y.py")}


def test_a_stopped_subagent_releases_clean_files_and_transfers_changed_ones(guarded):
    guarded.start(A)
    guarded.edit(A, "new.py", "clean.py", subagent="s1")
    guarded.write("new.py")

    guarded.hear(A, EventKind.SUBAGENT_STOPPED, subagent="s1")

    assert guarded.held() == {(ONE, "new.py")}
    assert guarded.status(f"{ONE}.s1") == "exited"
    assert guarded.edit(A, "new.py").word == Word.PASS


def test_the_end_of_a_session_ends_its_subagents(guarded):
    guarded.edit(A, "a.py", subagent="s1")
    guarded.edit("11111111-ab", "b.py")
    guarded.end(A)

    assert guarded.status(f"{ONE}.s1") == "exited"
    assert guarded.status(ONE) == "exited"
    assert guarded.status(f"{ONE}-2") == "running"


@linux
def test_a_killed_agents_claims_end_immediately(guarded, sleeper):
    process = sleeper()
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py")
    assert guarded.edit(B, "a.py").word == Word.DENY

    process.kill()
    process.wait()

    assert guarded.edit(B, "a.py").word == Word.PASS
    assert guarded.status(ONE) == "exited"
    assert guarded.held() == {(TWO, "a.py")}


@linux
def test_a_hook_that_outlives_its_agent_does_not_revive_it(guarded, sleeper):
    process = sleeper()
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py")
    process.kill()
    process.wait()
    guarded.processes[A] = 1  # only the first process is an ancestor of such a hook
    guarded.edit(A, "b.py")

    assert guarded.edit(B, "a.py").word == Word.PASS
    assert guarded.edit(B, "b.py").word == Word.PASS


@linux
def test_a_zombie_process_is_dead(guarded, sleeper):
    process = sleeper()
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert guarded.edit(B, "a.py").word == Word.PASS


@linux
def test_a_reused_process_id_is_another_process(guarded):
    here = running(os.getpid())
    guarded.processes[A] = here._replace(born=here.born - 2)
    guarded.edit(A, "a.py")

    assert guarded.edit(B, "a.py").word == Word.PASS


def test_processes_on_another_machine_are_not_assumed_dead(guarded, monkeypatch):
    guarded.processes[A] = RunningProcess(2**22 + 1, 5)
    monkeypatch.setattr("dibs.services.guard.sessions.realm", lambda: "elsewhere/1/1")
    guarded.edit(A, "a.py")
    monkeypatch.undo()

    assert guarded.edit(B, "a.py").word == Word.DENY
    assert guarded.departures.gone() == []


@linux
def test_a_session_that_continues_in_another_process_keeps_its_name_and_claims(guarded, sleeper):
    first, second = sleeper(), sleeper()
    guarded.processes[A] = running(first.pid)
    guarded.edit(A, "a.py")
    first.kill()
    first.wait()
    guarded.processes[A] = running(second.pid)

    assert guarded.edit(A, "a.py").word == Word.PASS
    assert guarded.held() == {(ONE, "a.py")}
    assert guarded.agents.show(ONE)[0].agent.pid == second.pid


@linux
@pytest.mark.parametrize("subagent", ["", "99999999"])
def test_a_session_in_two_processes_at_once_is_two_agents(guarded, sleeper, subagent):
    first, second = sleeper(), sleeper()
    words = {"subagent": subagent}

    def edit(process, path):
        guarded.processes[A] = running(process.pid)
        return guarded.edit(A, path, **words).word

    assert edit(first, "a.py") == Word.PASS
    assert edit(second, "a.py") == Word.DENY
    assert edit(second, "b.py") == Word.PASS
    assert edit(first, "b.py") == Word.DENY
    first.kill()
    first.wait()
    assert edit(second, "a.py") == Word.PASS

    assert len({agent for agent, _ in guarded.held()}) == 1
    assert edit(second, "b.py") == Word.PASS
    guarded.end(A)
    assert guarded.held() == set()


@linux
def test_the_end_of_one_process_does_not_end_another_with_the_same_session(guarded, sleeper):
    first, second = running(sleeper().pid), running(sleeper().pid)
    for process, path in ((first, "a.py"), (second, "b.py")):
        guarded.processes[A] = process
        guarded.edit(A, path)
    guarded.processes[A] = first
    guarded.end(A)

    assert guarded.held() == {(f"{ONE}-2", "b.py")}
    guarded.processes[A] = second
    guarded.stop(A)
    assert guarded.held() == set()
    assert guarded.edit(A, "b.py").word == Word.PASS
    assert guarded.held() == {(f"{ONE}-2", "b.py")}


@linux
def test_a_session_start_ends_dead_agents(guarded, sleeper):
    process = sleeper()
    guarded.processes[A] = running(process.pid)
    guarded.edit(A, "a.py")
    process.kill()
    process.wait()
    guarded.start(B)

    assert guarded.status(ONE) == "exited"
    assert guarded.held() == set()


def test_the_store_records_who_is_guarded_since_when_and_how(guarded):
    guarded.edit(A, "a.py")
    guarded.claim("codex-7", "b.py")

    assert guarded.store.look(lambda rows: guarded_since(rows, ONE)) == (1_000_000.0, "claude")
    assert guarded.store.look(lambda rows: guarded_since(rows, "codex-7")) == (0.0, "")


# -- processes


@linux
def test_the_agent_is_the_hooks_nearest_ancestor_that_is_not_a_shell():
    code = "from dibs.local.processes import *; import os; print(agent_above(os.getpid()).pid)"
    script = f"{sys.executable} -c '{code}'; true"
    ran = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)

    assert int(ran.stdout) == os.getpid()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["sh", "claude", "bash", "systemd"], "claude"),
        (["sh", "systemd"], ""),
        (["init"], ""),
        (["sh", "some-first-process"], ""),
        (["sh"], ""),
        (["sh", "codex"], "codex"),  # the first process of a container
        (["uv", "sh", "codex", "bash", "systemd"], "codex"),
        (["sudo", "sh", "node", "sudo", "systemd"], "node"),
    ],
)
def test_a_process_that_adopts_orphans_is_not_an_agent(monkeypatch, names, found):
    chain = [RunningProcess(len(names) - place, 1, name) for place, name in enumerate(names)]
    monkeypatch.setattr("dibs.local.processes.above", lambda _: chain)
    agent = agent_above(99)

    assert (agent.name if agent else "") == found


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["bash*", "xterm", "systemd"], ""),
        (["sh", "bash*", "tmux: server", "systemd"], ""),
        (["sh", "claude", "bash*", "xterm"], "claude"),
        (["sh", "claude*", "xterm"], "claude"),
    ],
)
def test_a_terminal_whose_shell_runs_a_hook_is_not_an_agent(monkeypatch, names, found):
    chain = [
        RunningProcess(len(names) - place, 1, name.rstrip("*"), leads=name.endswith("*"))
        for place, name in enumerate(names)
    ]
    monkeypatch.setattr("dibs.local.processes.above", lambda _: chain)
    agent = agent_above(99)

    assert (agent.name if agent else "") == found


@linux
def test_an_agents_own_process_id_counts_if_it_is_an_ancestor():
    parent = next(above(os.getpid()))

    assert agent_above(os.getpid(), str(parent.pid)) == parent
    for odd in ("", "x", "1" * 40, "²", str(os.getpid())):
        assert agent_above(os.getpid(), odd) == agent_above(os.getpid())


@linux
def test_a_process_is_identified_by_its_id_and_start_time():
    here = running(os.getpid())

    assert is_there(here.pid, here.born)
    assert is_there(here.pid, here.born + 1)  # a time namespace may round differently
    assert not is_there(here.pid, here.born + 2)
    assert running(2**22 + 1) is None
    assert running(0) is None


def test_another_users_hidden_process_is_not_assumed_dead(monkeypatch, tmp_path):
    monkeypatch.setattr("dibs.local.processes._PROC", str(tmp_path))

    def kill(pid, signal):
        raise (PermissionError if pid == 7 else ProcessLookupError)

    monkeypatch.setattr(os, "kill", kill)

    assert is_there(7, 4_711)
    assert not is_there(8, 4_711)


@linux
def test_an_agents_command_is_recognized_by_its_ancestor_process(tmp_path):
    here = running(os.getpid())
    note(str(tmp_path), here.pid, here.born, "claude-1")
    code = f"from dibs.local.noted_agents import acting; print(acting({str(tmp_path)!r}))"
    ran = subprocess.run(
        ["sh", "-c", f'{sys.executable} -c "{code}"; true'],
        check=True,
        capture_output=True,
        text=True,
    )

    assert ran.stdout.strip() == "claude-1"
    assert acting(str(tmp_path)) == ""  # a process is not its own ancestor
    note(str(tmp_path), here.pid, here.born - 1, "claude-1")
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == ""


@linux
def test_a_new_record_drops_those_of_ended_processes_only(tmp_path):
    here, state = running(os.getpid()), str(tmp_path)
    ended = subprocess.Popen(["true"])
    ended.wait()
    note(state, here.pid, here.born, "claude-1")
    note(state, ended.pid, here.born, "claude-2")

    note(state, os.getppid(), running(os.getppid()).born, "claude-3")

    assert {one.agent for one in noted_agents(state)} == {"claude-1", "claude-3"}
    assert not (tmp_path / "sessions" / str(ended.pid)).exists()
