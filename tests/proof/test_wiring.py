"""An agent that disables the guard is blocked, or detected and reported."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.proof.proof_wiring import ATTEMPTS, BLOCKED, HARMLESS, REPORTED, TABLE, table

from dibs.cli import main
from dibs.guard.agents.program import answer
from dibs.local.repository import find
from dibs.project.project import create
from dibs.services.guard.wiring import WiringRecord

if TYPE_CHECKING:
    from dibs.core.toolcalls.values import HookReply

FILES = (
    ".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".gemini/settings.json",
    ".github/hooks/dibs.json", ".opencode/plugin/dibs.js", ".cursor/hooks.json",
    ".mcp.json", "src/a.py", "run.sh",
)  # fmt: skip
HOME = (
    ".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".copilot/settings.json",
    ".config/git/config", ".cursor/hooks.json",
)  # fmt: skip
HOOKS = '{"hooks": {"PreToolUse": [{"hooks": [{"command": "dibs hook claude"}]}]}}\n'
TEXTS = {"toml": "[features]\nother = true\n", "config/git/config": "[alias]\n\tst = status\n"}


class Wired:
    """A repository with the settings of all agents, and a home folder with the user's."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "repo", folder / "home"
        self.home.mkdir()
        (self.home / ".gitconfig").write_text("[user]\n\tname = t\n\temail = t@t\n")
        for top, names in ((self.root, FILES), (self.home, HOME)):
            for name in names:
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                text = TEXTS.get(name.rpartition(".")[2], HOOKS)
                (top / name).write_text(text)
                (top / name).chmod(0o644)
        self.sh("git init -q -b main .")
        (self.root / "dibs.toml").write_text('[claims]\nttl = "10m"\n')
        (self.root / ".git" / "info" / "exclude").write_text(".claude/settings.local.json\n")
        self.sh("git add dibs.toml src && git commit -qm x")
        opened, _ = create(str(self.root))
        opened.close()
        assert main(["git", "install"]) == 0

    def sh(self, command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["sh", "-c", command], cwd=self.root, check=False, capture_output=True
        )

    def hook(self, event: str, command: str, tool: str = "Bash") -> str:
        return self.reply(event, command, tool).stdout

    def reply(self, event: str, command: str, tool: str = "Bash") -> HookReply:
        given = {"command": command} if tool == "Bash" else {"file_path": command, "content": "{}"}
        payload = {
            "session_id": "s1", "cwd": str(self.root), "hook_event_name": event, "tool_name": tool,
            "tool_input": given, "tool_use_id": "t1", "tool_response": {},
        }  # fmt: skip
        return answer(
            ["claude"], json.dumps(payload).encode(), dict(os.environ), str(self.root), 0
        )[0]

    def is_blocked(self, command: str) -> bool:
        filled = command.replace("{root}", str(self.root)).replace("{home}", str(self.home))
        said = self.hook("PreToolUse", filled)
        return '"deny"' in said


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the repository once; each test works on a copy in the same place."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("wired")
    for name in list(os.environ):
        if name.startswith(("DIBS_", "GIT_", "XDG_")):
            patch.delenv(name)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        patch.delenv(name, raising=False)
    patch.setenv("HOME", str(folder / "home"))
    (folder / "repo").mkdir()
    patch.chdir(folder / "repo")
    yield Wired(folder)
    patch.undo()


@pytest.fixture
def wired(made, tmp_path):
    kept = tmp_path / "kept"
    subprocess.run(["cp", "-a", str(made.root.parent), str(kept)], check=True)
    yield made
    for top in (made.root, made.home):
        subprocess.run(["chmod", "-R", "u+rwX", str(top)], check=True)
        for path in sorted(top.iterdir()):
            subprocess.run(["rm", "-rf", str(path)], check=True)
        subprocess.run(["cp", "-a", f"{kept}/{top.name}/.", str(top)], check=True)


@pytest.mark.parametrize("one", [a for a in ATTEMPTS if a.happens == BLOCKED], ids=lambda a: a.says)
def test_an_attempt_that_the_command_shows_is_blocked(made, one):
    assert [command for command in one.commands if not made.is_blocked(command)] == []


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_an_edit_tool_cannot_change_what_guards_agents(made, tool):
    files = [made.home / name for name in (*HOME, ".gitconfig")]
    files += [made.root / name for name in FILES if name.startswith(".")]
    names = ("hooks/pre-commit", "config", "refs/heads/x", "packed-refs", "dibs/dibs.db", "HEAD")
    files += [made.root / ".git" / name for name in names]

    passed = [
        str(file) for file in files if '"deny"' not in made.hook("PreToolUse", str(file), tool)
    ]

    assert passed == []
    assert '"deny"' not in made.hook("PreToolUse", str(made.home / "notes.txt"), tool)


