"""A board in a folder, on an engine, with clocks that the test sets; hand edits use real shells."""

import os
import subprocess
import time

from tests.services.row_tasks import RowTasks
from tests.services.wired import wired

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine
from dibs.services.board.board import Board
from dibs.services.tasks.values import Draft
from dibs.testing import ManualClock
from dibs.workdir.disk import Disk

HUMAN = Caller("hugo", "human")


class World:
    """A project with a board; ``elsewhere`` is another clone of it."""

    def __init__(self, path, engine=None, disk=None, **settings):
        self.path = path
        path.mkdir(exist_ok=True)
        self.clock = ManualClock(float(int(time.time())))
        self.engine = engine or MemoryEngine(self.clock)
        self.store = wired(self.engine, Config(**settings))
        self.tasks = RowTasks(self.store)
        self.disk = disk or Disk()
        #: How far the files' clock is ahead.
        self.later = 0.0
        self.open()

    def open(self, disk=None):
        """Reopen the board as a new process would."""
        self.board = Board(
            self.store,
            str(self.path),
            str(self.path / ".state"),
            disk=disk or self.disk,
            clock=lambda: time.time() + self.later,
        )

    def elsewhere(self, path):
        return World(path, self.engine)

    def reconcile(self, **options):
        self.open()
        with self.board.command(HUMAN, **options, makes=True) as settled:
            return settled

    def create(self, id_, caller=HUMAN, **fields):
        with self.board.command(caller, makes=True):
            made = self.tasks.create(caller, [Draft(fields={"title": id_, **fields}, id=id_)])
        return made.tasks[0]

    def take(self, agent, **options):
        with self.board.command(Caller(agent), makes=True):
            return self.tasks.take(Caller(agent), **options)

    def done(self, agent, id_, **options):
        with self.board.command(Caller(agent), makes=True):
            return self.tasks.done(Caller(agent), id_, summary="all of it", **options)

    def row(self, id_):
        return self.tasks.stored([id_]).get(id_)

    def sh(self, script):
        """Run a script in the board's folder, as a shell agent does."""
        subprocess.run(["/bin/sh", "-euc", script], cwd=self.path / "work", check=True)

    def write(self, path, text):
        target = self.path / "work" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def read(self, path):
        return (self.path / "work" / path).read_text()

    def files(self):
        """Return all task files, and all unfinished ones."""
        found = []
        for folder, _, names in os.walk(self.path / "work"):
            place = os.path.relpath(folder, self.path / "work")
            if place.split("/")[0] not in {"schemas", "collaboration", "logs"}:
                found += [f"{place}/{name}" for name in names if place != "."]
        return sorted(found)

    def every_file(self):
        """Return all files in the board's folder."""
        work = self.path / "work"
        return sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())

    def consistent(self):
        """Assert that each task has one file, in the place that its row says."""
        rows = self.tasks.stored(self.tasks.versions())
        live = [path for path in self.files() if not path.startswith("archive/")]
        assert live == sorted(f"{row.place}/{row.file}" for row in rows.values())
        for row in rows.values():
            assert self.read(f"{row.place}/{row.file}") == row.text


TASK = """\
id: {id}
agent: curator
status: new
title: "Audit the docs"   # for the release
artefacts:
  - docs/audit.md
color: green
"""


def task(id_, text=TASK):
    return text.format(id=id_)
