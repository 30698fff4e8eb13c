"""Fixtures: the built dashboard in a real Chromium, signed in at a real server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright
from tests.server.conftest import (
    make_project,
    server,  # noqa: F401 - a fixture
    short_tmp,  # noqa: F401 - a fixture
    start_server,  # noqa: F401 - a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page
    from tests.server.conftest import RunningServer

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--no-first-run", "--disable-sync",
)  # fmt: skip
#: Widths of a phone, a small laptop, and a large screen.
PHONE, LAPTOP, LARGE = 390, 1280, 1800


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser; Playwright's event loop must end with the module, since other tests run their own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser
        browser.close()


def login_link(server: RunningServer) -> str:  # noqa: F811
    """Return the link that `dibs open` prints: it signs a browser in, and names the project."""
    done = server.dibs("open", "--print")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def with_second_project(server: RunningServer) -> RunningServer:  # noqa: F811
    """Let the server have a second project; requests are still about the first."""
    other = make_project(server.repo.parent / "second", server.environ)
    first = json.loads(server.dibs("open", "--print", "--json").stdout)["project"]
    reply = server.request("POST", "/api/v1/projects", {"folder": str(other)})
    assert reply.status < 300, reply.json
    return server._replace(project=first)


@pytest.fixture
def open_view(chromium, server) -> Iterator[Callable[..., Page]]:  # noqa: F811
    """Open a view, signed in: ``open_view("/files", width=PHONE, theme="dark")``.

    The test fails if a page raises an error or violates the content security policy.
    """
    contexts: list[Any] = []
    problems: list[str] = []

    def open_(
        path: str = "/", *, width: int = LAPTOP, height: int = 800, theme: str = "light",
        at: RunningServer = server,
    ) -> Page:  # fmt: skip
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda said: (
                problems.append(said.text) if "Content Security Policy" in said.text else None
            ),
        )
        page.goto(login_link(at))
        if path != "/":
            page.goto(f"{at.url}{path}{'&' if '?' in path else '?'}{urlsplit(page.url).query}")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert problems == []
