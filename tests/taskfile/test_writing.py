"""Editing changes the given keys and no other byte."""

from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from tests.taskfile.files import fields_of

from dibs.core.tasks.rules import Handoff, Status, Task
from dibs.taskfile.block_lines import split
from dibs.taskfile.reading import read
from dibs.taskfile.writing import changes_for, edit, render

NAME = "t1.yaml"

FILE = """\
# A task that someone wrote by hand
id: t1
status:   "new"      # as it came
assigned_to: curator
effort: {hours: 3, guess: yes}   # not ours

# what it is about
artifacts:
- docs/a.md   # the main one
# in between
- docs/b.md
context:
    repo: x       # deep
    notes: >
      folded text
      # not a comment

      more
    dependencies: [t0]
    # the end of the context
x-owner: 'it''s # mine'
text: "two
  lines: of it"
# bye
"""


def line_set(text, keys):
    """Return all lines except those of some top-level keys."""
    layout = split(text.removesuffix("\n").split("\n"))
    kept = list(layout.head)
    for entry in layout.entries:
        kept += [] if entry.key in keys else entry.rows
        kept += entry.after
    return kept


def edited(text, **changes):
    found = edit(text, changes)
    assert read(found.encode(), NAME).task is not None, found
    return found


def test_replacing_a_value_keeps_its_position_quotes_and_comment():
    assert edited(FILE, status="assigned") == FILE.replace(
        'status:   "new"      # as it came', 'status:   "assigned"      # as it came'
    )


def test_a_key_keeps_the_spelling_that_the_file_has():
    assert edited(FILE, agent="writer") == FILE.replace("to: curator", "to: writer")


def test_a_kept_item_keeps_its_line_and_comment():
    found = edited(FILE, artefacts=["docs/c.md", "docs/a.md"])

    assert '- "docs/c.md"\n- docs/a.md   # the main one\n# in between\ncontext' in found
    assert "docs/b.md" not in found


def test_new_keys_come_last_in_the_documented_order():
    found = edited(FILE, started_at="2025-01-02T03:04:05Z", assigned_at="2025-01-02T03:04:00Z")

    assert found == (
        FILE + 'assigned_at: "2025-01-02T03:04:00Z"\nstarted_at: "2025-01-02T03:04:05Z"\n'
    )


def test_removing_a_key_keeps_the_comments_around_it():
    found = edited(FILE, effort=None)

    assert found == FILE.replace("effort: {hours: 3, guess: yes}   # not ours\n", "")


def test_removing_a_missing_key_changes_nothing():
    assert edited(FILE, error=None, result=None) == FILE


def test_a_mapping_is_merged_into_the_existing_one():
    found = edited(FILE, context={"repo": "y", "branch": "main"})

    assert "    repo: y       # deep\n" in found.replace('"y"', "y")
    assert found.endswith(FILE[FILE.index("x-owner") :])
    assert '    # the end of the context\n    branch: "main"\nx-owner' in found
    assert "      # not a comment\n\n      more\n" in found


def test_dependencies_are_changed_where_the_file_has_them():
    assert edited(FILE, dependencies=["t0", "t2"]) == FILE.replace(
        "dependencies: [t0]", "dependencies:\n      - t0\n      - t2"
    )


def test_dependencies_in_four_places_are_combined_in_one():
    text = "depends_on: a\nblocked_by:\n  - b\ncontext:\n  dependencies: [c]\ndependencies:\n- d\n"
    task = read(text.encode(), NAME).task
    found = edited(text, dependencies=["a", "b"])

    assert task.dependencies == ("d", "c", "a", "b")
    assert read(found.encode(), NAME).task.dependencies == ("a", "b")


@pytest.mark.parametrize(
    "block", ["{summary: s, keep: 1}", "s", '"s"', "|\n  s\n", "\n  summary: s"]
)
def test_a_result_in_any_layout_gets_a_new_field_and_loses_none(block):
    text = f"status: done\nresult: {block}\nlast: x\n".replace(": \n", ":\n")
    found = edited(text, result={"completed_at": "2025-01-02T03:04:05Z"})
    task = read(found.encode(), NAME).task

    assert (task.summary.strip(), task.completed) == ("s", 1735787045.0)
    assert ("keep: 1" in found) == ("keep" in block)
    assert found.endswith("last: x\n")


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            "no",
            "12:30",
            "1.10",
            "null",
            "~",
            "- x",
            "# x",
            "a: b",
            "a #b",
            '"',
            "'",
            "\\",
        ),
        *(
            "a\nb",
            "a\nb\n",
            "a\n\n\nb\n\n",
            " a\nb",
            "a\n  b",
            "a \nb ",
            "\n",
            "a\tb\nc",
            "\x1b[31mred",
        ),
        *(
            "\u202eoverride",
            "<script>",
            "é😀",
            "x" * 9000,
            "\x00",
            "\ud800",
            "\u2028",
            "---",
            "...\n",
        ),
    ],
)
def test_any_text_can_be_written_and_read_back(value):
    found = edited(FILE, title=value)

    assert read(found.encode(), NAME).task.title == value.replace("\ud800", "\ufffd")
    assert YAML(typ="safe", pure=True).load(found)["title"] == value.replace("\ud800", "\ufffd")


