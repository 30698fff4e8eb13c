"""TOML tables and Markdown blocks are added at the end, and removed again."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import BadInput
from dibs.install.entries import blocks, toml_edit
from dibs.install.entries.pieces import MARKS

PATH, VALUES = ("mcp_servers", "dibs"), {"command": "/a b/python", "args": ["-m", "dibs"]}
KEYS = st.text("abcdefgh_", min_size=1, max_size=6)
LINES = st.sampled_from(["# a comment", "", "  # indented", 'title = "x"\n', "# dibs: begin"])


@st.composite
def toml(draw):
    """Return a user's TOML file, some with servers."""
    rows = [draw(st.sampled_from(["# top", "", 'model = "m"']))]
    for name in draw(st.lists(KEYS, unique=True, max_size=3)):
        rows += [
            f"[{draw(st.sampled_from(['', 'mcp_servers.']))}t{name}]",
            "a = 1 # why",
            "b = '''",
            "x",
            "'''",
        ]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(rows) + draw(st.sampled_from(["", newline, newline * 2]))


@settings(max_examples=50, deadline=None)
@given(toml())
def test_a_table_is_added_and_everything_else_stays(text):
    new = toml_edit.put(text, PATH, VALUES, "config.toml")

    assert new.startswith(text)
    found = tomllib.loads(new)
    assert found["mcp_servers"].pop("dibs") == VALUES
    was = tomllib.loads(text)
    assert found == {"mcp_servers": {}, **was}
    assert toml_edit.put(new, PATH, VALUES, "config.toml") == new


@settings(max_examples=50, deadline=None)
@given(toml())
def test_the_table_is_removed_again(text):
    new = toml_edit.take(toml_edit.put(text, PATH, VALUES, "config.toml"), "config.toml")

    assert new.rstrip("\r\n") == text.rstrip("\r\n")
    assert new == text or not text.endswith("\n")


def test_text_after_the_table_stays():
    new = toml_edit.put("a = 1\n", PATH, VALUES, "x") + "[later]\nb = 2\n"

    assert toml_edit.take(new, "x") == "a = 1\n[later]\nb = 2\n"


def test_a_table_of_another_installation_is_replaced():
    old = toml_edit.put("a = 1\n", PATH, {"command": "/old"}, "x")

    assert toml_edit.put(old, PATH, VALUES, "x") == toml_edit.put("a = 1\n", PATH, VALUES, "x")


def test_a_users_server_with_the_same_name_stays():
    text = '[mcp_servers.dibs]\nurl = "http://127.0.0.1:1/mcp"\n'

    assert toml_edit.put(text, PATH, VALUES, "x") == text


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb =\n", 2), ("a = 1\na = 2\n", 2), ("[x", 1), ("a = [1\n", 2)],
)
def test_row_104_invalid_toml_is_refused_with_its_line(text, line):
    with pytest.raises(BadInput, match=f"config.toml:{line}: ") as caught:
        toml_edit.put(text, PATH, VALUES, "config.toml")

    assert caught.value.code == "SETTINGS_INVALID"


@pytest.mark.parametrize("text", ['mcp_servers = {a = {url = "x"}}\n', "mcp_servers = 1\n"])
def test_servers_that_are_not_tables_are_refused(text):
    with pytest.raises(BadInput, match="cannot add a table") as caught:
        toml_edit.put(text, PATH, VALUES, "config.toml")

    assert caught.value.code == "SETTINGS_INVALID"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("ab# <>-\n", max_size=12), max_size=5).map("\n".join))
def test_a_block_is_added_once_and_removed(text):
    new = blocks.put(text, "ours\ntwo\n", MARKS, "AGENTS.md")

    assert new.startswith(text)
    assert blocks.put(new, "ours\ntwo\n", MARKS, "AGENTS.md") == new
    assert blocks.take(new, MARKS, "AGENTS.md") == text


def test_a_block_that_was_moved_is_updated_in_place():
    old = blocks.put("# top\n", "old", MARKS, "x").replace("# top\n", "") + "\n# below\n"

    new = blocks.put(old, "new", MARKS, "x")

    assert new == old.replace("old", "new")
    assert new.endswith("# below\n")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- dibs:begin -->\nx\n",
        "x\n<!-- dibs:end -->\n",
        "<!-- dibs:begin -->\n<!-- dibs:begin -->\n<!-- dibs:end -->\n",
        "<!-- dibs:begin -->\n<!-- dibs:end -->\n<!-- dibs:begin -->\n<!-- dibs:end -->\n",
    ],
)
def test_unpaired_marks_are_refused(text):
    with pytest.raises(BadInput, match="missing or repeated") as caught:
        blocks.put(text, "new", MARKS, "AGENTS.md")

    assert caught.value.code == "SETTINGS_INVALID"
