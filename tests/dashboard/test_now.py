"""Now: who holds what, who waits for whom, and what is stuck; and a human resolves it."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.dashboard.conftest import PHONE, with_second_project

HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'


@pytest.fixture(scope="module")
def server(start_server):
    return with_second_project(start_server())


@pytest.fixture
def say(server):
    """Send a request for an agent: ``say("ada", "/claims", patterns=["a.py"])``."""

    def request(agent: str, path: str, **body):
        reply = server.request("POST", f"/api/v1{path}", body, {"Dibs-Agent": agent})
        assert reply.status < 300, reply.body
        return reply.json

    return request


@pytest.fixture
def everything_released(server):
    """Start with a project in which no one holds or waits."""
    for agent in server.request("GET", "/api/v1/status").json["agents"]:
        server.request(
            "POST", f"/api/v1/agents/{agent['id']}/leave", {}, {"Dibs-Agent": agent["id"]}
        )


def problems(page) -> list[str]:
    return [
        f"{one['id']}: {one['nodes'][0]['html']}" for one in Axe().run(page).response["violations"]
    ]


def held(server) -> dict[str, str]:
    claims = server.request("GET", "/api/v1/claims").json["claims"]
    return {one["pattern"]: one["agent"] for one in claims}


WATCH = """text => {
  window.seen = new Promise(resolve => new MutationObserver(() => {
    const claims = [...document.querySelectorAll(".claim")];
    if (claims.some(one => one.textContent.includes(text))) resolve(Date.now() / 1000);
  }).observe(document.body, {childList: true, subtree: true, characterData: true}));
}"""


def test_a_claim_made_in_a_shell_appears_within_300_ms(open_view, server):
    server.dibs("claim", "src/zero.py", "--new", DIBS_AGENT="ada")
    page = open_view("/")
    page.wait_for_selector(".connection.live")
    page.wait_for_selector(".claim")
    delays = []
    for path in ("src/one.py", "src/two.py", "src/three.py"):
        page.evaluate(WATCH, path)
        server.dibs("claim", path, "--new", DIBS_AGENT="ada")
        seen = page.evaluate("() => window.seen")
        claims = server.request("GET", "/api/v1/claims").json["claims"]
        delays.append(seen - next(one["since"] for one in claims if one["pattern"] == path))

    assert min(delays) < 0.3, delays


def test_a_human_resolves_a_conflict_in_two_clicks(open_view, server, say, everything_released):
    say("ada", "/claims", patterns=["src/auth/"], reason="rework the login")
    page = open_view("/")
    say("bob", "/claims", patterns=["src/auth/login.py"], queue=True)

    edge = page.get_by_role("button", name="bob waits for src/auth/login.py, held by ada")
    edge.click()
    page.get_by_role("button", name="Revoke ada's claim").click()

    page.wait_for_selector("dialog[open]", state="detached")
    page.wait_for_selector(".graph", state="detached")
    assert "src/auth/" not in held(server)
    (lost,) = server.request("GET", "/api/v1/agents/ada").json["lost"]
    assert lost["reason"].startswith("bob has waited for src/auth/login.py for")


def test_a_lane_says_what_its_agent_waits_for_and_who_holds_it(open_view, say, everything_released):
    say("ada", "/claims", patterns=["src/auth/"], reason="rework the login")
    say("bob", "/claims", patterns=["src/auth/login.py"], queue=True)
    page = open_view("/")

    lane = page.locator("[data-agent=bob]")
    lane.get_by_text("waiting for src/auth/login.py, held by").wait_for()
    assert "ada" in lane.text_content()
    lane.get_by_role("button", name="Resolve").click()
    page.get_by_role("button", name="Ask ada to release it").click()

    page.locator("[data-agent=ada]").get_by_text("asked by").wait_for()


def test_decisions_and_alerts_are_settled_here(open_view, server, say, everything_released):
    say("ada", "/decisions", title="Drop Python 3.10", confirm=True)
    say("ada", "/agents/ada/report", context=0.97)
    say("ada", "/alerts/check")
    page = open_view("/")

    question = page.locator(".decisions > li", has_text="Drop Python 3.10")
    question.get_by_role("button", name="Confirm").click()
    question.wait_for(state="detached")
    alert = page.locator(".alerts > li", has_text="ada has used 97%")
    alert.get_by_role("button", name="Acknowledge").click()
    alert.get_by_text("acknowledged by").wait_for()
    say("ada", "/agents/ada/report", context=0.1)
    say("ada", "/alerts/check")
    alert.wait_for(state="detached")

    decisions = server.request("GET", "/api/v1/decisions").json["decisions"]
    assert [one["outcome"] for one in decisions if "3.10" in one["title"]] == ["confirmed"]


def test_the_view_is_accessible_and_fits_a_phone(open_view, say, everything_released):
    long = "frontend/src/components/checkout/" + "very_long_name_" * 8 + "form.tsx"
    say("claude-7f3a21c4", "/claims", patterns=[long, *(f"lib/{n}.py" for n in range(40))])
    for agent in ("claude-b81d0e55", "codex-19ffae03", "gemini-5520c7aa"):
        say(agent, "/claims", patterns=[long], queue=True, reason="a reason " * 20)
    say("claude-b81d0e55", "/decisions", title="Use one table", confirm=True)
    page = open_view("/", width=PHONE, theme="dark")
    page.wait_for_selector(".edge")

    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert problems(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="and 36 more").click()
    page.get_by_text("lib/39.py").wait_for()
    page.locator(".wait-row").get_by_role("button", name="Resolve").first.click()
    page.wait_for_selector("dialog[open]")
    assert problems(page) == []

    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("lib/17")
    page.wait_for_selector("text=lib/18.py", state="detached")
    expect(page).to_have_url(re.compile("q=lib"))
    assert page.locator(".claim").count() == 1
