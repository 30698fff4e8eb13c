"""Random histories of two clones with hand edits, commands, and crashes lose no task and no word."""

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from tests.services.boards import HUMAN, World, task
from tests.soak import seeds
from tests.workdir.crashing import Crash, CrashingDisk

from dibs.core.claims.agents import Caller
from dibs.engines.memory import MemoryEngine
from dibs.errors import DibsError

AGENTS = [Caller("curator"), Caller("editor")]


class History:
    """Two clones of one board, and everything that may happen to them."""

    def __init__(self, path, seed):
        self.dice = random.Random(seed)
        self.one = World(path / "one")
        self.two = self.one.elsewhere(path / "two")
        self.worlds = [self.one, self.two]
        self.words = 0
        #: Words that people wrote into files, by task.
        self.written = {}
        self.moves = [self.drop, self.edit, self.spoil, self.delete, self.shuffle, self.copy,
                      self.command, self.command, self.command, self.crash, self.lose_index,
                      self.reconcile, self.read, self.read]  # fmt: skip

    def step(self):
        self.dice.choice(self.moves)()

    def world(self):
        return self.dice.choice(self.worlds)

    def some_file(self, world):
        files = [f for f in world.files() if f.endswith(".yaml") and not f.startswith("archive")]
        return self.dice.choice(files) if files else None

    def drop(self):
        id_ = f"t{self.dice.randrange(8)}"
        world = self.world()
        if world.row(id_) is None and f"inbox/{id_}.yaml" not in world.files():
            world.write(f"inbox/{id_}.yaml", task(id_) + self.word(id_))

    def word(self, id_):
        self.words += 1
        word = f"word{self.words}"
        self.written[word] = id_
        return f"{word}: by hand\n"

    def edit(self):
        world = self.world()
        path = self.some_file(world)
        if path:
            id_ = path.rpartition("/")[2].removesuffix(".yaml")
            with (world.path / "work" / path).open("a") as file:
                file.write(self.word(id_))

    def spoil(self):
        world = self.world()
        path = self.some_file(world)
        if path:
            text = world.read(path)
            world.write(path, "}{" + text if self.dice.random() < 0.5 else text.removeprefix("}{"))

    def delete(self):
        """Delete a file whose words the row has; a person may delete their own other words."""
        world = self.world()
        path = self.some_file(world)
        row = path and world.row(path.rpartition("/")[2].removesuffix(".yaml"))
        if row and world.read(path) == row.text:
            (world.path / "work" / path).unlink()

    def shuffle(self):
        world = self.world()
        path = self.some_file(world)
        place = self.dice.choice(["inbox", "done", "assigned/curator", "assigned/editor"])
        target = path and world.path / "work" / place / path.rpartition("/")[2]
        if path and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(world.path / "work" / path, target)

    def copy(self):
        world = self.world()
        path = self.some_file(world)
        place = self.dice.choice(["inbox", "done", "assigned/curator"])
        if path and f"{place}/{path.rpartition('/')[2]}" not in world.files():
            world.write(f"{place}/{path.rpartition('/')[2]}", world.read(path))

    def command(self):
        world, caller = self.world(), self.dice.choice(AGENTS)
        with world.board.command(caller, makes=True), suppress(DibsError):
            ids = sorted(world.tasks.versions())
            id_ = self.dice.choice(ids) if ids else ""
            if not id_:
                return
            match self.dice.randrange(6):
                case 0:
                    world.tasks.start(caller, id_)
                case 1:
                    world.tasks.done(caller, id_, summary="ok")
                case 2:
                    world.tasks.fail(caller, id_, message="no")
                case 3:
                    world.tasks.release(caller, id_)
                case 4:
                    world.tasks.cancel(HUMAN, id_, reason="no")
                case _:
                    world.tasks.retry(HUMAN, id_)

    def crash(self):
        world = self.world()
        world.open(CrashingDisk(self.dice.randrange(12)))
        with suppress(Crash):
            self.command_in(world)
        world.open()

    def command_in(self, world):
        caller = self.dice.choice(AGENTS)
        with world.board.command(caller, makes=True), suppress(DibsError):
            world.tasks.take(caller)

    def lose_index(self):
        with suppress(FileNotFoundError):
            (self.world().path / ".state/board-index.jsonl").unlink()

    def reconcile(self):
        self.world().reconcile()

    def read(self):
        """Read the board, which changes no file."""
        world = self.world()
        before = {path: world.read(path) for path in world.every_file()}
        world.open()
        with world.board.command(HUMAN, reads=True, thorough=self.dice.random() < 0.2):
            pass
        assert {path: world.read(path) for path in world.every_file()} == before

    # -- invariants

    def judge(self):
        for world in self.worlds:
            world.later = 61.0
            for _ in range(3):
                settled = world.reconcile()
            self.judge_files(world, settled)
        self.judge_words()

    def judge_files(self, world, settled):
        rows = world.tasks.stored(world.tasks.versions())
        aside = {f"{v.place}/{v.id}.yaml" for v in settled.aside}
        found = set(world.files())
        assert aside <= found
        for path in found - aside:
            if path.startswith("archive/"):
                self.judge_archived(world, path, rows)
                continue
            row = rows[path.rpartition("/")[2].removesuffix(".yaml")]
            assert path == f"{row.place}/{row.file}"
            assert world.read(path) == row.text
        ids_shown = {path.rpartition("/")[2].removesuffix(".yaml") for path in found}
        assert set(rows) <= ids_shown, "a task has no file at all"

    def judge_archived(self, world, path, rows):
        id_ = path.rpartition("/")[2].removesuffix(".yaml")
        if not path.endswith(".tmp"):
            past = world.tasks.past(id_)
            assert (path, id_ in rows) == (f"{past.place}/{past.file}", False)

    def judge_words(self):
        """Check that each word that someone wrote is in a row, or in a file that is saved or set aside."""
        texts = [row.text for row in self.one.tasks.stored(self.one.tasks.versions()).values()]
        for world in self.worlds:
            for folder, _, names in os.walk(world.path / "work"):
                texts += [Path(folder, name).read_text() for name in names]
        everything = "\n".join(texts)
        missing = [word for word in self.written if f"{word}: by hand" not in everything]
        assert missing == []


@pytest.mark.parametrize("seed", seeds(40))
def test_no_history_loses_a_task_or_a_word(tmp_path, seed):
    history = History(tmp_path, seed)
    for _ in range(40):
        history.step()

    history.judge()


class LossyHistory(History):
    """Also archives tasks and loses the store that both clones share."""

    def __init__(self, path, seed):
        super().__init__(path, seed)
        self.moves += [self.archive, self.archive, self.lose_store]

    def archive(self):
        self.one.clock.advance(40 * 86_400)
        world = self.world()
        with world.board.command(HUMAN, makes=True):
            world.tasks.archive(HUMAN)

    def lose_store(self):
        """Start with an empty store that counts from one, so that numbers of two lives collide."""
        shown = "\n".join(world.read(path) for world in self.worlds for path in world.every_file())
        self.written = {w: id_ for w, id_ in self.written.items() if f"{w}: by hand" in shown}
        fresh = MemoryEngine(self.one.clock)
        for world in self.worlds:
            world.engine = world.store.engine = fresh

    def judge(self):
        for _ in range(2):
            for world in self.worlds:
                world.later = 61.0
                world.reconcile()
        super().judge()


@pytest.mark.parametrize("seed", seeds(40))
def test_no_history_with_lost_stores_loses_a_task_or_a_word(tmp_path, seed):
    history = LossyHistory(tmp_path, seed)
    for _ in range(40):
        history.step()

    history.judge()
