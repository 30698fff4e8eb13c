"""Actions: what a dialog shows when the server, the network, or the page itself fails."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import LAPTOP, PHONE
from tests.dashboard.test_board import violations
from tests.dashboard.test_crew import join

#: Whether a person sees the middle of an element: nothing is in front of it.
VISIBLE = """one => {
  const box = one.getBoundingClientRect();
  return one.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
}"""


def ask_to_stop(page, reason: str):
    """Fill in the dialog that stops an agent, and submit it; returns the dialog."""
    page.get_by_role("button", name="Stop").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name="Stop").click()
    return dialog


@pytest.mark.parametrize(("width", "theme"), [(LAPTOP, "light"), (PHONE, "dark")])
def test_an_actions_error_is_in_its_dialog_and_keeps_what_was_typed(
    open_view, server, width, theme
):
    join(server, "max-4")
    page = open_view("/crew?agent=max-4", width=width, theme=theme)
    refusal = {"error": {"code": "ENDED", "message": "max-4 has ended", "hint": "reload the page"}}
    page.route("**/stop*", lambda route: route.fulfill(status=409, json=refusal))

    dialog = ask_to_stop(page, "it is stuck")

    error = dialog.get_by_role("alert")
    expect(error).to_contain_text("max-4 has ended")
    expect(error).to_contain_text("reload the page")
    assert error.evaluate(VISIBLE)
    assert violations(page) == []
    expect(dialog.get_by_label("Reason")).to_have_value("it is stuck")
    expect(page.locator(".toast.bad")).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stop").click()
    expect(dialog.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("fault", ["request", "answer"])
def test_the_server_is_not_blamed_for_a_fault_of_the_page(open_view, server, fault):
    join(server, "max-5")
    page = open_view("/crew?agent=max-5")
    page.wait_for_selector(".connection.live")
    page.route(
        "**/stop*",
        lambda route: route.abort() if fault == "request" else route.fulfill(body="<html>"),
    )

    error = ask_to_stop(page, "it is stuck").get_by_role("alert")

    expect(error).to_contain_text("page")
    expect(error).not_to_contain_text("server does not answer")


def test_a_dead_server_is_named_in_the_dialog(open_view, start_server):
    server = start_server()
    join(server, "max-6")
    page = open_view("/crew?agent=max-6", at=server)
    page.wait_for_selector(".connection.live")
    server.stop()
    page.wait_for_selector(".connection.offline")

    error = ask_to_stop(page, "it is stuck").get_by_role("alert")

    expect(error).to_contain_text("the server does not answer")
    expect(error).to_contain_text("dibs open")


def test_a_conflict_shows_its_errors_above_its_own_backdrop(open_view, server):
    server.request("POST", "/api/v1/claims", {"patterns": ["a.py"]}, {"Dibs-Agent": "ada"})
    wish = {"patterns": ["a.py"], "queue": True}
    server.request("POST", "/api/v1/claims", wish, {"Dibs-Agent": "bob"})
    page = open_view("/")
    page.get_by_role("button", name="bob waits for a.py, held by ada").click()
    page.route("**/claims/ask*", lambda route: route.abort())

    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Ask ada to release it").click()

    assert dialog.get_by_role("alert").evaluate(VISIBLE)
