"""A queue kept in one file: its tasks, and the file without one of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.taskfile.queue_list import read_queue_list, text_of, without


def names(text, file="pending.yml"):
    return [item.task.name for item in read_queue_list(text.encode(), file)]


def removed(text, name, file="pending.yml"):
    items = read_queue_list(text.encode(), file)
    item = next(item for item in items if item.task.name == name)
    return without(text.encode(), item, items).decode()


LIST = "- a\n- id: b\n  priority: high\n  dependencies: [a]\n- c: {title: See}\n"
UNDER = "tasks:\n  - name: a\n    size: 2h\n  - b\n"
MAPPING = "a:\n  title: A\nb:\n  needs: a\n"
LINES = """# Queue

- [ ] fix-header: Fix the header
- [x] fix-footer: Fix the footer
* plain
1. Remove the old parser
"""


@pytest.mark.parametrize(
    ("text", "file", "found"),
    [
        (LIST, "pending.yml", ["a", "b", "c"]),
        (UNDER, "pending.yaml", ["a", "b"]),
        (MAPPING, "pending.yml", ["a", "b"]),
        ("[a, b]\n", "pending.yml", ["a", "b"]),
        ("", "pending.yml", []),
        (LINES, "pending.txt", ["fix-header", "fix-footer", "plain", "remove-the-old-parser"]),
        ("a\n# no\n\nb: the second\n", "pending.txt", ["a", "b"]),
        ("- a\n- a\n", "pending.yml", ["a"]),
    ],
)
def test_every_form_lists_its_tasks(text, file, found):
    assert names(text, file) == found


def test_fields_of_an_item_count():
    _, item, other = read_queue_list(LIST.encode(), "pending.yml")

    assert (item.task.priority, item.task.dependencies) == ("high", ("a",))
    assert other.task.title == "See"
    assert text_of(LIST.encode(), item) == b"- id: b\n  priority: high\n  dependencies: [a]\n"


def test_a_checked_box_is_done():
    done = {item.task.name: item.done for item in read_queue_list(LINES.encode(), "pending.txt")}

    assert done == {
        "fix-header": False,
        "fix-footer": True,
        "plain": False,
        "remove-the-old-parser": False,
    }


@pytest.mark.parametrize(
    ("text", "file", "name", "left"),
    [
        (LIST, "pending.yml", "b", "- a\n- c: {title: See}\n"),
        (LIST, "pending.yml", "c", LIST[: LIST.index("- c")]),
        (UNDER, "pending.yml", "a", "tasks:\n  - b\n"),
        (MAPPING, "pending.yml", "a", "b:\n  needs: a\n"),
        (LINES, "pending.txt", "fix-header", LINES.replace("[ ]", "[x]")),
        (LINES, "pending.txt", "plain", LINES.replace("* plain\n", "")),
        ("[a, b]\n", "pending.yml", "a", "[a, b]\n"),  # they share a line
    ],
)
def test_only_the_task_leaves_the_file(text, file, name, left):
    assert removed(text, name, file) == left


def test_a_file_that_is_not_yaml_is_one_broken_task():
    (item,) = read_queue_list(b"- a: [\n", "pending.yml")

    assert item.task.broken


@given(st.binary(max_size=200), st.sampled_from(["pending.yml", "pending.txt"]))
def test_no_content_is_an_error(content, file):
    items = read_queue_list(content, file)

    for item in items:
        text_of(content, item)
        without(content, item, items)
