"""Single cases of the lock-file queue, with the real command in separate clones and no settings."""

from __future__ import annotations

import heapq
import json
import time
from typing import TYPE_CHECKING

import pytest
from proof_lock_files import EMPTY, LOCK_AGE, NOTHING, TOOK, Member, World, owner, stamp
from proof_lock_judge import expires, history, identity, judge

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

FENCED = 4
PLAIN = "title: fix it\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def lock(world: World, task: str, *, text: str | None = None, age: float = 0.0) -> None:
    """Push a lock file as a script writes it, ``age`` seconds ago, or with any other text."""
    then = stamp(time.time() - age)
    script = f"agent: agent-02\nclaimed: {then}\ntask: {task}\n"
    world.first.push({f"current_tasks/{task}.lock": text or script}, f"claim: {task} by agent-02")


def subjects(world: World) -> list[str]:
    """Return what the branch says about tasks, oldest first."""
    return [tree.subject for tree in history(world.bare) if ": " in tree.subject]


def take(member: Member, **extra: str) -> str:
    """Take a task; return it, or an empty text if none is available."""
    done = member.dibs("task", "take", "--json", **extra)
    assert done.returncode in {TOOK, NOTHING, EMPTY}, done
    return str(json.loads(done.stdout)["task"]["id"]) if done.returncode == TOOK else ""


# -- stale locks


def test_a_new_clone_sees_the_age_that_a_lock_states(world: World):
    world.put({"a": PLAIN, "b": PLAIN})
    lock(world, "a", age=120)
    lock(world, "b", age=30)

    fresh = world.member("fresh")

    assert take(fresh, DIBS_GIT_LOCK_AGE="1m") == "a"
    assert take(fresh, DIBS_GIT_LOCK_AGE="1m") == ""
    (expired,) = [line for line in subjects(world) if line.startswith("expire")]
    assert expired.startswith("expire: a, held by agent-02 since ")
    assert world.locks() == {"a": "fresh", "b": "agent-02"}


def test_without_settings_a_lock_expires_after_two_hours(world: World):
    world.put({"a": PLAIN, "b": PLAIN})
    lock(world, "a", age=LOCK_AGE - 60)
    lock(world, "b", age=LOCK_AGE + 60)

    assert take(world.member("fresh")) == "b"
    assert take(world.member("other")) == ""
    assert judge(world) == []


def test_an_expiry_is_a_commit_of_its_own_before_the_claim(world: World):
    world.put({"a": PLAIN})
    lock(world, "a", age=LOCK_AGE + 60)

    take(world.member("fresh"))

    before, after = list(history(world.bare))[-2:]
    assert before.subject.startswith("expire: a, held by agent-02 since ")
    assert before.locks == {}
    assert after.subject == "claim: a by fresh"
    assert owner(after.locks["a"]) == "fresh"
    assert judge(world) == []


def test_reading_removes_no_stale_lock(world: World):
    world.put({"a": PLAIN})
    lock(world, "a", age=LOCK_AGE + 60)
    fresh = world.member("fresh")
    before = subjects(world)

    for words in (["ls"], ["ls", "--json"], ["show", "a"]):
        assert fresh.dibs("task", *words).returncode == 0

    assert subjects(world) == before
    assert fresh.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", "garbage", "agent:\nclaimed:\ntask:\n", "\ufeffagent: x\r\nclaimed: now\r\n",
        "agent: x\nclaimed: 2999-01-01T00:00:00Z\ntask: a\n", "agent: x\nclaimed: 0\n",
        "agent: x\nclaimed: 2025-13-45T99:99:99Z\n", "{", "agent: [\n", "agent: " + "x" * 9000,
        "claimed: 9999999999999999\nexpires: 9999-12-31T23:59:59Z\ndibs: {}\n",
        "agent: x\nclaimed: -5000-01-01T00:00:00Z\nexpires: 1970-01-01T00:00:00Z\n",
    ],
)  # fmt: skip
def test_a_lock_with_any_content_locks_the_task(world: World, text: str):
    world.put({"a": PLAIN, "b": PLAIN})
    world.first.push({"current_tasks/a.lock": text}, "lock a")

    member = world.member("fresh")

    assert take(member) == "b"
    assert member.dibs("task", "ls").returncode == 0


def test_an_owner_renews_a_lock_when_it_is_due_and_not_before(world: World):
    world.put({"a": PLAIN})
    member = world.member("one")
    assert take(member, DIBS_GIT_LOCK_AGE="1m") == "a"
    first = world.files("current_tasks")["current_tasks/a.lock"]

    for _ in range(4):
        assert member.dibs("renew", DIBS_GIT_LOCK_AGE="1h").returncode == 0

    assert subjects(world)[-1:] == ["renew: a by one"]
    assert subjects(world).count("renew: a by one") == 1
    renewed = world.files("current_tasks")["current_tasks/a.lock"]
    assert identity(renewed) == identity(first)
    assert 3000 < expires(renewed, 0) - expires(first, 0) <= 3600
    assert judge(world) == []


def test_a_command_that_runs_for_long_keeps_the_lock(world: World):
    world.put({"a": PLAIN})
    member = world.member("one")
    assert take(member, DIBS_GIT_LOCK_AGE="1m") == "a"
    renewed = f"git -C {world.bare} log -1 --format=%s main | grep -qx 'renew: a by one'"

    done = member.dibs(
        "run", "--claim", "task:a", "--ttl", "5s", "--",
        "timeout", "60", "bash", "-c", f"until {renewed}; do sleep 0.1; done",
        DIBS_GIT_LOCK_AGE="1h",
    )  # fmt: skip

    assert done.returncode == 0, done
    assert member.dibs("task", "done").returncode == 0
    assert judge(world) == []


