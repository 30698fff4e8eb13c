"""Random histories of the YAML document: agents with an editor and ``mv`` beside commands and orchestrators.

Each task keeps one file, no text is lost, nothing crashes, and no handoff or log is duplicated.
"""

import os
import random
import re
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from tests.services.boards import HUMAN, World
from tests.services.engines import common_store, git, sqlite
from tests.soak import seeds
from tests.workdir.crashing import Crash, CrashingDisk

from dibs.core.claims.agents import Caller
from dibs.core.tasks.rules import Handoff
from dibs.engines.memory import MemoryEngine
from dibs.errors import DibsError
from dibs.services.board.orchestrator import Orchestrator
from dibs.services.state.ledger import Ledger, Query

AGENTS = ("architect", "writer", "curator")
TASK = "id: {id}\nagent: {agent}\nstatus: new\ntitle: {title}\nartefacts:\n  - docs/{title}.md\n"
RESULT = "result:\n  summary: done by hand\n  artefacts: []\n"
NEXT = "  next_agent: {agent}\n  next_task_title: {title}\n"
ERROR = "error:\n  message: no disk\n  agent: {agent}\n"
#: A block of the file: its key and the lines below it.
BLOCK = r"(?m)^{}:.*\n(?:[ -].*\n)*"
FOLDERS = ("inbox", "done", "archive/2026-01", *(f"assigned/{agent}" for agent in AGENTS))


class Participant(World):
    """One clone with its own orchestrator."""

    def cycle(self, disk=None):
        self.open(disk)
        Orchestrator(self.store, self.board, str(self.path / ".state")).cycle(Caller("orch"))
        self.open()


