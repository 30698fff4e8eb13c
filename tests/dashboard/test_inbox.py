"""The inbox: conflicts with both sides, decisions, release requests, and messages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import LAPTOP, PHONE, with_second_project
from tests.dashboard.test_board import violations

HOSTILE = "<img src=x onerror=document.title='hit'>\n<script>alert(1)</script>"


@pytest.fixture(scope="module")
def server(start_server):
    return with_second_project(start_server())


def say(server, path, body, agent=None):
    reply = server.request("POST", f"/api/v1{path}", body, {"Dibs-Agent": agent} if agent else {})
    assert reply.status < 300, reply.json
    return reply.json


@pytest.fixture(scope="module")
def conflicts(server):
    """Two conflicts in which bob wants what ada holds, by path."""
    say(server, "/claims", {"patterns": ["src/auth/"], "reason": "rework the login"}, "ada")
    found = {}
    for path in ("src/auth/a.py", "src/auth/b.py"):
        answer = say(
            server, "/claims/escalate", {"patterns": [path], "note": "release today"}, "bob"
        )
        found[path] = answer["escalated"][0]["decision"]
    return found


def outcome(server, decision):
    return server.request("GET", f"/api/v1/decisions/{decision}").json["decision"]["outcome"]


def test_a_conflict_shows_both_sides_and_is_decided_in_two_clicks(open_view, server, conflicts):
    first, second = conflicts.values()
    page = open_view(f"/inbox?decision={first}")
    card = page.locator(f"#{first}")
    owner, other = card.locator(".side").nth(0), card.locator(".side").nth(1)
    assert "rework the login" in owner.inner_text()
    assert "release today" in other.inner_text()

    card.get_by_role("button", name="ada keeps it").click()
    page.locator("dialog").get_by_role("button", name="ada keeps it").click()
    page.wait_for_selector(f"#{first}", state="detached")
    assert outcome(server, first) == "rejected"

    page.locator(f"#{second}").get_by_role("button", name="Revoke the claim").click()
    page.locator("dialog").get_by_role("button", name="Revoke the claim").click()
    page.wait_for_selector(f"#{second}", state="detached")
    assert outcome(server, second) == "confirmed"
    assert server.request("GET", "/api/v1/claims").json["claims"] == []


def test_decisions_are_confirmed_or_rejected_with_a_reason(open_view, server):
    ids = [
        say(server, "/decisions", {"title": title, "confirm": True}, "ada")["decision"]["id"]
        for title in ("use httpx", "use rust")
    ]
    page = open_view("/inbox")

    page.locator(f"#{ids[0]}").get_by_role("button", name="Confirm").click()
    page.locator(f"#{ids[1]}").get_by_role("button", name="Reject").click()
    page.fill("dialog [name=reason]", "not before the release")
    page.click("dialog button[type=submit]")

    page.wait_for_selector(f"#{ids[1]}", state="detached")
    assert [outcome(server, one) for one in ids] == ["confirmed", "rejected"]
    page.click("text=All decisions")
    page.wait_for_selector("text=not before the release")


@pytest.mark.parametrize(("width", "theme"), [(LAPTOP, "light"), (PHONE, "dark")])
def test_a_message_is_inert_text_is_counted_and_is_answered(open_view, server, width, theme):
    sent = say(server, "/messages", {"to": "human", "text": f"{HOSTILE}\n{theme}"}, "ada")
    page = open_view("/inbox", width=width, theme=theme)
    card = page.locator(f"#{sent['id']}")
    card.wait_for()
    page.wait_for_selector("nav a[href^='/inbox'] span[title*=unread]")

    assert HOSTILE in card.inner_text()
    assert (page.locator("main img").count(), page.title()) == (0, "Inbox - Dibs")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    card.focus()
    page.keyboard.press("r")
    page.fill("dialog [name=text]", "do not worry")
    page.click("dialog button[type=submit]")
    card.wait_for(state="detached")  # it is read now
    page.click("text=All messages")
    answer = page.locator(".mail-card", has_text=f"in reply to {sent['id']}")
    expect(answer).to_contain_text("do not worry")


def test_a_request_for_a_humans_claim_is_answered_in_the_inbox(open_view, server):
    say(server, "/claims", {"patterns": ["config.toml"]})
    say(server, "/claims/ask", {"patterns": ["config.toml"], "note": "one line"}, "carol")
    page = open_view("/inbox")

    page.get_by_role("button", name="Yes, release it").click()
    page.click("dialog button[type=submit]")

    page.wait_for_selector("text=replied yes to carol")
    found = server.request("GET", "/api/v1/claims").json["claims"]
    assert "config.toml" not in [claim["pattern"] for claim in found]
