"""The hooks in agents' settings, read as the agents read them."""

import json
import subprocess

import pytest

from dibs.core.text.findings import Finding, Level
from dibs.install.agents.table import AGENTS
from dibs.install.inspect.agents import findings, look
from dibs.install.inspect.settings import InstalledHook, hooks_of, read_settings, servers_of
from dibs.install.prove.hooks import matches, refusal
from dibs.install.prove.run import Ran
from dibs.install.prove.trials import SHELL, trials

OURS = "/venv/bin/python -I -S /lib/dibs/guard/run.py {} || exit 2"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def group(agent, key="command", **more):
    return {"matcher": "Write", "hooks": [{"type": "command", key: OURS.format(agent), **more}]}


SETTINGS = {
    "claude": (".claude/settings.json", {"PreToolUse": [group("claude", timeout=7)]}, 7),
    "codex": (".codex/hooks.json", {"PreToolUse": [group("codex", timeout=7)]}, 7),
    "gemini": (".gemini/settings.json", {"BeforeTool": [group("gemini", timeout=7000)]}, 7),
    "copilot": (
        ".github/hooks/x.json",
        {"preToolUse": [{"bash": OURS.format("copilot"), "timeoutSec": 7}]},
        7,
    ),
    "cursor": (
        ".cursor/hooks.json",
        {"preToolUse": [{"command": OURS.format("cursor"), "timeout": 7}]},
        7,
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_hook_of_each_agent_is_found_with_its_timeout_in_seconds(name, tmp_path):
    file, hooks, seconds = SETTINGS[name]
    write(tmp_path / file, {"hooks": hooks})

    (hook,), bad = hooks_of(name, str(tmp_path), "", {})

    assert bad == []
    assert hook.refuses
    assert hook.command == OURS.format(name)
    assert hook.timeout == pytest.approx(seconds)


def test_other_hooks_and_events_that_cannot_block_are_not_guards(tmp_path):
    hooks = {
        "PreToolUse": [
            {"hooks": [{"type": "command", "command": "lint"}]},
            {
                "matcher": "Write",
                "hooks": ["?", {"type": "command", "command": "dibs hook claude"}],
            },
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "dibs hook claude"}]}],
        "Odd": "text",
    }
    write(tmp_path / ".claude/settings.local.json", {"hooks": hooks})

    found, _ = hooks_of("claude", str(tmp_path), "", {})

    assert [(h.event, h.group, h.place, h.refuses) for h in found] == [
        ("PreToolUse", 1, 1, True),
        ("Stop", 0, 0, False),
    ]


def test_comments_and_trailing_commas_are_ignored_and_texts_kept(tmp_path):
    write(
        tmp_path / "a.json",
        '\ufeff{// one\n"a": "x // y, ]", /* two\n */ "b": [1, 2, ], "c": "\\"/*",}',
    )

    assert read_settings(str(tmp_path / "a.json")) == {"a": "x // y, ]", "b": [1, 2], "c": '"/*'}


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\xff", '{"hooks": '])
def test_an_unreadable_file_is_reported_and_the_others_are_read(tmp_path, text):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_bytes(text.encode("latin-1"))
    write(tmp_path / ".claude/settings.local.json", {"hooks": SETTINGS["claude"][1]})

    found, bad = hooks_of("claude", str(tmp_path), "", {})

    assert len(found) == 1
    assert [b.file for b in bad] == [str(tmp_path / ".claude/settings.json")]


@pytest.mark.parametrize(
    "content", [[], 1, {"hooks": []}, {"hooks": {"PreToolUse": [1, {}, None]}}]
)
def test_settings_of_any_shape_are_read_without_an_error(tmp_path, content):
    for name in AGENTS:
        for place in AGENTS[name].hooks.files:
            if "*" not in place and place.endswith(".json"):
                write(tmp_path / place, content)

    assert [hooks_of(name, str(tmp_path), "", {}) for name in AGENTS] == [([], [])] * len(AGENTS)


def test_a_command_whose_program_does_not_exist_is_reported(tmp_path):
    write(tmp_path / ".claude/settings.json", {"hooks": SETTINGS["claude"][1]})

    told = findings(look(str(tmp_path), "", {"PATH": ""}), str(tmp_path))

    assert any("runs /venv/bin/python, which does not exist" in finding.text for finding in told)


def test_an_installed_agent_without_guards_is_a_warning_that_says_how_to_guard_it(tmp_path):
    program = tmp_path / "bin" / "claude"
    write(program, "#!/bin/sh\necho 1.0\n")
    program.chmod(0o755)

    told = findings(look(str(tmp_path), "", {"PATH": str(program.parent)}), str(tmp_path))

    text = "installed but not guarded: run `dibs init --agents claude`"
    assert told == [Finding(Level.WARN, "claude", text)]


