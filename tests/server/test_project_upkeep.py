"""Jobs with effects outside the store: once for several servers, and only if there is something to do."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.test_jobs import clone, entries, own_git
from tests.services.guards import GIT

from dibs.core.claims.agents import Caller
from dibs.project.location import locate
from dibs.project.project import open_at
from dibs.server.jobs import upkeep
from dibs.services.salvage.entries import listed
from dibs.services.salvage.files import keep
from dibs.services.salvage.retention import expire_copies
from dibs.services.schedule.leases import Leases
from dibs.services.tasks.values import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dibs.project.project import Project

__all__ = ["own_git"]
ADA = Caller("ada", "human")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    made: list[Project] = []

    def project(settings: str = "", name: str = "repo") -> Project:
        made.append(open_at(locate(str(clone(tmp_path / name, settings)))))
        return made[-1]

    yield project
    for one in made:
        one.close()


def git(project: Project, *words: str) -> str:
    root = project.place.repository.root
    ran = subprocess.run([*GIT, *words], cwd=root, check=True, capture_output=True, text=True)
    return ran.stdout.strip()


# -- copies of work


def save_copy(project: Project, agent: str, text: str) -> str:
    repository = project.place.repository
    with open(f"{repository.root}/README.md", "w", encoding="utf-8") as file:
        file.write(text)
    return keep(repository.root, repository, agent, ["README.md"], at=time.time(), about="a test")


def make_old(project: Project, ref: str, days: int) -> None:
    commit = git(project, "rev-parse", ref)
    at = f"@{int(time.time() - days * 86_400)} +0000"
    tree, parent = git(project, "rev-parse", f"{ref}^{{tree}}"), git(project, "rev-parse", "HEAD")
    made = subprocess.run(
        [*GIT, "commit-tree", "-p", parent, "-m", "salvage: old", tree],
        cwd=project.place.repository.root, check=True, capture_output=True, text=True,
        env={"GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at, "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )  # fmt: skip
    git(project, "update-ref", ref, made.stdout.strip(), commit)


def copies(project: Project) -> set[str]:
    return {one.ref for one in listed(project.salvage.calls())}


def test_copies_are_kept_forever_unless_the_project_says_otherwise(opened: Any) -> None:
    project = opened()
    ref = save_copy(project, "ann", "one")
    make_old(project, ref, 4_000)
    upkeep.expire_salvage(project)
    assert copies(project) == {ref}


def test_copies_older_than_the_project_keeps_them_are_deleted(opened: Any) -> None:
    project = opened('[salvage]\nkeep = "30d"\n')
    old, new = save_copy(project, "ann", "one"), save_copy(project, "bob", "two")
    make_old(project, old, 31)
    make_old(project, new, 29)
    upkeep.expire_salvage(project)
    assert copies(project) == {new}
    (entry,) = entries(project, "salvage_expired")
    assert entry.details["copies"] == [old.removeprefix("refs/salvage/")]
    upkeep.expire_salvage(project)
    assert len(entries(project, "salvage_expired")) == 1


def test_a_copy_that_the_next_owner_must_see_stays(opened: Any) -> None:
    from dibs.core.patterns.pattern import parse
    from dibs.services.state.sessions import UnfinishedFile, put_left

    project = opened('[salvage]\nkeep = "1s"\n')
    ref = save_copy(project, "ann", "one")
    make_old(project, ref, 31)
    left = UnfinishedFile("README.md", "ann", 1.0, salvage=ref)
    project.store.apply(lambda rows: put_left(rows, parse("README.md"), left))
    assert expire_copies(project.store, project.salvage.calls()) == []
    young = save_copy(project, "bob", "two")
    make_old(project, young, 0)
    assert expire_copies(project.store, project.salvage.calls()) == []  # at least a day


# -- the board


def with_task(project: Project) -> Project:
    project.tasks.create(ADA, [Draft({"title": "one", "agent": "ann"}, id="t1")])
    return project


def led_by(project: Project) -> str:
    from dibs.services.state.deadlines import job

    found = project.store.look(lambda rows: job(rows, upkeep.BOARD))
    return found["owner"] if found else ""


def test_a_project_without_tasks_gets_no_board(opened: Any) -> None:
    project = opened()
    assert upkeep.BoardCycle().run(project) is None
    assert not project.board.begun()
    assert led_by(project) == ""


def test_of_several_servers_one_runs_the_board(opened: Any) -> None:
    project = with_task(opened())
    assert Leases(project.store, "another server").lead(upkeep.BOARD, 60.0)
    cycle = upkeep.BoardCycle()
    cycle.run(project)
    assert not entries(project, "task_assigned")
    Leases(project.store, "another server").done(upkeep.BOARD)
    cycle = upkeep.BoardCycle()
    cycle.run(project)
    assert entries(project, "task_assigned")
    cycle.stop(project)
    assert led_by(project) == ""


# -- the forecast


def test_agents_whose_worktrees_would_conflict_are_warned_once(opened: Any, tmp_path: Path) -> None:
    project = opened()
    watch = upkeep.ForecastWatch()
    watch.run(project)
    assert not entries(project, "conflict_forecast")
    for name in ("ann", "bob"):
        git(project, "worktree", "add", "-q", "-b", name, str(tmp_path / name))
        (tmp_path / name / "README.md").write_text(f"by {name}")
        subprocess.run([*GIT, "commit", "-qam", name], cwd=tmp_path / name, check=True)
    project.agents.beat(Caller("ann"))
    watch.run(project)
    assert len(entries(project, "conflict_forecast")) == 1
    folder = len(project.ledger.newest(_everything(), 1_000))
    watch.run(project)
    assert len(project.ledger.newest(_everything(), 1_000)) == folder


def _everything() -> Any:
    from dibs.services.state.ledger import Query

    return Query()