class DocumentHistory:
    """Two clones, and everything that the document's people and agents do."""

    def __init__(self, path, seed, engines=None):
        self.dice = random.Random(seed)
        first, second = engines or (None, None)
        self.one = Participant(path / "one", first)
        self.two = Participant(path / "two", second or self.one.engine)
        self.worlds = [self.one, self.two]
        self.count = 0
        self.words = []
        self.moves = [
            self.plan, self.plan, self.begin, self.finish, self.finish, self.fail, self.reset,
            self.move, self.edit, self.write_log, self.command, self.command, self.command,
            self.cycle, self.cycle, self.crash, self.read, self.wait,
        ]  # fmt: skip

    def step(self):
        self.dice.choice(self.moves)()

    # -- people and agents without dibs

    def files(self, world, pattern, status=""):
        found = sorted((world.path / "work").glob(pattern))
        return [p for p in found if not status or f"\nstatus: {status}\n" in p.read_text()]

    def pick(self, pattern, status=""):
        found = self.files(self.dice.choice(self.worlds), pattern, status)
        return self.dice.choice(found) if found else None

    def change(self, path, status, text=""):
        old = path.read_text()
        path.write_text(re.sub(r"(?m)^status: .*$", f"status: {status}", old) + text)

    def now(self):
        """Return the time on an agent's clock, which may run ahead."""
        ahead = self.dice.choice([0, 0, 60, 5 * 3_600])
        at = time.gmtime(self.one.clock.now + ahead)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", at)

    def plan(self):
        world, agent = self.dice.choice(self.worlds), self.dice.choice(AGENTS)
        self.count += 1
        title = f"work-{self.count}"
        id_ = f"2026-01-01T{self.count:04d}-{agent}-{title}"
        text = TASK.format(id=id_, agent=agent, title=title) + self.word()
        needed = self.pick("*/*.yaml")
        if needed and self.dice.random() < 0.3:
            text += f"context:\n  dependencies:\n    - {needed.stem}\n"
        world.write(f"inbox/{id_}.yaml", text)

    def word(self):
        self.words.append(f"word{len(self.words)}")
        return f"{self.words[-1]}: by hand\n"

    def begin(self):
        if path := self.pick("assigned/*/*.yaml", "assigned"):
            started = "" if "started_at:" in path.read_text() else f'started_at: "{self.now()}"\n'
            self.change(path, "in_progress", started)

    def finish(self):
        path = self.pick("assigned/*/*.yaml", self.dice.choice(["in_progress", "assigned"]))
        if path and "result:" not in path.read_text():
            result = RESULT
            if self.dice.random() < 0.5:
                result += NEXT.format(agent=self.dice.choice([*AGENTS, "stranger"]), title="go-on")
            target = path.parents[2] / "done" / path.name
            if self.dice.random() < 0.7:
                self.change(path, "done", f'{result}  completed_at: "{self.now()}"\n')
            else:
                path.write_text(path.read_text() + result)
            if not target.exists():
                path.rename(target)

    def fail(self):
        path = self.pick("assigned/*/*.yaml", "in_progress")
        if path and "error:" not in path.read_text():
            self.change(path, "error", ERROR.format(agent=path.parent.name))

    def reset(self):
        if path := self.pick("assigned/*/*.yaml", "error"):
            path.write_text(re.sub(BLOCK.format("error"), "", path.read_text()))
            self.change(path, "assigned")

    def move(self):
        if path := self.pick(
            self.dice.choice(["inbox/*.yaml", "assigned/*/*.yaml", "done/*.yaml"])
        ):
            work = path.parents[len(path.parts) - path.parts.index("work") - 2]
            target = work / self.dice.choice(FOLDERS) / path.name
            if not list(work.glob(f"archive/*/{path.name}")) and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                path.rename(target)

    def edit(self):
        if path := self.pick("*/*.yaml") or self.pick("assigned/*/*.yaml"):
            path.write_text(path.read_text() + self.word())

    def write_log(self):
        if path := self.pick("assigned/*/*.yaml", "in_progress"):
            about = path.stem[len("2026-01-01T0001-") :]
            log = path.parents[2] / "logs" / path.parent.name / f"2026-01-01T0000-{about}.md"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("my own words\n")

    # -- dibs

    def command(self):
        world, caller = self.dice.choice(self.worlds), Caller(self.dice.choice(AGENTS))
        handoff = Handoff("stranger", "go-on") if self.dice.random() < 0.5 else None
        with world.board.command(caller, makes=True), suppress(DibsError):
            ids = sorted(world.tasks.versions())
            id_ = self.dice.choice(ids) if ids else "none"
            acts = [
                lambda: world.tasks.take(caller),
                lambda: world.tasks.start(caller, id_),
                lambda: world.tasks.done(caller, id_, summary="ok", handoff=handoff),
                lambda: world.tasks.done(caller, id_, summary="ok", handoff=handoff),
                lambda: world.tasks.fail(caller, id_, message="no"),
                lambda: world.tasks.release(caller, id_),
                lambda: world.tasks.retry(HUMAN, id_),
                lambda: world.tasks.reopen(HUMAN, id_),
                lambda: world.tasks.cancel(HUMAN, id_, reason="no"),
                lambda: world.tasks.reassign(HUMAN, id_, to=self.dice.choice(AGENTS)),
            ]
            self.dice.choice(acts)()

    def cycle(self):
        self.dice.choice(self.worlds).cycle()

    def crash(self):
        world = self.dice.choice(self.worlds)
        with suppress(Crash):
            world.cycle(CrashingDisk(self.dice.randrange(25)))
        world.open()

    def read(self):
        world = self.dice.choice(self.worlds)
        before = {path: world.read(path) for path in world.every_file()}
        with world.board.command(HUMAN, reads=True):
            pass
        assert {path: world.read(path) for path in world.every_file()} == before

    def wait(self):
        self.one.clock.advance(self.dice.choice([1, 30, 90, 400, 3 * 3_600]))

    # -- invariants

    def judge(self):
        for _ in range(3):
            for world in self.worlds:
                world.later = 61.0
                world.cycle()
        for world in self.worlds:
            self.judge_files(world)
            self.judge_logs(world)
        self.judge_words()
        self.judge_handoffs()

    def judge_files(self, world):
        rows = world.tasks.stored(world.tasks.versions())
        names = Counter(Path(path).name for path in world.files() if path.endswith(".yaml"))
        twice = {name for name, count in names.items() if count > 1}
        aside = {f"{v.id}.yaml" for v in world.reconcile().aside}
        assert twice <= aside
        for row in rows.values():
            assert row.file in names
            if row.file not in aside:
                assert world.read(f"{row.place}/{row.file}") == row.text

    def judge_logs(self, world):
        seen = Counter()
        for path in (world.path / "work/logs").rglob("*.md"):
            text = path.read_text()
            ids, numbers = (
                re.findall(rf"(?m)^\*\*{name}:\*\* (\S+)$", text) for name in ("Task ID", "Attempt")
            )
            if ids:
                seen[ids[0], *numbers] += 1
        assert [log for log, count in seen.items() if count > 1] == []

    def judge_words(self):
        texts = [row.text for row in self.one.tasks.stored(self.one.tasks.versions()).values()]
        for world in self.worlds:
            for folder, _, names in os.walk(world.path / "work"):
                texts += [Path(folder, name).read_text() for name in names]
        everything = "\n".join(texts)
        assert [word for word in self.words if f"{word}: by hand" not in everything] == []

    def judge_handoffs(self):
        entries = Ledger(self.one.store).newest(Query(), 100_000)
        done = Counter(
            e.details["task"]
            for e in entries
            if e.details.get("status") == "done" and e.details.get("was") != "done"
        )
        made = Counter(e.details["source"] for e in entries if e.kind == "handoff_created")
        assert all(count <= max(1, done[source]) for source, count in made.items()), (made, done)
        rows = self.one.tasks.stored(self.one.tasks.versions()).values()
        assert duplicates(rows) == []


