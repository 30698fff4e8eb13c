"""The fast parser and encoder give the same results as ``json``, including errors."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.startup import quickjson

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def outcome(read, text):
    """Return a parser's result or error."""
    try:
        return repr(read(text))
    except ValueError as error:
        return f"{type(error)} {error}"


@given(values)
def test_encoding_matches_json(value):
    assert quickjson.dumps(value) == json.dumps(value)
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert quickjson.encoder()(value) == plain


@given(values, st.text(" \t\r\n"))
def test_parsing_matches_json(value, space):
    text = space + json.dumps(value) + space

    assert quickjson.loads(text) == json.loads(text) == value
    assert quickjson.loads(text.encode()) == value


@given(st.text('[]{}",:0123456789.eE+-truefalsn \\\n', max_size=30) | st.text(max_size=10))
def test_errors_match_json(text):
    assert outcome(quickjson.loads, text) == outcome(json.loads, text)


def test_invalid_text_is_a_value_error_although_json_is_not_loaded():
    program = "from dibs.startup import quickjson\nquickjson.raw_decode('{')"

    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert "JSONDecodeError" in said.stderr.splitlines()[-1]


def test_a_value_inside_a_text_is_parsed_at_its_position():
    assert quickjson.raw_decode("xx[1, 2]yy", 2) == ([1, 2], 8)


def test_a_value_that_is_not_json_is_refused():
    with pytest.raises(TypeError, match="Object of type object is not JSON serializable"):
        quickjson.dumps([object()])
    with pytest.raises(ValueError, match="not JSON compliant"):
        quickjson.encoder(allow_nan=False)([float("nan")])


def test_an_interpreter_without_the_c_functions_uses_json(monkeypatch):
    monkeypatch.setattr("_json.make_encoder", None)

    assert quickjson.encoder()({"a": ["é"]}) == '{"a":["é"]}'
    assert quickjson.encoder(spaced=True, ascii_only=True)(["é"]) == '["\\u00e9"]'


def test_too_many_levels_are_a_value_error():
    with pytest.raises(ValueError, match="Too many levels"):
        quickjson.loads("[" * 200_000)
