"""A PostgreSQL primary dies while agents work: its synchronous standby has everything that was confirmed."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from proof_crew import eventually
from proof_diary import Diaries, held_twice
from proof_machines import PATHS, Job, Machine, machines, progress, tell
from tests.servers import FaultProxy, PostgresServer
from tests.soak import effort

from dibs.core.claims.agents import Caller
from dibs.services.tasks.values import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

AGENTS = 6
#: The silent direction of the replication: the standby lacks, or has, the commit that waits.
LACKS, HAS = "replies", "requests"
TASKS = 400


class Pair:
    """A primary and its synchronous standby, which replicates through a proxy, under one URL."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self.primary = running.enter_context(PostgresServer(folder / "primary"))
        self.proxy = running.enter_context(FaultProxy(self.primary))
        self.standby = self.primary.standby(
            folder / "standby", synchronous=True, through=self.proxy
        )
        running.callback(self.standby.close)
        ports = (self.primary.port, self.standby.port)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"postgresql://dibs@{hosts}/postgres"

    def fail_over(self, silent: str) -> None:
        """Kill the primary while a commit waits, because one direction of the replication is silent."""
        self.proxy.hold((silent,))
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        eventually("a commit waits for the standby", lambda: self.primary.sql(waiting), 20)
        self.primary.kill()
        self.standby.promote()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as running:
        yield Pair(tmp_path, running)


def add_tasks(machine: Machine) -> set[str]:
    """Create the board's tasks; return their ids."""
    ids = {f"2026-01-01T{n // 60:02d}{n % 60:02d}-any-step-{n}" for n in range(TASKS)}
    with machine.project() as project:
        drafts = [Draft({"title": id_}, id_) for id_ in sorted(ids)]
        project.tasks.create(Caller("planner"), drafts)
    return ids


def stored_tasks(machine: Machine) -> dict[str, tuple[str, str]]:
    """Return the state and the agent of each task in the store."""
    with machine.project() as project:
        found = project.tasks.all(None, finished=True)
    return {view.stored.id: (view.stored.task.status, view.stored.doer) for view in found}


def received(machine: Machine) -> Counter[tuple[str, str]]:
    """Return how many times each agent has each message."""
    with machine.project() as project:
        return Counter(
            (agent, letter.message.text)
            for agent in (f"agent-{number}" for number in range(AGENTS))
            for letter in project.mail.inbox(Caller(agent), everything=True)
        )


def confirmed(diaries: Diaries, did: str) -> list[dict[str, Any]]:
    """Return what was confirmed to agents."""
    return [note for note in diaries.notes if note["did"] == did and "kind" not in note]


@pytest.mark.parametrize("silent", effort([HAS], [LACKS, HAS]))
def test_a_failover_in_the_middle_of_work_loses_and_repeats_nothing(
    pair: Pair, silent: str, tmp_path: Path
):
    """Guarantee: with a synchronous standby, the death of the primary changes nothing that was confirmed.

    Checked: six agents on two machines finish tasks, claim overlapping paths, and send messages; the
    primary is killed (SIGKILL) in a commit, and the standby promoted. No agent gets an error. Each
    confirmed claim, result, and message exists exactly once; tokens increase; no two agents held
    overlapping paths at once; no new life starts; and an agent that waits for an earlier claim gets
    it from the new primary.
    """
    here, there = crew = machines(tmp_path, pair.url, DIBS_TIMEOUT="30s")
    ids = add_tasks(here)
    for number in range(AGENTS):
        assert here.dibs("agent", "join", agent=f"agent-{number}").returncode == 0
    early = here.token("kept.md", agent="early")
    diary = tmp_path / "diary"
    work = Job("busy", [machine.spec for machine in crew], AGENTS, str(diary), PATHS)
    with work, there.puppet("late") as late:
        late.say("wait", "kept.md")
        eventually("it waits", lambda: "late" in there.tickets())
        progress(diary, 3 * AGENTS)
        pair.fail_over(silent)
        progress(diary, 5 * AGENTS)
        rounds = work.end()["rounds"]
        kept = here.dibs("release", "kept.md", "--token", str(early), agent="early")
        assert kept.returncode == 0, kept
        last = late.hear()["token"]

    diaries, entries = Diaries(diary), here.ledger()
    tell(f"{len(diaries.holds)} claims, {diaries.longest_call():.1f} s for the longest call")
    assert [note for note in diaries.notes if "kind" in note] == []
    assert min(rounds.values()) > 0
    assert [entry.seq for entry in entries if entry.kind == "ledger_restarted"] == []
    assert diaries.missing(entries) == []
    assert diaries.fenced == []
    assert diaries.not_growing() == []
    assert last > max(hold.token for hold in diaries.holds) > early
    assert diaries.at_once() == []
    assert held_twice(entries) == []
    judge_tasks(diaries, entries, ids, stored_tasks(there))
    sent = Counter((note["to"], note["text"]) for note in confirmed(diaries, "say"))
    assert received(there) == sent
    assert set(sent.values()) == {1}


def judge_tasks(
    diaries: Diaries, entries: list[Any], ids: set[str], stored: dict[str, tuple[str, str]]
) -> None:
    """Check that each task was handed out and finished at most once, and that none is missing."""
    done = {note["task"]: note["agent"] for note in confirmed(diaries, "done")}
    assert len(done) == len(confirmed(diaries, "done"))
    for kind in ("task_started", "task_completed"):
        told = [(e.details["task"], e.agent) for e in entries if e.kind == kind]
        assert sorted(told) == sorted(done.items()), kind
    assert set(stored) == ids
    assert {id_: doer for id_, (status, doer) in stored.items() if status == "done"} == done
    assert {status for id_, (status, _) in stored.items() if id_ not in done} == {"new"}
