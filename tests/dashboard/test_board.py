"""The board: legal moves by mouse and keyboard, illegal ones with the reason, details, and the graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.dashboard.conftest import with_second_project

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

HOSTILE = "<img src=x onerror=document.title='hit'> javascript:alert(1)"


@pytest.fixture(scope="module")
def server(start_server):
    return with_second_project(start_server())


@pytest.fixture(scope="module")
def tasks(server):
    """A board with a chain, a task in progress, a failed one, and one with a hostile title; ids by title."""
    made = {}

    def new(title, **more):
        answer = server.request("POST", "/api/v1/tasks", {"title": title, **more})
        made[title] = answer.json["created"][0]["id"]

    new("Design", priority="high", agent="ada", notes=["Keep the old table."])
    new("Build", needs=[made["Design"]])
    new("Ship", needs=[made["Build"]])
    new("Alone")
    new("Conflicted")
    new("Broken")
    new(HOSTILE)
    agent = {"Dibs-Agent": "ada"}
    for title in ("Design", "Broken"):
        server.request("POST", f"/api/v1/tasks/{made[title]}/start", {}, agent)
    server.request("POST", f"/api/v1/tasks/{made['Broken']}/fail", {"message": "no disk"}, agent)
    return made


def card(page: Page, task: str) -> Locator:
    """Return the card of a task once it can be moved: the page knows what its token allows."""
    return page.locator(f'.card.movable[data-task="{task}"]')


def in_column(page: Page, task: str, state: str) -> None:
    page.wait_for_selector(f'[data-column={state}] .card[data-task="{task}"]')


def drag(page: Page, task: str, state: str) -> None:
    """Drag a card over a column, and keep the button pressed."""
    box = card(page, task).bounding_box()
    target = page.locator(f"[data-column={state}]").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 12)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.move(target["x"] + 20, target["y"] + 60, steps=3)


def test_a_card_dragged_to_a_legal_column_asks_for_the_reason_and_moves(open_view, tasks):
    page = open_view("/board")
    in_column(page, tasks["Alone"], "new")

    drag(page, tasks["Alone"], "blocked")
    assert page.locator("[data-column=blocked].legal.over").count() == 1
    assert page.locator("[data-column=error].illegal").count() == 1
    page.mouse.up()
    page.fill("dialog [name=reason]", "waits for the text")
    page.click("dialog button[type=submit]")

    in_column(page, tasks["Alone"], "blocked")
    page.wait_for_selector("text=waits for the text")


def test_a_card_dropped_on_an_illegal_column_stays_and_the_page_says_why(open_view, server, tasks):
    page = open_view("/board")
    in_column(page, tasks["Design"], "in_progress")

    drag(page, tasks["Design"], "done")  # ada holds it: only ada can finish it
    assert "cannot move from In progress to Done" in page.inner_text("[data-column=done]")
    page.mouse.up()

    page.wait_for_selector(".toast.bad >> text=from In progress to Done: only ada can do that")
    in_column(page, tasks["Design"], "in_progress")
    found = server.request("GET", f"/api/v1/tasks/{tasks['Design']}").json["task"]
    assert (found["state"], found["holder"]) == ("in_progress", "ada")


def test_the_keyboard_moves_a_card_like_the_mouse(open_view, tasks):
    page = open_view("/board")
    card(page, tasks["Broken"]).locator(".card-body").focus()

    page.keyboard.press("m")
    page.wait_for_selector(".move-menu .move:focus >> text=Retry")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog [name=reason]")
    page.keyboard.press("Enter")

    in_column(page, tasks["Broken"], "new")
    page.keyboard.press("Escape")
    card(page, tasks["Broken"]).locator(".card-body").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".details >> text=no disk")  # the history keeps the error
    expect(page).to_have_url(re.compile("task="))
    page.keyboard.press("Escape")
    page.wait_for_selector(".details", state="detached")


def test_a_move_of_a_task_that_changed_meanwhile_is_refused_and_put_back(open_view, server, tasks):
    page = open_view("/board")
    card(page, tasks["Conflicted"]).wait_for()
    page.route("**/api/v1/tasks?*", lambda route: route.abort())  # the page does not hear of it
    card(page, tasks["Conflicted"]).locator(".card-body").focus()
    page.keyboard.press("m")
    page.click(".move >> text=Cancel the task")
    path = f"/api/v1/tasks/{tasks['Conflicted']}"
    server.request("POST", f"{path}/reassign", {"to": "bob"})

    page.fill("dialog [name=reason]", "not needed")
    page.click("dialog button[type=submit]")

    page.wait_for_selector("dialog [role=alert] >> text=the task has changed since you saw it")
    assert server.request("GET", path).json["task"]["state"] == "assigned"


def test_the_graph_highlights_the_critical_path_and_opens_details(open_view, tasks):
    page = open_view("/board?show=graph")
    page.wait_for_selector(".deps-node")

    chain = [tasks[title] for title in ("Design", "Build", "Ship")]
    marked = page.locator(".deps-node.critical").evaluate_all("all => all.map(e => e.dataset.node)")
    assert sorted(marked) == sorted(chain)
    assert page.locator(".deps-edge.critical").count() == 2
    page.locator(f'[data-node="{tasks["Build"]}"]').click()
    page.wait_for_selector(".details >> text=Needed by")
    page.click(".dependencies >> text=Design")
    page.wait_for_selector(".details >> text=Keep the old table.")
    assert violations(page) == []


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]