def test_a_claim_and_its_end_make_two_commits_however_often_the_owner_calls(world: World):
    world.put({"a": PLAIN})
    member = world.member("one")
    before = len(subjects(world))
    take(member)
    for words in (["renew"], ["status"], ["task", "ls"], ["renew"], ["run", "--", "true"]):
        assert member.dibs(*words).returncode == 0
    member.dibs("task", "done")

    assert subjects(world)[before:] == ["claim: a by one", "done: a by one"]


# -- order


def test_a_task_waits_for_its_dependencies_and_the_urgent_one_is_first(world: World):
    world.put({
        "a": "title: polish\ndependencies: [b]\npriority: critical\n",
        "b": "title: audit\npriority: low\n",
        "c": "title: other\n",
        "d": "title: hurry\npriority: high\n",
    })  # fmt: skip
    member = world.member("one")

    assert [take(member) for _ in range(4)] == ["d", "c", "b", ""]
    assert take(world.member("two")) == ""
    assert member.dibs("task", "done", "b").returncode == 0
    assert take(world.member("three")) == "a"
    assert judge(world) == []


def test_long_tasks_start_first_so_that_agents_finish_together(world: World):
    sizes = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 2, "h": 3, "i": 6}
    world.put({name: f"title: {name}\nsize: {size}h\n" for name, size in sizes.items()})
    member = world.member("one")

    order = [take(member) for _ in sizes]

    in_queue_order, by_dibs = makespan(list(sizes), sizes), makespan(order, sizes)
    assert sorted(order) == list(sizes)
    assert (in_queue_order, by_dibs) == (8, 6)


def makespan(order: list[str], sizes: dict[str, int], agents: int = 3) -> int:
    """Return how long three agents need that each take the next task when they are free."""
    free = [0] * agents
    for name in order:
        heapq.heapreplace(free, free[0] + sizes[name])
    return max(free)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("yml", "- name: a\n  title: one\n- name: b\n  dependencies: [a]\n- c\n"),
        ("yaml", "tasks:\n  - {id: a}\n  - {id: b, needs: a}\n  - {id: c}\n"),
        ("txt", "# To do\n\n- [ ] a: first\n- [ ] c: other\n"),
    ],
)
def test_a_queue_in_one_file_hands_out_its_tasks(world: World, ending: str, text: str):
    world.first.push({f"tasks/pending.{ending}": text}, "add tasks")
    one, two = world.member("one"), world.member("two")

    assert [take(one), take(two), take(two)] == ["a", "c", ""]
    assert world.locks() == {"a": "one", "c": "two"}
    assert one.dibs("task", "done").returncode == 0
    assert take(two) == ("b" if "b" in text else "")
    assert subjects(world)[:3] == ["claim: a by one", "claim: c by two", "done: a by one"]


# -- names


def test_a_take_that_loses_its_claim_before_the_push_does_not_harm_the_next_owner(world: World):
    world.put({"a": PLAIN})
    slow = world.member("slow")
    next_ = Member(world, "next", heir_of=slow)
    with slow.overtaken(take) as late:
        assert next_.dibs("release", "task:a", DIBS_AGENT="slow").returncode == 0
        assert take(next_) == "a"
    assert late.result() == ""

    done = next_.dibs("task", "done", "a")

    assert done.returncode == 0, done
    assert judge(world) == []


def test_a_lock_on_the_branch_counts_after_the_claim_in_the_store_is_gone(world: World):
    world.put({"a": PLAIN})
    member = world.member("one")
    assert take(member) == "a"
    assert member.dibs("release", "task:a").returncode == 0

    done = member.dibs("task", "done", "a")

    assert done.returncode == 0, done


def test_a_lock_on_a_finished_task_does_not_reopen_it(world: World):
    world.put({"a": PLAIN, "b": PLAIN})
    member = world.member("one")
    take(member)
    member.dibs("task", "done", "a")
    world.first.git("pull", "-q", "--rebase", "origin", "main")
    lock(world, "a", age=LOCK_AGE + 60)

    assert take(member) == "b"
    assert take(world.member("two")) == ""


# -- denials


def test_what_a_denied_start_suggests_works(world: World):
    world.put({"a": PLAIN, "b": PLAIN})
    lock(world, "a")
    member = world.member("agent-04")
    denied = member.dibs("task", "start", "a", "--json")
    assert denied.returncode == NOTHING, denied

    steps = json.loads(denied.stdout)["next"]

    commands = [step.partition(": dibs ")[2].split() for step in steps]
    assert commands == [["task", "show", "a"], ["task", "take", "--wait", "5m"]]
    assert [member.dibs(*command).returncode for command in commands] == [0, TOOK]


def test_status_says_where_to_see_who_works_on_what(world: World):
    world.put({"a": PLAIN})
    lock(world, "a")
    member = world.member("agent-04")

    status = member.dibs("status").stdout.splitlines()

    assert status[-1] == (
        "lock-file queue on origin/main: `dibs task ls` shows its tasks and their owners"
    )
    assert "agent-02" in member.dibs("task", "ls").stdout


def test_a_task_with_any_name_can_be_shown_and_started(world: World):
    world.put({"my task": PLAIN})
    member = world.member("agent-04")

    assert "fix it" in member.dibs("task", "show", "my task").stdout
    assert member.dibs("task", "start", "my task").returncode == TOOK
    assert member.dibs("task", "done", "my task").returncode == 0
