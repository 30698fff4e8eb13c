"""Agents that run a lock script (``data/claim-task.sh``) and agents that run Dibs share a branch."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.services.several_agents import caller

from dibs.cli import main
from dibs.errors import NotFound
from dibs.project.remotes import queue_remote
from dibs.services.tasks.values import NothingFree, TakenTask


def locks(shared):
    return [p for p in shared.files() if p.startswith("current_tasks/") and p.endswith(".lock")]


def holder(shared, lock):
    return shared.show(lock).splitlines()[0].removeprefix("agent: ")


# -- never both


ROUNDS, SCRIPTS, RUNS, MACHINES = 4, 3, 3, 2
#: More than the scripts can take, so that Dibs agents take the rest.
TASKS = SCRIPTS * RUNS + 2


@pytest.mark.slow
def test_a_script_and_a_dibs_agent_never_get_the_same_task(shared):
    clones = [shared.clone(f"clone-{n}") for n in range(SCRIPTS)]
    kinds = set()
    for round_ in range(ROUNDS):
        tasks = [f"r{round_}-{n:02}" for n in range(TASKS)]
        shared.put_tasks(*tasks)

        owners = _one_round(shared, clones, round_)

        assert {task: who for task, who in owners.items() if len(who) > 1} == {}
        assert sorted(owners) == tasks
        on_branch = {
            path[len("current_tasks/") : -5]: holder(shared, path) for path in locks(shared)
        }
        assert on_branch == {task: who for task, (who,) in owners.items()}
        kinds |= {who.partition("-")[0] for (who,) in owners.values()}
        shared.clear_tasks()
    assert kinds == {"script", "dibs"}, "both kinds of agents had a part in it"


def _one_round(shared, clones, round_):
    """Let all agents take tasks until none is left; return which agent reports which task."""
    agents = {f"dibs-{n}-{round_}": shared.start_dibs(f"machine-{n % MACHINES}", f"dibs-{n}-{round_}")
              for n in range(MACHINES + 1)}  # fmt: skip
    owners = {}
    with ThreadPoolExecutor(SCRIPTS) as pool:
        names = [f"script-{n}-{round_}" for n in range(SCRIPTS)]
        ran = [
            pool.submit(_script_agent, shared, *pair) for pair in zip(clones, names, strict=True)
        ]
        for process in agents.values():
            process.stdin.write("go\n")
            process.stdin.flush()
        for agent, job in zip(names, ran, strict=True):
            for task in job.result():
                owners.setdefault(task, []).append(agent)
    for agent, process in agents.items():
        out = process.communicate(timeout=120)[0]
        assert process.returncode == 0
        for task in out.split():
            owners.setdefault(task, []).append(agent)
    return owners


def _script_agent(shared, clone, agent):
    """Run the script several times, as its agent would, and repair its clone in between."""
    claimed = []
    for _ in range(RUNS):
        shared.clean(clone)
        claimed.append(shared.script(clone, agent).claimed)
    return list(filter(None, claimed))


def test_a_name_with_capitals_excludes_scripts_too(shared):
    shared.put_tasks("Fix-Header")
    assert shared.queue("machine").take(caller("bob")).stored.id == "Fix-Header"

    ran = shared.script(shared.clone("clone"), "agent-02")

    assert ran.claimed == ""
    assert locks(shared) == ["current_tasks/Fix-Header.lock"]


# -- bugs of the script that Dibs does not have


def test_unrelated_commits_do_not_make_dibs_lose_an_available_task(shared):
    shared.put_tasks("a")
    other = shared.clone("other")
    rival = Meddling(lambda: shared.commit(other, {"src.c": "int x;\n"}))

    answer = shared.queue("machine", connect=rival).take(caller("bob"))

    assert rival.times > 1, "the commit did land in between"
    assert answer.stored.id == "a"
    assert "src.c" in shared.files()


def test_on_an_empty_queue_dibs_says_so_and_writes_no_lock(shared):
    with pytest.raises(NotFound) as caught:
        shared.queue("machine").take(caller("bob"))

    assert caught.value.code == "QUEUE_EMPTY"
    assert locks(shared) == []


def test_the_scripts_lock_named_star_is_listed_and_blocks_nothing_else(shared):
    shared.script(shared.clone("clone"), "agent-02")
    shared.put_tasks("a")
    queue = shared.queue("machine")

    assert queue.take(caller("bob")).stored.id == "a"
    assert {task.name: task.holder for task in queue.all()} == {"a": "bob", "*": "agent-02"}


def test_if_nothing_is_available_dibs_says_who_holds_what(shared):
    shared.put_tasks("a")
    shared.script(shared.clone("clone"), "agent-02")

    answer = shared.queue("machine").take(caller("bob"))

    assert isinstance(answer, NothingFree)
    (task,) = answer.queue
    assert (task.name, task.holder) == ("a", "agent-02")
    assert 7100 < task.expires_in <= 7200


# -- scripts' lock files


def test_a_scripts_lock_is_listed_and_expires_by_its_stated_age(shared):
    shared.put_tasks("a")
    shared.script(shared.clone("clone"), "agent-02")
    ahead = [0.0]
    queue = shared.queue("machine", age=3600.0, clock=lambda: time.time() + ahead[0])

    (held,) = queue.all()
    assert (held.name, held.holder, held.reason) == ("a", "agent-02", "a script's lock file")
    ahead[0] = 3590
    assert isinstance(queue.take(caller("bob")), NothingFree)
    ahead[0] = 3601
    assert queue.take(caller("bob")).stored.id == "a"
    assert holder(shared, "current_tasks/a.lock") == "bob"
    subjects = shared.subjects().split("\n")
    assert subjects[0] == "claim: a by bob"
    assert subjects[2].startswith("expire: a, held by agent-02 since 20")


def test_deleting_a_scripts_lock_releases_the_task(shared):
    shared.put_tasks("a")
    clone = shared.clone("clone")
    shared.script(clone, "agent-02")
    queue = shared.queue("machine")
    assert isinstance(queue.take(caller("bob")), NothingFree)

    shared.clean(clone)
    (clone / "current_tasks" / "a.lock").unlink()
    shared.commit(clone, {})

    assert isinstance(queue.take(caller("bob")), TakenTask)


def test_a_waiting_dibs_agent_notices_a_task_that_a_script_added(shared):
    queue = shared.queue("machine")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.take, caller("bob"), wait=60)
        shared.put_tasks("a")
        answer = waiting.result(90)

    assert answer.stored.id == "a"


# -- on the command line


@pytest.fixture(params=["", "git:origin", "main"])
def dibs(shared, monkeypatch, capsys, request):
    """Run a command in this process, with no settings, the git engine, or its state on the same branch."""
    place = shared.clone("worktree")
    monkeypatch.chdir(place)
    for name in [name for name in os.environ if name.startswith(("DIBS_", "GIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DIBS_ENGINE", "git:origin" if request.param else "")
    if request.param == "main":
        monkeypatch.setenv("DIBS_GIT_BRANCH", "main")

    def call(*words, agent="bob"):
        capsys.readouterr()
        status = main([*words, "--agent", agent])
        return status, *capsys.readouterr()

    return call


def test_who_and_task_ls_show_a_scripts_lock(shared, dibs):
    shared.put_tasks("fix-header-lint")
    shared.script(shared.clone("clone"), "agent-02")

    for words in (("task", "ls"), ("who", "task:fix-header-lint")):
        status, out, _ = dibs(*words)
        assert status == 0
        assert "fix-header-lint" in out
        assert "agent-02" in out
        assert "a script's lock file" in out


def test_a_plain_claim_on_a_queued_task_is_refused_with_the_command_that_locks_it(shared, dibs):
    shared.put_tasks("a")

    status, _, err = dibs("claim", "task:a")

    assert status == 77
    assert "dibs task start a" in err
    assert dibs("claim", "task:other")[0] == 0


def test_each_outcome_of_taking_a_task_has_its_own_exit_status(shared, dibs):
    assert dibs("task", "take")[0] == 6
    shared.put_tasks("a", "b")
    shared.script(shared.clone("clone"), "agent-02")

    status, out, _ = dibs("task", "take")
    assert status == 0
    assert out.startswith("took b ")
    status, out, _ = dibs("task", "take", agent="carol")
    assert status == 3
    assert "agent-02" in out
    assert "bob" in out
    assert dibs("task", "done", "a")[0] == 4
    assert dibs("task", "done", "b")[0] == 0
    assert dibs("task", "release", "b")[0] == 6


# -- what a shell agent sees


def test_a_finished_task_is_not_offered_to_scripts_again(shared):
    shared.put_tasks("a", "b")
    queue = shared.queue("machine")
    queue.take(caller("bob"))
    queue.done(caller("bob"), "a")
    clone = shared.clone("clone")

    assert shared.script(clone, "agent-02").claimed == "b"
    assert shared.script(clone, "agent-03").claimed == ""


# -- helpers for races


class Meddling:
    """Connects to the remote, and runs an action once before Dibs pushes."""

    def __init__(self, rival):
        self.rival = rival
        self.times = 0

    def __call__(self, *where):
        self.remote = queue_remote(*where)
        return self

    def push(self, *what):
        self.times += 1
        if self.times == 1:
            self.rival()
        return self.remote.push(*what)

    def __getattr__(self, name):
        return getattr(self.remote, name)
