"""The task state diagram shows the transition table."""

from __future__ import annotations

import re

from scripts.reference import state_diagram, state_table

from dibs.core.tasks.rules import TRANSITIONS, Status


def test_the_diagram_shows_exactly_the_transitions_of_the_table():
    arrows = re.findall(r"^    (\w+) --> (\w+): (.*)$", state_diagram(), re.MULTILINE)

    drawn = {(v, source, target) for source, target, verbs in arrows for v in verbs.split(", ")}

    assert drawn == set(TRANSITIONS)
    assert "    [*] --> new\n" in state_diagram()
    assert state_diagram().endswith("archive --> [*]")


def test_the_table_has_a_row_for_each_state():
    rows = state_table().splitlines()[2:]

    assert [re.match(r"\| `(\w+)`", row)[1] for row in rows] == list(Status)
    assert "| `done` | `done/` | reopen: `new` or `assigned`; archive: `archive` |" in rows
