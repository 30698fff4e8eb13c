"""The frame of the views: connection, sessions, projects, keyboard, palette, focus, and phones."""

from __future__ import annotations

import signal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import PHONE, login_link, with_second_project
from tests.dashboard.test_board import violations


@pytest.fixture(scope="module")
def two_projects(start_server):
    """A server with two projects; only the first has a claim."""
    server = with_second_project(start_server())
    server.dibs("claim", "only/in/the/first.py", "--new", DIBS_AGENT="ada")
    return server


def test_events_during_an_outage_appear_after_the_server_is_back(open_view, start_server):
    first = start_server()
    page = open_view("/", at=first)
    page.wait_for_selector(".connection.live")

    first.stop(signal.SIGKILL)
    page.wait_for_selector(".connection.offline")
    page.wait_for_selector("text=The server does not answer")
    first.dibs("claim", "src/meanwhile.py", "--new", DIBS_AGENT="ada")
    again = start_server("--port", str(urlsplit(first.url).port), base=first.repo.parent)

    page.wait_for_selector(".connection.live", timeout=20_000)
    page.wait_for_selector("text=src/meanwhile.py")
    again.dibs("claim", "src/after.py", "--new", DIBS_AGENT="bob")
    page.wait_for_selector("text=src/after.py")


def test_a_revoked_session_is_signed_out_at_once(open_view, server):
    page = open_view("/")
    page.wait_for_selector(".connection.live")
    browser = page.evaluate("async () => (await (await fetch('/api/v1/whoami')).json()).value")

    server.dibs("token", "revoke", browser)
    page.keyboard.press("g")
    page.keyboard.press("c")  # loads other data, and the server refuses it

    expect(page.locator("text=You are signed out")).to_be_visible(timeout=2_000)
    expect(page.locator("code")).to_have_text("dibs open")


def test_the_palette_finds_views_agents_claims_and_actions_with_the_keyboard(open_view, server):
    server.dibs("claim", "src/palette/deep.py", "--new", DIBS_AGENT="palette-agent")
    page = open_view("/")
    page.wait_for_selector("text=palette-agent")

    page.keyboard.press("Control+k")
    page.keyboard.type("palette-ag")
    expect(page.locator("dialog [role=option]").first).to_contain_text("palette-agent")
    page.keyboard.press("Enter")
    page.wait_for_url("**/crew?*agent=palette-agent*")

    page.keyboard.press("Control+k")
    page.keyboard.type("claim deep")
    expect(page.locator("dialog [role=option]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("Control+k")
    page.keyboard.type("dark theme")
    expect(page.locator("dialog [role=option]")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_new_view_gets_the_focus_a_title_and_its_own_address(open_view):
    page = open_view("/")
    page.wait_for_selector(".connection.live")

    page.keyboard.press("g")
    page.keyboard.press("c")

    page.wait_for_url("**/crew*")
    expect(page).to_have_title("Crew - Dibs")
    expect(page.locator("main h1")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.go_back()
    expect(page).to_have_title("Now - Dibs")


def test_the_first_tab_stop_skips_the_navigation(open_view):
    page = open_view("/")
    page.wait_for_selector(".connection.live")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to content"
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_a_phone_reaches_every_view_from_the_bar_at_the_bottom(open_view):
    page = open_view("/", width=PHONE, height=844)
    page.wait_for_selector(".connection.live")
    bar = page.get_by_role("navigation", name="Views")
    expect(bar.get_by_role("link", name="Settings")).to_be_hidden()

    bar.get_by_role("button", name="More").click()
    bar.get_by_role("link", name="Settings").click()

    page.wait_for_url("**/settings*")
    expect(bar.get_by_role("button", name="Settings")).to_be_visible()
    box = bar.bounding_box()
    assert box["y"] + box["height"] == pytest.approx(844, abs=1)


def test_with_several_projects_the_page_shows_one_and_switches(open_view, two_projects):
    page = open_view("/", at=two_projects)
    page.wait_for_selector("text=only/in/the/first.py")

    page.get_by_label("Project").select_option(label="second")

    expect(page.locator("text=only/in/the/first.py")).to_have_count(0)
    page.wait_for_selector(".connection.live")


@pytest.mark.parametrize("query", ["", "?project=no-such-project"])
def test_without_a_project_in_the_address_the_page_asks_which_one(open_view, two_projects, query):
    page = open_view("/", at=two_projects)
    page.wait_for_selector(".connection.live")
    refused, seen = [], []
    page.on("response", lambda got: refused.append(got.url) if got.status >= 400 else None)
    page.on("websocket", lambda one: seen.append(one.url))

    page.goto(f"{two_projects.url}/crew{query}")

    expect(page.get_by_role("heading", name="Which project?")).to_be_visible()
    assert violations(page) == []
    page.wait_for_timeout(1_000)  # nothing is requested for no project, and nothing reconnects
    assert (refused, seen) == ([], [])
    expect(page.get_by_text("Reconnecting")).to_have_count(0)
    page.get_by_role("link", name="repo").click()
    page.wait_for_selector("[data-agent=ada]")
    assert urlsplit(page.url).path == "/crew"


def test_an_open_page_keeps_its_project_when_a_second_one_is_added(open_view, start_server):
    server = start_server()
    page = open_view("/", at=server)
    page.goto(server.url)
    page.wait_for_selector(".connection.live")

    with_second_project(server)
    server.dibs("claim", "src/later.py", "--new", DIBS_AGENT="ada")

    page.wait_for_selector("text=src/later.py")
    page.reload()
    page.wait_for_selector("text=src/later.py")


def test_a_broken_view_does_not_blank_the_page(open_view, server):
    page = open_view("/")
    page.wait_for_selector(".connection.live")
    wrong = {"settings": {"ttl": None}, "root": "", "state": ""}
    page.route("**/api/v1/settings*", lambda route: route.fulfill(json=wrong))

    page.goto(server.url + "/settings")

    expect(page.locator("main [role=alert]")).to_contain_text("This view has an error")
    page.get_by_role("link", name="Crew").click()
    expect(page.locator("main [role=alert]")).to_have_count(0)


def test_a_used_link_opens_the_page_of_a_browser_that_is_signed_in(chromium, server):
    context = chromium.new_context()
    page = context.new_page()
    link = login_link(server)
    page.goto(link)
    page.wait_for_selector(".connection.live")
    page.goto(link)
    page.wait_for_selector(".connection.live")
    context.close()
