"""Every view, in both themes, on a laptop and on a phone: accessible, within the screen, and safe.

The names, paths, reasons, titles, and messages of this project are attacks; all of them must stay text.
"""

from __future__ import annotations

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.dashboard.conftest import LAPTOP, PHONE
from tests.server.conftest import until

from dibs.server.pages import VIEWS

HTML = "<img src=x onerror=window.hit=1><script>window.hit=1</script><svg onload=window.hit=1>"
LINK = "javascript:window.hit=1//\u202e[x](javascript:window.hit=1)"
PATHS = (
    "src/<img src=x onerror=window.hit=1>.py",
    "docs/javascript:window.hit=1/`'\"--><b>.md",
    "packages/web/src/components/settings/account/preferences/VeryLongComponentNameForTests.tsx",
)
ADDRESSES = (
    "/", *VIEWS, "/settings?part=guards", "/settings?part=engine", "/settings?part=tokens",
    "/settings?part=server", "/crew?agent=claude-7f3a21c4", "/crew?agent=developer-1",
)  # fmt: skip
ATTACKS = """() => [
  window.hit ? "a script ran" : "",
  ...[...document.querySelectorAll("main img, main script, main iframe, main [onload], main [onerror]")]
    .map((one) => one.outerHTML),
  ...[...document.querySelectorAll("[href], [src]")]
    .filter((one) => /^\\s*javascript:/i.test(one.getAttribute("href") ?? one.getAttribute("src")))
    .map((one) => one.outerHTML),
  ...(window.violations ?? []),
].filter(Boolean)"""


@pytest.fixture(scope="module")
def crew(server):
    """A project in which every text that an agent or a file can choose is an attack."""
    server = server.proven()
    first, second = "claude-7f3a21c4", "codex-19bd02aa"
    for agent in (first, second):
        server.dibs("agent", "join", "--agent", agent, "--role", "developer")
        server.dibs("agent", "report", "--note", HTML, DIBS_AGENT=agent)
    for path in PATHS:
        file = server.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HTML)
        server.dibs("claim", "--literal", path, "--reason", HTML, DIBS_AGENT=first)
    server.dibs("claim", "--literal", PATHS[0], "--reason", LINK, DIBS_AGENT=second)
    server.dibs("ask", "--literal", PATHS[0], "--reason", HTML, DIBS_AGENT=second)
    server.dibs("say", "all", HTML, DIBS_AGENT=first)
    server.dibs("decide", "new", HTML, "--rationale", LINK, "--confirm", DIBS_AGENT=first)
    server.dibs("task", "new", HTML, DIBS_AGENT=first)
    server.dibs("say", "all", "x" * 60_000, DIBS_AGENT=second)
    words = ["sh", "-c", 'printf "%s\\n" "$0"; exec tail -f /dev/null', HTML]
    role = f"[roles.developer]\ncommand = {json.dumps(words)}\nworktree = false\n"
    (server.repo / "crew.toml").write_text(f"max_agents = 1\n{role}")
    server.dibs("task", "new", LINK, DIBS_AGENT=first)
    server.request("POST", "/api/v1/crew/up", {})
    until(lambda: b"<script>" in server.request("GET", "/api/v1/crew/developer-1/log").body)
    yield server
    server.request("POST", "/api/v1/crew/stop", {"reason": HTML})
    until(lambda: not server.request("GET", "/api/v1/crew").json["members"])


#: Go to another view without loading the page again.
GO = (
    """(to) => { history.pushState(null, "", to); dispatchEvent(new PopStateEvent("popstate")); }"""
)
#: Show the violations of the rules for accessibility.
CHECK = """async () => (await axe.run()).violations.map(
  (one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`)"""


@pytest.mark.parametrize(("theme", "width"), [("light", LAPTOP), ("dark", PHONE)])
def test_every_view_is_accessible_fits_the_screen_and_shows_attacks_as_text(
    open_view, crew, theme, width
):
    page = open_view("/", width=width, height=844, theme=theme, at=crew)
    page.evaluate(
        """() => { window.violations = []; addEventListener("securitypolicyviolation",
        (event) => window.violations.push(event.violatedDirective + event.blockedURI)); }"""
    )
    Axe().run(page)  # defines the function for the checks
    found: dict[str, list[str]] = {}
    for address in ADDRESSES:
        page.evaluate(GO, address)
        page.wait_for_selector(".connection.live")
        expect(page.locator("main .loading")).to_have_count(0)
        problems = [*page.evaluate(ATTACKS), *page.evaluate(CHECK)]
        if (reach := page.evaluate("document.documentElement.scrollWidth")) > width:
            problems.append(f"the page is {reach} wide")
        if problems:
            found[address] = problems
    assert found == {}


def test_the_attacks_are_visible_as_text(open_view, crew):
    """Otherwise the test above would show nothing."""
    page = open_view("/", at=crew)
    page.wait_for_selector(f"text={PATHS[0]}")
    page.goto(crew.url + "/inbox")
    page.wait_for_selector("text=<script>window.hit=1</script>")
    page.goto(crew.url + "/crew?agent=developer-1")
    page.wait_for_selector(".output >> text=<script>window.hit=1</script>")
