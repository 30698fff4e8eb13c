"""The page of ``dibs report`` in a browser: complete, inert, and without a request."""

from __future__ import annotations

import pytest
from tests.core.history.ledgers import BEGIN, busy_ledger

from dibs.core.claims.ledger import Entry, Kind
from dibs.core.history.replay import Replay
from dibs.core.history.window import Window
from dibs.dashboard.report import report_page
from dibs.services.history.service import SHOWN, figured
from dibs.shapes.history import timeline

HOSTILE = "</script><img src=x onerror=alert(1)><!--\u2028${alert(1)}"


def shape(entries, project="shop"):
    replay = Replay()
    replay.feed(entries)
    end = entries[-1].at if entries else BEGIN
    return timeline(figured(replay.spans(), end, Window(BEGIN, end), SHOWN), project)


@pytest.fixture
def opened(chromium, tmp_path):
    """Open a report from the disk; the test fails if it raises an error or requests anything."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    problems = []

    def open_(found, theme="light"):
        file = tmp_path / "report.html"
        file.write_text(report_page(found), "utf-8")
        page = context.new_page()
        page.emulate_media(color_scheme=theme)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text))
        page.on("dialog", lambda box: problems.append(box.message))
        page.on(
            "request",
            lambda asked: None if asked.url == file.as_uri() else problems.append(asked.url),
        )
        page.goto(file.as_uri())
        return page

    yield open_
    context.close()
    assert problems == []


def test_a_report_shows_its_sections_and_every_agent(opened):
    entries = busy_ledger(300)
    page = opened(shape(entries))
    for heading in ("Timeline", "Contention", "Waiting", "Work per agent", "Over time"):
        assert page.get_by_role("heading", name=heading, exact=True).count() == 1
    text = page.inner_text("body")
    assert all(name in text for name in {entry.agent for entry in entries})


def test_hostile_names_are_text(opened):
    entries = [
        Entry(1, BEGIN, HOSTILE, "agent", Kind.AGENT_JOINED, HOSTILE, {"parent": HOSTILE}),
        Entry(2, BEGIN + 5, HOSTILE, "agent", Kind.LOCK_ACQUIRED, HOSTILE,
              {"patterns": [HOSTILE], "mode": "exclusive", "reason": HOSTILE}),
        Entry(3, BEGIN + 9, HOSTILE, "agent", Kind.LOCK_DENIED, HOSTILE,
              {"pattern": HOSTILE, "held": HOSTILE, "holder": HOSTILE}),
    ]  # fmt: skip
    page = opened(shape(entries, HOSTILE), "dark")
    assert "onerror=alert(1)" in page.inner_text("main")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_an_empty_report_says_so(opened):
    text = opened(shape([])).inner_text("main").lower()
    assert "nothing" in text
