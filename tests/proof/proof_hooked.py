"""A program that acts like a coding agent: it asks its hook before each tool call, and obeys.

python proof_hooked.py RUN REPO DIARY SESSION SEED FILES...

It records the replies and what it did, each line in one write; all times are from one clock.
It, and its hook, may be killed at any time.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time


class Hooked:
    """One session."""

    def __init__(self, run: str, repo: str, diary: str, session: str, seed: str) -> None:
        self.command = [sys.executable, "-I", "-S", run, "claude"]
        self.repo = repo
        self.session = session
        self.chance = random.Random(seed)
        self.diary = os.open(diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.mine: list[str] = []
        #: The hook's last reply, for debugging a failed proof.
        self.said = ""

    def live(self, files: list[str]) -> None:
        """Work until killed."""
        self.hook("SessionStart", source="startup")
        while True:
            path = self.chance.choice(files)
            act = self.chance.choice(
                [self.edit, self.edit, self.edit, self.shell, self.sly, self.end_turn]
            )
            act(path)

    def edit(self, path: str) -> None:
        """Write a file with the edit tool."""
        given = {
            "tool_name": "Write",
            "tool_input": {"file_path": f"{self.repo}/{path}", "content": "x"},
        }
        self.ask_and_write(path, given)

    def shell(self, path: str) -> None:
        """Write a file with a shell command that names it."""
        given = {"tool_name": "Bash", "tool_input": {"command": f"echo x >> {path}"}}
        self.ask_and_write(path, given)

    def ask_and_write(self, path: str, given: dict[str, object]) -> None:
        """Do what the hook allows."""
        began = time.monotonic()
        if not self.hook("PreToolUse", **given):
            self.note("refused", path, began)
            return
        self.note("allowed", path, began)
        self.write(path)
        self.hook("PostToolUse", **given)

    def sly(self, path: str) -> None:
        """Write a file with a shell command that does not name it."""
        given = {
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "tool_use_id": os.urandom(8).hex(),
        }
        began = time.monotonic()
        if self.chance.random() < 0.7 or not self.hook("PreToolUse", **given):  # rarely
            return
        self.write(path)
        if self.hook("PostToolUse", **given):
            self.note("sly", path, began)

    def end_turn(self, path: str) -> None:
        """Undo its changes, and end its turn, so that it holds nothing that is changed."""
        for each in self.mine:
            self.note("releases", each, time.monotonic())
        if self.mine:
            command = ["git", "-C", self.repo, "checkout", "-q", "--", *self.mine]
            subprocess.run(command, check=False, capture_output=True)
        self.mine = []
        self.hook("Stop", stop_hook_active=False)

    def write(self, path: str) -> None:
        """Write slowly, and remember it."""
        with open(f"{self.repo}/{path}", "a", encoding="utf-8") as file:
            file.write(f"{self.session}\n")
        if path not in self.mine:
            self.mine.append(path)

    def hook(self, event: str, **more: object) -> bool:
        """Ask the hook; return whether the tool may run."""
        payload = {"session_id": self.session, "cwd": self.repo, "hook_event_name": event, **more}
        environ = {**os.environ, "CLAUDE_PID": str(os.getpid())}
        done = subprocess.run(
            self.command,
            check=False,
            input=json.dumps(payload).encode(),
            capture_output=True,
            env=environ,
        )
        self.said = (done.stdout + done.stderr).decode()[-600:]
        return done.returncode == 0 and b'"deny"' not in done.stdout

    def note(self, what: str, path: str, began: float) -> None:
        """Write a line to the record."""
        line = {"who": self.session, "pid": os.getpid(), "what": what, "path": path, "began": began}
        line["said"] = self.said
        os.write(self.diary, json.dumps({**line, "ended": time.monotonic()}).encode() + b"\n")


if __name__ == "__main__":
    run, repo, diary, session, seed, *files = sys.argv[1:]
    Hooked(run, repo, diary, session, seed).live(files)
