"""The corpus of nonstandard files: each is read or refused as the table says, without losing anything."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dibs.taskfile import yaml_fast
from dibs.taskfile.block_lines import split
from dibs.taskfile.reading import read
from dibs.taskfile.writing import edit

FOLDER = Path(__file__).resolve().parent.parent / "data" / "tasks"
ROWS = re.findall(
    r"^\| `(.+?)` \| (read|refused) \| (.*?) \|$", (FOLDER / "README.md").read_text(), re.MULTILINE
)
READ = [(name, said) for name, taken, said in ROWS if taken == "read"]
REFUSED = [(name, said) for name, taken, said in ROWS if taken == "refused"]


def shown(value):
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def content(name):
    return (FOLDER / name).read_bytes()


def test_the_table_lists_every_file_of_the_corpus():
    assert sorted(name for name, _, _ in ROWS) == sorted(p.name for p in FOLDER.glob("*.yaml"))
    assert len(ROWS) >= 60


@pytest.mark.parametrize(("name", "said"), READ)
def test_a_file_is_read_as_the_table_says(name, said):
    reading = read(content(name), name)

    assert reading.task is not None, reading.remarks
    for word in said.split():
        field, _, value = word.partition("=")
        assert shown(getattr(reading.task, field)) == value.replace("%", " ")


@pytest.mark.parametrize(("name", "said"), REFUSED)
def test_a_file_is_refused_as_the_table_says(name, said):
    reading = read(content(name), name)
    first = reading.remarks[0]

    assert reading.task is None
    assert first.fatal
    assert f"{first.code} at line {first.line}" == said
    assert "\n" not in first.message


@pytest.mark.parametrize(("name", "said"), READ)
def test_editing_the_status_loses_nothing(name, said):
    reading = read(content(name), name)
    changed = edit(reading.text, {"status": "blocked"})
    again = read(changed.encode(), name)

    assert again.task == reading.task._replace(status="blocked", error="")
    rows = changed.removesuffix("\n").split("\n")
    assert [row for row in rows_of_others(reading.text) if row not in rows] == []
    if not any("rewrite" in remark.message for remark in reading.remarks):
        assert reading.text.encode() == content(name)
    assert plain_tree(changed) == plain_tree(content(name).decode()) | {"status": "blocked"}


def rows_of_others(text):
    layout = split(text.removesuffix("\n").split("\n"))
    rows = list(layout.head)
    for entry in layout.entries:
        rows += entry.after if entry.key == "status" else entry.rows + entry.after
    return rows


def plain_tree(text):
    return YAML(typ="base", pure=True).load(text)


def test_most_of_the_corpus_is_read_fast():
    fast_ones = [name for name, _ in READ if yaml_fast.parse(content(name).decode()) is not None]

    assert len(fast_ones) > 0.7 * len(READ)
