"""Crew: the agents and their families, the details of one, and what a human does with it."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect
from tests.dashboard.conftest import PHONE
from tests.dashboard.test_now import HOSTILE, problems


def join(server, agent: str, **about) -> None:
    reply = server.request("POST", "/api/v1/agents", {"id": agent, **about})
    assert reply.status == 200, reply.body


def test_subagents_follow_their_parent_and_show_what_they_do(open_view, server):
    join(server, "lead-1", role="lead", model="opus", task="plan the release")
    join(server, "zoe-2", role="tester", parent="lead-1", task=HOSTILE, model=HOSTILE)
    join(server, "amy-3", role="coder", parent="zoe-2")
    context = {"context": 0.42}
    server.request("POST", "/api/v1/agents/amy-3/report", context, {"Dibs-Agent": "amy-3"})
    page = open_view("/crew")

    page.wait_for_selector("[data-agent=amy-3]")
    family = ["lead-1", "zoe-2", "amy-3"]
    shown = page.locator(".crew-row").evaluate_all("rows => rows.map(row => row.dataset.agent)")
    assert [one for one in shown if one in family] == family
    assert "42%" in page.locator("[data-agent=amy-3]").text_content()
    assert HOSTILE in page.locator("[data-agent=zoe-2]").text_content()
    assert page.locator("main img, main script").count() == 0
    assert page.get_by_role("button", name="Start an agent").is_disabled()

    page.locator("[data-agent=lead-1] a").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="zoe-2").wait_for()
    expect(page).to_have_url(re.compile("agent=zoe-2"))
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="zoe-2").wait_for(state="detached")


def test_a_human_messages_and_stops_an_agent_from_its_details(open_view, server):
    join(server, "max-4", role="coder")
    claim = {"patterns": ["src/max.py"], "reason": "fix it"}
    server.request("POST", "/api/v1/claims", claim, {"Dibs-Agent": "max-4"})
    page = open_view("/crew?agent=max-4", width=PHONE, theme="dark")

    page.locator(".agent-claims").get_by_text("src/max.py").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert problems(page) == []
    page.get_by_role("button", name="Message").click()
    page.get_by_label("Text").fill("please finish soon")
    page.get_by_role("button", name="Send").click()
    page.locator(".agent-details").get_by_text("please finish soon").first.wait_for()

    page.get_by_role("button", name="Stop").click()
    page.get_by_label("Reason").fill("it is stuck")
    page.locator("dialog").get_by_role("button", name="Stop").click()
    page.locator(".agent-details").get_by_text("stopped", exact=True).wait_for()
    agent = server.request("GET", "/api/v1/agents/max-4").json
    assert (agent["agent"]["status"], agent["claims"]) == ("terminated", [])


def test_a_new_alert_is_announced_in_every_view_with_a_link(open_view, server):
    join(server, "eve-5")
    page = open_view("/ledger")
    page.wait_for_selector(".connection.live")
    full = {"context": 0.99}
    server.request("POST", "/api/v1/agents/eve-5/report", full, {"Dibs-Agent": "eve-5"})

    began = time.monotonic()
    server.request("POST", "/api/v1/alerts/check", {})
    toast = page.locator(".toast", has_text="eve-5 has used 99%")
    toast.wait_for()
    assert time.monotonic() - began < 5
    toast.get_by_role("link", name="Show the alerts").click()
    page.locator(".alerts").get_by_text("eve-5 has used 99%").wait_for()
