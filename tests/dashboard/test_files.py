"""The view of files: a map and a tree by owner, contention, and what one can do about a file."""

from __future__ import annotations

import re
import subprocess

import pytest
from playwright.sync_api import expect

HOSTILE = "src/<img src=x onerror=alert(1)>.py"
FILES = (
    "src/auth/login.py",
    "src/auth/session.py",
    "src/app.py",
    "docs/guide.md",
    "README.md",
    HOSTILE,
)


@pytest.fixture(scope="module")
def repo(server):
    """Create files; ada and bob hold some of them, and eve was denied one."""
    for at, name in enumerate(FILES):
        file = server.repo / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x" * (at * 500 + 200))
    for words in (["add", "-A"], ["commit", "-qm", "files"]):
        subprocess.run(["git", *words], cwd=server.repo, env=server.environ, check=True)
    for agent, *words in (
        ("ada", "src/auth/**", "--reason", "fix login"), ("bob", "docs/guide.md", "--shared"),
        ("cat", "docs/guide.md", "--shared"), ("eve", "src/auth/login.py"),
    ):  # fmt: skip
        server.dibs("claim", *words, DIBS_AGENT=agent)
    return server.repo


def cell(page, path):
    return page.locator(f'.cell[aria-label^="{path},"]')


def test_the_map_shows_every_file_with_its_owners_in_words(open_view, repo):
    page = open_view("/files")

    cell(page, "src/auth/login.py").wait_for()
    assert "ada" in cell(page, "src/auth/login.py").get_attribute("aria-label")
    assert "bob, cat" in cell(page, "docs/guide.md").get_attribute("aria-label")
    assert "unclaimed" in cell(page, "README.md").get_attribute("aria-label")
    assert page.locator("main img").count() == 0

    page.get_by_role("button", name="Contention").click()
    page.wait_for_url("**color=heat")
    page.wait_for_selector('.cell.heat4[aria-label*="1 wait or denial"]')
    page.get_by_role("button", name="Owner", exact=True).click()

    cell(page, "src/auth").click(position={"x": 20, "y": 8})
    page.wait_for_selector("nav.crumbs >> text=auth")
    cell(page, "src/auth/session.py").focus()
    page.keyboard.press("Backspace")
    cell(page, "src/app.py").wait_for()
    expect(page).to_have_url(re.compile("folder=src"))


def test_the_owner_of_a_file_is_revoked_with_a_reason_and_everyone_sees_it(open_view, server, repo):
    server.dibs("claim", "src/app.py", DIBS_AGENT="dan")
    page = open_view("/files?path=src/app.py")
    panel = page.locator(".side-panel")
    panel.get_by_text("dan").first.wait_for()

    panel.get_by_role("button", name="Revoke").click()
    page.get_by_label("Reason").fill("dan has left")
    page.locator("dialog").get_by_role("button", name="Revoke").click()

    panel.get_by_text("Unclaimed").wait_for()
    panel.get_by_text("revoked").first.wait_for()
    page.wait_for_selector('.cell[aria-label^="src/app.py,"][aria-label*="unclaimed"]')
    page.keyboard.press("Escape")
    panel.wait_for(state="detached")


def test_the_tree_has_the_keys_of_a_tree_and_the_search_finds_files(open_view, repo):
    page = open_view("/files?view=tree", width=390)
    page.locator('[role=treeitem][aria-label^="src,"]').wait_for()
    tree = page.locator("[role=tree]")
    tree.focus()

    page.keyboard.press("End")
    while "src," not in page.locator(".file-row.active").get_attribute("aria-label")[:4]:
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.locator('[role=treeitem][aria-label^="src/app.py,"]').wait_for()
    assert page.locator('[aria-label^="src,"]').get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowLeft")
    page.locator('[role=treeitem][aria-label^="src/app.py,"]').wait_for(state="detached")

    page.get_by_label("Search files").fill("LOGIN")
    page.locator('[role=treeitem][aria-label^="src/auth/login.py,"]').click()
    page.locator(".side-panel").get_by_text("fix login").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = page.locator(".side-panel").bounding_box()
    assert (round(box["x"]), round(box["width"])) == (0, 390), "a sheet on a phone"


def test_a_glob_and_a_resource_have_a_panel_too(open_view, server, repo):
    server.dibs("claim", "db:main", DIBS_AGENT="ada")
    page = open_view("/files?path=db:main")
    page.locator(".side-panel").get_by_text("ada").first.wait_for()

    page.goto(re.sub("path=[^&]*", "path=src/**/*.py", page.url))
    page.locator(".side-panel").get_by_text("src/auth/**").first.wait_for()
