"""A browser signs in with a link that is valid once, and keeps a cookie that no script can read."""

from __future__ import annotations

import json

import pytest
from tests.server.callers import ADDRESS, client, token

from dibs.server.resident import Resident
from dibs.server.security.identity import TokenScope

COOKIE = "dibs_session_21000"
OURS = {"Origin": ADDRESS}


@pytest.fixture
def resident(tmp_path, clock):
    one = Resident(str(tmp_path / "server"), clock=clock)
    one.url = ADDRESS
    yield one
    one.stop()


def path_of(link):
    assert link.startswith(ADDRESS + "/login?code=")
    return link.removeprefix(ADDRESS)


def signed_in(resident, scope=TokenScope.HUMAN):
    browser = client(resident)
    link, _ = resident.logins.new(ADDRESS, scope)
    answer = browser.get(path_of(link), follow_redirects=False)
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/"
    return browser, answer


def test_a_link_sets_a_cookie_for_this_site_that_scripts_cannot_read(resident, served):
    browser, answer = signed_in(resident)

    said = answer.headers["set-cookie"]
    assert said.startswith(f"{COOKIE}=dibs_")
    assert said.endswith("; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200")
    assert browser.get("/").json()["scope"] == "human"
    assert browser.get("/api/v1/whoami").json()["scope"] == "human"


def test_behind_a_proxy_with_tls_the_cookie_is_secure(resident):
    browser = client(resident, **{"X-Forwarded-Proto": "https"})
    link, _ = resident.logins.new(ADDRESS, TokenScope.HUMAN)

    assert (
        browser.get(path_of(link), follow_redirects=False)
        .headers["set-cookie"]
        .endswith("; Secure")
    )


def test_a_link_is_valid_once(resident):
    link, _ = resident.logins.new(ADDRESS, TokenScope.HUMAN)
    first, second = (client(resident).get(path_of(link), follow_redirects=False) for _ in range(2))

    assert (first.status_code, second.status_code) == (303, 401)
    assert second.json()["error"]["code"] == "LOGIN"
    assert "set-cookie" not in second.headers


def test_a_link_is_valid_for_a_minute(resident, clock):
    link, expires = resident.logins.new(ADDRESS, TokenScope.HUMAN)
    assert expires == clock.now + 60
    clock.now += 60

    assert client(resident).get(path_of(link), follow_redirects=False).status_code == 401


@pytest.mark.parametrize(
    "query", ["", "?code=", "?code=wrong", "?code=LINK&code=LINK", "?code=%ff"]
)
def test_a_wrong_code_signs_no_one_in(resident, query):
    link, _ = resident.logins.new(ADDRESS, TokenScope.HUMAN)
    given = query.replace("LINK", link.partition("code=")[2])

    answer = client(resident).get(f"/login{given}", follow_redirects=False)
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


def test_only_the_last_links_are_valid(resident):
    links = [resident.logins.new(ADDRESS, TokenScope.HUMAN)[0] for _ in range(17)]
    statuses = [
        client(resident).get(path_of(link), follow_redirects=False).status_code for link in links
    ]
    assert statuses == [401] + [303] * 16


def test_a_session_expires_and_can_be_revoked(resident, served, clock):
    browser, _ = signed_in(resident)
    clock.now += 1
    other, _ = signed_in(resident)
    resident.tokens.revoke(resident.tokens.all()[0].id)
    assert (browser.get("/api/v1/status").status_code, other.get("/api/v1/status").status_code) == (
        401,
        200,
    )

    clock.now += 12 * 3600
    assert other.get("/api/v1/status").status_code == 401


def test_signing_out_ends_the_session_and_removes_the_cookie(resident, served):
    browser, _ = signed_in(resident)
    value = browser.cookies[COOKIE]

    answer = browser.post("/logout", json={}, headers=OURS)

    assert answer.status_code == 200
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert client(resident, Cookie=f"{COOKIE}={value}").get("/api/v1/status").status_code == 401


@pytest.mark.parametrize(("headers", "expected"), [
    ({}, 403), ({"Sec-Fetch-Site": "none"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
    (OURS, 201), ({"Sec-Fetch-Site": "same-origin"}, 201),
])  # fmt: skip
def test_with_a_cookie_only_a_page_of_this_server_changes_anything(
    resident, served, headers, expected
):
    browser, _ = signed_in(resident)

    answer = browser.post("/api/v1/claims", json={"patterns": ["a.py"]}, headers=headers)
    assert answer.status_code == expected, answer.text


@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://evil.example"}]
)
def test_with_a_cookie_only_a_page_of_this_server_opens_a_websocket(resident, served, headers):
    from starlette.testclient import WebSocketDenialResponse

    browser, _ = signed_in(resident)
    with (
        pytest.raises(WebSocketDenialResponse) as caught,
        browser.websocket_connect("/ws", headers=headers),
    ):
        pass
    assert caught.value.status_code == 403


def test_a_token_is_not_valid_as_a_cookie_and_a_cookie_not_as_a_token(resident, served):
    made = token(resident)
    browser, _ = signed_in(resident)

    assert client(resident, Cookie=f"{COOKIE}={made}").get("/api/v1/status").status_code == 401
    assert client(resident, browser.cookies[COOKIE]).get("/api/v1/status").status_code == 401
    twice = f"{COOKIE}={browser.cookies[COOKIE]}; {COOKIE}=x"
    assert client(resident, Cookie=twice).get("/api/v1/status").status_code == 401


def test_the_scope_of_a_link_is_that_of_its_creator(resident, served):
    human = client(resident, token(resident, TokenScope.HUMAN))
    link = human.post("/api/v1/login", json={}).json()["url"]
    browser = client(resident)
    browser.get(path_of(link), follow_redirects=False)

    assert browser.get("/api/v1/whoami").json()["scope"] == "human"
    agent = client(resident, token(resident, agent="alice", served=served))
    assert agent.post("/api/v1/login", json={}).status_code == 403


def test_a_token_is_never_stored_for_a_repeated_request(resident, served, tmp_path):
    admin = client(resident, token(resident))
    answer = admin.post("/api/v1/tokens", json={}, headers={"Idempotency-Key": "once"})

    made = answer.json()["token"]
    assert resident.tokens.verify(made)
    stored = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(made[5:].encode() in content for content in stored)


def test_a_running_server_prints_a_link(server):
    done = server.dibs("token", "login", "--json")
    link = json.loads(done.stdout)["url"]
    answer = server.request("GET", link.removeprefix(server.url), tcp=True)

    assert answer.status == 303
    assert server.dibs("token", "login", DIBS_AGENT="mallory").returncode == 77
    assert "browser" in server.dibs("token", "ls").stdout
