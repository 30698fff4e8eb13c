"""Crew: the agents and their families, the details of one, and what a human does with it."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import PHONE
from tests.dashboard.test_now import HOSTILE, problems
from tests.server.conftest import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page
    from tests.server.conftest import RunningServer

#: An agent that prints its process number, then prints lines or exits as a pipe tells it.
AGENT = """
import os, sys
print("process", os.getpid(), flush=True)
with os.fdopen(os.open(sys.argv[1], os.O_RDWR), encoding="utf-8") as orders:
    for order in orders:
        word, _, rest = order.rstrip("\\n").partition(" ")
        if word == "exit":
            sys.exit(int(rest))
        print(rest, flush=True)
"""


def join(server, agent: str, **about) -> None:
    reply = server.request("POST", "/api/v1/agents", {"id": agent, **about})
    assert reply.status == 200, reply.body


def test_subagents_follow_their_parent_and_show_what_they_do(open_view, server):
    join(server, "lead-1", role="lead", model="opus", task="plan the release")
    join(server, "zoe-2", role="tester", parent="lead-1", task=HOSTILE, model=HOSTILE)
    join(server, "amy-3", role="coder", parent="zoe-2")
    context = {"context": 0.42}
    server.request("POST", "/api/v1/agents/amy-3/report", context, {"Dibs-Agent": "amy-3"})
    page = open_view("/crew")

    page.wait_for_selector("[data-agent=amy-3]")
    family = ["lead-1", "zoe-2", "amy-3"]
    shown = page.locator(".crew-row").evaluate_all("rows => rows.map(row => row.dataset.agent)")
    assert [one for one in shown if one in family] == family
    assert "42%" in page.locator("[data-agent=amy-3]").text_content()
    assert HOSTILE in page.locator("[data-agent=zoe-2]").text_content()
    assert page.locator("main img, main script").count() == 0

    page.locator("[data-agent=lead-1] a").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="zoe-2").wait_for()
    expect(page).to_have_url(re.compile("agent=zoe-2"))
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="zoe-2").wait_for(state="detached")


def test_a_human_messages_and_stops_an_agent_from_its_details(open_view, server):
    join(server, "max-4", role="coder")
    claim = {"patterns": ["src/max.py"], "reason": "fix it"}
    server.request("POST", "/api/v1/claims", claim, {"Dibs-Agent": "max-4"})
    page = open_view("/crew?agent=max-4", width=PHONE, theme="dark")

    page.locator(".agent-claims").get_by_text("src/max.py").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert problems(page) == []
    page.get_by_role("button", name="Message").click()
    page.get_by_label("Text").fill("please finish soon")
    page.get_by_role("button", name="Send").click()
    page.locator(".agent-details").get_by_text("please finish soon").first.wait_for()

    page.get_by_role("button", name="Stop").click()
    page.get_by_label("Reason").fill("it is stuck")
    page.locator("dialog").get_by_role("button", name="Stop").click()
    page.locator(".agent-details").get_by_text("stopped", exact=True).wait_for()
    agent = server.request("GET", "/api/v1/agents/max-4").json
    assert (agent["agent"]["status"], agent["claims"]) == ("terminated", [])


def test_a_new_alert_is_announced_in_every_view_with_a_link(open_view, server):
    join(server, "eve-5")
    page = open_view("/ledger")
    page.wait_for_selector(".connection.live")
    full = {"context": 0.99}
    server.request("POST", "/api/v1/agents/eve-5/report", full, {"Dibs-Agent": "eve-5"})

    began = time.monotonic()
    server.request("POST", "/api/v1/alerts/check", {})
    toast = page.locator(".toast", has_text="eve-5 has used 99%")
    toast.wait_for()
    assert time.monotonic() - began < 5
    toast.get_by_role("link", name="Show the alerts").click()
    page.locator(".alerts").get_by_text("eve-5 has used 99%").wait_for()


# -- agents that Dibs runs


class RunCrew(NamedTuple):
    """A server with a project whose crew has one role."""

    server: RunningServer
    folder: Path

    def configure(self, limit: int = 1) -> None:
        """Write ``crew.toml``: developers run the agent above."""
        words = [sys.executable, "-I", str(self.folder / "agent.py"), str(self.folder / "orders")]
        lines = (
            f"max_agents = {limit}", "[roles.developer]", f"command = {json.dumps(words)}",
            "worktree = false",
        )  # fmt: skip
        (self.server.repo / "crew.toml").write_text("\n".join(lines))

    def add_task(self, title: str) -> None:
        reply = self.server.request("POST", "/api/v1/tasks", {"title": title})
        assert reply.status == 201, reply.body

    def start(self, *tasks: str, limit: int = 1) -> None:
        """Start the crew with these tasks."""
        self.configure(limit)
        for title in tasks:
            self.add_task(title)
        reply = self.server.request("POST", "/api/v1/crew/up", {})
        assert reply.status == 200, reply.body

    def show(self) -> Any:
        return self.server.request("GET", "/api/v1/crew?all=true").json

    def is_stopped(self) -> bool:
        """Stop every agent, also one that starts meanwhile, and return whether all have ended."""
        members = self.server.request("GET", "/api/v1/crew").json["members"]
        if any(one["state"] != "stopping" for one in members):
            self.server.request("POST", "/api/v1/crew/stop", {"reason": "the test is over"})
        return not members

    def order(self, line: str) -> None:
        """Tell the agent what to print, or to exit, as soon as it reads."""

        def write() -> bool:
            try:
                pipe = os.open(self.folder / "orders", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # no process reads yet
                return False
            with os.fdopen(pipe, "w", encoding="utf-8") as orders:
                orders.write(f"{line}\n")
            return True

        until(write)


@pytest.fixture
def run_crew(start_server, tmp_path) -> Iterator[RunCrew]:
    """A crew that is not up; its processes end with the test."""
    (tmp_path / "agent.py").write_text(AGENT)
    os.mkfifo(tmp_path / "orders")
    found = RunCrew(start_server().proven(), tmp_path)
    yield found
    found.server.request("POST", "/api/v1/crew/stop", {})
    until(found.is_stopped)
    found.server.stop()


def processes(page: Page, count: int) -> list[int]:
    """Return the process numbers that the agent printed, as soon as there are so many."""
    output = page.locator(".output pre")
    expect(output).to_have_text(re.compile(r"process \d+.*" * count, re.DOTALL))
    return [int(one) for one in re.findall(r"process (\d+)", output.text_content() or "")]


def is_running(pid: int) -> bool:
    try:
        return b"agent.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def test_the_crew_starts_from_the_page_and_its_agent_is_stopped_with_a_reason(open_view, run_crew):
    run_crew.add_task(f"write {HOSTILE}")
    page = open_view("/crew", at=run_crew.server)
    bar = page.get_by_role("region", name="Crew", exact=True)
    bar.get_by_text("not up").wait_for()

    bar.get_by_role("button", name="Start the crew").click()
    bar.get_by_text("crew.toml does not exist").wait_for()
    assert len(bar.locator(".example").inner_text().splitlines()) == 5
    run_crew.configure()
    bar.get_by_role("button", name="Start the crew").click()
    row = page.locator("[data-agent=developer-1]")
    row.get_by_text("working", exact=True).wait_for()
    expect(bar.get_by_text("up", exact=True)).to_be_visible()
    assert "task=" in row.get_by_role("link", name="write <img").get_attribute("href")

    row.get_by_role("link", name="developer-1").click()
    (pid,) = processes(page, 1)
    assert is_running(pid)
    run_crew.order(f"print {HOSTILE} \u202e reversed")
    output = page.locator(".output pre")
    expect(output).to_contain_text(f"{HOSTILE} \\u202e reversed")
    assert page.locator("main img, main script").count() == 0

    row.get_by_role("button", name="Stop developer-1").click()
    dialog = page.locator("dialog")
    expect(dialog).to_contain_text("those of its subagents")
    dialog.get_by_label("Reason").fill("wrong approach")
    dialog.get_by_role("button", name="Stop").click()
    until(lambda: not is_running(pid))
    page.locator(".agent-details").get_by_text("wrong approach").first.wait_for()
    page.locator(".agent-details .facts-list").get_by_text("stopped", exact=True).wait_for()


def test_a_restart_gives_the_agent_a_new_process_for_the_same_task(open_view, run_crew):
    run_crew.start("write the parser")
    page = open_view("/crew?agent=developer-1", at=run_crew.server)
    (first,) = processes(page, 1)

    page.locator(".agent-details").get_by_role("button", name="Restart developer-1").click()
    page.locator("dialog").get_by_role("button", name="Restart").click()
    _, second = processes(page, 2)
    assert (is_running(first), is_running(second)) == (False, True)
    row = page.locator("[data-agent=developer-1]")
    row.get_by_text("1 restart").wait_for()
    expect(row).to_contain_text("write the parser")


def test_the_limit_is_a_slider_and_waiting_tasks_say_why_they_wait(open_view, run_crew):
    run_crew.start("write the parser", "write the printer", limit=1)
    page = open_view("/crew", at=run_crew.server)
    bar = page.get_by_role("region", name="Crew", exact=True)
    waiting = bar.locator(".waiting li")
    expect(waiting).to_contain_text("busy")
    waiting.get_by_role("link", name="write the").wait_for()

    bar.get_by_role("button", name="Pause").click()
    bar.get_by_text("paused", exact=True).wait_for()
    expect(waiting).to_contain_text("the crew is paused")
    slider = bar.get_by_role("slider")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    until(lambda: run_crew.show()["limit"] == 4)
    expect(bar.locator(".limit")).to_contain_text("At most 4 agents")

    bar.get_by_role("button", name="New agent").click()
    page.locator("dialog").get_by_label("Role").select_option("developer")
    page.locator("dialog").get_by_role("button", name="Start").click()
    page.locator("[data-agent=developer-2]").get_by_text("idle", exact=True).wait_for()
    bar.get_by_role("button", name="Resume").click()
    page.locator("[data-agent=developer-2]").get_by_text("working", exact=True).wait_for()

    bar.get_by_role("button", name="Stop all").click()
    page.locator("dialog").get_by_label("Reason").fill("enough for today")
    page.locator("dialog").get_by_role("button", name="Stop all").click()
    bar.get_by_role("button", name="Start the crew").wait_for()
    until(lambda: {one["state"] for one in run_crew.show()["members"]} == {"stopped"})


def test_a_crash_is_announced_and_recorded_with_its_cause_and_output(open_view, run_crew):
    run_crew.start("write the parser")
    page = open_view("/crew?agent=developer-1", width=PHONE, theme="dark", at=run_crew.server)
    processes(page, 1)
    run_crew.order("print last words")
    run_crew.order("exit 3")

    page.locator(".toast.bad", has_text="developer-1 crashed: exit status 3").wait_for()
    row = page.locator("[data-agent=developer-1]")
    row.get_by_text("starts again in").wait_for()
    page.locator(".toast.info", has_text="developer-1 was started again").wait_for()
    row.get_by_text("1 restart · last crash: exit status 3").wait_for()
    crash = page.locator(".crashes li")
    expect(crash).to_contain_text("exit status 3")
    expect(crash).to_contain_text("write the parser")
    crash.get_by_text("Last output").click()
    crash.get_by_text("last words").wait_for()
    processes(page, 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert problems(page) == []


def test_the_output_follows_its_end_until_the_reader_scrolls_up(open_view, run_crew):
    run_crew.start("write the parser")
    page = open_view("/crew?agent=developer-1", at=run_crew.server)
    for number in range(60):
        run_crew.order(f"print line {number}")
    output = page.locator(".output pre")
    expect(output).to_contain_text("line 59")
    left = "box => box.scrollHeight - box.scrollTop - box.clientHeight"
    assert output.evaluate(left) < 2

    output.evaluate("box => { box.scrollTop = 0; }")
    page.get_by_role("button", name="Go to the end").wait_for()
    run_crew.order("print one more")
    expect(output).to_contain_text("one more")
    assert output.evaluate("box => box.scrollTop") == 0
    page.get_by_role("button", name="Go to the end").click()
    until(lambda: output.evaluate(left) < 2)


def test_a_browser_that_may_only_read_sees_why_and_the_past_has_no_controls(open_view, run_crew):
    run_crew.start("write the parser")
    page = open_view("/crew", at=run_crew.server)

    def read_only(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "scope": "read"})

    page.route("**/api/v1/whoami*", read_only)
    page.reload()
    bar = page.get_by_role("region", name="Crew", exact=True)
    bar.get_by_text("signed in with the scope read").wait_for()
    page.locator("[data-agent=developer-1] .crew-run button").first.wait_for()
    controls = page.locator(":is(.supervisor, .crew-run) :is(button, input)")
    assert controls.evaluate_all("all => all.every((one) => one.disabled)")
    assert controls.count() == 7

    page.goto(f"{run_crew.server.url}/crew?at={time.time() - 0.1}")
    page.get_by_role("region", name="Replay").wait_for()
    page.locator("[data-agent=developer-1]").wait_for()
    assert controls.count() == 0
