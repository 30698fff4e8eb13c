"""Work logs on disk: one per attempt, never overwriting one that an agent wrote."""

from __future__ import annotations

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


def entry(kind="task_completed", at=AT, task="2025-11-23T1430-curator-audit"):
    return Entry(9, at, "curator", "agent", kind, "done", {"task": task})


def stored(**changes):
    task = Task(
        "2025-11-23T1430-curator-audit", "done", "curator", "Audit", started=AT - 600
    )._replace(**changes)
    return Stored(task, f"{task.id}.yaml", "done", "", 9, doer="curator")


def log(folders, tmp_path, one=None, at=AT):
    return write_log(folders, str(tmp_path), one or stored(), entry(at=at), [])


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

    log(folders, tmp_path, stored(started=AT + 60), at=AT + 120)

    assert names(tmp_path) == [NAME, "2025-11-23T1547-curator-audit.md"]


def test_two_tasks_with_the_same_name_and_minute_have_two_logs(folders, tmp_path):
    log(folders, tmp_path)

    log(folders, tmp_path, stored(id="2025-11-22T0900-curator-audit"))

    assert len(names(tmp_path)) == 2


def test_artefacts_are_looked_for_in_the_working_tree(folders, tmp_path):
    (tmp_path / "there.md").touch()
    log(folders, tmp_path, stored(artefacts=("planned.md",), made=("there.md", "not.md")))

    text = (tmp_path / "work/logs/curator" / NAME).read_text("utf-8")

    assert "- ✅ `there.md`\n- ❗️ `not.md`\n- ⚠️ `planned.md`\n" in text


def test_a_task_in_progress_has_no_log(folders, tmp_path):
    assert log(folders, tmp_path, stored(status="assigned")) == ""


def test_no_agent_name_escapes_the_logs_folder(folders, tmp_path):
    with pytest.raises(BadInput):
        log(folders, tmp_path, stored()._replace(doer=".."))


def test_only_the_last_ending_of_each_task_counts():
    ends = ended_in([entry("task_failed", AT), entry("task_added"), entry(at=AT + 5)])

    assert {task: end.at for task, end in ends.items()} == {"2025-11-23T1430-curator-audit": AT + 5}
