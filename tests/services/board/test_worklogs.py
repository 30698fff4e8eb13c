"""Work logs on disk: one per attempt, never overwriting one that an agent wrote."""

from __future__ import annotations

import os

import pytest

from dibs.core.claims.ledger import Entry
from dibs.core.tasks.rules import Task
from dibs.errors import BadInput
from dibs.services.board.worklogs import ended_in, write_log
from dibs.services.state.tasks import Stored
from dibs.workdir.disk import Disk, Folders

#: 2025-11-23 15:45:00 UTC.
AT = 1_763_912_700.0
NAME = "2025-11-23T1545-curator-audit.md"


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "work").mkdir()
    return Folders(str(tmp_path), "work", Disk())


def entry(kind="task_completed", at=AT, task="2025-11-23T1430-curator-audit", attempt=1):
    return Entry(9, at, "curator", "agent", kind, "done", {"task": task, "attempt": attempt})


def stored(attempt=1, **changes):
    task = Task(
        "2025-11-23T1430-curator-audit", "done", "curator", "Audit", started=AT - 600
    )._replace(**changes)
    return Stored(task, f"{task.id}.yaml", "done", "", 9, attempt, doer="curator")


def log(folders, tmp_path, one=None, at=AT, steps=()):
    return write_log(folders, str(tmp_path), one or stored(), entry(at=at), steps)


def names(tmp_path):
    return sorted(path.name for path in (tmp_path / "work/logs/curator").iterdir())


def test_a_log_is_in_the_folder_of_its_agent(folders, tmp_path):
    assert log(folders, tmp_path) == f"logs/curator/{NAME}"
    assert "**Task ID:** 2025-11-23T1430-curator-audit" in (
        tmp_path / "work/logs/curator" / NAME
    ).read_text("utf-8")


@pytest.mark.parametrize("name", [NAME, "2025-11-23T1540-curator-audit.md"])
def test_an_agents_own_log_stays_the_only_one(folders, tmp_path, name):
    own = tmp_path / "work/logs/curator" / name
    own.parent.mkdir(parents=True)
    own.write_text("my own words")

    assert log(folders, tmp_path) == ""

    assert own.read_text() == "my own words"
    assert names(tmp_path) == [name]


def test_writing_a_log_again_does_nothing(folders, tmp_path):
    log(folders, tmp_path)

    assert log(folders, tmp_path) == ""


def test_a_later_attempt_has_its_own_log(folders, tmp_path):
    log(folders, tmp_path, stored(status="error", error="no disk"))

    log(folders, tmp_path, stored(2, started=AT + 60), at=AT + 120)

    assert names(tmp_path) == [NAME, "2025-11-23T1547-curator-audit.md"]


@pytest.mark.parametrize("ahead", [60.0, 5 * 3600.0, 3 * 365 * 86_400.0])
def test_a_clock_that_runs_ahead_duplicates_no_log(folders, tmp_path, ahead):
    one = stored(started=AT + ahead, completed=AT + ahead)

    for _ in range(4):
        log(folders, tmp_path, one)

    assert names(tmp_path) == [NAME]
    assert "**Duration:** 0 min" in (tmp_path / "work/logs/curator" / NAME).read_text("utf-8")


def test_an_agents_own_log_of_an_earlier_attempt_does_not_count_for_the_next(folders, tmp_path):
    own = tmp_path / "work/logs/curator" / NAME
    own.parent.mkdir(parents=True)
    own.write_text("my own words")
    os.utime(own, (AT - 5, AT - 5))
    failed = entry("task_failed")

    log(folders, tmp_path, stored(2), at=AT + 30, steps=[failed])

    assert names(tmp_path) == ["2025-11-23T1545-curator-audit-2.md", NAME]


def test_an_agents_own_log_may_be_directly_in_the_logs_folder(folders, tmp_path):
    own = tmp_path / "work/logs" / NAME
    own.parent.mkdir(parents=True)
    own.write_text("my own words")

    assert log(folders, tmp_path) == ""


def test_a_log_that_someone_writes_at_the_same_moment_is_not_overwritten(tmp_path):
    class Rival(Disk):
        def reach(self, step, name):
            if step == "sync":  # after the check whether the name is free
                (tmp_path / "work/logs/curator" / NAME).write_text("theirs")

    (tmp_path / "work").mkdir()

    log(Folders(str(tmp_path), "work", Rival()), tmp_path)

    assert names(tmp_path) == ["2025-11-23T1545-curator-audit-2.md", NAME]


def test_artefacts_are_looked_for_in_the_working_tree(folders, tmp_path):
    (tmp_path / "there.md").touch()
    log(folders, tmp_path, stored(artefacts=("planned.md",), made=("there.md", "not.md")))

    text = (tmp_path / "work/logs/curator" / NAME).read_text("utf-8")

    assert "- ✅ `there.md`\n- ❗️ `not.md`\n- ⚠️ `planned.md`\n" in text


def test_no_agent_name_escapes_the_logs_folder(folders, tmp_path):
    with pytest.raises(BadInput):
        log(folders, tmp_path, stored()._replace(doer=".."))


def test_only_the_last_ending_of_each_task_counts():
    ends = ended_in([entry("task_failed", AT), entry("task_added"), entry(at=AT + 5)])

    assert {task: end.at for task, end in ends.items()} == {"2025-11-23T1430-curator-audit": AT + 5}
