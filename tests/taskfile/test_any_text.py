"""Editing any text that can be read changes exactly what it should."""

import re

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.taskfile.test_readers import TEXTS, mappings

from dibs.taskfile import yaml_full
from dibs.taskfile.block_lines import keys_of, split
from dibs.taskfile.document import decode
from dibs.taskfile.reading import NotYaml, read
from dibs.taskfile.writing import edit

CHANGES = st.dictionaries(
    st.sampled_from(["a", "b", "A", "z", "a-b"]),
    st.sampled_from(
        [
            *(None, "x", "no", "two\nlines", "# x", 7, True, [], ["x"], ["a b", "x", "no"]),
            *(
                {"b": "n"},
                {"b": None},
                {"n": {"m": ["x"]}},
                {"b": ["x"], "c": "y"},
                {"a": {"b": "q"}},
            ),
        ]
    ),
    min_size=1,
    max_size=3,
)


def tree(text):
    try:
        return yaml_full.parse(decode(text.encode())).top
    except NotYaml:
        return None


def wanted(before, changes):
    """Return a mapping after the changes."""
    found = dict(before)
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, dict):
            inner = found.get(key)
            merged = wanted(inner if isinstance(inner, dict) else {}, value)
            if merged or key in found:
                found[key] = merged
        else:
            found[key] = said(value)
    return found


def said(value):
    if isinstance(value, list):
        return [said(item) for item in value]
    return value if isinstance(value, str) else {7: "7", True: "true"}[value]


def emptied(node):
    """Return a tree in which empty mappings and None are the same."""
    if isinstance(node, dict):
        return {key: emptied(value) for key, value in node.items()} or None
    return [emptied(item) for item in node] if isinstance(node, list) else node


def other_rows(text, keys):
    layout = split(text.removesuffix("\n").split("\n"))
    rows = list(layout.head)
    for entry in layout.entries:
        rows += entry.after if entry.key in keys else entry.rows + entry.after
    return [row for row in rows if row.strip()]


@settings(max_examples=300, deadline=None)
@given(mappings(), CHANGES)
@example("a:\n  b: 1\n # odd\n  c: 2\nb: x\n", {"a": {"b": "n"}})
@example("a: |+\n  x\n\n", {"b": "x"})
@example("a:\n  b: |\n    x\n   # note\n", {"a": {"b": None, "c": "y"}})
@example("a:\n  a:\n  - x\n# note\n  - x\n", {"a": {"a": {"b": "q"}}})
@example("a:\n  b: |+\n    x\n\n\nb: x\n", {"a": {"c": "n"}})
@example("a: [x,\n y] # n\n", {"a": ["x", "z"]})
@example("a:\n  - x\n  -\n  - y\n", {"a": ["y"]})
@example("a: 'x'' # y' # n\n", {"a": "x"})
def test_an_edit_changes_what_it_should_and_nothing_else(text, changes):
    before = tree(text)
    assume(before is not None and [key for key, _ in keys_of(text)] == list(before))
    lines = yaml_full.parse(text).lines
    assume(keys_of(text) == [(key, lines[key,]) for key in before])
    after = wanted(before, changes)
    assume(after)

    found = edit(text, changes)

    assert emptied(tree(found)) == emptied(after), found
    assert [row for row in other_rows(text, changes) if row not in found.split("\n")] == []


@settings(max_examples=250, deadline=None)
@given(mappings() | TEXTS)
@example("  # note\na: x\n")
@example('a:"q r": x\n')
def test_text_in_any_layout_can_be_edited_without_changing_its_meaning(text):
    reading = read(text.encode(), "t.yaml")
    assume(reading.task is not None)

    changed = edit(reading.text, {"status": "blocked"})

    assert tree(changed) == {**tree(text), "status": "blocked"}
    for comment in re.findall(r"^\s*(# note)$", text, re.MULTILINE):
        assert comment in changed
