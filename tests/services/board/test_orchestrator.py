"""One cycle of the orchestrator, and several at once."""

from __future__ import annotations

import subprocess
import threading

import pytest
from tests.services.row_tasks import RowTasks
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Agent, Caller
from dibs.core.tasks.pages import is_logged
from dibs.core.tasks.rules import Handoff
from dibs.engines.memory import MemoryEngine
from dibs.services.board.board import Board
from dibs.services.board.orchestrator import Cycle, Orchestrator
from dibs.services.board.validate import FileFinding
from dibs.services.claims.agents import Agents
from dibs.services.state.ledger import Ledger, Query
from dibs.services.tasks.values import Draft, TakenTask
from dibs.testing import ManualClock

BOSS = Caller("boss", "human")
DAY = 86_400.0


class Yard:
    """A board on the memory engine, with a clock that only the test advances."""

    def __init__(self, root, engine=None, **settings):
        self.root = root
        self.clock = ManualClock(1_763_900_000.0)
        self.engine = engine or MemoryEngine(self.clock)
        self.state = root / "state"
        self.state.mkdir(exist_ok=True)
        self.store = wired(self.engine, Config(**settings), str(root / "ledger"))
        self.tasks = RowTasks(self.store)
        self.agents = Agents(self.store)
        self.board = Board(self.store, str(root), str(self.state), clock=self.clock)
        self.orchestrator = Orchestrator(self.store, self.board, str(self.state))

    def cycle(self):
        return self.orchestrator.cycle(BOSS)

    def make(self, name, **fields):
        title = fields.pop("title", name.replace("-", " "))
        draft = Draft({"title": title, "artefacts": [f"{name}.md"], **fields}, id=name)
        self.tasks.create(BOSS, [draft])
        return name

    def join(self, *names, role="agent"):
        for name in names:
            self.agents.join(Agent(name, role=role))

    def take(self, agent, **options):
        taken = self.tasks.take(Caller(agent), **options)
        assert isinstance(taken, TakenTask)
        return taken.stored.id

    def kinds(self):
        return [entry.kind for entry in Ledger(self.store).newest(Query(), 10_000)]

    def status(self, name):
        return self.tasks.show(None, name).stored.task.status

    def page(self, name):
        return (self.root / "work" / "collaboration" / name).read_text("utf-8")


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def files(folder):
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


# -- assigning


def test_tasks_without_an_agent_stay_in_the_inbox(yard):
    yard.join("ann")
    yard.make("a")

    assert yard.cycle().assigned == ()
    assert yard.take("ann") == "a"


def test_a_caller_that_runs_cycles_gets_that_role_unless_it_has_one(yard):
    yard.join("ann", role="coder")
    yard.make("a", agent="ann")
    yard.orchestrator.cycle(Caller("orch"))
    yard.make("b", agent="ann")
    yard.orchestrator.cycle(Caller("ann"))

    roles = {a.agent.id: a.agent.role for a in yard.agents.all()}
    assert (roles["ann"], roles["orch"]) == ("coder", "orchestrator")


# -- dead agents


def test_a_dead_agents_task_is_reported_as_returned(yard):
    yard.make("a", agent="ann")
    yard.take("ann")
    yard.clock.advance(yard.store.config.ttl + 1)

    done = yard.cycle()

    assert done.returned == ("a",)
    assert done.line().endswith(", 1 returned")


# -- handoffs


# -- conflicts


def test_tasks_in_progress_on_the_same_files_are_reported_once(yard):
    yard.make("a", agent="ann", artefacts=["docs/*.md"])
    yard.make("b", agent="bob", artefacts=["docs/x.md"])
    yard.take("ann")
    yard.take("bob")

    first, second = yard.cycle(), yard.cycle()

    assert first.conflicts == (("a", "b", "docs/x.md"),)
    assert second.conflicts == ()
    assert yard.kinds().count("task_clash") == 1


def test_a_conflict_that_recurs_is_reported_again(yard):
    yard.make("a", agent="ann", artefacts=["x.md"])
    yard.make("b", agent="bob", artefacts=["x.md"])
    yard.take("ann")
    yard.take("bob")
    yard.cycle()
    yard.tasks.release(Caller("bob"), "b")
    yard.cycle()

    yard.take("bob")

    assert len(yard.cycle().conflicts) == 1


