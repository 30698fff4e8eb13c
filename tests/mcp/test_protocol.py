"""Wrong calls and broken messages: each gets the right error, and the next message is read."""

from __future__ import annotations

import json

import pytest
from tests.mcp.wires import NEW, OLD, envelope

from dibs import Dibs

PARAMS = -32602


def test_an_unknown_tool_is_a_protocol_error(any_pair):
    answer = any_pair[0].request("tools/call", {"name": "seize", "arguments": {}})

    assert answer["error"]["code"] == PARAMS


WRONG = [
    ({}, "paths"),
    ({"paths": []}, "paths"),
    ({"paths": "a.py"}, "paths"),
    ({"paths": [1]}, "paths.0"),
    ({"paths": ["a.py"], "agent": "alice"}, "agent"),
    ({"paths": ["a.py"], "shared": "yes"}, "shared"),
    ({"paths": ["a.py"] * 201}, "paths"),
]


def test_a_wrong_argument_is_a_result_with_field_and_hint(pair):
    for arguments, field in WRONG:
        error = pair[0].fails("claim", **arguments)
        assert (error["code"], error["field"]) == ("BAD_INPUT", field)
        assert "paths, reason, shared" in error["hint"]


def test_a_value_that_the_rules_reject_is_a_result_with_its_code(pair):
    error = pair[0].fails("claim", paths=["inside", "../outside"])

    assert (error["code"], error["field"]) == ("PATH_ESCAPE", "paths.1")


def test_an_unknown_argument_is_shown_without_control_characters(pair):
    error = pair[0].fails("claim", paths=["a"], **{"x\x1b[2J\u202ey": 1})

    assert error["field"] == "x[2Jy"
    assert error["message"].endswith(": x[2Jy")


def test_errors_about_the_callers_own_words_are_not_fenced(pair):
    error = pair[0].fails("claim", paths=["**"])

    assert (error["code"], error["message"]) == (
        "GLOB_TOO_BROAD",
        "** would claim the whole repository",
    )


BROKEN = [
    b"[]",
    b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
    b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"status"}}',
    b'{"jsonrpc":"2.0","id":1,"method":7}',
    b'"text"',
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"jsonrpc":"2.0","id":5,"method":\n"tools/list"}',
]


@pytest.mark.parametrize("era", [OLD, NEW])
def test_after_a_broken_message_the_next_one_is_answered(wires, era):
    wire = wires(era, "alice")
    for raw in BROKEN:
        wire.send(raw + b"\n")
        assert "result" in wire.request("tools/list"), raw[:80]


@pytest.mark.parametrize("era", [OLD, NEW])
def test_ten_megabytes_in_an_argument_are_rejected_and_the_next_message_is_read(wires, era):
    wire = wires(era, "alice")
    params = envelope({"name": "say", "arguments": {"to": "all", "text": "x" * 10_485_760}}, era)
    message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params}

    wire.send(json.dumps(message).encode() + b"\n")

    assert wire.end_call(99)[0]
    assert "result" in wire.request("tools/list")


def test_a_file_whose_name_is_not_text_does_not_end_the_server(repo, pair, path):
    (repo / "src").mkdir(exist_ok=True)
    (repo / f"{path}-\udcff").touch()
    with Dibs.open(repo, agent="odd") as odd:
        odd.claim(rf"{path}-\xff")
    told = pair[0].call("status")

    assert [one["pattern"] for one in told["claims"] if one["agent"] == "odd"]
    assert "result" in pair[0].request("tools/list")
