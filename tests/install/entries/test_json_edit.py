"""Entries are added to JSON and removed, and every other byte stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.install.documents import NAMES, SETTINGS, VALUES, is_within, written

from dibs.errors import BadInput
from dibs.install.entries.json_edit import Document
from dibs.install.entries.json_scan import Style, scan

ALL = Style(comments=True, trailing=True)
#: Texts are generated character by character, which is slow.
FEW = settings(max_examples=40, deadline=None)


@FEW
@given(SETTINGS.flatmap(lambda value: st.tuples(st.just(value), written(value))))
def test_reading_agrees_with_the_standard_library(pair):
    value, text = pair

    assert scan(text, "x", Style()).value == value == json.loads(text)


@FEW
@given(SETTINGS.flatmap(lambda v: st.tuples(st.just(v), written(v, comments=True, trailing=True))))
def test_comments_and_trailing_commas_have_no_effect(pair):
    value, text = pair

    assert scan(text, "x", ALL).value == value


@FEW
@given(
    SETTINGS.flatmap(lambda v: st.tuples(st.just(v), written(v, comments=True, trailing=True))),
    NAMES,
    VALUES,
)
def test_an_added_entry_is_there_and_the_rest_is_unchanged(pair, key, value):
    old, text = pair
    if key in old:
        return
    document = Document(text, "x", ALL)

    document.put((key,), value)

    assert document.root.value == {**old, key: value}
    assert is_within(text, document.text)


@FEW
@given(
    SETTINGS.flatmap(lambda v: st.tuples(st.just(v), written(v, comments=True, trailing=True))),
    st.data(),
)
def test_a_removed_entry_is_gone_and_the_rest_is_unchanged(pair, data):
    old, text = pair
    if not old:
        return
    key = data.draw(st.sampled_from(sorted(old)))
    document = Document(text, "x", ALL)

    document.remove((key,))

    assert document.root.value == {name: value for name, value in old.items() if name != key}
    assert is_within(document.text, text)


@FEW
@given(SETTINGS.flatmap(lambda v: written(v, comments=True)), NAMES, VALUES)
def test_adding_and_removing_restores_the_bytes(text, key, value):
    document = Document(text, "x", ALL)
    if document.node((key,)) is not None or not document.root.children:
        return

    document.put((key,), value)
    document.remove((key,))

    assert document.text == text


@FEW
@given(st.lists(VALUES, max_size=3), st.data())
def test_an_item_is_appended_to_its_array_and_removed(items, data):
    text = data.draw(written({"a": {"b": items}}, comments=True, trailing=True))
    document = Document(text, "x", ALL)

    document.append(("a", "b"), {"new": 1})

    assert document.root.value == {"a": {"b": [*items, {"new": 1}]}}
    document.remove(("a", "b"), len(items))
    assert document.root.value == {"a": {"b": items}}


def test_new_entries_follow_the_indentation_and_line_endings():
    document = Document('{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n', "x")

    document.put(("a", "c"), {"d": [1]})

    assert document.text.split("\r\n\t") == [
        *("{", '"a": {', '\t"b": 1,', '\t"c": {', '\t\t"d": [', "\t\t\t1", "\t\t]", "\t}"),
        "}\r\n}\r\n",
    ]


def test_a_file_on_one_line_stays_on_one_line():
    document = Document('{"a": [1], "b": {}}', "x")

    document.append(("a",), 2)
    document.put(("b", "c"), True)

    assert document.text == '{"a": [1, 2], "b": {"c": true}}'


def test_a_comment_after_the_last_entry_stays_with_it():
    document = Document('{\n  "a": 1 // the first\n}\n', "x", ALL)

    document.put(("b",), 2)

    assert document.text == '{\n  "a": 1, // the first\n  "b": 2\n}\n'


def test_of_duplicate_entries_the_last_one_counts():
    document = Document('{"a": {"x": 1}, "a": {"y": 1}}', "x")

    document.put(("a", "z"), 1)

    assert document.text == '{"a": {"x": 1}, "a": {"y": 1, "z": 1}}'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("[]", 1),
        ("{", 1),
        ('{\n"a": 1,\n}', 2),
        ('{\n\n"a" 1}', 3),
        ('{"a": 1}\n{}', 2),
        ('{"a": tru}', 1),
        ('{"a": "\n"}', 1),
        ("{'a': 1}", 1),
        ('{"a": 01}', 1),
        ('{\n// no\n"a": 1}', 2),
        ('{"a": NaN}', 1),
        ('{"a": "\\x"}', 1),
        ('{"a": [1 2]}', 1),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", 1),
        ('{"a": ' + "[" * 100_000, 1),
    ],
)
def test_row_104_invalid_json_is_refused_with_its_line(text, line):
    with pytest.raises(BadInput) as caught:
        Document(text, "settings.json")

    assert caught.value.code == "SETTINGS_INVALID"
    assert caught.value.message.startswith(f"settings.json:{line}: ")


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": null}', '{"hooks": {"Stop": {}}}'])
def test_an_entry_of_the_wrong_type_is_refused(text):
    with pytest.raises(BadInput, match=r"settings\.json:1: hooks") as caught:
        Document(text, "settings.json").append(("hooks", "Stop"), 1)

    assert caught.value.code == "SETTINGS_INVALID"


@FEW
@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text):
    try:
        found = scan(text, "x", Style()).value
    except BadInput:
        return
    assert found == json.loads(text)


@pytest.mark.parametrize("text", ['{\n  "a": 1, // why\n}\n', '{"a": [1,],}'])
def test_a_trailing_comma_is_kept(text):
    document = Document(text, "x", Style(comments=True, trailing=True))

    document.put(("b",), {"c": 2})
    assert document.root.value["b"] == {"c": 2}
    document.remove(("b",))

    assert document.text == text
