"""The lock-file queue: one owner per task across stores, kills, and other people's pushes."""

import os
import time

import pytest
from tests.services.several_agents import caller

from dibs.engines.git.remote import PushOutcome
from dibs.errors import DibsError, Fenced, NotFound
from dibs.project.remotes import queue_remote
from dibs.services.claims.service import Claims
from dibs.services.tasks.lock_queue.upkeep import check_queue, renew_due
from dibs.services.tasks.values import NothingFree


class Killed(BaseException):
    """A kill: nothing handles it."""


class Dying:
    """Connects to the remote, and dies before or after the first push."""

    def __init__(self, when):
        self.when = when

    def __call__(self, *where):
        self.remote = queue_remote(*where)
        return self

    def push(self, *what):
        when, self.when = self.when, ""
        if when == "before":
            raise Killed
        outcome = self.remote.push(*what)
        if when == "after":
            raise Killed
        return "unclear" if when == "unclear" else outcome

    def __getattr__(self, name):
        return getattr(self.remote, name)


class Losing(Dying):
    """Connects to the remote, and loses the first race."""

    def __init__(self):
        super().__init__("lost")

    def push(self, *what):
        if self.when:
            self.when = ""
            return PushOutcome.LOST
        return self.remote.push(*what)


def held(queue):
    return {task.name: task.holder for task in queue.all() if task.holder}


def claims(queue):
    return [h.claim.pattern for h in Claims(queue._store).all()[0]]


# -- kills


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_take_that_was_killed_gives_the_same_task_again(shared, when):
    shared.put_tasks("a", "b")
    with pytest.raises(Killed):
        shared.queue("machine", connect=Dying(when)).take(caller("bob"))

    queue = shared.queue("machine")

    assert queue.take(caller("bob")).stored.id == "a"
    assert queue.take(caller("carol")).stored.id == "b"
    assert held(queue) == {"a": "bob", "b": "carol"}
    assert shared.subjects().count("claim: a by bob") == 1


def test_a_push_whose_outcome_is_unknown_is_looked_up(shared):
    shared.put_tasks("a", "b")

    taken = shared.queue("machine", connect=Dying("unclear")).take(caller("bob"))

    assert taken.stored.id == "a"
    assert shared.subjects().count("claim: ") == 1


def test_a_lost_race_does_not_wait_for_another_process_that_fetches_in_the_same_clone(shared):
    shared.put_tasks("a")
    queue = shared.queue("machine", connect=Losing())
    locked = shared.folder / "machine/.git/refs/dibs/lock-queue.lock"
    locked.parent.mkdir(parents=True)
    locked.touch()

    assert queue.take(caller("bob")).stored.id == "a"


def test_a_shallow_clone_of_a_file_url_takes_and_finishes_tasks(shared):
    shared.put_tasks("a", "b")
    where = shared.folder / "one"
    shared.git("clone", "-q", "--depth=1", f"file://{shared.bare}", str(where), at=shared.folder)
    queue = shared.queue("one")

    assert queue.take(caller("bob")).stored.id == "a"
    shared.put_tasks("c")
    queue.done(caller("bob"), "a")

    assert "tasks/done/a.yml" in shared.files()


# -- one owner


def lock_like(path, kind):
    """Put something at the path of a lock file that is not a regular file."""
    if kind == "folder":
        path.mkdir()
        (path / "notes").write_text("mine\n")
    else:
        path.symlink_to("../README.md" if kind == "link" else "nowhere")


@pytest.mark.parametrize("kind", ["link", "broken link", "folder"])
@pytest.mark.parametrize("remote", [True, False], ids=["remote", "local"])
def test_anything_with_the_name_of_a_lock_file_locks_the_task(shared, kind, remote):
    shared.put_tasks("a")
    first = shared.folder / "first"
    lock_like(first / "current_tasks" / "a.lock", kind)
    if remote:
        shared.commit(first, {})
    else:
        shared.git("remote", "remove", "origin", at=first)
    queue = shared.queue("machine") if remote else shared.queue("first")

    answer = queue.take(caller("bob"))

    assert isinstance(answer, NothingFree)
    assert [(task.name, task.holder) for task in answer.queue] == [("a", "unknown")]


def test_a_worktree_of_a_bare_clone_has_the_queue(shared):
    shared.put_tasks("a")
    shared.git("clone", "-q", "--bare", str(shared.bare), "copy.git", at=shared.folder)
    for name in ("main", "feature"):
        new = ["-b", name] if name == "feature" else []
        argv = ("worktree", "add", "-q", *new, str(shared.folder / name), "main")
        shared.git(*argv, at=shared.folder / "copy.git")

    assert shared.queue("main").take(caller("bob")).stored.id == "a"
    assert held(shared.queue("feature")) == {"a": "bob"}


