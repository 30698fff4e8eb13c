"""Drawings of task graphs: what they show, and that no title escapes its label."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from tests.core.tasks.graph_oracle import boards

from dibs.core.tasks.drawing import as_json, as_mermaid, as_text
from dibs.core.tasks.graph import Graph
from dibs.core.tasks.rules import Task

HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet='"]})[({\\;#<>&|`%\n\r\t\x1b\u202e-= nab'),
    st.sampled_from(
        [
            '"]; click t0 "javascript:alert(1)"',
            '%%{init: {"securityLevel": "loose"}}%%',
            "<script>alert(1)</script>",
            "ends in a backslash \\",
            "`**bold**`",
            "#quot;#34;",
            "a\nend\nsubgraph x",
        ]
    ),
)

MERMAID = re.compile(
    r"flowchart LR"
    r'|    t\d+\["((?:[^\W_]|[ .,:/+=_\'()!?@-]|#\d+;|<br/>)*)"\]:::[a-z]+'
    r"|    t\d+ --> t\d+"
    r"|    classDef [a-z]+ [a-z0-9:,#-]+"
)


def a_graph():
    return Graph(
        [
            Task("draft", "in_progress", "bob", "Write the draft"),
            Task("audit", title="Audit the draft", dependencies=("draft",)),
            Task("publish", dependencies=("audit", "lost", "old")),
            Task("clean", title="Clean up"),
            Task("broken", "error", error="no disk"),
            Task("p", dependencies=("q",)),
            Task("q", dependencies=("p",)),
        ],
        {"old": "done"},
    )


def test_the_text_shows_waves_states_and_reasons():
    assert as_text(a_graph()).splitlines() == [
        "7 tasks, 7 open, 1 ready",
        "in parallel: 3",
        "longest chain (3): draft -> audit -> publish",
        "cycle: p -> q -> p",
        "",
        "wave 1",
        "  draft    in progress (bob)  Write the draft",
        "  clean    ready              Clean up",
        "  broken   error",
        "      failed: no disk",
        "",
        "wave 2",
        "  audit    blocked            Audit the draft",
        "      waits for draft, which is in progress (bob)",
        "",
        "wave 3",
        "  publish  blocked",
        "      waits for audit, which waits for draft, which is in progress (bob)",
        "      lost does not exist",
        "",
        "never (dependency cycle)",
        "  p        blocked",
        "      is in a dependency cycle: p -> q -> p",
        "  q        blocked",
        "      is in a dependency cycle: q -> p -> q",
    ]


def test_a_narrow_text_shows_state_and_title_below_the_id():
    graph = Graph([Task("audit-the-documentation", "in_progress", "bob", "Audit the docs")])

    assert as_text(graph, 30).splitlines()[-3:] == [
        "  audit-the-documentation",
        "      in progress (bob)",
        "      Audit the docs",
    ]


def test_mermaid_draws_each_task_and_each_dependency():
    lines = as_mermaid(a_graph()).splitlines()

    assert lines[0] == "flowchart LR"
    assert '    t0["draft<br/>Write the draft<br/>in progress (bob)"]:::other' in lines
    assert '    t7["lost<br/>does not exist"]:::trouble' in lines
    assert '    t8["old<br/>archived, done"]:::done' in lines
    assert sum(" --> " in line for line in lines) == 6


def test_json_contains_the_whole_graph():
    data = json.loads(json.dumps(as_json(a_graph())))

    assert data["critical_path"] == ["draft", "audit", "publish"]
    assert (data["width"], data["width_exact"]) == (3, True)
    assert data["cycles"] == [["p", "q"]]
    assert data["ready"] == ["clean"]
    audit = next(task for task in data["tasks"] if task["id"] == "audit")
    assert (audit["status"], audit["state"]) == ("new", "blocked")
    assert audit["obstacles"][0]["id"] == "draft"


def test_an_empty_board_can_be_drawn():
    graph = Graph([])

    assert as_text(graph) == "0 tasks, 0 open, 0 ready"
    assert as_json(graph)["tasks"] == []
    assert as_mermaid(graph).startswith("flowchart")


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_title_agent_or_id_escapes_its_label(title, agent, stranger):
    tasks = [Task("a", "assigned", agent, title, dependencies=(stranger,)), Task("b", title=title)]
    graph = Graph(tasks)

    assert [line for line in as_mermaid(graph).split("\n") if not MERMAID.fullmatch(line)] == []
    assert [line for line in as_text(graph).split("\n") if not line.isprintable()] == []


@given(boards(), st.integers(20, 120))
def test_the_text_names_each_open_task_and_fits_the_width_except_for_ids(tasks, width):
    graph = Graph(tasks)

    lines = as_text(graph, width).splitlines()

    for task_id in [i for level in graph.levels() for i in level] + graph.never():
        assert any(line.startswith(f"  {task_id} ") for line in lines)
    assert all(len(line) <= max(width, 40) for line in lines)
