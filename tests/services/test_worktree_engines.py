"""On every engine that clones share, no two worktrees have the same ports."""

import sys
from subprocess import PIPE, Popen

import pytest
from tests.services.clones import HUMAN, Clone, make_repository

from dibs.project import open_project

PROGRAM = (sys.executable, "-c", "from dibs.cli import program; program()")


@pytest.fixture(params=["sqlite", "redis", "git"])
def engine(request, tmp_path):
    if request.param == "redis":
        return request.getfixturevalue("redis_url")
    if request.param == "git":
        return f"git:{request.getfixturevalue('git_remote').path}"
    return f"sqlite://{tmp_path}/shared/dibs.db"


def test_clones_that_make_worktrees_at_once_get_ports_of_their_own(engine, tmp_path, monkeypatch):
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