def test_without_an_origin_the_remote_with_the_queue_is_used(shared):
    shared.put_tasks("a")
    clone = shared.clone("machine")
    shared.git("remote", "rename", "origin", "hub", at=clone)
    shared.git("remote", "add", "another", str(shared.folder / "nowhere"), at=clone)
    shared.git("switch", "-q", "-c", "feature", at=clone)

    assert shared.queue("machine").take(caller("bob")).stored.id == "a"


def test_the_lock_of_a_released_claim_is_replaced_at_once_in_its_store_only(shared):
    shared.put_tasks("a")
    queue = shared.queue("one")
    queue.take(caller("bob"))
    from dibs.services.claims.holdings import Holdings

    Holdings(queue._store).release(caller("bob"))  # as when its session ends

    assert isinstance(shared.queue("two").take(caller("carol")), NothingFree)
    assert queue.take(caller("carol")).stored.id == "a"
    assert held(queue) == {"a": "carol"}
    assert "expire: a, held by bob" in shared.subjects()


@pytest.mark.parametrize("verb", ["done", "release"])
def test_an_owner_whose_lock_was_replaced_is_refused_and_told_by_whom(shared, verb):
    shared.put_tasks("a")
    queue = shared.queue("one")
    queue.take(caller("bob"))
    late = shared.queue("two", clock=lambda: time.time() + 8000)
    late.take(caller("carol"))

    with pytest.raises(Fenced, match="carol holds it now"):
        getattr(queue, verb)(caller("bob"), "a")

    assert held(queue) == {"a": "carol"}
    assert claims(queue) == []
    late.done(caller("carol"), "a")
    assert "tasks/done/a.yml" in shared.files()


def test_an_owner_whose_lock_was_removed_is_refused(shared):
    shared.put_tasks("a")
    queue = shared.queue("one")
    queue.take(caller("bob"))
    other = shared.clone("other")
    (other / "current_tasks" / "a.lock").unlink()
    shared.commit(other, {})

    with pytest.raises(Fenced, match="nobody holds it now"):
        queue.done(caller("bob"), "a")


@pytest.mark.parametrize("verb", ["done", "release"])
def test_an_agent_of_the_same_name_in_another_clone_learns_who_holds_the_task(shared, verb):
    shared.put_tasks("a")
    shared.queue("one").take(caller("bob"))
    queue = shared.queue("two")

    with pytest.raises(Fenced, match=r"another clone's agent of your name \(bob\)") as caught:
        getattr(queue, verb)(caller("bob"), "a")
    denied = queue.start(caller("bob"), "a").conflicts[0]

    assert caught.value.hint == (
        "if that clone is gone, delete 'current_tasks/a.lock' on origin/main"
    )
    assert denied.is_lock_file
    assert denied.reason == "an agent of the same name in another clone"
    shared.queue("one").done(caller("bob"), "a")


def test_a_task_that_nobody_holds_cannot_be_ended(shared):
    shared.put_tasks("a")
    queue = shared.queue("one")

    with pytest.raises(NotFound) as caught:
        queue.done(caller("bob"), "a")

    assert caught.value.code == "NOT_HELD"


def test_a_failed_task_leaves_the_queue_and_blocks_what_needs_it(shared):
    first = shared.folder / "first"
    shared.commit(first, {"tasks/pending/a.yml": "x: 1\n", "tasks/pending/b.yml": "needs: a\n"})
    queue = shared.queue("one")
    queue.take(caller("bob"))

    queue.fail(caller("bob"), "a", message="no compiler")

    assert "tasks/failed/a.yml" in shared.files()
    assert "no compiler" in shared.subjects()
    states = {task.name: (task.state, task.why) for task in queue.all()}
    assert states["b"] == ("blocked", ("waits for a, which failed",))
    queue.retry(caller("bob"), "a")
    assert "retry: a by bob" in shared.subjects()
    assert queue.take(caller("bob")).stored.id == "a"


# -- renewal


def renewals(shared):
    return shared.subjects().count("renew: ")


def test_a_lock_is_renewed_at_most_once_per_half_of_its_age(shared):
    shared.put_tasks("a", "b")
    ahead = [0.0]
    queue = shared.queue("one", clock=lambda: time.time() + ahead[0])
    queue.take(caller("bob"))
    queue.take(caller("bob"))

    for minutes in range(0, 116, 5):
        ahead[0] = minutes * 60.0
        renew_due(queue._locks, "bob")

    assert renewals(shared) == 1  # both locks, in one commit
    assert shared.subjects().count("expire: ") == 0
    later = shared.queue("two", clock=lambda: time.time() + 8000)
    assert isinstance(later.take(caller("carol")), NothingFree)
    queue.done(caller("bob"), "a")


