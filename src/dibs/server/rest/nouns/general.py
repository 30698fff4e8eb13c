"""The server itself: its projects, its health, and its description."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

import dibs
from dibs.errors import BadInput, DibsError, NotAllowed
from dibs.server.metrics import CONTENT_TYPE
from dibs.server.rest.routes import (
    MOST_PATH,
    Answer,
    ApiRoute,
    Body,
    Call,
    Listing,
    NoBody,
)
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    from dibs.server.projects import ServedProject

#: Seconds that all engines have to answer a check of the server's health.
HEALTH_TIME = 2.0
_STARTED = time.time()


class AddBody(Body, frozen=True):
    """A project to serve."""

    folder: Annotated[str, Meta(min_length=1, max_length=MOST_PATH, description="an absolute path")]


def projects(call: Call, body: Listing) -> Any:
    """Return the projects that the caller may use."""
    rows = [_project(one) for one in _visible(call)]
    return call.page(body, "projects", rows, key=lambda one: (one["name"], one["root"]))


def _visible(call: Call) -> list[ServedProject]:
    only = call.identity.project
    return [one for one in call.resident.projects.all() if only in {"", one.id}]


def _project(served: ServedProject) -> dict[str, Any]:
    return {"id": served.id, "name": served.name, "root": served.root}


def add(call: Call, body: AddBody) -> Any:
    """Serve another project."""
    if not os.path.isabs(body.folder):
        raise BadInput("the folder must be an absolute path", field="folder")
    known = {one.id for one in call.resident.projects.all()}
    served = call.resident.projects.add(body.folder)
    return Answer(200 if served.id in known else 201, {"project": _project(served)})


def health(call: Call, _: NoBody) -> Any:
    """Check every part of the server, and every engine within a limited time."""
    served = _visible(call)
    found: dict[str, str] = {}
    checks = [threading.Thread(target=_check, args=(one, found), daemon=True) for one in served]
    for check in checks:
        check.start()
    end = time.monotonic() + HEALTH_TIME
    for check in checks:
        check.join(max(0.0, end - time.monotonic()))
    rows = [
        {**_project(one), "ok": found.get(one.id) == "", "why": found.get(one.id, "no answer yet")}
        for one in served
    ]
    parts = {
        type(part).__name__: bool(getattr(part, "running", True)) for part in call.resident.parts
    }
    ok = all(row["ok"] for row in rows) and all(parts.values())
    shape = {
        "ok": ok, "version": dibs.__version__, "pid": os.getpid(), "started": _STARTED,
        "parts": parts, "projects": rows,
    }  # fmt: skip
    return Answer(200 if ok else 503, shape)


def _check(served: ServedProject, found: dict[str, str]) -> None:
    try:
        served.project().engine.view(lambda txn: txn.now)
    except (DibsError, OSError) as error:
        found[served.id] = str(error)
    else:
        found[served.id] = ""


def metrics(call: Call, _: NoBody) -> Any:
    """Return everything that Prometheus collects, which is about all projects."""
    if call.identity.project:
        raise NotAllowed(
            "the metrics are about all projects, and the token is for one",
            code="TOKEN_SCOPE",
            hint="a human creates a token: dibs token new --scope read",
        )
    return Answer(200, call.resident.metrics.text(), CONTENT_TYPE)


def openapi(_: Call, __: NoBody) -> Any:
    """Return the description of the API."""
    from dibs.server.rest.app import TABLE
    from dibs.server.rest.openapi import document

    return document(TABLE)


#: Routes outside of the API's prefix.
ROOT_ROUTES = (
    ApiRoute(
        "GET", "/metrics", "metrics.show", "Return metrics for Prometheus",
        "=string", metrics, scope=TokenScope.READ, project=False,
    ),
)  # fmt: skip
ROUTES = (
    ApiRoute(
        "GET", "/projects", "projects.list", "List the projects of this server",
        "projects:project*", projects, Listing, TokenScope.READ, project=False,
    ),
    ApiRoute(
        "POST", "/projects", "projects.add", "Serve another project of this machine",
        "project:project", add, AddBody, TokenScope.ADMIN, (201, 200), project=False,
    ),
    ApiRoute(
        "GET", "/openapi.json", "openapi.show", "Return this description of the API",
        "=any", openapi, scope=TokenScope.READ, project=False,
    ),
    ApiRoute(
        "GET", "/health", "health.show", "Check the server, its parts, and its engines",
        "ok:bool version pid:int started:time parts:any projects:checked_project*", health,
        scope=TokenScope.READ, statuses=(200, 503), project=False,
    ),
)  # fmt: skip
