"""Work logs on disk: one for each attempt, and never over one that an agent wrote."""

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


def test_a_log_lies_in_the_folder_of_whoever_did_it(folders, tmp_path):
    assert log(folders, tmp_path) == f"logs/curator/{NAME}"
    assert "**Task ID:** 2025-11-23T1430-curator-audit" in (
        tmp_path / "work/logs/curator" / NAME
    ).read_text("utf-8")


@pytest.mark.parametrize("name", [NAME, "2025-11-23T1540-curator-audit.md"])
def test_a_log_that_the_agent_wrote_stays_the_only_one(folders, tmp_path, name):
    own = tmp_path / "work/logs/curator" / name
    own.parent.mkdir(parents=True)
    own.write_text("my own words")

    assert log(folders, tmp_path) == ""

    assert own.read_text() == "my own words"
    assert names(tmp_path) == [name]


def test_a_second_time_writes_nothing(folders, tmp_path):
    log(folders, tmp_path)

    assert log(folders, tmp_path) == ""


def test_a_later_attempt_has_a_log_of_its_own(folders, tmp_path):
    log(folders, tmp_path, stored(status="error", error="no disk"))

    log(folders, tmp_path, stored(started=AT + 60), at=AT + 120)

    assert names(tmp_path) == [NAME, "2025-11-23T1547-curator-audit.md"]


def test_two_tasks_of_one_name_and_minute_have_two_logs(folders, tmp_path):
    log(folders, tmp_path)

    log(folders, tmp_path, stored(id="2025-11-22T0900-curator-audit"))

    assert len(names(tmp_path)) == 2


def test_artefacts_are_looked_for_in_the_working_tree(folders, tmp_path):
    (tmp_path / "there.md").touch()
    log(folders, tmp_path, stored(artefacts=("planned.md",), made=("there.md", "not.md")))

    text = (tmp_path / "work/logs/curator" / NAME).read_text("utf-8")

    assert "- ✅ `there.md`\n- ❗️ `not.md`\n- ⚠️ `planned.md`\n" in text


def test_a_task_that_goes_on_has_no_log(folders, tmp_path):
    assert log(folders, tmp_path, stored(status="assigned")) == ""


def test_no_name_of_an_agent_leads_out_of_the_logs(folders, tmp_path):
    with pytest.raises(BadInput):
        log(folders, tmp_path, stored()._replace(doer=".."))


def test_only_the_last_end_of_each_task_counts():
    ends = ended_in([entry("task_failed", AT), entry("task_added"), entry(at=AT + 5)])

    assert {task: end.at for task, end in ends.items()} == {"2025-11-23T1430-curator-audit": AT + 5}