def test_a_lock_that_another_agent_has_now_is_not_renewed(shared):
    shared.put_tasks("a")
    ahead = [0.0]
    queue = shared.queue("one", clock=lambda: time.time() + ahead[0])
    queue.take(caller("bob"))
    shared.queue("two", clock=lambda: time.time() + 8000).take(caller("carol"))
    ahead[0] = 8000.0

    assert renew_due(queue._locks, "bob") == []
    assert held(queue) == {"a": "carol"}
    assert renewals(shared) == 0


# -- what doctor and init say


def test_a_queue_that_was_never_pushed_can_be_read_but_not_taken_from(shared):
    shared.git("init", "-q", "--bare", "-b", "main", "new.git", at=shared.folder)
    shared.git("clone", "-q", "new.git", "one", at=shared.folder)
    clone = shared.folder / "one"
    (clone / "tasks" / "pending").mkdir(parents=True)
    (clone / "tasks" / "pending" / "a.yml").write_text("title: a\n")
    shared.git("add", "-A", at=clone)
    shared.git("commit", "-q", "-m", "queue", at=clone)
    queue = shared.queue("one")

    assert [task.name for task in queue.all()] == ["a"]
    assert queue.stale == "the branch origin/main does not exist"
    with pytest.raises(DibsError, match="does not exist"):
        queue.take(caller("bob"))


def test_doctor_counts_tasks_locks_and_expired_locks(shared):
    shared.put_tasks("a", "b")
    shared.commit(
        shared.folder / "first",
        {
            "current_tasks/a.lock": "agent: x\nclaimed: 2020-01-01T00:00:00Z\n",
            "tasks/pending/c.yml": "x: [",
        },
    )
    queue = shared.queue("one")

    texts = [finding.text for finding in check_queue(queue._locks)]

    assert texts[0] == "lock-file queue on origin/main: 3 tasks, 1 lock, 1 expired"
    assert texts[1].startswith("1 task file cannot be read: c.yml")
    assert texts[2].startswith("current_tasks/a.lock of x expired at 2020-01-01T02:00:00Z")


def test_doctor_warns_about_a_queue_that_is_not_pushed(shared):
    clone = shared.clone("one")
    (clone / "tasks" / "pending").mkdir(parents=True)
    (clone / "tasks" / "pending" / "a.yml").write_text("title: a\n")
    shared.git("rm", "-q", "-r", "current_tasks", at=shared.folder / "first")
    shared.commit(shared.folder / "first", {})

    (finding,) = check_queue(shared.queue("one")._locks)

    assert finding.level == "warn"
    assert "not on origin/main yet" in finding.text


# -- a queue in one file


def test_a_queue_in_one_file_is_used_like_one_in_a_folder(shared):
    first = shared.folder / "first"
    shared.commit(first, {"tasks/pending.txt": "# To do\n\n- [ ] a: first\n- [ ] b: second\n"})
    queue = shared.queue("one")

    assert queue.take(caller("bob")).stored.id == "a"
    assert isinstance(shared.queue("two").take(caller("carol")).stored.id, str)
    queue.done(caller("bob"), "a")

    assert shared.show("tasks/pending.txt") == "# To do\n\n- [x] a: first\n- [ ] b: second\n"
    assert shared.show("tasks/done/a.yml") == "- [ ] a: first\n"
    assert {t.name: (t.state, t.holder) for t in queue.all()} == {
        "a": ("done", ""),
        "b": ("held", "carol"),
    }


# -- dependencies by history


def test_a_dependency_whose_file_a_script_removed_is_done(shared):
    first = shared.folder / "first"
    shared.commit(
        first, {"tasks/pending/a.yml": "x: 1\n", "tasks/pending/b.yml": "needs: [a, z]\n"}
    )
    queue = shared.queue("one")
    assert {t.name: t.state for t in queue.all()} == {"a": "free", "b": "blocked"}
    (first / "tasks" / "pending" / "a.yml").unlink()
    shared.commit(first, {})

    (task,) = queue.all()

    assert task.why == ("z does not exist",)


# -- errors


def test_a_remote_that_refuses_the_push_leaves_no_claim(shared):
    shared.put_tasks("a")
    hook = shared.bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho protected >&2\nexit 1\n")
    hook.chmod(0o755)
    queue = shared.queue("one")

    with pytest.raises(DibsError) as caught:
        queue.take(caller("bob"))

    assert caught.value.code == "REMOTE_REFUSED"
    assert "\n" not in caught.value.message
    assert claims(queue) == []
    hook.unlink()
    assert queue.take(caller("bob")).stored.id == "a"