def test_a_text_that_is_not_in_plain_layout_is_not_edited():
    with pytest.raises(ValueError, match="plain layout"):
        edit("{status: new}\n", {"status": "done"})


def test_a_flow_file_is_rewritten_without_loss():
    text = (
        "# first\n{id: t1, title: x,  # beside\n version: 1.10, deep: [{a: b, c: [1, [2]]}, no]}\n"
    )
    reading = read(text.encode(), NAME)

    assert reading.task == Task("t1", title="x")
    assert [remark.code for remark in reading.remarks if "rewrite" in remark.message] == [
        "YAML_SHAPE"
    ]
    assert reading.text.startswith("# first\n# beside\nid: t1\n")
    assert "version: 1.10\n" in reading.text
    assert YAML(typ="safe", pure=True).load(reading.text) == YAML(typ="safe", pure=True).load(text)
    assert read(edit(reading.text, {"title": "y"}).encode(), NAME).task.title == "y"


def test_an_edit_adds_a_missing_final_newline():
    assert edit("status: new", {"title": "x"}) == 'status: new\ntitle: "x"\n'


# Any file can be edited to describe any task

ids = st.sampled_from(["t0", "t2", "2025-11-23T1430-x-y", "no", "123", "a.b"])
words = st.sampled_from(["", "no", "x y", "# x", "a: b", "two\nlines", "1.5", "é", '"q"'])
paths = st.sampled_from(["a.md", "src/**", "docs/{a,b}.md", "x y.txt", "no"])
moments = st.sampled_from([0.0, 1e9, 1735787045.0])
lists = st.lists
tasks = st.builds(
    Task,
    id=st.just("t1"),
    status=st.sampled_from(list(Status)),
    agent=st.sampled_from(["", "curator", "no", "a-1", "007"]),
    title=words,
    priority=st.sampled_from(["normal", "high"]),
    mode=st.sampled_from(["", "/analysis-mode"]),
    artefacts=lists(paths, unique=True).map(tuple),
    dependencies=lists(ids, unique=True).map(tuple),
    created=moments,
    assigned=moments,
    started=st.sampled_from([0.0, 1e9]),
    completed=moments,
    created_by=words,
    summary=words,
    made=lists(paths, unique=True).map(tuple),
    handoff=st.none()
    | st.builds(
        Handoff,
        agent=st.sampled_from(["w", "x-1"]),
        title=words,
        artefacts=lists(paths, unique=True).map(tuple),
        notes=lists(words.filter(bool), unique=True).map(tuple),
    ),
    error=words,
    retries=st.integers(0, 3),
    reason=words,
).map(lambda task: task if task.status == Status.ERROR else task._replace(error=""))


@settings(max_examples=150)
@given(tasks, tasks)
def test_a_file_can_be_edited_from_any_task_to_any_other(before, after):
    text = render(fields_of(before))
    found = edit(text, changes_for(before, after))

    assert read(text.encode(), NAME).task == before
    assert read(found.encode(), NAME).task == after
    assert edit(found, changes_for(after, after)) == found
    YAML(typ="safe", pure=True).load(StringIO(found))


@settings(max_examples=60)
@given(tasks)
def test_a_nonstandard_file_can_be_edited_to_any_task_and_keeps_every_other_line(after):
    before = read(FILE.encode(), NAME).task
    changes = changes_for(before, after)
    found = edit(FILE, changes)
    touched = {*changes, "assigned_to", "artifacts", "context"}

    assert read(found.encode(), NAME).task == after
    rest = [row for row in line_set(found, touched) if row != "# in between"]
    assert rest == line_set(FILE, touched)
    assert "    repo: x       # deep\n" in found
    assert "      # not a comment\n\n      more\n" in found
