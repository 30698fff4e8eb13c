"""The Claude Code plugin contains what ``dibs init --shared`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import dibs
from dibs.install.agents.edits import Choice, hook_entries
from dibs.install.agents.table import AGENTS
from dibs.install.entries import texts
from dibs.install.entries.commands import commands

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugin"


def read(path):
    return json.loads(path.read_text("utf-8"))


def test_its_hooks_match_init():
    place = "Claude Code: claude plugin uninstall dibs@dibs"
    made = hook_entries(AGENTS["claude"], Choice("/", commands(shared=True), shared=True), place)

    assert read(PLUGIN / "hooks" / "hooks.json")["hooks"] == {
        event: list(groups) for event, groups in made.groups.items()
    }


def test_its_skill_matches_init():
    assert (PLUGIN / "skills" / "dibs" / "SKILL.md").read_text("utf-8") == texts.SKILL


def test_its_server_matches_init():
    program, *arguments = commands(shared=True).server

    assert read(PLUGIN / ".mcp.json")["mcpServers"]["dibs"] == {
        "command": program,
        "args": arguments,
    }


def test_its_version_matches_the_package():
    assert read(PLUGIN / ".claude-plugin" / "plugin.json")["version"] == dibs.__version__


def test_the_marketplace_points_to_it():
    (entry,) = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]

    assert (ROOT / entry["source"]).resolve() == PLUGIN
    assert entry["name"] == read(PLUGIN / ".claude-plugin" / "plugin.json")["name"]
