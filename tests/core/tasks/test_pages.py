"""The generated pages, line by line, in the formats of the orchestration document."""

from __future__ import annotations

from dibs.core.claims.ledger import Entry
from dibs.core.tasks import pages, worklog
from dibs.core.tasks.rules import Handoff, Task
from dibs.core.tasks.similarity import clashes

#: 2025-11-23 15:45:00 UTC.
AT = 1_763_912_700.0


def entry(kind, summary="", at=AT, **details):
    return Entry(7, at, "architect", "agent", kind, summary, details)


def test_a_workflow_log_line_has_the_time_in_bold_and_the_message():
    line = pages.workflow_line(entry("task_assigned", "x was assigned to bob"))

    assert line == "**2025-11-23 15:45:00 UTC** - x was assigned to bob\n"


def test_a_handoff_names_both_agents_the_artefacts_and_the_task():
    told = entry(
        "handoff_created", **{"from": "architect", "to": "writer-editor"},
        artefacts=["docs/architecture/adrs/ADR-006.md"], task="2025-11-23T1545-writer-editor-x",
    )  # fmt: skip

    assert pages.handoff_block(told) == (
        "## 2025-11-23 15:45 - architect → writer-editor\n"
        "\n"
        "**Artefacts:** docs/architecture/adrs/ADR-006.md\n"
        "**Task ID:** 2025-11-23T1545-writer-editor-x\n"
        "**Status:** Created\n"
        "\n"
    )


def test_the_status_page_counts_each_agents_tasks():
    tasks = [
        ("a", "in_progress", "bob"),
        ("b", "assigned", "bob"),
        ("c", "assigned", "curator"),
        ("d", "done", "curator"),
        ("e", "new", ""),
    ]

    page = pages.status_page(pages.loads(tasks), {"bob": AT, "zoe": AT}, AT)

    assert page.endswith(
        "_Last updated: 2025-11-23 15:45:00 UTC_\n"
        "\n## bob\n\n- **Status:** Working on a\n- **Assigned:** 1\n- **In Progress:** 1\n"
        "- **Last seen:** 2025-11-23 15:45:00 UTC\n"
        "\n## curator\n\n- **Status:** Idle\n- **Assigned:** 1\n- **In Progress:** 0\n"
        "- **Last seen:** never\n"
        "\n## zoe\n\n- **Status:** Idle\n- **Assigned:** 0\n- **In Progress:** 0\n"
        "- **Last seen:** 2025-11-23 15:45:00 UTC\n"
    )


def test_text_from_agents_contains_no_markup_and_no_control_characters():
    line = pages.workflow_line(entry("task_added", "<script>\x1b[31m\n# Heading"))

    assert line == "**2025-11-23 15:45:00 UTC** - &lt;script>\\\\x1b\\[31m\\\\n# Heading\n"


def test_the_workflow_log_contains_only_board_entries():
    told = [
        k
        for k in ("task_added", "handoff_created", "board_cycle", "lock_acquired")
        if pages.is_logged(k)
    ]

    assert told == ["task_added", "handoff_created", "board_cycle"]


def test_tasks_overlap_by_path_glob_and_case_each_pair_once():
    tasks = [
        Task("a", artefacts=("docs/x.md", "docs/y.md")),
        Task("b", artefacts=("Docs/X.md", "docs/y.md")),
        Task("c", artefacts=("docs/*.md",)),
        Task("d", artefacts=("src/",)),
    ]

    pairs = [(clash.first, clash.second) for clash in clashes(tasks, fold_case=True)]

    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]


def test_paths_that_differ_in_case_do_not_overlap_where_case_matters():
    tasks = [Task("a", artefacts=("x.md",)), Task("b", artefacts=("X.md",))]

    assert clashes(tasks, fold_case=False) == []


def test_a_task_does_not_overlap_with_itself():
    assert clashes([Task("a", artefacts=("docs/x.md", "docs/"))], fold_case=True) == []


def test_a_work_log_has_the_sections_of_the_directive_in_order():
    task = Task(
        "2025-11-23T1430-curator-audit", "done", "curator", "Audit", started=AT - 600,
        summary="All well", handoff=Handoff("writer-editor"),
    )  # fmt: skip

    text = worklog.text(task, "curator", 1, AT, [], [entry("task_started", "curator began it")])

    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Work Log: Audit", "## Context", "## Approach", "## Guidelines & Directives Used",
        "## Execution Steps", "## Artifacts Created", "## Outcomes", "## Lessons Learned", "## Metadata",
    ]  # fmt: skip
    assert "1. 2025-11-23 15:45:00 UTC curator began it" in text
    assert "- **Duration:** 10 min" in text
    assert "- **Handoff:** writer-editor" in text


def test_artefacts_are_marked_as_reported_found_or_planned():
    task = Task("a", artefacts=("one", "two", "three"), made=("one", "two"))

    assert worklog.marks(task, ["one"]) == [("one", "✅"), ("two", "❗️"), ("three", "⚠️")]


def test_a_log_is_named_after_the_minute_and_the_task():
    task = Task("2025-11-23T1430-curator-audit")

    assert next(worklog.file_names(task, AT)) == "2025-11-23T1545-curator-audit.md"
    assert worklog.description("fix-header") == "fix-header"
    assert len(worklog.description("x" * 128)) == 50
