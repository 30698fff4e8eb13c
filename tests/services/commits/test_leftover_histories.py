"""Random histories of agents and a person in one tree: no acknowledged line is lost, no author unnamed."""

from __future__ import annotations

import os
import random

import pytest
from tests.services.commit_world import ALICE, BOB, CAROL, World

from dibs.core.changes.trailers import authors_in
from dibs.core.claims.rules import Granted
from dibs.errors import NotFound
from dibs.services.commits.values import Committed

pytestmark = pytest.mark.usefixtures("own_git")

LONG = os.environ.get("DIBS_PROOF") == "long"
SEEDS = range(60 if LONG else 5)
STEPS = 80 if LONG else 30
AGENTS = (ALICE, BOB, CAROL)
PATHS = ("one", "two")
PERSON = ""


class History:
    """What each writer did, and what must be on the branch for that."""

    def __init__(self, world, seed, *, people):
        self.world, self.chance, self.people = world, random.Random(seed), people
        self.count = 0
        self.author: dict[str, str] = {}
        self.remover: dict[str, str] = {}
        self.acknowledged: set[str] = set()
        self.refused = self.second = 0

    def step(self):
        acts = [self.work, self.work, self.work, self.release, self.commit]
        acts += [self.person_edits, self.person_commits] if self.people else []
        self.chance.choice(acts)(self.chance.choice(AGENTS), self.chance.choice(PATHS))
        self.check()

    def disk(self, path):
        return self.world.read(path).splitlines()

    def head(self, path):
        return self.world.git("show", f"HEAD:{path}").splitlines()

    def edit(self, who, path):
        """Add one to three lines, or replace one."""
        lines = self.disk(path)
        for _ in range(self.chance.randint(1, 3)):
            self.count += 1
            line = f"{who or 'person'} {self.count}"
            self.author[line] = who
            at = self.chance.randrange(len(lines) + 1)
            if self.chance.random() < 0.3 and at < len(lines):
                self.remover[lines[at]] = who
                lines[at] = line
            else:
                lines.insert(at, line)
        self.world.put(path, "".join(f"{line}\n" for line in lines))

    def work(self, agent, path):
        if isinstance(self.world.claim(agent, path), Granted):
            self.edit(agent.id, path)

    def release(self, agent, path):
        if isinstance(self.world.claim(agent, path), Granted):
            self.world.project.holdings.release(agent, [self.world.project.tree.resolve(path)])

    def person_edits(self, _, path):
        self.edit(PERSON, path)

    def person_commits(self, _, path):
        self.world.git("commit", "-q", "--allow-empty", "-m", "person", "--", path)
        self.acknowledged.update(self.disk(path))

    def commit(self, agent, path):
        if not isinstance(self.world.claim(agent, path), Granted):
            return
        head, disk = self.head(path), self.disk(path)
        foreign = {self.author.get(line, PERSON) for line in {*disk} - {*head}}
        foreign |= {self.remover.get(line, PERSON) for line in {*head} - {*disk}}
        foreign -= {PERSON, agent.id}
        try:
            answer = self.world.commit(agent, paths=[path])
        except NotFound:
            assert head == disk
            return
        assert isinstance(answer, Committed) or answer.code == "INHERITED", answer
        assert self.people or isinstance(answer, Committed) == (not foreign), (answer, foreign)
        named = set()
        if not isinstance(answer, Committed):
            self.refused += 1
            assert self.head(path) == head
            named = {stop.holder for stop in answer.blocked}
            answer = self.world.commit(agent, paths=[path], inherited=True)
            assert isinstance(answer, Committed), answer
            self.second += 1
        trailers = {*authors_in(self.world.git("log", "-1", "--format=%B"))}
        assert foreign <= trailers == named
        assert self.people or foreign == trailers
        assert self.head(path) == disk
        self.acknowledged.update(disk)

    def check(self):
        """Check that no acknowledged line is lost that nobody removed."""
        there = {line for path in PATHS for line in self.head(path)}
        assert self.acknowledged - self.remover.keys() <= there


def run(tmp_path, seed, *, people, engine=""):
    world = World(tmp_path / "tree", engine=engine)
    for path in PATHS:
        world.put(path, "".join(f"{path} {number}\n" for number in range(6)))
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "files")
    history = History(world, seed, people=people)
    for path in PATHS:
        history.acknowledged.update(history.disk(path))
    for _ in range(STEPS):
        history.step()
    assert history.second == history.refused, "the second attempt always succeeds"
    return history


@pytest.mark.parametrize("people", [False, True], ids=["agents", "people"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_acknowledged_line_is_lost_in_a_random_history(tmp_path, seed, people):
    run(tmp_path, seed, people=people)


@pytest.mark.parametrize("name", ["redis", "postgres", "git"])
def test_no_acknowledged_line_is_lost_on_any_engine(request, tmp_path, name):
    if name == "git":
        engine = f"git:{request.getfixturevalue('git_remote').path}"
    else:
        engine = request.getfixturevalue(f"{name}_url")
    run(tmp_path, 7, people=True, engine=engine)
