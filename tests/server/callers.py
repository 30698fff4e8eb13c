"""Clients of the ASGI application with tokens, for tests of the server."""

from __future__ import annotations

import subprocess

from starlette.testclient import TestClient

from dibs.server.app import build
from dibs.server.security.identity import TokenScope

#: The address under which tests call the application without a socket.
ADDRESS = "http://127.0.0.1:21000"


def repository(folder):
    """Create a git repository with a Dibs project; return its folder."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "dibs.toml").write_text("")
    return str(folder)


def token(resident, scope=TokenScope.ADMIN, agent="", served=None, **options):
    """Create a token: for an agent of a project, or by default for an admin."""
    if agent and scope is TokenScope.ADMIN:
        scope = TokenScope.AGENT
    project, folder = (served.id, served.root) if served is not None else ("", "")
    made, _ = resident.tokens.new(scope, agent=agent, project=project, folder=folder, **options)
    return made


def bearer(made):
    """Return the header with a token."""
    return {"Authorization": f"Bearer {made}"}


def client(resident, made="", **headers):
    """Return a client of the application; ``made`` is its token."""
    given = {**(bearer(made) if made else {}), **headers}
    return TestClient(
        build(resident), base_url=ADDRESS, headers=given, raise_server_exceptions=False
    )
