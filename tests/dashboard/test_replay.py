"""Replay: the whole page shows a moment of the past, and returns to live."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def past(server):
    """Return what ``dibs status`` said at a moment, after which everything changed."""

    def say(agent: str, path: str, **body):
        reply = server.request("POST", f"/api/v1{path}", body, {"Dibs-Agent": agent})
        assert reply.status in {200, 201, 202, 409}, reply.body

    say("zoe", "/claims", patterns=["src/a.py", "src/earlier.py"])
    say("zoe", "/agents/zoe/leave")
    say("ada", "/claims", patterns=["src/a.py", "src/b.py", "src/c.py"])
    say("ada", "/claims/release", patterns=["src/c.py"])
    say("bob", "/claims", patterns=["lib/**"])
    say("bob", "/claims", patterns=["src/a.py"], queue=True)
    say("ada", "/tasks", title="An early task")
    told = json.loads(server.dibs("status", "--json").stdout)
    say("ada", "/claims/release", all=True)
    say("bob", "/agents/bob/leave")
    say("carol", "/claims", patterns=["src/later.py"])
    say("ada", "/tasks", title="A later task")
    return told


def claims_shown(page) -> set[tuple[str, str]]:
    return {
        (lane.get_attribute("data-agent"), path)
        for lane in page.locator(".lane[data-agent]").all()
        for path in lane.locator(".claim .path").all_inner_texts()
    }


def test_a_replayed_moment_shows_what_status_said_then(open_view, past):
    page = open_view(f"/?at={past['now']}")

    page.wait_for_selector(".lane[data-agent=ada] .claim")
    assert claims_shown(page) == {(one["agent"], one["pattern"]) for one in past["claims"]}
    assert len(past["claims"]) == 3
    agents = {one.get_attribute("data-agent") for one in page.locator(".lane[data-agent]").all()}
    assert agents == {one["id"] for one in past["agents"]} == {"ada", "bob"}
    waiting = page.locator(".lane", has_text="waiting for").get_attribute("data-agent")
    assert [waiting] == [one["agent"] for one in past["queue"]]
    assert page.get_by_role("button", name="Resolve").count() == 0


def test_the_moment_stays_in_every_view_until_the_page_returns_to_live(open_view, past):
    page = open_view(f"/ledger?at={past['now']}")

    page.wait_for_selector("text=An early task")
    assert page.locator("text=A later task").count() == 0
    page.click("nav >> text=Board")
    page.wait_for_selector("text=An early task")
    assert page.locator("text=A later task").count() == 0
    page.click("nav >> text=Crew")
    page.wait_for_selector(".crew-row:has-text('bob')")
    assert page.locator(".crew-row:has-text('carol')").count() == 0
    expect(page).to_have_url(re.compile("at="))
    page.get_by_role("button", name="Back to live").click()
    page.wait_for_selector(".crew-row:has-text('carol')")
    expect(page).not_to_have_url(re.compile("at="))


def test_steps_go_from_event_to_event_and_play_moves_on(open_view, past):
    page = open_view(f"/timeline?at={past['now']}")
    moment = page.locator(".replay input[type=range]")
    page.wait_for_selector(".replay button[aria-label='Next event']:not(:disabled)")

    page.get_by_role("button", name="Next event").click()
    page.wait_for_function(
        "then => document.querySelector('.replay input').valueAsNumber > then", arg=past["now"]
    )
    stepped = float(moment.input_value())
    page.get_by_role("button", name="Previous event").click()
    page.wait_for_function(
        "then => document.querySelector('.replay input').valueAsNumber < then", arg=stepped
    )
    before = float(moment.input_value())
    page.locator("[aria-label=Speed] button").first.click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(
        "then => document.querySelector('.replay input')?.valueAsNumber > then + 0.2", arg=before
    )


def test_the_times_above_the_bars_set_the_moment(open_view, past):
    page = open_view("/timeline?range=15m")
    page.wait_for_selector(".gantt-lane")

    box = page.locator(".axis").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 300, box["y"] + 10)

    page.wait_for_selector(".replay .primary")
    page.wait_for_url(re.compile("at="))
