"""Each way in which another agent's uncommitted lines land, or do not, on every engine."""

from __future__ import annotations

import os

import pytest
from tests.services.commit_world import ALICE, BOB, CAROL, World

from dibs.core.changes.trailers import authors_in
from dibs.guard.git.install import GitHooks
from dibs.services.commits.values import CommitDenied

pytestmark = pytest.mark.usefixtures("own_git")

LINES = tuple(f"line {number}" for number in range(1, 13))


class Story:
    """One file of a shared working tree in which alice leaves lines, and bob works afterwards."""

    def __init__(self, world, path):
        self.world, self.path = world, path

    def text(self, *more, after=5):
        """Return the first content with lines added in the middle, and others at the end."""
        middle = [line for line in more if not line.startswith("end")]
        end = [line for line in more if line.startswith("end")]
        return "".join(f"{line}\n" for line in (*LINES[:after], *middle, *LINES[after:], *end))

    def leave(self, agent, *lines):
        self.world.leave(agent, self.path, self.text(*lines))

    def bob_edits(self, *lines):
        self.world.claim(BOB, self.path)
        self.world.put(self.path, self.text(*lines))

    def landed(self, path=""):
        return self.world.git("show", f"HEAD:{path or self.path}").splitlines()

    def has_landed(self, *lines):
        """Check that bob's commit succeeds and names nobody, and that all these lines are in it."""
        before = self.landed()
        answer = self.world.commit(BOB, paths=[self.path])
        assert not isinstance(answer, CommitDenied), answer
        if os.path.lexists(os.path.join(self.world.root, self.path)):
            assert {*before, *lines} <= {*self.landed()}, "no landed line is removed"
        assert (self.authors(), self.world.left(self.path)) == ((), [])
        self.world.project.holdings.release(BOB, [])

    def is_refused(self, *authors, path=""):
        """Check that bob's commit is refused, names these authors, and succeeds at the second attempt."""
        path = path or self.path
        head = self.world.head()
        answer = self.world.commit(BOB, paths=[path])
        assert isinstance(answer, CommitDenied), answer
        assert (answer.code, self.world.head()) == ("INHERITED", head)
        assert [(b.path, b.holder) for b in answer.blocked] == [(path, who) for who in authors]
        self.world.committed(BOB, paths=[path], inherited=True)
        assert self.authors() == tuple(sorted({*authors}))
        assert self.world.left(path) == []
        self.world.project.holdings.release(BOB, [])

    def authors(self):
        return authors_in(self.world.git("log", "-1", "--format=%B"))


def by_nobody(story):
    story.leave(ALICE, "alice 1")
    story.bob_edits("alice 1", "end bob")
    story.is_refused("alice")
    assert {"alice 1", "end bob"} <= {*story.landed()}


def in_a_chain(story):
    story.leave(ALICE, "alice 1")
    story.leave(CAROL, "alice 1", "carol 1")
    story.leave(ALICE, "alice 1", "carol 1", "alice 2")
    story.bob_edits("alice 1", "carol 1", "alice 2", "end bob")
    story.is_refused("alice", "carol", "alice")
    assert {"alice 1", "carol 1", "alice 2", "end bob"} <= {*story.landed()}


