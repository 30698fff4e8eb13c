"""On every shared engine, no two worktrees have the same ports."""

import shutil
import sys
from subprocess import PIPE, Popen

import pytest
from tests.services.clones import HUMAN, Clone, make_repository

from dibs.core.claims.agents import Caller
from dibs.errors import BadInput, NotFound
from dibs.project.project import open_project
from dibs.services.worktrees.service import Removed

PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")


@pytest.fixture(params=["sqlite", "redis", "git"])
def engine(request, tmp_path):
    if request.param == "redis":
        return request.getfixturevalue("redis_url")
    if request.param == "git":
        return f"git:{request.getfixturevalue('git_remote').path}"
    return f"sqlite://{tmp_path}/shared/dibs.db"


def test_clones_that_create_worktrees_concurrently_get_separate_ports(
    engine, tmp_path, monkeypatch
):
    monkeypatch.setenv("DIBS_ENGINE", engine)
    monkeypatch.setenv("DIBS_PROJECT", "shared")
    (tmp_path / "shared").mkdir(mode=0o700)
    roots = [make_repository(tmp_path / name / "repo") for name in ("one", "two")]
    with Popen([*PROGRAM, "init"], cwd=roots[0], stdout=PIPE) as first:
        first.communicate()
    running = [
        Popen([*PROGRAM, "worktree", "new", f"w{number}"], cwd=roots[number % 2], stderr=PIPE)
        for number in range(6)
    ]
    ended = [(process.communicate(), process.returncode) for process in running]
    assert [said for said in ended if said[1]] == []

    slots = []
    for root in roots:
        project = open_project(str(root))
        slots += [tree.row.slot for tree in project.worktrees.all() if tree.row]
        project.close()

    assert sorted(slots) == list(range(6))


def test_each_clone_sees_its_own_worktrees(tmp_path):
    one = Clone(tmp_path / "one/repo")
    other = Clone(tmp_path / "two/repo", engine=one.engine)
    one.new("alice")

    assert [tree.agent for tree in other.worktrees.all()] == [""]
    assert other.worktrees.clean_up(HUMAN) == []


def test_a_deleted_clones_worktree_blocks_no_one(tmp_path):
    one = Clone(tmp_path / "one/repo")
    other = Clone(tmp_path / "two/repo", engine=one.engine)
    for agent in ("alice", "bob"):
        one.new(agent)
    shutil.rmtree(tmp_path / "one")

    made = other.new("alice")
    one.clock.advance(100_000)
    answers = other.worktrees.clean_up(HUMAN)

    assert made.new
    assert "another clone" in made.notes[0]
    assert {answer.row.agent: isinstance(answer, Removed) for answer in answers}["bob"]
    assert [other.new(agent).row.slot for agent in ("carol", "dave")] == [0, 1]


def test_only_a_human_can_forget_a_worktree_on_another_host(tmp_path):
    one = Clone(tmp_path / "one/repo")
    other = Clone(tmp_path / "two/repo", engine=one.engine)
    folder = one.folder("alice", caller=Caller("hugo", "human", "there"))
    (folder / "a").write_text("edited\n")
    agent = Caller("bob", "worker", "here")

    assert other.worktrees.clean_up(HUMAN) == []
    with pytest.raises(BadInput, match="another clone, on there") as refused:
        other.new("alice")
    assert "--force" in refused.value.hint
    with pytest.raises(NotFound, match="another clone, on there"):
        other.rm("alice", caller=agent, force=True)

    assert isinstance(other.rm("alice", force=True), Removed)
    assert other.new("alice").new
    assert (folder / "a").read_text() == "edited\n"
