"""The quick reader and writer give what ``json`` gives, mistakes included."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.startup import quickjson

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def outcome(read, text):
    """Return what a reader makes of a text, or says against it."""
    try:
        return repr(read(text))
    except ValueError as error:
        return f"{type(error)} {error}"


@given(values)
def test_what_is_written_is_what_json_writes(value):
    assert quickjson.dumps(value) == json.dumps(value)
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert quickjson.encoder()(value) == plain


@given(values, st.text(" \t\r\n"))
def test_what_is_read_is_what_json_reads(value, space):
    text = space + json.dumps(value) + space

    assert quickjson.loads(text) == json.loads(text) == value
    assert quickjson.loads(text.encode()) == value


@given(st.text('[]{}",:0123456789.eE+-truefalsn \\\n', max_size=30) | st.text(max_size=10))
def test_what_json_refuses_is_refused_with_its_words(text):
    assert outcome(quickjson.loads, text) == outcome(json.loads, text)


def test_a_value_within_a_text_is_read_from_its_place():
    assert quickjson.raw_decode("xx[1, 2]yy", 2) == ([1, 2], 8)


def test_what_is_no_json_value_is_not_written():
    with pytest.raises(TypeError, match="Object of type object is not JSON serializable"):
        quickjson.dumps([object()])
    with pytest.raises(ValueError, match="not JSON compliant"):
        quickjson.encoder(allow_nan=False)([float("nan")])


def test_an_interpreter_without_the_quick_parts_is_served_by_the_package(monkeypatch):
    monkeypatch.setattr("_json.make_encoder", None)

    assert quickjson.encoder()({"a": ["é"]}) == '{"a":["é"]}'
    assert quickjson.encoder(spaced=True, ascii_only=True)(["é"]) == '["\\u00e9"]'