def by_a_person(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(BOB, story.path)
    by_hand(story.world, "commit", "-q", "-m", "person", "--", story.path)
    story.bob_edits("alice 1", "end bob")
    story.has_landed("alice 1", "end bob")


def among_a_persons_edits(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(BOB, story.path)
    story.world.put(story.path, story.text("person 1", "alice 1", "end person"))
    by_hand(story.world, "commit", "-q", "-m", "person", "--", story.path)
    story.bob_edits("person 1", "alice 1", "end person", "end bob")
    story.has_landed("person 1", "alice 1", "end person", "end bob")


def by_an_agents_plain_commit(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(CAROL, story.path)
    with pytest.MonkeyPatch.context() as carol:
        carol.setenv("DIBS_AGENT", "carol")
        for check in (False, True):  # the hook refuses once, and shows alice's lines
            story.world.git(
                "commit", "-q", "--allow-empty", "-m", "carol", "--", story.path, check=check
            )
    story.world.project.holdings.release(CAROL, [])
    story.world.put(story.path, story.text("alice 1", "end person"))
    story.bob_edits("alice 1", "end person", "end bob")
    story.has_landed("alice 1", "end bob")


def in_part(story):
    story.leave(ALICE, "alice 1", "alice 2")
    story.world.claim(BOB, story.path)
    story.world.put(story.path, story.text("alice 1"))
    by_hand(story.world, "commit", "-q", "-m", "person", "--", story.path)
    story.bob_edits("alice 1", "alice 2", "end bob")
    story.is_refused("alice")
    assert {"alice 1", "alice 2", "end bob"} <= {*story.landed()}


def elsewhere(story, *lines):
    """Commit a version of the file on a branch in another working tree; return the branch."""
    name = f"side-{story.path}"
    tree = f"{story.world.root}-{name}"
    story.world.git("worktree", "add", "-q", "-b", name, tree)
    with open(os.path.join(tree, story.path), "w", encoding="utf-8") as file:
        file.write(story.text(*lines))
    by_hand(story.world, "-C", tree, "commit", "-q", "-am", "side")
    return name


def by_a_merge(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(BOB, story.path)
    side = elsewhere(story, "alice 1", "end side")
    story.world.git("stash", "push", "-q", "--", story.path)
    by_hand(story.world, "merge", "-q", "--no-ff", "-m", "merge", side)
    story.world.git("stash", "drop", "-q")
    story.bob_edits("alice 1", "end side", "end bob")
    story.has_landed("alice 1", "end side", "end bob")


def by_a_rebase(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(BOB, story.path)
    side = elsewhere(story, "alice 1", "end side")
    by_hand(story.world, "commit", "-q", "--allow-empty", "-m", "person")
    story.world.git("stash", "push", "-q", "--", story.path)
    by_hand(story.world, "rebase", "-q", side)
    story.world.git("stash", "drop", "-q")
    story.bob_edits("alice 1", "end side", "end bob")
    story.has_landed("alice 1", "end side", "end bob")


def they_are_gone(story):
    story.leave(ALICE, "alice 1")
    story.bob_edits("end bob")
    story.has_landed("end bob")


def in_a_renamed_file(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(BOB, story.path, f"{story.path}-moved")
    place = os.path.join(story.world.root, story.path)
    os.rename(place, f"{place}-moved")
    story.is_refused("alice", path=f"{story.path}-moved")
    assert "alice 1" in story.landed(f"{story.path}-moved")
    story.world.claim(BOB, story.path)
    story.has_landed()


def in_a_deleted_file(story):
    story.leave(ALICE, "alice 1")
    story.world.claim(BOB, story.path)
    story.world.remove(story.path)
    story.is_refused("alice")


def in_a_binary_file(story):
    story.world.leave(ALICE, story.path, b"\0alice")
    story.world.claim(BOB, story.path)
    story.world.put(story.path, b"\0alice and bob")
    story.is_refused("alice")


def in_an_ignored_file(story):
    ignored = Story(story.world, f"{story.path}.env")
    with open(os.path.join(story.world.root, ".git/info/exclude"), "a", encoding="utf-8") as file:
        file.write("*.env\n")
    ignored.leave(ALICE, "alice 1")
    ignored.bob_edits("alice 1", "end bob")
    story.world.git("add", "-f", ignored.path)
    ignored.is_refused("alice")
    assert {"alice 1", "end bob"} <= {*ignored.landed()}


ROUTES = [
    by_nobody, in_a_chain, by_a_person, among_a_persons_edits, by_an_agents_plain_commit, in_part, by_a_merge,
    by_a_rebase, they_are_gone, in_a_renamed_file, in_a_deleted_file, in_a_binary_file, in_an_ignored_file,
]  # fmt: skip


def by_hand(world, *words):
    """Run git as a person with a program that runs no hooks."""
    world.git("-c", "core.hooksPath=/dev/null", *words)


def prepared(tmp_path, engine=""):
    """Return a world with one committed file for each story."""
    world = World(tmp_path / "tree", engine=engine)
    for route in ROUTES:
        world.put(route.__name__, "".join(f"{line}\n" for line in LINES))
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "files")
    return world


@pytest.mark.parametrize("hooks", [False, True], ids=["alone", "hooks"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_lines_that_another_agent_left(tmp_path, route, hooks):
    world = prepared(tmp_path)
    if hooks:
        here = world.project.place.repository
        GitHooks(here.common, here.state).install()
    route(Story(world, route.__name__))


@pytest.fixture(params=["redis", "postgres", "git"])
def engine(request):
    if request.param == "git":
        return f"git:{request.getfixturevalue('git_remote').path}"
    return request.getfixturevalue(f"{request.param}_url")


def test_lines_that_another_agent_left_on_every_engine(tmp_path, engine):
    world = prepared(tmp_path, engine)
    for route in ROUTES:
        route(Story(world, route.__name__))