def duplicates(rows):
    """Return the sources and agents of follow-ups that exist twice and are unfinished."""
    unfinished = Counter(
        (row.task.dependencies, row.asked)
        for row in rows
        if row.task.title == "go-on" and row.task.status in {"new", "assigned"}
    )
    return [key for key, count in unfinished.items() if count > 1]


def run(history, steps):
    for _ in range(steps):
        history.step()
    history.judge()


@pytest.mark.parametrize("seed", seeds(30))
def test_no_history_of_the_document_loses_or_duplicates_anything(tmp_path, seed):
    run(DocumentHistory(tmp_path, seed), 60)


class LossyDocumentHistory(DocumentHistory):
    """Also loses the store, after which the files are all that is left."""

    def __init__(self, path, seed):
        super().__init__(path, seed)
        self.moves += [self.lose_store, self.redo, self.redo]

    def lose_store(self):
        shown = "\n".join(world.read(path) for world in self.worlds for path in world.every_file())
        self.words = [word for word in self.words if f"{word}: by hand" in shown]
        fresh = MemoryEngine(self.one.clock)
        for world in self.worlds:
            world.engine = world.store.engine = fresh

    def redo(self):
        """Do a finished task again, with the same handoff."""
        world, caller = self.one, Caller("writer")
        with world.board.command(caller, makes=True), suppress(DibsError):
            for id_, row in world.tasks.stored(sorted(world.tasks.versions())).items():
                if row.task.status == "done" and row.task.handoff:
                    world.tasks.reopen(HUMAN, id_)
                    world.tasks.reassign(HUMAN, id_, to="writer")
                    world.tasks.start(caller, id_)
                    world.tasks.done(caller, id_, handoff=row.task.handoff)
                    return

    def judge_logs(self, world):
        """Judge nothing: a new store counts the attempts at a task from one again."""

    def judge_handoffs(self):
        rows = self.one.tasks.stored(self.one.tasks.versions()).values()
        assert duplicates(rows) == []


@pytest.mark.parametrize("seed", seeds(20))
def test_no_history_of_the_document_with_lost_stores_duplicates_a_handoff(tmp_path, seed):
    run(LossyDocumentHistory(tmp_path, seed), 60)


@pytest.fixture(params=[sqlite, git], ids=lambda make: make.__name__)
def engines(request):
    with common_store(request, apart=True) as another:
        yield another(), another()


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(3))
def test_no_history_of_the_document_on_a_real_engine_loses_or_duplicates_anything(
    tmp_path, engines, seed
):
    run(DocumentHistory(tmp_path, seed, engines), 40)