# -- timeouts


@pytest.mark.parametrize(
    ("policy", "action", "status"),
    [("warn", "warned", "assigned"), ("release", "released", "new"), ("error", "error", "error")],
)
def test_after_the_warning_the_configured_action_follows(tmp_path, policy, action, status):
    yard = Yard(tmp_path, board_stuck=policy)
    yard.make("a", agent="ann")
    yard.cycle()
    yard.clock.advance(7_201)
    assert yard.cycle().timeouts == (("a", "warned"),)

    yard.clock.advance(7_201)

    assert yard.cycle().timeouts == (("a", action),)
    assert yard.status("a") == status


# -- archive


def test_tasks_finished_long_ago_are_archived_by_month(yard):
    yard.make("a", agent="ann")
    yard.take("ann")
    yard.tasks.done(Caller("ann"), "a")
    yard.cycle()
    assert (yard.root / "work/done/a.yaml").exists()
    yard.clock.advance(31 * DAY)

    assert yard.cycle().archived == ("a",)
    assert (yard.root / "work/archive/2025-11/a.yaml").exists()
    assert not (yard.root / "work/done/a.yaml").exists()


def test_a_task_stays_in_done_after_it_was_finished_whatever_time_its_file_states(yard):
    yard.make("a", agent="ann")
    yard.cycle()
    file = yard.root / "work/assigned/ann/a.yaml"
    text = file.read_text().replace("status: assigned", "status: done")
    text += 'result:\n  summary: "fine"\n  completed_at: "2024-11-23T15:45:00Z"\n'
    file.unlink()
    (yard.root / "work/done/a.yaml").write_text(text)

    assert yard.cycle().archived == ()
    assert (yard.root / "work/done/a.yaml").exists()
    yard.clock.advance(31 * DAY)
    assert yard.cycle().archived == ("a",)


# -- pages, logs, commits


def test_a_finished_task_has_a_work_log(yard):
    yard.make("a", agent="ann")
    yard.take("ann")
    yard.tasks.done(Caller("ann"), "a", summary="all well")
    yard.cycle()

    assert len(list(yard.root.rglob("logs/ann/*.md"))) == 1


def test_another_machines_work_log_is_left_to_that_machine(yard):
    there = Caller("ann", host="another-machine")
    yard.make("a", agent="ann")
    yard.tasks.take(there)
    yard.tasks.done(there, "a")

    yard.cycle()

    assert list(yard.root.rglob("logs/ann/*.md")) == []


