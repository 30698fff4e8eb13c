"""Wrong calls and broken messages: each gets the right error, and the next message is read."""

from __future__ import annotations

import json

import pytest
from tests.mcp.wires import NEW, OLD, Http, envelope

from dibs.mcp.framing import MOST_BYTES

PARSE, INVALID, PARAMS = -32700, -32600, -32602


# -- arguments


def test_an_unknown_tool_or_resource_is_a_protocol_error(any_pair):
    tool = any_pair[0].request("tools/call", {"name": "seize", "arguments": {}})
    page = any_pair[0].request("resources/read", {"uri": "dibs://secrets"})

    assert [answer["error"]["code"] for answer in (tool, page)] == [PARAMS, PARAMS]


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


def test_an_unknown_argument_is_shown_without_control_characters(wires):
    error = wires(("http", NEW), "alice").fails("claim", paths=["a"], **{"x\x1b[2J\u202ey": 1})

    assert error["field"] == "x[2Jy"
    assert error["message"].endswith(": x[2Jy")


def test_errors_about_the_callers_own_words_are_not_fenced(wires):
    error = wires(("http", NEW), "alice").fails("claim", paths=["**"])

    assert (error["code"], error["message"]) == (
        "GLOB_TOO_BROAD",
        "** would claim the whole repository",
    )


# -- messages

BROKEN = [
    (b"[]", INVALID),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID),
    (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID),
    (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', INVALID),
    (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', INVALID),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', INVALID),
    (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', INVALID),
    (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"status"}}', INVALID),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', INVALID),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}', INVALID),
    (b'"text"', INVALID),
    (b"{", PARSE),
    (b"\xff\xfe", PARSE),
    (b"[" * 100_000, PARSE),
]


@pytest.mark.parametrize("era", [OLD, NEW])
def test_broken_messages_over_standard_streams_are_answered_and_the_next_one_is_read(wires, era):
    wire = wires(("stdio", era), "alice")
    for raw, code in BROKEN:
        wire.send(raw + b"\n")
        answer = wire.next()
        assert answer["error"]["code"] == code, raw[:80]
        assert "result" in wire.request("tools/list")


@pytest.mark.parametrize("era", [OLD, NEW])
def test_broken_messages_over_http_are_answered_with_400(wires, era):
    wire = wires(("http", era), "alice")
    for raw, code in BROKEN:
        status, answer = wire.answer(raw)
        assert (status, answer["error"]["code"]) == (400, code), raw[:80]
    assert "result" in wire.request("tools/list")


def test_an_id_in_use_is_rejected(wires, path):
    holder, wire = wires(("stdio", OLD), "alice"), wires(("stdio", OLD), "bob")
    holder.call("claim", paths=[path])
    id_ = wire.begin_call("wait", paths=[path], seconds=60)
    again = {"jsonrpc": "2.0", "id": id_, "method": "tools/list", "params": {}}
    wire.send(json.dumps(again).encode() + b"\n")
    answer = wire.next()
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID)
    holder.call("release", paths=[path])
    assert wire.end_call(id_)[1]["outcome"] == "granted"
    wire.call("release", all=True)


def test_an_id_in_use_is_refused_in_a_session_over_http(wires, path):
    alice, bob = wires(("http", OLD), "alice"), wires(("http", OLD), "bob")
    alice.call("claim", paths=[path])
    id_ = bob.begin_call("wait", progress=True, paths=[path], seconds=20)
    bob.hear(id_)

    status, answer = bob.answer({"jsonrpc": "2.0", "id": id_, "method": "tools/list", "params": {}})

    assert (status, answer["error"]["code"]) == (400, INVALID)
    bob.cancel(id_)
    alice.call("release", all=True)


# -- size


@pytest.mark.parametrize("era", [OLD, NEW])
def test_ten_megabytes_in_an_argument_are_rejected_and_the_next_message_is_read(wires, era):
    wire = wires(("stdio", era), "alice")
    params = envelope({"name": "say", "arguments": {"to": "all", "text": "x" * 10_485_760}}, era)
    message = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params}

    wire.send(json.dumps(message).encode() + b"\n")

    assert wire.next()["error"]["code"] == INVALID
    assert "result" in wire.request("tools/list")


def test_a_long_message_over_http_is_rejected_before_it_is_read(served):
    wire = Http(served.url, "alice", NEW)

    status, answer = wire.answer(b'{"x":"', Content_Length=str(MOST_BYTES))

    assert (status, answer["error"]["code"]) == (413, "BODY_SIZE")


def test_a_line_break_inside_a_message_makes_two_invalid_ones(wires):
    wire = wires(("stdio", NEW), "alice")

    wire.send(b'{"jsonrpc":"2.0","id":5,"method":\n"tools/list"}\n')

    assert [wire.next()["error"]["code"] for _ in range(2)] == [PARSE, PARSE]
    assert "result" in wire.request("tools/list")


# -- headers


def _list(era=NEW):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": envelope({}, era)}


def test_a_missing_unknown_or_mismatched_version_is_rejected(served):
    wire = Http(served.url, "alice", NEW)
    method = {"Mcp_Method": "tools/list"}

    assert wire.answer(_list(), **method)[0] == 400
    unknown = wire.answer(_list("2099-01-01"), MCP_Protocol_Version="2099-01-01", **method)
    assert (unknown[0], unknown[1]["error"]["code"]) == (400, -32022)
    differs = wire.answer(_list("2099-01-01"), MCP_Protocol_Version=NEW, **method)
    assert (differs[0], differs[1]["error"]["code"]) == (400, -32020)


def test_a_header_that_names_another_method_or_tool_is_rejected(served):
    wire = Http(served.url, "alice", NEW)
    version = {"MCP_Protocol_Version": NEW}
    call = {**_list(), "method": "tools/call"}
    call["params"] = {**call["params"], "name": "status", "arguments": {}}

    method = wire.answer(_list(), Mcp_Method="tools/call", **version)
    name = wire.answer(call, Mcp_Method="tools/call", Mcp_Name="claim", **version)

    assert [(s, a["error"]["code"]) for s, a in (method, name)] == [(400, -32020)] * 2


FOREIGN = [
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://127.0.0.1.evil.example"}, 403),
    ({"Host": "evil.example"}, 421),
    ({"Host": "evil.example:8899"}, 421),
]


@pytest.mark.parametrize("era", [OLD, NEW])
def test_a_foreign_origin_or_host_is_rejected(served, era):
    wire = Http(served.url, "alice", NEW)
    versions = {"MCP_Protocol_Version": era, "Mcp_Method": "tools/list"}

    for headers, status in FOREIGN:
        assert wire.answer(_list(era), **versions, **headers)[0] == status, headers


def test_only_a_page_of_this_server_may_call(served):
    wire = Http(served.url, "alice", NEW)
    versions = {"MCP_Protocol_Version": NEW, "Mcp_Method": "tools/list"}

    assert wire.answer(_list(), Origin="http://localhost:3000", **versions)[0] == 403
    own = served.url.removesuffix("/mcp")
    assert wire.answer(_list(), Origin=own, **versions)[0] == 200
