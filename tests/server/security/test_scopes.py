"""Every route, with every scope and with another agent's name; new routes are covered by the table."""

from __future__ import annotations

import pytest
from tests.server.callers import client, repository, token

from dibs.server.rest.app import TABLE
from dibs.server.security.identity import TokenScope

ROUTES = [(route.method, prefix + route.path, route) for prefix, route in TABLE]
NAMES = [f"{method} {path}" for method, path, _ in ROUTES]
#: Routes that are not in the table, and the scope that each needs.
OTHERS = (("GET", "/", TokenScope.READ),
          ("POST", "/logout", TokenScope.READ), ("POST", "/api/v1/commands", TokenScope.READ))  # fmt: skip
every_route = pytest.mark.parametrize(("method", "path", "route"), ROUTES, ids=NAMES)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server with two projects, without threads, for all routes."""
    from dibs.server.resident import Resident

    base = tmp_path_factory.mktemp("scopes")
    one = Resident(str(base / "server"))
    served = one.projects.add(repository(base / "app"))
    one.projects.add(repository(base / "other"))
    yield one, served
    one.stop()


@pytest.fixture(scope="module")
def ask(place):
    """Send a request with a token; return the status and the error code."""
    resident, served = place
    browser = client(resident)
    made = {
        scope: token(resident, scope)
        for scope in (TokenScope.READ, TokenScope.HUMAN, TokenScope.ADMIN)
    }
    made[TokenScope.AGENT] = token(resident, agent="bob", served=served)

    def send(method, path, scope, query="", **headers):
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if scope is not None:
            given["Authorization"] = f"Bearer {made[scope]}"
        whole = path.replace("{path:path}", "x.py").replace("{id}", "alice")
        whole = whole.replace("{name}", "alice").replace("{agent}", "alice").replace("{key}", "ttl")
        body = {} if method in {"GET", "DELETE"} else {"json": {}}
        answer = browser.request(method, whole + query, headers=given, **body)
        kind = answer.headers.get("content-type", "")
        code = answer.json().get("error") if kind == "application/json" else None
        return answer.status_code, (code or {}).get("code", "")

    return send


@every_route
def test_a_route_needs_a_token_and_its_scope(ask, method, path, route):
    assert ask(method, path, None) == (401, "AUTH")

    weaker = [scope for scope in TokenScope if scope < route.scope]
    assert [ask(method, path, scope) for scope in weaker] == [(403, "TOKEN_SCOPE")] * len(weaker)
    assert route.scope >= TokenScope.AGENT or method == "GET" or path.endswith("/check")


@every_route
def test_an_agent_acts_neither_as_another_nor_in_another_project(ask, method, path, route):
    for attempt in ({"Dibs_Agent": "alice"}, {"query": "?project=other"} if route.project else {}):
        if attempt:
            status, code = ask(method, path, TokenScope.AGENT, **attempt)
            assert 400 <= status < 500, (attempt, status)
            assert (
                code in {"NOT_YOU", "TOKEN_SCOPE", "BAD_INPUT", "UNKNOWN_FIELD", "NO_CALLER"}
                or status == 400
            )


@every_route
def test_what_a_request_says_about_its_scope_is_ignored(ask, method, path, route):
    if route.scope > TokenScope.READ:
        claimed = {"Dibs_Scope": "admin", "X_Forwarded_User": "root", "X_Role": "human"}
        assert ask(method, path, TokenScope.READ, **claimed) == (403, "TOKEN_SCOPE")


@pytest.mark.parametrize(("method", "path", "needs"), OTHERS)
def test_the_routes_outside_of_the_table_need_a_token_too(ask, method, path, needs):
    assert ask(method, path, None) == (401, "AUTH")
    if needs > TokenScope.READ:
        assert ask(method, path, TokenScope.READ) == (403, "TOKEN_SCOPE")


def test_an_agent_stops_itself_and_its_subagents_and_a_human_anyone(place):
    resident, served = place
    agents = {
        name: client(resident, token(resident, agent=name, served=served))
        for name in ("lead", "kid", "baby", "peer")
    }
    for name, parent in (("lead", ""), ("kid", "lead"), ("baby", "kid"), ("peer", "")):
        assert agents[name].post("/api/v1/agents", json={"parent": parent}).status_code < 300

    def stop(who, target):
        answer = who.post(f"/api/v1/agents/{target}/stop", json={})
        found = answer.json()
        return found["error"]["code"] if "error" in found else sorted(found["stopped"])

    assert stop(agents["kid"], "lead") == "NOT_YOU"
    assert stop(agents["peer"], "baby") == "NOT_YOU"
    assert stop(agents["lead"], "baby") == ["baby"]
    assert stop(agents["kid"], "kid") == ["kid"]
    assert stop(client(resident, token(resident, TokenScope.HUMAN, served=served)), "peer") == [
        "peer"
    ]