def test_servers_are_found_in_every_format(tmp_path):
    write(tmp_path / ".mcp.json", {"mcpServers": {"dibs": {"command": "dibs", "args": ["mcp"]}}})
    write(tmp_path / "opencode.json", {"mcp": {"dibs": {"command": ["dibs", "mcp"]}}})
    write(tmp_path / ".codex/config.toml", '[mcp_servers.dibs]\ncommand = "dibs"\nargs = ["mcp"]\n')
    write(
        tmp_path / ".cursor/mcp.json", {"mcpServers": {"dibs": {"url": "http://127.0.0.1:1/mcp"}}}
    )

    found = {n: servers_of(n, str(tmp_path), "", {}) for n in ("claude", "opencode", "codex")}

    assert {n: one.argv for n, (one,) in found.items()} == dict.fromkeys(found, ("dibs", "mcp"))
    (cursor,) = servers_of("cursor", str(tmp_path), "", {})
    assert (cursor.argv, cursor.url) == ((), "http://127.0.0.1:1/mcp")


@pytest.mark.parametrize(
    ("matcher", "tool", "fits"),
    [
        ("", "Write", True), ("*", "Write", True), ("Write|Edit", "Edit", True),
        ("Write|Edit", "NotebookEdit", False), ("^(Bash|apply_patch)$", "apply_patch", True),
        ("^Read$", "Write", False), ("(", "Write", False), ("mcp__.*|Write", "Write", True),
    ],
)  # fmt: skip
def test_matchers_match_as_in_the_agents(matcher, tool, fits):
    assert matches(matcher, tool) == fits


DENY_OF_COPILOT = '{"permissionDecision": "deny", "permissionDecisionReason": "w"}'


def deny(reason="why"):
    specific = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **specific}})


@pytest.mark.parametrize(
    ("agent", "ran", "refused"),
    [
        ("claude", Ran(0, deny(), ""), "why"),
        ("claude", Ran(2, "", "why"), "why"),
        ("claude", Ran(1, deny(), "why"), None),
        ("claude", Ran(127, "", "not found"), None),
        ("claude", Ran(0, "{", ""), None),
        ("claude", Ran(0, "", ""), None),
        ("claude", Ran(0, '{"decision": "deny", "reason": "x"}', ""), None),
        ("gemini", Ran(0, '{"decision": "deny", "reason": "why"}', ""), "why"),
        ("gemini", Ran(0, deny(), ""), None),
        ("copilot", Ran(1, "", ""), "the hook failed"),
        ("copilot", Ran(0, DENY_OF_COPILOT, ""), "w"),
        ("cursor", Ran(0, '{"permission": "deny", "agent_message": "why"}', ""), "why"),
        ("cursor", Ran(0, "{}", ""), None),
    ],
)  # fmt: skip
def test_an_answer_blocks_only_if_the_agent_would_honor_it(agent, ran, refused):
    assert refusal(agent, ran) == refused


@pytest.mark.parametrize("agent", SETTINGS)
def test_a_shell_command_contains_the_exact_path(agent, tmp_path):
    place = tmp_path / "o'brien's \"$(x)\" folder"
    place.mkdir()
    event = next(iter(AGENTS[agent].hooks.before))
    hook = InstalledHook(agent, "x", event, 0, 0, "", "")

    for trial in trials(hook, str(place / "proof"), "s", str(place)):
        if trial.what == SHELL:
            subprocess.run(["sh", "-c", shell_command(trial.payload)], check=True)
            assert (place / "proof").read_text() == "proof\n"


def shell_command(payload):
    """Return the command in this agent's payload."""
    if isinstance(payload, str) and payload.startswith("{"):
        payload = json.loads(payload)
    inner = payload.values() if isinstance(payload, dict) else ()
    found = [payload] if isinstance(payload, str) and payload.startswith("echo ") else []
    return next(iter([*found, *filter(None, map(shell_command, inner))]), "")


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("claude", "// mine\n{}"),
        ("codex", "\ufeff{}"),
        ("codex", '{"hooks": {}, "hooks": {}}'),
        ("copilot", "\ufeff{}"),
        ("gemini", "{,}"),
    ],
)
def test_a_file_that_its_agent_ignores_guards_nothing(agent, text, tmp_path):
    write(tmp_path / SETTINGS[agent][0], text)

    hooks, bad = hooks_of(agent, str(tmp_path), "", {})

    assert not hooks
    assert len(bad) == 1