@pytest.mark.parametrize(
    "command", [c for a in ATTEMPTS if a.happens == REPORTED for c in a.commands]
)
def test_an_attempt_hidden_in_a_script_is_reported_and_not_accepted_by_a_repair(
    wired, capsys, command
):
    (wired.root / "run.sh").write_text(f"#!/bin/sh\n{command}\n")
    assert '"deny"' not in wired.hook("PreToolUse", "sh run.sh")
    wired.sh("sh run.sh")
    assert "files that guard agents were changed while" in wired.hook("PostToolUse", "sh run.sh")
    capsys.readouterr()

    main(["doctor"])
    out = " ".join(capsys.readouterr().out.split())
    assert "which guards agents, was" in out
    assert "to repair what Dibs wrote: `dibs init`" in out
    main(["doctor", "--fix"])
    assert WiringRecord(find(str(wired.root), {})).pending()


@pytest.mark.parametrize("command", HARMLESS)
def test_harmless_commands_are_neither_blocked_nor_reported(wired, command):
    assert not wired.is_blocked(command)
    wired.sh(command)
    assert "that guard agents were changed" not in wired.hook("PostToolUse", command)


def test_only_a_human_accepts_and_the_humans_get_a_message(wired, capsys):
    wired.hook("PreToolUse", "sh run.sh")
    wired.sh("git config core.hooksPath .husky")
    wired.hook("PostToolUse", "sh run.sh")
    capsys.readouterr()

    main(["doctor", "--fix", "--accept", "--agent", "mallory"])

    said = " ".join(capsys.readouterr().out.split())
    assert (
        "did not accept files that guard agents: only a human may do this; you are mallory" in said
    )
    assert main(["inbox", "--json"]) == 0
    assert (
        "files that guard agents were changed while claude-s1 ran a command"
        in capsys.readouterr().out
    )
    (entry,) = _ledger(capsys)
    assert entry["agent"] == "claude-s1"
    assert ".git/config" in entry["details"]["paths"]
    main(["doctor", "--fix", "--accept"])
    assert "accepted .git/config as it is now" in capsys.readouterr().out
    assert wired.sh("git config core.hooksPath").stdout == b".husky\n"
    assert len(_ledger(capsys)) == 2
    main(["doctor"])
    assert "which guards agents" not in capsys.readouterr().out


def _ledger(capsys):
    capsys.readouterr()
    main(["log", "--json", "--kind", "wiring_changed"])
    return json.loads(capsys.readouterr().out)


def test_a_persons_own_change_between_commands_is_not_reported(wired, capsys):
    wired.hook("PreToolUse", "sh run.sh")
    wired.hook("PostToolUse", "sh run.sh")
    (wired.root / ".claude/settings.json").write_text("{}")

    wired.hook("PreToolUse", "sh run.sh")
    said = wired.hook("PostToolUse", "sh run.sh")

    assert "guard agents" not in said
    main(["doctor"])
    assert "which guards agents" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrote",
    [
        "git -c user.name=t -c user.email=t@t commit-tree -m x 'HEAD^{tree}' > .git/refs/heads/main",
        ": > .git/refs/heads/main",
    ],
)
def test_a_branch_that_a_script_wrote_is_reported_with_its_last_commit(wired, capsys, wrote):
    before = wired.sh("git rev-parse main").stdout
    wired.hook("PreToolUse", "sh run.sh")
    wired.sh(wrote)
    assert ".git/refs/heads/main" in wired.hook("PostToolUse", "sh run.sh")
    assert ".git/refs/heads/main" not in wired.hook("PostToolUse", "ls")  # once
    capsys.readouterr()

    main(["doctor"])
    said = " ".join(capsys.readouterr().out.split())
    assert "was written without git while claude-s1" in said
    assert f"git's log of it ends at {before.decode().strip()}" in said


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("rm .git/HEAD", "HEAD, objects, or refs is missing"),
        ("rm -rf .git/refs", "HEAD, objects, or refs is missing"),
        ("mv .git x", "has a dibs.toml, but is not in a git repository"),
        ("rm -rf .git", "has a dibs.toml, but is not in a git repository"),
    ],
)
def test_after_a_script_removed_the_git_directory_every_write_is_blocked(wired, command, says):
    wired.hook("PreToolUse", "sh run.sh")
    wired.sh(command)

    reply = wired.reply("PreToolUse", str(wired.root / "src/a.py"), "Write")

    assert reply.status == 2
    assert says in reply.stderr


def test_a_branch_that_git_moved_is_not_reported(wired):
    wired.hook("PreToolUse", "sh run.sh")
    for command in ("commit -q --allow-empty -m x", "branch a/b", "pack-refs --all", "branch c"):
        wired.sh(f"git -c user.name=t -c user.email=t@t -c core.hooksPath=/dev/null {command}")

    assert "refs/heads" not in wired.hook("PostToolUse", "sh run.sh")


def test_a_permission_that_an_agent_remembers_is_not_reported(wired):
    wired.hook("PreToolUse", "sh run.sh")
    settings = json.loads(HOOKS) | {"permissions": {"allow": ["Bash(ls)"]}}
    (wired.root / ".claude/settings.local.json").write_text(json.dumps(settings))

    assert "that guard agents were changed" not in wired.hook("PostToolUse", "sh run.sh")


def test_the_docs_have_these_rows():
    docs = Path(__file__).parents[2] / "docs" / "explanation" / "enforcement.md"
    begin, end = TABLE

    shown = docs.read_text("utf-8").split(begin)[1].split(end)[0].strip()

    assert shown == table()
