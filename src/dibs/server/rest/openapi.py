"""The OpenAPI 3.1 document, generated from the table of routes, the bodies, and the JSON contract."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

import dibs
from dibs.server.rest.routes import NoBody
from dibs.server.security.checks import MOST_BODY
from dibs.shapes.contract import ANSWERS, VALUES
from dibs.shapes.schema import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.server.rest.routes import ApiRoute

    Json = dict[str, Any]

_PLACE = "#/components/schemas"
_REST = re.compile(r"\{(\w+):path\}")
_PARAMETER = re.compile(r"\{(\w+)\}")
#: What each error status means.
ERRORS = {
    400: "The request is wrong; the error names the field",
    401: "The token is missing, wrong, expired, or revoked",
    403: "The token, or its agent, may not do this",
    404: "No such thing, or no such path",
    405: "The path does not support the method; see the header Allow",
    409: "Another agent holds it, the claim was lost, or the key was used for another request",
    412: "The version in If-Match is not the current one",
    413: f"The body has more than {MOST_BODY} bytes",
    415: "The body is not JSON, or compressed",
    421: "The Host header does not name this server",
    431: "The headers are too long",
    500: "A bug in Dibs; the log has the request id",
    503: "The store cannot be reached, or the server is busy; try again",
    504: "The change may or may not have happened; repeat it with the same Idempotency-Key",
}
_HEADERS = {
    "Agent": ("Dibs-Agent", "for humans: act for this agent", {"type": "string"}),
    "Key": (
        "Idempotency-Key",
        "makes a repeat of this request harmless for 24 hours",
        {"type": "string", "maxLength": 128},
    ),
    "Version": ("If-Match", "the version that is changed", {"type": "string"}),
}
_QUERIES = {
    "project": "the id, name, or folder of the project, if the server has several",
    "worktree": "the absolute folder of a working tree, by default the main one",
}
#: Bodies that work, by route.
EXAMPLES: dict[str, Json] = {
    "claims.create": {"patterns": ["src/auth.py", "docs/**"], "reason": "fix the login"},
    "claims.check": {"patterns": ["src/auth.py"]},
    "claims.renew": {"ttl": "10m"},
    "claims.release": {"patterns": ["src/auth.py"]},
    "claims.ask": {"patterns": ["src/auth.py"], "within": "10m", "note": "I need it for 42"},
    "claims.answer": {"answer": "later", "pattern": "src/auth.py", "within": "10m"},
    "claims.escalate": {"patterns": ["src/auth.py"], "note": "nobody answers"},
    "claims.revoke": {"pattern": "src/auth.py", "reason": "its agent is stuck"},
    "claims.transfer": {"patterns": ["src/auth.py"], "to": "bob"},
    "agents.join": {"role": "tester", "model": "some-model"},
    "agents.report": {"status": "idle", "context": 0.7},
    "agents.leave": {"status": "completed"},
    "agents.stop": {"reason": "stuck in a loop"},
    "projects.add": {"folder": "/home/alice/project"},
    "coordination.lock": {"agentId": "ada", "filePath": "src/auth.py", "reason": "fix the login"},
}


@cache
def document(table: tuple[tuple[str, ApiRoute], ...]) -> Json:
    """Return the whole document."""
    bodies = list(dict.fromkeys(route.takes for _, route in table if route.takes is not NoBody))
    _, schemas = msgspec.json.schema_components(bodies, ref_template=f"{_PLACE}/{{name}}")
    values = {name: schema(line, _PLACE) for name, line in VALUES.items()}
    paths: dict[str, Json] = {}
    for prefix, route in table:
        path = _REST.sub(r"{\1}", prefix + route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, path, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dibs", "version": dibs.__version__,
            "description": "Lets many coding agents work on one codebase without colliding.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas, **values, "Error": schema(ANSWERS["error"], _PLACE)},
            "parameters": _parameters(),
            "responses": {f"E{status}": _error(text) for status, text in ERRORS.items()},
            "headers": {"RequestId": _REQUEST_ID},
            "securitySchemes": {
                "bearer": {
                    "type": "http", "scheme": "bearer", "description": "from `dibs token new`",
                },
            },
        },
        "security": [{"bearer": []}],
    }  # fmt: skip


_REQUEST_ID = {
    "description": "The id of the request, which the server's log has too",
    "schema": {"type": "string"},
    "required": True,
}
_WITH_ID = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}


def _operation(route: ApiRoute, path: str, schemas: Json) -> Json:
    reads = route.method in {"GET", "DELETE"}
    found: Json = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.name.partition(".")[0]],
        "x-scope": route.scope.name.lower(),
        "parameters": [
            *(_path_parameter(name) for name in _PARAMETER.findall(path)),
            *(_query_parameters(route, schemas) if reads else ()),
            *(_ref("parameters", name) for name in (_QUERIES if route.project else ())),
            *_header_parameters(route),
        ],
        "responses": _responses(route),
    }
    if not reads:
        content: Json = {"schema": _body(route)}
        if route.name in EXAMPLES:
            content["example"] = EXAMPLES[route.name]
        needed = bool(schemas.get(route.takes.__name__, {}).get("required"))
        found["requestBody"] = {"required": needed, "content": {"application/json": content}}
    return found


def _body(route: ApiRoute) -> Json:
    if route.takes is NoBody:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    return {"$ref": f"{_PLACE}/{route.takes.__name__}"}


def _ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def _path_parameter(name: str) -> Json:
    return {
        "name": name, "in": "path", "required": True,
        "schema": {"type": "string", "minLength": 1},
        "description": "percent-encoded, including slashes",
    }  # fmt: skip


def _query_parameters(route: ApiRoute, schemas: Json) -> Iterable[Json]:
    own = schemas.get(route.takes.__name__, {})
    for name, shape in own.get("properties", {}).items():
        shown = {k: v for k, v in shape.items() if k not in {"description", "default"}}
        about = {"description": shape["description"]} if "description" in shape else {}
        needed = name in own.get("required", ())
        yield {"name": name, "in": "query", "required": needed, "schema": shown, **about}


def _header_parameters(route: ApiRoute) -> Iterable[Json]:
    if route.project:
        yield _ref("parameters", "Agent")
    if route.method != "GET":
        yield _ref("parameters", "Key")
    if route.versioned:
        yield _ref("parameters", "Version")


def _parameters() -> Json:
    queries = {
        name: {"name": name, "in": "query", "schema": {"type": "string"}, "description": about}
        for name, about in _QUERIES.items()
    }
    headers = {
        key: {"name": name, "in": "header", "schema": shape, "description": about}
        for key, (name, about, shape) in _HEADERS.items()
    }
    return {**queries, **headers}


def _responses(route: ApiRoute) -> Json:
    shape = schema(ANSWERS.get(route.tells, route.tells), _PLACE)
    if "cursor" in route.takes.__struct_fields__:
        shape["properties"]["next_cursor"] = {"type": ["string", "null"]}
        shape["required"] = list(dict.fromkeys((*shape["required"], "next_cursor")))
    kind = "text/plain" if route.tells == "=string" else "application/json"
    found: Json = {str(status): _ref("responses", f"E{status}") for status in ERRORS}
    for status in route.statuses:
        either = shape if status < 400 else {"anyOf": [shape, {"$ref": f"{_PLACE}/Error"}]}  # noqa: PLR2004
        found[str(status)] = {
            "description": "Success" if status < 400 else ERRORS[status],  # noqa: PLR2004
            "headers": _WITH_ID,
            "content": {kind: {"schema": either}},
        }
    return found


def _error(text: str) -> Json:
    shape = {"$ref": f"{_PLACE}/Error"}
    return {
        "description": text, "headers": _WITH_ID,
        "content": {"application/json": {"schema": shape}},
    }  # fmt: skip
