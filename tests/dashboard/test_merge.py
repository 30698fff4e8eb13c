"""The Merge view: what would conflict, worktrees with unsaved work, and saved copies."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

AGENTS = ("claude-7f3a21c4", "codex-19bd02aa")
#: An agent whose worktree is removed.
GONE = "gemini-5c77e1d0"


@pytest.fixture(scope="module")
def conflicting(server):
    """Two agents that changed the same line in worktrees of their own, one without a commit."""
    (server.repo / "login.py").write_text("".join(f"line {n}\n" for n in range(20)))
    git(server, "add", "login.py")
    git(server, "commit", "-qm", "Add a file")
    for agent in (*AGENTS, GONE):
        server.dibs("agent", "join", "--agent", agent)
        server.dibs("worktree", "new", "--agent", agent, DIBS_AGENT=agent)
    listed = json.loads(server.dibs("worktree", "ls", "--json").stdout)["worktrees"]
    for tree in listed:
        if tree["agent"] == GONE:
            (Path(tree["path"]) / "notes.txt").write_text("not committed\n")
        if tree["agent"] in AGENTS:
            file = Path(tree["path"]) / "login.py"
            file.write_text(file.read_text().replace("line 7\n", f"seven by {tree['agent']}\n"))
            if tree["agent"] == AGENTS[0]:
                git(server, "commit", "-qam", "Change a line", cwd=tree["path"])
    return server


def git(server, *words, cwd=None):
    subprocess.run(["git", *words], cwd=cwd or server.repo, env=server.environ, check=True)


def test_a_cell_of_the_matrix_shows_the_lines_of_both_sides(open_view, conflicting):
    page = open_view("/merge")
    one, other = AGENTS

    page.get_by_role("button", name=f"{one} and {other}: 1 file conflicts").click()

    details = page.get_by_role("region", name=f"Conflicts between {one} and {other}")
    expect(details.locator("pre").nth(0)).to_have_text(f"seven by {one}")
    expect(details.locator("pre").nth(1)).to_have_text(f"seven by {other}")
    expect(page).to_have_url(re.compile(f"one={re.escape(one)}"))
    page.reload()
    expect(details.locator("pre").nth(1)).to_have_text(f"seven by {other}")
    page.get_by_role("button", name="Close").click()
    expect(details).to_have_count(0)


def test_worktrees_say_what_is_saved_nowhere_else(open_view, conflicting):
    page = open_view("/merge")
    trees = page.get_by_role("region", name="Worktrees")

    expect(trees.get_by_text("1 commit not merged")).to_be_visible()
    expect(trees.get_by_text("1 file changed")).to_be_visible()


def test_a_saved_copy_is_restored_after_a_confirmation(open_view, conflicting):
    conflicting.dibs("worktree", "rm", GONE, "--force", "--reason", "a test")
    page = open_view("/merge")
    copies = page.get_by_role("region", name="Saved copies of uncommitted work")
    copies.get_by_role("button").first.click()
    expect(copies.get_by_text("notes.txt").first).to_be_visible()

    page.get_by_role("button", name="Restore to a branch").click()
    page.get_by_label("Name of the branch").fill("restored/by-test")
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()

    expect(page.locator(".toast.good")).to_contain_text("Restored the copy")
    git(conflicting, "rev-parse", "--verify", "-q", "refs/heads/restored/by-test")
