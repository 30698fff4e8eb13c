"""The REST API in this process, without the security checks in front: tests choose the identity."""

from __future__ import annotations

import subprocess

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import own_environment

from dibs.core.claims.agents import HUMAN, Caller
from dibs.project.project import create
from dibs.server.resident import Resident
from dibs.server.rest.app import rest_app
from dibs.server.rest.wire.outer import RequestIds
from dibs.server.security.identity import IDENTITY, RequestIdentity, TokenScope

ADMIN = RequestIdentity(Caller("human", HUMAN, "here"), TokenScope.ADMIN)


def agent(name, project="", scope=TokenScope.AGENT):
    return RequestIdentity(Caller(name, "agent", "here"), scope, project, f"token-{name}")


def as_identity(app, identity):
    """Return the application for requests of one identity."""

    async def inner(scope, receive, send):
        scope[IDENTITY] = identity
        await app(scope, receive, send)

    return inner


@pytest.fixture
def resident(tmp_path, monkeypatch):
    """The state of a server with one project."""
    for name, value in own_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    project, _ = create(str(repo))
    project.close()
    found = Resident(str(tmp_path / "state" / "dibs" / "server"))
    found.repo = repo
    found.projects.add(str(repo))
    yield found
    found.stop()


@pytest.fixture
def api(resident):
    """Return clients: ``api("ada")`` for an agent, ``api()`` for a human with all rights."""
    app = RequestIds(rest_app(resident), resident.metrics.seen)

    def client(who=None, **more):
        identity = ADMIN if who is None else who if not isinstance(who, str) else agent(who, **more)
        return TestClient(as_identity(app, identity), base_url="http://127.0.0.1")

    client.app = app
    return client
