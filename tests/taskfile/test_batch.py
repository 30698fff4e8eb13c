"""A file with many tasks: what is read, and which line an error names."""

import pytest

from dibs.errors import BadInput
from dibs.taskfile import yaml_fast
from dibs.taskfile.batch import read_batch

LIST = b"""\
# the backlog
- key: audit
  title: Audit the docs
  agent: curator
  artefacts: [docs/]
- title: Polish the docs
  needs: [audit]
  context:
    notes:
      - be brief
"""


def test_a_list_is_read_with_keys_and_needs():
    audit, polish = read_batch(LIST, "backlog.yaml")

    assert (audit.key, audit.fields["title"], audit.line) == ("audit", "Audit the docs", 2)
    assert "key" not in audit.fields
    assert polish.fields["dependencies"] == ["audit"]
    assert "needs" not in polish.fields
    assert polish.fields["context"] == {"notes": ["be brief"]}


@pytest.mark.parametrize(
    "content",
    [
        b"tasks:\n- title: A\n- title: B\n",
        b"tasks:\n  - title: A\n  - title: B\n",
        b"title: A\n---\ntitle: B\n",
        b"---\ntitle: A\n--- # and\ntitle: B\n...\n",
        b"- title: A\n---\n- title: B\n",
        b"[{title: A}, {title: B}]\n",
        b'[\n  {"title": "A"},\n  {"title": "B"}\n]\n',
        b"# first\n\n- title: A\n-\n  title: B\n",
    ],
)
def test_a_list_a_mapping_and_several_documents_are_equivalent(content):
    assert [item.fields for item in read_batch(content, "x")] == [{"title": "A"}, {"title": "B"}]


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        (b"", "YAML_SHAPE", "x:1:"),
        (b"# nothing\n---\n", "YAML_SHAPE", "x:1:"),
        (b"tasks: many\n", "YAML_SHAPE", "x:1: tasks:"),
        (b"tasks:\n- title: A\nmore: 1\n", "YAML_SHAPE", "x:3:"),
        (b"- title: A\n- B\n", "YAML_SHAPE", "x:2:"),
        (b"- title: A\n  key: [k]\n", "YAML_SHAPE", "x:2: key:"),
        (b"- title: A\n  needs: {a: b}\n", "YAML_SHAPE", "x:2: needs:"),
        (b"- key: k\n- title: B\n  key: k\n", "YAML_DUPLICATE", "x:3: key:"),
        (b"- title: A\n  title: B\n", "YAML_DUPLICATE", "x:2: title:"),
        (b"- title: A\n---\n- title: B\n  x: &a 1\n", "YAML_ALIAS", "x:4:"),
        (b"- title: A\n---\ntitle: !!str B\n", "YAML_TAG", "x:3:"),
        (b"- title: [\n", "YAML_SYNTAX", "x:"),
        (b"- title: A\n- title: B\n  priority: soon\n", "TASK_FIELD", "x:3: priority:"),
        (b"- title: A\n  artefacts: [../b]\n", "PATH_ESCAPE", "x:2:"),
        (b"- title: A\r\n", "YAML_SYNTAX", "x:1:"),
        (b"- title: " + b"a" * 256 * 1024, "LIMIT", "x:"),
        (b"#\n" * 2 * 1024 * 1024 + b"#", "LIMIT", "x:"),
        (b"- title: A\n- title: B\n  notes:\n" + b"    - n\n" * 10_000, "LIMIT", "x:"),
        (b"- title: A\n\ttitle: B\n", "YAML_SYNTAX", "x:2:"),
        (b"- title: A\n-\n", "YAML_SHAPE", "x:2:"),
        (b"- title: A\n-\ntitle: B\n", "YAML_SHAPE", "x:3:"),
    ],
)
def test_an_error_names_its_line_in_the_file(content, code, place):
    with pytest.raises(BadInput) as refused:
        read_batch(content, "x")

    assert refused.value.code == code
    assert refused.value.message.startswith(place)


def test_a_backlog_of_5_000_tasks_is_read():
    tasks = b"".join(
        b"- key: k%d\n  title: Task %d\n  artefacts:\n    - src/%d/\n" % (number, number, number)
        for number in range(5_000)
    )

    assert [item.line for item in read_batch(tasks, "x")] == [
        4 * number + 1 for number in range(5_000)
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"-   title: A\n    mode: |\n      one\n\n        two\n# aside\n-   title: B\n",
        b"tasks: # all\n\n  # first\n  - title: A\n    mode: |\n      one\n\n        two\n  - title: B\n",
        b'- title: "A"\n  mode: "one\\n\\\n    \\n\\x20 two\\n"\n-\n  # so\n  title: B\n',
        b'- {title: A,\n  mode: "one\\n\\n  two\\n"}\n- {"title": "B"}\n',
        b'  - title: A\n    mode: "one\\n\\n  two\\n"\n  - title: B\n',
    ],
)
def test_an_entry_is_read_the_same_with_any_indentation(content):
    first, second = read_batch(content, "x")

    assert first.fields == {"title": "A", "mode": "one\n\n  two\n"}
    assert second.fields == {"title": "B"}


def test_a_list_in_block_layout_is_read_by_the_fast_reader():
    tree = yaml_fast.parse("tasks:\n- title: A\n  notes:\n  - x\n  # aside\n- title: B\n", before=7)

    assert tree.top == {"tasks": [{"title": "A", "notes": ["x"]}, {"title": "B"}]}
    assert tree.lines["tasks", 1, "title"] == 13
