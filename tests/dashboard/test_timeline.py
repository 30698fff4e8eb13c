"""Timeline: who held what and when, who waited, and what happened."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.dashboard.conftest import PHONE

HOSTILE = '<img src=x onerror="window.pwned=1">'


@pytest.fixture(scope="module")
def crew(server):
    """A history: ada held two files, bob was denied one and waits for the other."""

    def say(agent: str, path: str, **body):
        reply = server.request("POST", f"/api/v1{path}", body, {"Dibs-Agent": agent})
        assert reply.status in {200, 201, 202, 409}, reply.body

    say("ada", "/claims", patterns=["src/auth/session.py"], reason=HOSTILE)
    say("ada", "/claims", patterns=["docs/guide.md"])
    say("bob", "/claims", patterns=["src/auth/session.py"])
    say("bob", "/claims", patterns=["src/auth/session.py"], queue=True)
    say("ada", "/claims/release", patterns=["docs/guide.md"])
    return server


def lane(page, name: str):
    return page.locator(".gantt-lane").filter(has_text=name)


def test_each_agent_has_a_lane_with_its_claims_and_waits(open_view, crew):
    page = open_view("/timeline")

    page.wait_for_selector(".gantt-lane path.claim")
    assert lane(page, "ada").locator("path.claim").count() == 1
    assert lane(page, "bob").locator("path.wait").count() == 1
    assert lane(page, "bob").locator("path.mark.denial").count() == 1
    page.get_by_role("button", name="By file").click()
    assert lane(page, "src/auth/session.py").locator("path.claim").count() == 1
    assert page.url.endswith("by=file")
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []


def test_the_list_says_the_same_as_the_bars_and_leads_to_ledger_entries(open_view, crew):
    page = open_view("/timeline")

    page.get_by_text("Show as a list").click()
    table = page.locator(".span-list table")
    assert HOSTILE in table.inner_text()
    assert page.evaluate("window.pwned") is None
    assert table.locator("td", has_text="docs/guide.md").count() == 1
    table.get_by_role("link", name=re.compile("denied")).first.click()
    page.wait_for_url(re.compile(r"/ledger\?.*seq=\d+"))


def test_a_range_is_part_of_the_address(open_view, crew):
    page = open_view("/timeline?range=1h")
    bars = page.locator(".gantt-lanes")

    bars.focus()
    page.keyboard.press("+")
    page.wait_for_url(re.compile("from=.*to="))
    zoomed = page.url
    page.reload()
    page.wait_for_selector(".gantt-lanes, .empty")
    assert page.url == zoomed
    assert page.locator("[aria-label=Range] [aria-pressed=true]").count() == 0
    page.get_by_role("button", name="1h", exact=True).click()
    assert page.url.endswith("range=1h")


def test_dragging_across_the_bars_zooms_to_that_range(open_view, crew):
    page = open_view("/timeline?range=15m")
    box = page.locator(".gantt-lanes").bounding_box()

    page.mouse.move(box["x"] + 400, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 12, steps=4)
    page.mouse.up()

    page.wait_for_url(re.compile("from=.*to="))
    begin, end = (float(re.search(rf"{name}=([\d.]+)", page.url)[1]) for name in ("from", "to"))
    assert 120 < end - begin < 240


def test_a_claim_is_described_when_it_is_chosen_with_the_keyboard(open_view, crew):
    page = open_view("/timeline")
    page.wait_for_selector(".gantt-lane path.claim")

    page.locator(".gantt-lanes").focus()
    page.keyboard.press("Shift+ArrowRight")

    page.wait_for_selector(".hit-card:not([hidden])")
    assert "ada holds" in page.locator(".hit-card").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/files\?.*path=src%2Fauth%2Fsession.py"))


def test_a_search_keeps_only_matching_lanes(open_view, crew):
    page = open_view("/timeline?q=guide")

    page.wait_for_selector(".gantt-lane path.claim")
    assert page.locator(".gantt-lane").all_inner_texts() == ["ada"]


def test_a_new_claim_appears_as_a_bar_and_nothing_scrolls_sideways_on_a_phone(open_view, crew):
    page = open_view("/timeline", width=PHONE)
    page.wait_for_selector(".gantt-lane")

    crew.dibs("claim", "src/late.py", "--new", DIBS_AGENT="carol")

    page.wait_for_selector(".gantt-lane:has-text('carol') path.claim", state="attached")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
