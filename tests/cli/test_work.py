"""work: tasks taken one at a time, with real commands in real repositories."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from dibs.core.tasks.rules import Status
from dibs.services.board.tasks import Tasks

from .conftest import PROGRAM, check_answer, git
from .test_run import gone

#: A command that says when it is there, and then runs on.
STAYS = "echo ready; exec sleep 60"
#: The same program, with patience for longer than a test may take.
PATIENT = f"import dibs.cli.commands.work.attempt as a; a.GRACE = 600; {PROGRAM[2]}"


def sh(script: str) -> tuple[str, ...]:
    return "--", "sh", "-c", script


@pytest.fixture
def put(dibs):
    """Put tasks on the board, the first one first."""

    def create(*names: str) -> None:
        os.makedirs("work/inbox", exist_ok=True)
        for name in names:
            draft = Path(f"{name}.new")
            draft.write_text(f"title: Do {name}\n", "utf-8")
            draft.rename(f"work/inbox/{name}.yaml")
        assert dibs("task", "ls").status == 0

    return create


@pytest.fixture
def states(dibs):
    """Return the state of every task on the board."""

    def read() -> dict[str, str]:
        answer = json.loads(dibs("task", "ls", "--all", "--json").out)
        return {task["id"]: task["state"] for task in answer["tasks"]}

    return read


def error_of(dibs, task: str) -> str:
    return json.loads(dibs("task", "show", task, "--json").out)["task"]["error"]


# -- what the command gets


def test_the_command_gets_the_task_in_its_environment_and_on_standard_input(dibs, put, repo):
    put("a")

    answer = dibs(
        "work", *sh('env | grep "^DIBS_" | sort > env; cat > text; cp "$DIBS_TASK_FILE" file'),
        agent="bob",
    )  # fmt: skip

    assert answer.status == 0
    found = dict(line.split("=", 1) for line in (repo / "env").read_text().splitlines())
    token = found.pop("DIBS_TASK_TOKEN")
    assert found == {
        "DIBS_AGENT": "bob",
        "DIBS_TASK": "a",
        "DIBS_TASK_TITLE": "Do a",
        "DIBS_TASK_FILE": str(repo / "work/assigned/bob/a.yaml"),
        "DIBS_TASK_ATTEMPT": "1",
    }
    assert int(token) > 0
    assert (repo / "text").read_text() == (repo / "file").read_text()
    assert "title: Do a\n" in (repo / "text").read_text()


def test_nothing_in_the_arguments_is_replaced_and_no_shell_reads_them(dibs, put, repo):
    put("a")

    dibs("work", *sh('printf "%s|" "$@" > args'), "sh", "{task}", "{title}", "$DIBS_TASK", "; id")

    assert (repo / "args").read_text() == "{task}|{title}|$DIBS_TASK|; id|"


def test_the_variables_of_an_outer_task_are_not_passed_on(dibs, put, repo, monkeypatch):
    put("b")
    monkeypatch.setenv("DIBS_TASK_FILE", "/outer.yaml")

    dibs("work", *sh('echo "$DIBS_TASK_FILE" > file'), agent="bob")

    assert (repo / "file").read_text().endswith("/b.yaml\n")
    assert "/outer.yaml" not in (repo / "file").read_text()


# -- how tasks end


def test_a_task_whose_command_succeeds_is_done(dibs, put, states):
    put("a", "b")

    answer = dibs("work", "--", "true", agent="bob")

    assert answer.status == 0
    assert states() == {"a": "done", "b": "done"}
    assert answer.err.splitlines() == [
        "dibs: took a", "dibs: done a", "dibs: took b", "dibs: done b", "dibs: 2 tasks: 2 done",
    ]  # fmt: skip
    assert dibs("status", "--json").json["claims"] == []


@pytest.mark.parametrize(
    ("status", "more"),
    [
        (1, ""), (2, ""), (3, ""), (64, ""), (126, " (not executable)"),
        (127, " (command not found)"), (128, ""), (137, ""), (143, ""), (255, ""),
    ],
)  # fmt: skip
def test_a_task_whose_command_fails_has_failed_with_its_exit_status(
    dibs, put, states, status, more
):
    put("a")

    assert dibs("work", *sh(f"exit {status}"), agent="bob").status == 1

    assert states() == {"a": "error"}
    assert error_of(dibs, "a") == f"exit status {status}{more}"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_task_whose_command_is_killed_has_failed_with_the_signal(dibs, put, number):
    put("a")

    assert dibs("work", *sh(f"kill -{number.value} $$"), agent="bob").status == 1

    assert error_of(dibs, "a") == f"killed by signal {number.value} ({number.name})"


def test_a_command_that_was_interrupted_releases_its_task_and_ends_the_loop(dibs, put, states):
    put("a", "b")

    answer = dibs("work", *sh("kill -INT $$"), agent="bob")

    assert answer.status == 130
    assert states() == {"a": "new", "b": "new"}
    assert "dibs: released a: interrupted by SIGINT\n" in answer.err


def test_a_command_that_takes_too_long_is_stopped_and_its_task_has_failed(dibs, put, states, repo):
    put("a", "b")
    script = 'test "$DIBS_TASK" = b || { sleep 60 & echo $! > pid; wait; }'

    assert dibs("work", "--timeout", "1s", *sh(script), agent="bob").status == 1

    assert states() == {"a": "error", "b": "done"}
    assert error_of(dibs, "a") == "timed out after 1s"
    assert gone(int((repo / "pid").read_text()))


def test_what_a_command_leaves_running_is_stopped_before_its_task_is_done(dibs, put, states, repo):
    put("a")

    dibs("work", *sh("sleep 60 & echo $! > pid"), agent="bob")

    assert gone(int((repo / "pid").read_text()))
    assert states() == {"a": "done"}


@pytest.mark.skipif(sys.platform != "linux", reason="prctl")
def test_the_first_process_of_a_container_does_not_wait_for_dead_orphans(put, start):
    put("a")
    adopts = (*PROGRAM[:2], f"import ctypes; ctypes.CDLL(None).prctl(36, 1); {PATIENT}")

    work = start("work", "--agent", "bob", *sh("sleep 60 & echo $!"), program=adopts)

    assert work.wait(30) == 0
    assert gone(int(work.stdout.readline()))


@pytest.mark.parametrize(
    ("words", "state", "outcome"),
    [
        (("done", "a", "--summary", "mine"), Status.DONE, "done"),
        (("fail", "a", "--message", "too hard"), Status.ERROR, "failed"),
        (("release", "a"), Status.NEW, "released"),
        (("cancel", "a", "--reason", "no need"), Status.CANCELLED, "released"),
    ],
)
@pytest.mark.parametrize("status", [0, 9])
def test_a_command_that_ends_its_task_itself_has_the_last_word(
    dibs, put, states, words, state, outcome, status
):
    put("a")
    code = f"import subprocess; subprocess.run({[*PROGRAM, 'task', *words]!r}); exit({status})"

    answer = dibs("work", "--once", "--", PROGRAM[0], "-c", code)

    assert states() == {"a": state}
    assert f"dibs: {outcome} a: the command ended it; it is {state}\n" in answer.err
    assert answer.status == (1 if outcome == "failed" else 0)


def test_a_missing_program_ends_the_loop_and_is_not_the_tasks_fault(dibs, put, states):
    put("a", "b")

    answer = dibs("work", "--", "no-such-command", agent="bob")

    assert answer.status == 127
    assert states() == {"a": "new", "b": "new"}
    assert answer.err.splitlines()[1] == (
        "dibs: released a: cannot run no-such-command: No such file or directory"
    )
    started = [e for e in dibs("log", "--json").json if e["kind"] == "task_started"]
    assert len(started) == 1


# -- when the loop stops


def test_three_failures_in_a_row_stop_the_loop(dibs, put, states):
    put(*"abcde")

    answer = dibs("work", "--", "false", agent="bob")

    assert answer.status == 1
    assert list(states().values()).count("error") == 3
    assert (
        "dibs: stopped after 3 tasks in a row that were not done (--max-failures)\n" in answer.err
    )


def test_a_command_that_releases_its_task_does_not_get_it_forever(dibs, put, states):
    put("a")
    release = [*PROGRAM, "task", "release"]

    answer = dibs("work", "--", *release, agent="bob")

    assert answer.status == 1
    assert answer.err.count("dibs: took a\n") == 3
    assert states() == {"a": "new"}


def test_a_task_that_the_agent_holds_already_is_named_and_left_alone(dibs, put, states):
    put("a", "b")
    dibs("task", "take", agent="bob")

    answer = dibs("work", "--", "true", agent="bob")

    assert states() == {"a": "in_progress", "b": "done"}
    first = "dibs: you already hold a; release with: dibs task release a"
    assert answer.err.splitlines()[0] == first


def test_with_a_server_on_another_machine_it_is_refused(dibs, monkeypatch):
    monkeypatch.setenv("DIBS_SERVER", "https://build.example:7341")

    answer = dibs("work", "--", "true")

    assert answer.status == 64
    assert "dibs work does not work with DIBS_SERVER" in answer.err


# -- JSON and summaries


def test_with_json_standard_output_has_one_object_per_task_and_the_totals(put, start):
    put("a", "b")
    work = start("work", "--json", "--agent", "bob", *sh('echo hi; test "$DIBS_TASK" = a'))

    out, err = work.communicate(timeout=30)

    lines = [json.loads(line) for line in out.splitlines()]
    for line in lines:
        check_answer(("work",), line)
    tokens = [line.pop("token") for line in lines[:2]]
    shared = {"summary": "", "attempt": 1}
    assert lines == [
        {"task": "a", "outcome": "done", "status": 0, "cause": "", **shared},
        {"task": "b", "outcome": "failed", "status": 1, "cause": "exit status 1", **shared},
        {"tasks": 2, "done": 1, "failed": 1},
    ]
    assert tokens[0] < tokens[1]
    assert err == "hi\nhi\n"


def test_the_last_lines_of_the_errors_are_recorded_with_a_failure(dibs, put, repo):
    put("a")

    dibs("work", "--summary", *sh("seq 100 >&2; exit 3"), agent="bob")

    assert error_of(dibs, "a") == "exit status 3: 100"
    text = (repo / "work/assigned/bob/a.yaml").read_text()
    assert "81" in text
    assert "80" not in text


def test_a_large_output_does_not_stop_the_command(dibs, put, states, start):
    put("a")
    script = "head -c 20000000 /dev/zero; echo; echo the end"
    work = start("work", "--summary", "--agent", "bob", *sh(script))

    out, _ = work.communicate(timeout=60)

    assert len(out) == 20_000_000 + len("\nthe end\n")
    assert states() == {"a": "done"}


# -- lost tasks


def test_a_lost_task_stops_its_command_and_the_loop_goes_on(dibs, put, states, start):
    put("a", "b")
    script = 'test "$DIBS_TASK" = b || { sleep 60 & echo $! $$; wait; }'
    work = start("work", "--agent", "bob", *sh(script))
    pids = [int(word) for word in work.stdout.readline().split()]

    dibs("task", "cancel", "a", "--reason", "no longer needed")

    assert work.wait(30) == 4
    assert all(map(gone, pids))
    assert states() == {"a": "cancelled", "b": "done"}
    err = work.stderr.read()
    assert "no longer needed" in err
    assert "dibs: stopping the command\n" in err
    assert "dibs: lost a: claim revoked\n" in err


# -- signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_is_passed_on_and_the_task_is_released(dibs, put, states, start, number):
    put("a", "b")
    work = start("work", "--agent", "bob", *sh(STAYS))
    work.stdout.readline()

    work.send_signal(number)

    assert work.wait(30) == 128 + number
    assert states() == {"a": "new", "b": "new"}
    assert f"dibs: released a: interrupted by {number.name}\n" in work.stderr.read()


def test_a_command_that_succeeds_after_a_signal_releases_its_task_too(put, states, start):
    put("a", "b")
    handles = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    work = start("work", "--agent", "bob", *sh(handles))
    work.stdout.readline()

    work.send_signal(signal.SIGTERM)

    assert work.wait(30) == 143
    assert states() == {"a": "new", "b": "new"}


def test_a_signal_during_the_take_releases_the_task_and_starts_nothing(
    dibs, put, states, repo, monkeypatch
):
    put("a")
    take = Tasks.take

    def interrupted(self, *words, **options):
        taken = take(self, *words, **options)
        os.kill(os.getpid(), signal.SIGTERM)
        return taken

    monkeypatch.setattr(Tasks, "take", interrupted)

    assert dibs("work", *sh("touch started"), agent="bob").status == 143
    assert states() == {"a": "new"}
    assert not (repo / "started").exists()


# -- several workers


def test_two_workers_do_every_task_of_a_board_once(put, states, start, repo):
    names = [f"t{number:02}" for number in range(12)]
    put(*names)
    for agent in ("ann", "bob"):
        os.mkfifo(repo / f"gate-{agent}")
    script = 'test ! -e "gate-$DIBS_AGENT" || cat "gate-$DIBS_AGENT"; echo "$DIBS_AGENT $DIBS_TASK" >> log'
    workers = [start("work", "--agent", agent, *sh(script)) for agent in ("ann", "bob")]
    gates = [(repo / f"gate-{agent}").open("w") for agent in ("ann", "bob")]  # both have a task
    for gate in gates:
        os.unlink(gate.name)
        gate.close()

    assert [work.wait(60) for work in workers] == [0, 0]

    done = [line.split() for line in (repo / "log").read_text().splitlines()]
    assert sorted(task for _, task in done) == names
    assert {agent for agent, _ in done} == {"ann", "bob"}
    assert set(states().values()) == {"done"}


# -- the queues


@pytest.fixture
def clones(tmp_path):
    """Two clones of a bare repository with a lock-file queue."""
    bare = tmp_path / "shared.git"
    git("init", "-q", "--bare", "-b", "main", str(bare))
    found = [tmp_path / "one", tmp_path / "two"]
    git("clone", "-q", str(bare), str(found[0]))
    (found[0] / "current_tasks").mkdir()
    (found[0] / "current_tasks/.gitkeep").touch()
    (found[0] / "tasks/pending").mkdir(parents=True)
    for name in "abcd":
        (found[0] / f"tasks/pending/{name}.yml").write_text(f"title: Fix {name}\n")
    git("checkout", "-q", "-B", "main", cwd=found[0])
    git("add", "-A", cwd=found[0])
    git("commit", "-q", "-m", "add a queue", cwd=found[0])
    git("push", "-q", "-u", "origin", "main", cwd=found[0])
    git("clone", "-q", str(bare), str(found[1]))
    return bare, found


def test_workers_in_two_clones_share_a_lock_file_queue(clones, start, tmp_path):
    bare, found = clones
    script = f'echo "$DIBS_TASK $DIBS_TASK_TITLE" >> {tmp_path}/log; cat >> {tmp_path}/log'
    workers = [start("work", "--agent", f"agent-{n}", *sh(script), cwd=clone)
               for n, clone in enumerate(found)]  # fmt: skip

    errors = [work.communicate(timeout=120)[1] for work in workers]

    assert [work.returncode for work in workers] == [0, 0], errors
    log = (tmp_path / "log").read_text().splitlines()
    assert sorted(log) == sorted(
        [f"{n} Fix {n}" for n in "abcd"] + [f"title: Fix {n}" for n in "abcd"]
    )
    files = git("ls-tree", "-r", "--name-only", "main", cwd=bare).split()
    assert files == [
        "current_tasks/.gitkeep",
        *(f"tasks/done/{name}.yml" for name in "abcd"),
        "tasks/pending/.gitkeep",
    ]
    subjects = git("log", "--format=%s", "main", cwd=bare).splitlines()
    assert sorted(s.split(" by ")[0] for s in subjects if s.startswith("done: ")) == [
        f"done: {name}" for name in "abcd"
    ]


def test_a_closed_pipe_ends_a_command_whose_output_is_captured(put, states, start):
    put("a")
    read, write = os.pipe()
    os.close(read)
    work = start("work", "--summary", "--once", "--agent", "bob", "--", "yes", stdout=write)
    os.close(write)

    assert work.wait(30) == 1
    assert states() == {"a": "error"}


@pytest.mark.parametrize(("words", "done"), [(("--once",), 1), (("--max", "2"), 2)])
def test_the_number_of_tasks_can_be_limited(dibs, put, states, words, done):
    put("a", "b", "c")

    assert dibs("work", *words, "--", "true", agent="bob").status == 0

    assert list(states().values()).count("done") == done
