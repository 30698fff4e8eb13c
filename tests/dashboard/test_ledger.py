"""The ledger's view: live, long, filtered, and safe to look at."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from dibs.core.claims.ledger import Event, Kind
from dibs.project.project import create

HOSTILE = "<img src=x onerror=alert(1)>\u202egpj.exe javascript:alert(1)"
#: More rows than any screen shows.
MANY = 3_000


@pytest.fixture(scope="module")
def last(server):
    """Fill the ledger, and return the number of its last entry."""
    project, _ = create(str(server.repo))
    events = [
        Event(f"claude-{i % 7}", "agent", "file_edit", f"edited src/f{i}.py", {"paths": [f"src/f{i}.py"]})
        for i in range(MANY)
    ]  # fmt: skip
    long = {"output": "x" * 900_000, "paths": [HOSTILE], HOSTILE: HOSTILE}
    events += [
        Event(HOSTILE, "agent", "tests_failed", HOSTILE, long),
        Event("ada", "agent", "lock_denied", "ada was denied src/a.py", {"patterns": ["src/a.py"]}),
    ]  # fmt: skip
    numbers = project.store.engine.transact(lambda txn: [txn.emit(one) for one in events])
    project.close()
    return numbers[-1]


def rows(page):
    return page.locator(".entry")


def row(page, seq):
    return page.locator(f"#entry-{seq}")


def test_an_entrys_link_scrolls_to_it_and_shows_all_its_fields(open_view, last):
    page = open_view(f"/ledger?seq={last - 2_000}")

    row(page, last - 2_000).locator(".entry-summary", has_text="edited").wait_for()
    assert row(page, last - 2_000).get_attribute("aria-selected") == "true"
    page.wait_for_selector(f".side-panel >> text=Entry {last - 2_000}")
    page.wait_for_selector(".side-panel .path")
    assert rows(page).count() < 100, "only the rows on the screen are in the document"

    page.keyboard.press("Escape")
    page.wait_for_selector(".side-panel", state="detached")
    expect(page).not_to_have_url(re.compile("seq"))


def test_new_entries_arrive_at_the_top_and_are_counted_while_one_reads_below(
    open_view, server, last
):
    page = open_view("/ledger")
    row(page, last).wait_for()

    server.dibs("claim", "src/b.py", "--new", DIBS_AGENT="bob")
    page.wait_for_selector(".entry-agent >> text=bob")

    page.locator(".entries").evaluate("box => { box.scrollTop = 20000 }")
    page.wait_for_timeout(100)
    before = page.locator(".entries").evaluate("box => box.scrollTop")
    server.dibs("release", "src/b.py", DIBS_AGENT="bob")
    pill = page.locator(".new-entries")
    pill.wait_for()
    assert pill.inner_text() == "↑ 1 new entry"
    assert page.locator(".entries").evaluate("box => box.scrollTop") > before
    pill.click()
    pill.wait_for(state="detached")
    assert page.locator(".entries").evaluate("box => box.scrollTop") == 0


def test_filters_are_in_the_address_and_the_server_applies_them(open_view, last):
    page = open_view("/ledger?kind=claims&agent=ada")
    row(page, last).wait_for()
    assert row(page, last).locator(".badge").inner_text() == "Claim denied"
    page.wait_for_selector("text=1 entry")

    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("File, folder, or glob").fill("src/f12.py")
    page.wait_for_selector(".entry-summary >> text=src/f12.py")
    page.wait_for_function("document.querySelectorAll('.entry').length < 5")
    assert parse_qs(urlsplit(page.url).query)["file"] == ["src/f12.py"]

    page.keyboard.press("Escape")
    page.locator("body").click(position={"x": 5, "y": 790})
    page.keyboard.press("/")
    page.keyboard.type("no such words")
    page.wait_for_selector("text=No entries match these filters")


def test_the_list_is_used_with_the_keyboard(open_view, last):
    page = open_view("/ledger")
    row(page, last).wait_for()
    page.locator(".entries").focus()

    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    page.keyboard.press("Enter")

    page.wait_for_selector(".side-panel")
    shown = page.locator(".entry.selected").get_attribute("id")
    page.keyboard.press("j")
    page.wait_for_function(f"document.querySelector('.entry.selected')?.id !== '{shown}'")
    page.keyboard.press("End")
    page.wait_for_selector("#entry-1.selected")


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_and_long_texts_are_shown_as_text(open_view, last, width):
    page = open_view(f"/ledger?seq={last - 1}", width=width)

    page.wait_for_selector(".side-panel .value")
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()
    assert "\\u202egpj.exe" in page.locator(".side-panel").inner_text()
    page.wait_for_selector("text=more characters are not shown")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for link in page.locator("main a").all():
        assert link.get_attribute("href").startswith("/")


def test_every_kind_of_entry_has_a_name_for_people(open_view, server, last):
    page = open_view("/ledger")
    page.get_by_label("Kind: All kinds").click()
    names = page.locator(".choices-menu fieldset > label").all_inner_texts()

    assert len(names) == len(list(Kind))
    assert not any(name.startswith("lock") or "_" in name for name in names)
