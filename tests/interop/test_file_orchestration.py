"""Agents that only know files work with ``dibs orchestrate``, as the orchestration document describes.

Agents and people do what the document says, with ``mv``, ``sed``, and an editor. Only the orchestrator is
Dibs.
"""

from __future__ import annotations

import os
import re
import subprocess
from textwrap import dedent

import pytest
from tests.taskfile.test_documents import RESULT

from dibs.cli import main
from dibs.taskfile.reading import read

ADR = "2025-11-23T1700-architect-adr-api"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DIBS_BOARD_ARCHIVE_AFTER", "3650d")  # the example is from 2025


@pytest.fixture
def repo(tmp_path, monkeypatch):
    root = tmp_path / "repo"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def work(repo):
    """The folders of the document, created by people."""
    folder = repo / "work"
    agents = ("architect", "writer-editor", "diagrammer", "curator", "structural")
    for name in ("inbox", *(f"assigned/{agent}" for agent in agents), "done", "archive"):
        (folder / name).mkdir(parents=True)
    return folder


@pytest.fixture
def cycle(work, capsys):
    """Run ``dibs orchestrate`` and return its output."""

    def run(*words):
        status = main(["orchestrate", *words])
        told = capsys.readouterr()
        assert status == 0, told.err
        return told.out

    return run


def sh(script):
    """Run a shell agent's commands."""
    subprocess.run(["sh", "-euc", script], check=True)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def places(work, stem):
    return sorted(str(path.relative_to(work)) for path in work.rglob(f"{stem}.y*ml"))


def task_of(path):
    reading = read(path.read_bytes(), path.name)
    assert reading.task is not None, reading.remarks
    return reading.task


def log_of(work):
    return (work / "collaboration" / "WORKFLOW_LOG.md").read_text("utf-8")


def make_adr(work):
    return put(work / "inbox" / f"{ADR}.yaml", f"""\
        id: {ADR}
        agent: architect
        status: new
        title: "Write ADR-006"
        artefacts:
          - "docs/architecture/adrs/ADR-006.md"
        created_at: "2025-11-23T14:00:00Z"
        created_by: "human"  # who asked
        """)  # fmt: skip


def begin(work, agent, stem, at):
    """Start a task: update the status and add the time, in place."""
    path = f"work/assigned/{agent}/{stem}.yaml"
    sh(f"sed -i 's/^status: assigned/status: in_progress/' {path}")
    sh(f"echo 'started_at: \"{at}\"' >> {path}")


def finish(work, agent, stem, result):
    """Complete a task: the result block, the status, and the move to done."""
    path = f"work/assigned/{agent}/{stem}.yaml"
    with open(path, "a", encoding="utf-8") as file:
        file.write(result)
    sh(f"sed -i 's/^status: in_progress/status: done/' {path}; mv {path} work/done/")


def followers(work, agent, folder):
    return sorted((work / folder).glob(f"*-{agent}-*.yaml"))


def do_adr(work, cycle):
    make_adr(work)
    cycle()
    begin(work, "architect", ADR, "2025-11-23T15:00:00Z")
    cycle()
    finish(work, "architect", ADR, RESULT)


# -- assignment


