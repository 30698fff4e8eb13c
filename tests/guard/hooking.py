"""Hooks as processes, as an agent starts them, in a separate repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import dibs

PACKAGE = Path(dibs.__file__).parent


def call(folder: Path, path: str, session: str, tool: str = "Write") -> bytes:
    """Return what Claude sends before it writes a file."""
    told = {
        "session_id": session,
        "cwd": str(folder),
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": {"file_path": str(folder / path), "content": "x"},
        "tool_use_id": "toolu_1",
    }
    return json.dumps(told).encode()


def environment(**more: str) -> dict[str, str]:
    """Return the environment without an agent's name, and with longer time limits."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    return {**plain, "DIBS_GUARD_DEADLINE": "8s", **more}


def command(package: Path = PACKAGE) -> list[str]:
    """Return the command line of a hook."""
    return [sys.executable, "-I", "-S", str(package / "guard" / "run.py"), "claude"]


def hook(
    folder: Path, given: bytes, package: Path = PACKAGE, **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a hook and return its result."""
    words, surroundings = command(package), environment(**more)
    return subprocess.run(
        words, input=given, cwd=folder, env=surroundings, capture_output=True, check=False
    )


def refused(said: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether a call is blocked; fail if it is neither blocked nor allowed."""
    assert said.returncode == 0, said
    if not said.stdout:
        return False
    return json.loads(said.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def project(folder: Path, settings: str = "") -> Path:
    """Create a repository with a project."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "dibs.toml").write_text(settings)
    claim = [sys.executable, "-m", "dibs", "claim", "held.py", "--agent", "bob", "--ttl", "1h"]
    subprocess.run(claim, cwd=folder, env=environment(), check=True, capture_output=True)
    return folder