def test_without_the_remote_a_reader_gets_the_last_known_state_and_a_taker_an_error(shared):
    shared.put_tasks("a")
    queue = shared.queue("one")
    os.rename(shared.bare, f"{shared.bare}.away")

    assert [task.name for task in queue.all()] == ["a"]
    assert queue.stale
    with pytest.raises(DibsError) as caught:
        queue.take(caller("bob"))
    assert caught.value.code == "REMOTE_GONE"
    assert claims(queue) == []


def test_without_the_remote_a_reader_sees_what_this_clone_pushed_last(shared):
    shared.put_tasks("a")
    queue = shared.queue("one")
    os.makedirs(queue._locks.queue._repository.state, exist_ok=True)
    queue.take(caller("bob"))
    os.rename(shared.bare, f"{shared.bare}.away")

    assert held(shared.queue("one")) == {"a": "bob"}


def test_reading_changes_neither_refs_nor_files(shared):
    clone = shared.clone("one")
    shared.put_tasks("a")
    before = shared.git("for-each-ref", at=clone), shared.git("status", at=clone)
    queue = shared.queue("one")

    assert [task.name for task in queue.all()] == ["a"]

    assert (shared.git("for-each-ref", at=clone), shared.git("status", at=clone)) == before
    assert not (clone / ".git" / "FETCH_HEAD").exists()


# -- hostile content


def test_a_queue_with_only_a_lock_of_no_task_is_empty(shared):
    lock = (
        f"agent: script\nclaimed: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}\ntask: *\n"
    )
    shared.commit(shared.folder / "first", {"current_tasks/*.lock": lock})
    queue = shared.queue("one")

    with pytest.raises(NotFound) as caught:
        queue.take(caller("bob"))

    assert caught.value.code == "QUEUE_EMPTY"
    assert held(queue) == {"*": "script"}


def test_links_odd_names_and_large_files_on_the_branch_are_data(shared):
    first = shared.folder / "first"
    pending = {
        "tasks/pending/ok.yml": "title: ok\n",
        "tasks/pending/$(touch x).yml": "title: shell\n",
        "tasks/pending/-rf.yml": "title: option\n",
        "tasks/pending/.hidden.yml": "title: hidden\n",
        "tasks/pending/deep/x.yml": "title: deep\n",
        "tasks/pending/big.yml": "x: " + "y" * 300_000,
        "tasks/pending/broken.yml": "title: [\n",
        "tasks/pending/prose.yml": "fix the header\n",
        "tasks/pending/empty.yml": "",
        "tasks/pending/crlf.yml": "title: windows\r\npriority: high\r\n",
        "current_tasks/prose.lock": "\0\xff garbage",
    }
    shared.commit(first, pending)
    (first / "tasks" / "pending" / "link.yml").symlink_to("/etc/passwd")
    (first / "current_tasks" / "-rf.lock").symlink_to("/etc/passwd")
    shared.commit(first, {})
    queue = shared.queue("one")

    states = {task.name: task.state for task in queue.all()}

    assert states == {
        "$(touch x)": "free", "-rf": "held", "big": "broken", "broken": "broken", "crlf": "free",
        "empty": "free", "ok": "free", "prose": "held",
    }  # fmt: skip
    assert queue.take(caller("bob")).stored.id == "crlf"
    assert queue.take(caller("bob")).stored.id == "$(touch x)"


def test_a_file_in_place_of_the_folder_for_locks_is_reported_and_kept(shared):
    first = shared.folder / "first"
    shared.put_tasks("a")
    (first / "current_tasks" / ".gitkeep").unlink()
    (first / "current_tasks").rmdir()
    (first / "current_tasks").symlink_to("/tmp")
    shared.commit(first, {})
    before = shared.files()
    queue = shared.queue("one")

    with pytest.raises(DibsError) as caught:
        queue.take(caller("bob"))

    assert caught.value.code == "REMOTE_TREE"
    assert shared.files() == before
    assert claims(queue) == []


def test_the_last_lock_leaves_the_folder_that_scripts_need(shared):
    first = shared.folder / "first"
    shared.put_tasks("a")
    (first / "current_tasks" / ".gitkeep").unlink()
    shared.commit(first, {"current_tasks/z.lock": "agent: z\n"})
    queue = shared.queue("one")
    queue.take(caller("bob"))
    (first / "current_tasks" / "z.lock").unlink()
    shared.commit(first, {})

    queue.done(caller("bob"), "a")

    assert "current_tasks/.gitkeep" in shared.files()
    assert "tasks/pending/.gitkeep" in shared.files()