def test_a_new_task_is_assigned_to_the_agent_it_names(work, cycle):
    make_adr(work)

    said = cycle()

    assert said.startswith(
        "Coordinator cycle: 1 assigned, 0 follow-ups, 0 timeouts, 0 conflicts, 0 archived"
    )
    assert places(work, ADR) == [f"assigned/architect/{ADR}.yaml"]
    text = (work / "assigned/architect" / f"{ADR}.yaml").read_text()
    assert "status: assigned\n" in text
    assert re.search(r"^assigned_at: \"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text, re.MULTILINE)
    assert 'created_by: "human"  # who asked\n' in text


def test_dependencies_are_checked_before_a_task_is_assigned(work, cycle):
    make_adr(work)
    later = "2025-11-23T1710-diagrammer-picture"
    put(work / "inbox" / f"{later}.yaml", f"""\
        id: {later}
        agent: diagrammer
        status: new
        artefacts: ["docs/picture.puml"]
        context:
          dependencies:
            - {ADR}
        """)  # fmt: skip
    cycle()
    cycle()

    assert places(work, later) == [f"inbox/{later}.yaml"]


# -- the handoff of the document


def test_the_documents_handoff_is_created_as_shown(work, cycle):
    do_adr(work, cycle)

    said = cycle()

    assert "1 follow-ups" in said
    (path,) = followers(work, "writer-editor", "inbox")
    assert path.stem.startswith("2025-11-23T1545-writer-editor-")
    task = task_of(path)
    assert (task.id, task.agent, task.status) == (path.stem, "writer-editor", "new")
    text = path.read_text()
    for line in (
        'title: "Review and polish ADR-006"',
        '- "docs/architecture/adrs/ADR-006.md"',
        '- "Check for clarity"',
        '- "Ensure examples are understandable"',
        f'- "Created by architect as handoff from task {ADR}"',
        f"- {ADR}",
        'created_at: "2025-11-23T15:45:00Z"',
        'created_by: "architect"',
    ):
        assert line.replace('"', "") in text.replace('"', "").replace("'", "")
    assert task.dependencies == (ADR,)


def test_handoffs_go_from_architect_to_writer_editor_to_diagrammer_and_end(work, cycle):
    do_adr(work, cycle)
    cycle()
    cycle()
    (second,) = followers(work, "writer-editor", "assigned/writer-editor")
    begin(work, "writer-editor", second.stem, "2025-11-23T16:00:00Z")
    cycle()
    finish(work, "writer-editor", second.stem, dedent("""\
        result:
          summary: "Polished"
          artefacts: ["docs/architecture/adrs/ADR-006.md"]
          next_agent: diagrammer
          next_task_title: "Draw ADR-006"
          next_artefacts: ["docs/architecture/ADR-006.puml"]
          completed_at: "2025-11-23T17:00:00Z"
        """))  # fmt: skip
    cycle()
    cycle()
    (third,) = followers(work, "diagrammer", "assigned/diagrammer")
    begin(work, "diagrammer", third.stem, "2025-11-23T17:10:00Z")
    cycle()
    finish(work, "diagrammer", third.stem, dedent("""\
        result:
          summary: "Drawn"
          artefacts: ["docs/architecture/ADR-006.puml"]
          completed_at: "2025-11-23T18:00:00Z"
        """))  # fmt: skip
    for _ in range(3):
        cycle()

    assert sorted(path.stem for path in (work / "done").iterdir()) == sorted(
        [ADR, second.stem, third.stem]
    )
    assert list((work / "inbox").glob("*.yaml")) == []
    assert not (work / "collaboration" / "set-aside").exists()
    blocks = (work / "collaboration/HANDOFFS.md").read_text("utf-8").split("\n## ")[1:]
    assert [block.splitlines()[0].partition(" - ")[2] for block in blocks] == [
        "architect → writer-editor",
        "writer-editor → diagrammer",
    ]


def test_a_handoff_is_created_only_once(work, cycle):
    do_adr(work, cycle)

    for _ in range(4):
        cycle()

    assert len(places(work, "2025-11-23T1545-writer-editor-*")) == 1
    assert (work / "collaboration/HANDOFFS.md").read_text("utf-8").count("\n## ") == 1


# -- the curator's operating procedure


def test_the_curators_operating_procedure_works_with_mv_and_an_editor_alone(work, cycle):
    stem = "2025-11-23T1430-curator-audit"
    put(work / "inbox" / f"{stem}.yaml", f"""\
        id: {stem}
        agent: curator
        status: new
        artefacts:
          - work/curator/discrepancies.md
        """)  # fmt: skip
    cycle()

    # Poll `work/assigned/curator/` for tasks with `status: assigned`
    sh(
        f'test "$(grep -l "^status: assigned" work/assigned/curator/*)" = work/assigned/curator/{stem}.yaml'
    )
    # Update status to `in_progress` when starting work
    sh(f"sed -i 's/^status: .*/status: in_progress/' work/assigned/curator/{stem}.yaml")
    sh(f"echo started_at: $(date -u +%Y-%m-%dT%H:%M:%SZ) >> work/assigned/curator/{stem}.yaml")
    cycle()
    # Write discrepancy reports to `work/curator/`
    put(work / "curator" / "discrepancies.md", "none\n")
    # Update task with `result` block and move to `work/done/`
    sh(f"""
        cat >> work/assigned/curator/{stem}.yaml <<END
result:
  summary: No discrepancies
  artefacts:
    - work/curator/discrepancies.md
  completed_at: $(date -u +%Y-%m-%dT%H:%M:%SZ)
END
        sed -i 's/^status: .*/status: done/' work/assigned/curator/{stem}.yaml
        mv work/assigned/curator/{stem}.yaml work/done/
    """)
    # Create work log in `work/logs/` documenting approach
    own = put(work / "logs" / "curator" / f"{stem}.md", "my approach\n")
    cycle()

    assert places(work, stem) == [f"done/{stem}.yaml"]
    assert task_of(work / "done" / f"{stem}.yaml").summary == "No discrepancies"
    assert [path.read_text() for path in (work / "logs" / "curator").iterdir()] == ["my approach\n"]
    assert own.exists()
    assert f"{stem}" in log_of(work)


# -- validation


def test_a_file_that_breaks_a_rule_of_the_document_is_set_aside_and_stays(work, cycle):
    stems = {
        "2025-11-23T1430-curator-a": ("done", "status: new"),
        "2025-11-23T1430-curator-b": ("inbox", "status: nonsense"),
        "2025-11-23T1430-curator-c": ("assigned/structural", "status: assigned"),
    }
    for stem, (place, status) in stems.items():
        put(work / place / f"{stem}.yaml", f"id: {stem}\nagent: curator\n{status}\nartefacts: []\n")
    put(
        work / "inbox/2025-11-23T1430-curator-d.yaml",
        "id: another\nagent: curator\nstatus: new\nartefacts: []\n",
    )

    said = cycle()

    assert "4 set aside" in said
    aside = (work / "collaboration/SET_ASIDE.md").read_text("utf-8")
    for stem, (place, _) in stems.items():
        assert places(work, stem) == [f"{place}/{stem}.yaml"]
        assert stem in aside


def test_an_invalid_file_is_accepted_once_it_is_fixed(work, cycle):
    stem = "2025-11-23T1430-structural-repomap"
    path = put(work / "inbox" / f"{stem}.yaml", f"id: {stem}\nagent: structural\nstatus: neww\n")
    cycle()

    sh(f"sed -i 's/neww/new/' {path}")
    cycle()

    assert places(work, stem) == [f"assigned/structural/{stem}.yaml"]


def test_an_agents_name_matches_its_folder_and_cannot_escape_it(work, cycle):
    stem = "2025-11-23T1430-curator-escape"
    put(work / "inbox" / f"{stem}.yaml", f'id: {stem}\nagent: ".."\nstatus: new\n')

    cycle()

    assert places(work, stem) == [f"inbox/{stem}.yaml"]


# -- troubleshooting


def old_task(work, status, extra=""):
    stem = "2025-11-23T1430-curator-slow"
    path = put(work / "assigned/curator" / f"{stem}.yaml", f"""\
        id: {stem}
        agent: curator
        status: {status}
        artefacts: []
        created_at: "2025-11-23T14:30:00Z"
        assigned_at: "2025-11-23T14:31:00Z"
        """)  # fmt: skip
    with path.open("a") as file:
        file.write(extra)
    return stem


@pytest.mark.parametrize(
    ("status", "extra"),
    [("assigned", ""), ("in_progress", 'started_at: "2025-11-23T14:32:00Z"\n')],
)
def test_a_stuck_task_is_logged_once(work, cycle, status, extra):
    stem = old_task(work, status, extra)

    first, second = cycle(), cycle()

    assert "1 timeouts" in first
    assert "0 timeouts" in second
    told = [
        line for line in log_of(work).splitlines() if stem in line and f"has been {status}" in line
    ]
    assert len(told) == 1
    assert places(work, stem) == [f"assigned/curator/{stem}.yaml"]


def test_a_handoff_to_an_agent_without_a_folder_is_created_at_once(work, cycle):
    sh("rmdir work/assigned/writer-editor")
    do_adr(work, cycle)

    assert "1 follow-ups" in cycle()

    (path,) = followers(work, "writer-editor", "inbox")
    cycle()
    assert followers(work, "writer-editor", "assigned/writer-editor")[0].name == path.name


def test_a_second_cycle_changes_nothing(work, cycle, repo):
    do_adr(work, cycle)
    for _ in range(3):
        cycle()
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    stamps = {path: path.stat().st_mtime_ns for path in work.rglob("*")}

    cycle()

    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before
    assert {path: path.stat().st_mtime_ns for path in work.rglob("*")} == stamps
