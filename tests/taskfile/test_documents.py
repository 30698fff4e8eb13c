"""The examples of the document that asks for the board, word for word."""

from textwrap import indent

from dibs.core.tasks.rules import Handoff, Status, Task
from dibs.taskfile.reading import read
from dibs.taskfile.writing import changes_for, edit, render

SOURCE = "2025-11-23T1700-architect-adr-api"
FOLLOWER = "2025-11-23T1545-writer-editor-adr-review"
ADR = "docs/architecture/adrs/ADR-006.md"
COMPLETED = 1763912700.0

RESULT = """\
result:
  summary: "Created ADR-006 with recommendations"
  artefacts:
    - "docs/architecture/adrs/ADR-006.md"
  next_agent: "writer-editor"
  next_task_title: "Review and polish ADR-006"
  next_artefacts:
    - "docs/architecture/adrs/ADR-006.md"
  next_task_notes:
    - "Check for clarity"
    - "Ensure examples are understandable"
  completed_at: "2025-11-23T15:45:00Z"
"""

CREATED = """\
id: 2025-11-23T1545-writer-editor-adr-review
agent: writer-editor
status: new
title: "Review and polish ADR-006"
artefacts:
  - "docs/architecture/adrs/ADR-006.md"
context:
  notes:
    - "Check for clarity"
    - "Ensure examples are understandable"
    - "Created by architect as handoff from task 2025-11-23T1700-architect-adr-api"
  dependencies:
    - 2025-11-23T1700-architect-adr-api
created_at: "2025-11-23T15:45:00Z"
created_by: "architect"
"""

HANDOFF = Handoff(
    "writer-editor",
    "Review and polish ADR-006",
    (ADR,),
    ("Check for clarity", "Ensure examples are understandable"),
)


def test_the_documented_result_block_is_read():
    task = read(f"status: done\n{RESULT}".encode(), f"{SOURCE}.yaml").task

    assert task == Task(
        SOURCE,
        status=Status.DONE,
        summary="Created ADR-006 with recommendations",
        made=(ADR,),
        handoff=HANDOFF,
        completed=COMPLETED,
    )


def test_a_finished_task_gets_the_documented_result_block():
    text = "agent: architect\nstatus: in_progress  # working\n"
    before = read(text.encode(), f"{SOURCE}.yaml").task
    after = before._replace(
        status=Status.DONE,
        summary="Created ADR-006 with recommendations",
        made=(ADR,),
        handoff=HANDOFF,
        completed=COMPLETED,
    )

    assert edit(text, changes_for(before, after)) == (
        f'agent: architect\nstatus: done  # working\ncompleted_at: "2025-11-23T15:45:00Z"\n{RESULT}'
    )


def test_the_documented_handoff_is_read():
    task = read(CREATED.encode(), f"{FOLLOWER}.yaml").task

    assert task == Task(
        FOLLOWER,
        agent="writer-editor",
        title="Review and polish ADR-006",
        artefacts=(ADR,),
        dependencies=(SOURCE,),
        created=COMPLETED,
        created_by="architect",
    )


def test_a_handoff_is_written_as_documented():
    fields = {
        "created_by": "architect",
        "created_at": "2025-11-23T15:45:00Z",
        "context": {
            "notes": [*HANDOFF.notes, f"Created by architect as handoff from task {SOURCE}"],
            "dependencies": [SOURCE],
        },
        "id": FOLLOWER,
        "status": "new",
        "agent": "writer-editor",
        "title": HANDOFF.title,
        "artefacts": [ADR],
    }

    assert render(fields) == CREATED


def test_an_agent_picks_up_a_task_as_documented():
    text = "id: t1\nagent: curator\nstatus: assigned\n# notes of a human\n"
    before = read(text.encode(), "t1.yaml").task
    after = before._replace(status=Status.IN_PROGRESS, started=COMPLETED)

    assert edit(text, changes_for(before, after)) == (
        "id: t1\nagent: curator\nstatus: in_progress\n# notes of a human\n"
        'started_at: "2025-11-23T15:45:00Z"\n'
    )


def test_a_failure_is_written_as_an_error_block_and_removed_by_a_retry():
    text = "id: t1\nagent: curator\nstatus: in_progress\n"
    running = read(text.encode(), "t1.yaml").task
    failed = running._replace(status=Status.ERROR, error="It broke", retries=1)
    block = 'message: "It broke"\nagent: curator\nretry_count: 1\n'
    broken = edit(text, changes_for(running, failed))

    again = edit(broken, changes_for(failed, running._replace(status=Status.ASSIGNED, retries=1)))

    assert broken == text.replace("in_progress", "error") + "error:\n" + indent(block, "  ")
    assert again == "id: t1\nagent: curator\nstatus: assigned\nretry_count: 1\n"
    assert read(again.encode(), "t1.yaml").task.retries == 1
