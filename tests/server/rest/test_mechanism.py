"""Every request gets an exact answer: strict decoding, one envelope, and a request id."""

from __future__ import annotations

import json

import pytest


def claim(client, *patterns, **more):
    return client.post("/api/v1/claims", json={"patterns": list(patterns), **more})


def test_a_claim_is_granted_with_201_and_denied_with_409(api):
    assert claim(api("ada"), "a.py").status_code == 201

    answer = claim(api("bob"), "a.py")

    assert answer.status_code == 409
    assert answer.json()["outcome"] == "denied"
    assert answer.json()["conflicts"][0]["holder"] == "ada"


BROKEN = {
    "truncated": (b'{"patterns": ["a"]', "line 1, column 19"),
    "trailing": (b'{"patterns": ["a"]} x', "line 1, column 21"),
    "two documents": (b'{"patterns": ["a"]}\n{}', "line 2, column 1"),
    "byte order mark": (b"\xef\xbb\xbf{}", "line 1, column 1"),
    "UTF-16": ('{"patterns": []}'.encode("utf-16"), "line 1, column 1"),
    "repeated name": (b'{"patterns": ["a"],\n "patterns": ["b"]}', "line 2, column 2"),
    "repeated deep": (b'{"patterns": [{"x": {"y": 1, "y": 2}}]}', "line 1, column 30"),
    "NaN": (b'{"patterns": ["a"], "ttl": NaN}', "line 1, column 28"),
    "infinite": (b'{"patterns": ["a"], "ttl": 1e400}', "line 1, column 28"),
    "huge": (b'{"ttl": ' + b"9" * 1_000_000 + b"}", "line 1, column 9"),
    "surrogate": (b'{"patterns": ["\\ud800"]}', "line 1, column 15"),
    "not UTF-8": (b'{"patterns": ["\xff"]}', "line 1, column 16"),
    "control character": (b'{"patterns": ["a\nb"]}', "line 1, column 17"),
    "empty": (b" ", "line 1, column 2"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_json_that_is_not_exactly_right_is_refused_with_line_and_column(api, name):
    body, where = BROKEN[name]
    answer = api("ada").post(
        "/api/v1/claims", content=body, headers={"content-type": "application/json"}
    )

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "JSON"
    assert where in answer.json()["error"]["message"]


@pytest.mark.parametrize("mark", ["[", '{"a":'])
def test_json_that_is_nested_too_deeply_is_refused(api, mark):
    answer = api("ada").post("/api/v1/claims", content=mark * 10_000)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "JSON_DEPTH"


def test_brackets_inside_of_texts_are_not_levels(api):
    assert claim(api("ada"), "a", reason="[" * 100 + '\\"').status_code == 201


def test_an_unknown_field_is_refused_with_the_one_that_was_meant(api):
    answer = api("ada").post("/api/v1/claims", json={"patern": ["a"]})

    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": "UNKNOWN_FIELD", "message": "unknown field 'patern'", "field": "patern",
        "hint": "did you mean patterns?", "retryable": False,
        "request_id": answer.headers["x-request-id"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"patterns": "a"}, "patterns"), ({"patterns": ["a", 1]}, "patterns[1]"), ({}, "patterns"),
        ({"patterns": ["a"], "ttl": True}, "ttl"), ({"patterns": ["a"], "shared": 1}, "shared"),
        ([], ""), (None, ""), ("x", ""), ({"patterns": []}, "patterns"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_refused_with_the_name_of_the_field(api, body, field):
    answer = api("ada").post("/api/v1/claims", content=json.dumps(body))

    assert answer.status_code == 400
    assert (answer.json()["error"]["field"] or "") == field


def test_a_path_that_does_not_exist_gets_the_usual_envelope(api):
    answer = api("ada").get("/api/v1/nothing")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "NO_ROUTE"


@pytest.mark.parametrize("method", ["TRACE", "FOO", "DELETE"])
def test_a_wrong_method_is_refused_with_the_allowed_ones(api, method):
    answer = api("ada").request(method, "/api/v1/claims")

    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]
    assert answer.json()["error"]["code"] == "METHOD"


def test_every_answer_has_a_request_id_and_a_given_one_is_kept(api):
    client = api("ada")

    assert client.get("/api/v1/status").headers["x-request-id"]
    given = client.get("/api/v1/nothing", headers={"x-request-id": "mine-1"})
    assert given.headers["x-request-id"] == given.json()["error"]["request_id"] == "mine-1"


@pytest.mark.parametrize(
    "query", ["nothing=1", "project=a&project=b", "project=%ff", "project=%00"]
)
def test_a_wrong_query_is_refused(api, query):
    assert api("ada").get(f"/api/v1/status?{query}").status_code == 400