def test_each_change_is_a_commit_if_configured(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    yard = Yard(tmp_path, board_commit=True)
    yard.make("a", agent="ann")
    yard.cycle()
    yard.take("ann")

    done = yard.cycle()

    assert done.commits[0] == "task: a assigned -> in_progress by ann"
    assert done.left == ""
    shown = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain", "work"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout == ""
    assert yard.cycle().commits == ()


def test_pages_of_two_branches_merge_without_a_conflict(tmp_path):
    def git(*words):
        identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        subprocess.run(
            ["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True
        )  # fmt: skip

    git("init", "-q", "-b", "main")
    yard = Yard(tmp_path, board_commit=True)
    yard.make("a", agent="ann")
    yard.cycle()
    page = tmp_path / "work/collaboration/WORKFLOW_LOG.md"
    for branch in ("main", "side"):
        git("checkout", "-q", "-B", branch, *(["main~1"] if branch == "side" else []))
        with page.open("a", encoding="utf-8") as file:
            file.write(f"**2025-11-23 15:45:00 UTC** - told on {branch}\n")
        git("add", "work/collaboration")
        git("commit", "-q", "-m", branch)
    git("checkout", "-q", "main")

    git("merge", "-q", "-m", "both", "side")
    yard.cycle()

    text = page.read_text("utf-8")
    assert text.count("told on main") == text.count("told on side") == 1
    assert text.count("# Agent Orchestration Workflow Log") == 1
    assert yard.page("AGENT_STATUS.md").count("## ann") == 1


def test_a_failed_commit_does_not_undo_the_change(tmp_path):
    yard = Yard(tmp_path, board_commit=True)  # not a git repository
    yard.make("a", agent="ann")

    done = yard.cycle()

    assert done.assigned == ("a",)
    assert done.left == "this is not a git repository; nothing was committed"


def test_a_repository_that_git_refuses_is_reported_with_its_message(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git" / "config").write_text("[spoiled\n")
    yard = Yard(tmp_path, board_commit=True)
    yard.make("a", agent="ann")

    done = yard.cycle()

    assert done.assigned == ("a",)
    assert "bad config line 1 in file " in done.left


def test_a_cycle_has_the_documented_line_and_adds_other_counts_unless_zero():
    assert Cycle().line() == (
        "Coordinator cycle: 0 assigned, 0 follow-ups, 0 timeouts, 0 conflicts, 0 archived"
    )
    assert Cycle(
        returned=("a",), aside=(FileFinding("b", 1, "", "CODE", "why"),), assigned=("c", "d")
    ).line() == (
        "Coordinator cycle: 2 assigned, 0 follow-ups, 0 timeouts, 0 conflicts, 0 archived,"
        " 1 returned, 1 set aside"
    )


def test_a_cycle_that_did_something_is_in_the_workflow_log(yard):
    yard.make("a", agent="ann")
    for _ in range(3):
        yard.cycle()

    line = "Coordinator cycle: 1 assigned, 0 follow-ups, 0 timeouts, 0 conflicts, 0 archived"
    assert yard.page("WORKFLOW_LOG.md").count(line) == 1


# -- repetition and concurrency


def busy_board(yard):
    """Create a board on which every step has something to do."""
    yard.make("old", agent="ann")
    yard.take("ann")
    yard.tasks.done(Caller("ann"), "old")
    yard.clock.advance(31 * DAY)
    yard.make("slow", agent="zoe")
    yard.tasks.assign(BOSS)
    yard.clock.advance(7_300)
    yard.make("source", agent="ann")
    yard.take("ann")
    yard.tasks.done(Caller("ann"), "source")
    yard.tasks.wait_for_follow_up("source", Handoff("bob", "polish it"))
    for agent in ("eve", "fay"):
        yard.make(f"by-{agent}", agent=agent, artefacts=["same.md"])
        yard.take(agent, ttl=3_600)
    yard.make("dead", agent="dan")
    yard.take("dan")
    yard.clock.advance(yard.store.config.ttl + 1)
    yard.join("bob")
    for number in range(5):
        yard.make(f"new-{number}", agent="bob")


def test_a_second_cycle_with_nothing_new_changes_no_byte_and_writes_no_entry(yard):
    busy_board(yard)
    first = yard.cycle()
    yard.cycle()  # assigns the follow-up
    before, entries = files(yard.root), yard.kinds()

    again = yard.cycle()

    assert all((first.assigned, first.followups, first.timeouts, first.conflicts, first.archived))
    assert not again.busy
    assert yard.kinds() == entries
    changed = {p for p, held in files(yard.root).items() if before.get(p) != held}
    assert {p.name for p in changed} <= {"board-index.jsonl"}


def test_concurrent_cycles_do_everything_once(tmp_path):
    yard = Yard(tmp_path)
    busy_board(yard)
    rivals = [Yard(tmp_path, engine=yard.engine) for _ in range(4)]
    for rival in rivals:
        rival.board = Board(rival.store, str(tmp_path), str(rival.state), clock=yard.clock)
        rival.orchestrator = Orchestrator(rival.store, rival.board, str(rival.state))
    start, found = threading.Barrier(4), []

    def run(rival):
        start.wait()
        found.extend(
            rival.orchestrator.cycle(Caller(f"boss-{id(rival)}", "human")) for _ in range(3)
        )

    threads = [threading.Thread(target=run, args=[rival]) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for act in ("assigned", "followups", "timeouts", "conflicts", "archived", "returned"):
        done = [one for cycle in found for one in getattr(cycle, act)]
        assert done, act
        assert len(done) == len(set(done)), act
    assert yard.kinds().count("handoff_created") == 1
    lines = [line for line in yard.page("WORKFLOW_LOG.md").splitlines() if line.startswith("**")]
    assert len(lines) == len([kind for kind in yard.kinds() if is_logged(kind)])
