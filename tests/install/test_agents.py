"""What is added to each agent's files: formats that it reads, and commands that fail closed."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from dibs.guard.dialects.tools import SHELL_TOOLS, WRITE_TOOLS
from dibs.install.agents.edits import Choice, file_edits
from dibs.install.agents.table import AGENTS
from dibs.install.entries import texts
from dibs.install.entries.commands import commands
from dibs.install.entries.pieces import put_all
from dibs.install.inspect.agents import used_here

#: The events before a tool, the only ones that can block.
REFUSING = {
    "PreToolUse", "BeforeTool", "preToolUse", "pre_write_code", "pre_run_command", "pre_mcp_tool_use",
}  # fmt: skip
HOOK_FILES = {
    "claude": ".claude/settings.local.json",
    "vscode": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/dibs.json",
    "cursor": ".cursor/hooks.json",
}


def files(agent, root="/nowhere", **choice):
    made = Choice(str(root), commands(shared=choice.get("shared", False)), **choice)
    pieces = {}
    for wish in file_edits(AGENTS[agent], made):
        pieces.setdefault(wish.path, []).append(wish.piece)
    return {path: put_all(tuple(some), b"", path).decode() for path, some in pieces.items()}


def handlers(groups):
    for group in groups:
        yield from group.get("hooks", [group])


@pytest.mark.parametrize("agent", HOOK_FILES)
def test_only_an_event_before_a_tool_fails_closed(agent):
    hooks = json.loads(files(agent)[HOOK_FILES[agent]])["hooks"]

    assert REFUSING & set(hooks)
    for event, groups in hooks.items():
        for handler in handlers(groups):
            command = handler.get("command") or handler["bash"]
            assert command.endswith(" || exit 2" if event in REFUSING else " || exit 0"), event


@pytest.mark.parametrize("agent", HOOK_FILES)
def test_hooks_are_plain_shell_commands_that_every_reader_accepts(agent):
    for groups in json.loads(files(agent)[HOOK_FILES[agent]])["hooks"].values():
        for handler in handlers(groups):
            assert handler.get("type", "command") == "command"
            assert "args" not in handler
            assert isinstance(handler.get("command") or handler["bash"], str)


def test_claude_blocks_a_call_if_the_hook_fails():
    hooks = json.loads(files("claude")[".claude/settings.local.json"])["hooks"]

    assert hooks["PreToolUse"][0]["hooks"][0]["onFailure"] == "block"


def test_copilot_hooks_name_the_event_on_the_command_line():
    hooks = json.loads(files("copilot")[".github/hooks/dibs.json"])

    assert hooks["version"] == 1
    for event, (handler,) in hooks["hooks"].items():
        assert f" copilot {event} || " in handler["bash"]


def test_gemini_timeouts_are_in_milliseconds_and_no_server_is_trusted():
    settings = json.loads(files("gemini")[".gemini/settings.json"])

    assert settings["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"] == 60_000
    assert "trust" not in settings["mcpServers"]["dibs"]


def test_codex_has_its_server_in_toml_and_its_hooks_in_json():
    made = files("codex")

    assert tomllib.loads(made[".codex/config.toml"])["mcp_servers"]["dibs"]["args"][-1] == "mcp"
    assert set(json.loads(made[".codex/hooks.json"])) == {"hooks"}


def test_opencode_gets_a_plugin_with_the_command():
    plugin = files("opencode")[".opencode/plugin/dibs.js"]

    assert "@DIBS_HOOK@" not in plugin
    assert "guard/run.py" in plugin


@pytest.mark.parametrize(
    ("agent", "file", "before", "after", "tool"),
    [
        ("claude", ".claude/settings.local.json", "PreToolUse", "PostToolUse", "Read"),
        ("gemini", ".gemini/settings.json", "BeforeTool", "AfterTool", "read_file"),
    ],
)
def test_reads_are_heartbeats_and_are_checked_only_if_the_setting_says_so(
    agent, file, before, after, tool
):
    for reads in (False, True):
        hooks = json.loads(files(agent, reads=reads)[file])["hooks"]

        assert (re.match(hooks[before][0]["matcher"], tool) is not None) is reads
        assert re.match(hooks[after][0]["matcher"], tool)


@pytest.mark.parametrize(
    ("agent", "file", "server"),
    [
        ("claude", ".claude/settings.local.json", "mcp__files__write"),
        ("codex", ".codex/hooks.json", "mcp__files__write"),
        ("gemini", ".gemini/settings.json", "mcp_files_write"),
    ],
)
def test_hooks_are_called_for_every_tool_in_the_tables_that_writes_or_runs_commands(
    agent, file, server
):
    hooks = json.loads(files(agent)[file])["hooks"]
    tools = f"{WRITE_TOOLS[agent]} {SHELL_TOOLS[agent]} {server}".split()

    assert {"claude": "Monitor", "codex": "write_stdin", "gemini": "replace"}[agent] in tools
    for event in AGENTS[agent].hooks.tool_events:
        skipped = [tool for tool in tools if not re.search(hooks[event][0]["matcher"], tool)]
        assert skipped == [], event


def test_init_replaces_a_matcher_that_skips_reads():
    choice = Choice("/nowhere", commands(shared=False))
    (edit,) = [one for one in file_edits(AGENTS["claude"], choice) if one.what == "hooks"]
    old = json.loads(edit.piece.put("", "settings.json"))
    for group in old["hooks"]["PostToolUse"]:
        group["matcher"] = group["matcher"].replace("|Read|Grep|Glob", "")

    new = json.loads(edit.piece.put(json.dumps(old), "settings.json"))

    assert len(new["hooks"]["PostToolUse"]) == 1
    assert "|Read|" in new["hooks"]["PostToolUse"][0]["matcher"]


def test_shared_files_contain_no_machine_paths():
    for agent in AGENTS:
        for path, text in files(agent, shared=True).items():
            assert "/python" not in text, (agent, path)
    assert ".claude/settings.json" in files("claude", shared=True)


def test_unwanted_parts_are_left_out():
    assert list(files("claude", servers=False, instructions=False)) == [
        ".claude/settings.local.json"
    ]


@pytest.mark.parametrize(
    ("pages", "page"),
    [
        ({}, "AGENTS.md"),
        ({"AGENTS.md": "x"}, "AGENTS.md"),
        ({"CLAUDE.md": "x"}, "CLAUDE.md"),
        ({"CLAUDE.md": "x\n@AGENTS.md\n", "AGENTS.md": "x"}, "AGENTS.md"),
        ({"CLAUDE.md": "x\n@AGENTS.md\n"}, "AGENTS.md"),
    ],
)
def test_claude_gets_its_instructions_where_it_reads_them(tmp_path, pages, page):
    for name, text in pages.items():
        (tmp_path / name).write_text(text)

    assert [
        path for path in files("claude", tmp_path) if path.endswith("S.md") or path == "CLAUDE.md"
    ] == [page]


def test_agents_are_found_by_programs_homes_and_files(tmp_path):
    root, home, folder = tmp_path / "repo", tmp_path / "home", tmp_path / "bin"
    for place in (root / ".cursor", home / ".codex", folder):
        place.mkdir(parents=True)
    (folder / "claude").touch(mode=0o755)
    (folder / "gemini").touch(mode=0o644)

    shown = used_here(str(root), {"PATH": str(folder), "HOME": str(home)})

    assert set(shown) == {"claude", "codex", "cursor"}
    assert shown["claude"] == f"found at {folder}/claude"
    assert used_here(str(root), {"PATH": ".:", "HOME": ""}, {".cursor"}) == {}


def test_all_settings_in_the_file_are_known(tmp_path):
    from dibs.config import load

    lines = [line.removeprefix("# ") for line in texts.settings().splitlines()]
    (tmp_path / "dibs.toml").write_text(
        "\n".join(line for line in lines if " = " in line or line[:1] in {"[", " "})
    )

    loaded = load.load(str(tmp_path), str(tmp_path), {}, {})

    assert loaded.config == load.Config()
    assert (
        load.load(str(tmp_path), str(tmp_path), {}, {})
        .origins["guard_reads"]
        .startswith("dibs.toml")
    )


def test_a_skill_has_the_name_of_its_folder_and_a_short_description():
    _, head, body = texts.SKILL.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())

    assert fields["name"] == "dibs"
    assert len(fields["description"]) <= 1024
    assert len(body.splitlines()) < 500


def test_the_instructions_say_when_an_agent_is_not_guarded():
    from dibs.install.entries.texts import BLOCK
    from dibs.mcp.registry import INSTRUCTIONS

    assert all(
        "You are not guarded when" in " ".join(text.split()) for text in (BLOCK, INSTRUCTIONS)
    )
    assert all(name in BLOCK for name in ("Codex", "Copilot", "Gemini"))


@pytest.mark.parametrize("name", ["gemini", "copilot"])
def test_the_setup_names_the_step_that_closes_a_gap_until_it_is_closed(name):
    agent = AGENTS[name]

    assert any("dibs init --user" in step for step in agent.steps(servers=False))
    assert agent.steps(servers=False, user=True) == ()
