"""Run the terminal sessions that documentation pages show, and compare or rewrite their output.

    .venv/bin/python scripts/sessions.py docs/tutorial.md            rewrite output that has changed
    .venv/bin/python scripts/sessions.py --check docs/tutorial.md    only report it; exit status 1

A session is a ``console`` block: a line that starts with ``$`` is a command, the lines below it are
its output. All sessions of a page run in one new repository, in order.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts import bare

ROOT = Path(__file__).resolve().parent.parent
#: Files that are committed before the first command.
FILES = ("src/auth/login.py", "notes.md")
#: Programs that a page may show and that a bare environment does not have.
SKIPPED = ("make ", "pip ", "pipx ", "uv ", "git clone ", "claude", "codex")
HOME = "/home/you"

#: What differs from run to run and from terminal to terminal.
VARIES = (
    (re.compile(r"\bdata-[0-9a-f]{8}\b"), "data-NONCE"),
    (re.compile(r"\b[0-9a-f]{10}\b"), "COMMIT"),
    (re.compile(r"\b[0-9a-f]{24}\b"), "NONCE"),
    # A time that is not today shows its date: just before midnight that is any future time.
    (re.compile(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d"), "CLOCK"),
    (re.compile(r"\d{4}-\d\d-\d\d(T\d{4}\b)?"), "DATE"),
    (re.compile(r"you-[\w-]+ *"), "YOU "),
    (re.compile(r"\b(\d+m)?\d+s\b|\b\d+m\b"), "SPAN"),
    # The command depends on how Dibs was installed.
    (re.compile(r"run: .* && dibs init"), "run: INSTALL && dibs init"),
    (re.compile(r"  +"), " "),
)


class Terminal:
    """Run one command after another, like a person at a terminal, with a bare environment."""

    def __init__(self, home: Path, programs: Path) -> None:
        self.home = home
        self.folder = home / "shop"
        self.status = 0
        self.waiting: list[subprocess.Popen[str]] = []
        self._notes = home / ".notes"
        self._pty = os.openpty()
        self._notes.mkdir()
        (self._notes / "functions").touch()
        for name in FILES:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()
        self.variables = {
            "HOME": str(home), "USER": "you", "LANG": "C.UTF-8",
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        }  # fmt: skip
        for key in ("name", "email"):
            self.run(f"git config --global user.{key} you@example.com")
        self.run("git init -q -b main")
        self.run("git add -A && git commit -q -m start")

    def run(self, command: str) -> list[str]:
        """Run ``command`` and return its output; it may change folder, variables and functions."""
        notes = self._notes
        script = (
            f". '{notes}/functions'\n(exit {self.status})\n{command}\nstatus=$?\n"
            f"pwd > '{notes}/folder'\nenv -0 > '{notes}/variables'\n"
            f"declare -f > '{notes}/functions'\nexit $status"
        )
        done = self._start(script)
        output = done.communicate(timeout=60)[0]
        self.status = done.returncode
        self.folder = Path((notes / "folder").read_text("utf-8").rstrip("\n"))
        pairs = (notes / "variables").read_text("utf-8").split("\0")
        self.variables = dict(pair.split("=", 1) for pair in pairs if pair)
        return output.replace(str(self.home), HOME).splitlines()

    def leave_waiting(self, command: str) -> None:
        """Start ``command`` and return once it is in the queue."""
        self.waiting.append(self._start(command))
        while '"queue": []' in self._start("dibs status --json").communicate()[0]:
            if self.waiting[-1].poll() is not None:
                raise RuntimeError(f"did not wait: {command}")

    def expect_waiters_granted(self) -> None:
        """Wait until every command that was left waiting has its claim."""
        while self.waiting:
            output = self.waiting.pop().communicate(timeout=30)[0]
            if "granted" not in output:
                raise RuntimeError(f"a waiting command was not granted: {output}")

    def close(self) -> None:
        """End the commands that still wait."""
        for process in self.waiting:
            process.kill()
            process.communicate()
        for end in self._pty:
            os.close(end)

    def _start(self, script: str) -> subprocess.Popen[str]:
        terminal = os.ttyname(self._pty[1])
        return subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: os.open(terminal, os.O_RDWR),  # noqa: PLW1509 (take the terminal)
        )


def normal(lines: list[str]) -> list[str]:
    """Return lines with everything that varies replaced."""
    text = "\n".join(lines)
    for expression, word in VARIES:
        text = expression.sub(word, text)
    return [line.rstrip() for line in text.splitlines()]


def sessions(text: str) -> list[tuple[str, list[str]]]:
    """Return each command that a page shows, with the lines of its output."""
    found = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, output = split(part)
            if not command.startswith(SKIPPED):
                found.append((command, output))
    return found


def split(part: str) -> tuple[str, list[str]]:
    """Split one command and its output; a line that ends in a backslash continues."""
    lines = part.rstrip().splitlines()
    last = next(at for at, line in enumerate(lines) if not line.endswith("\\"))
    return "\n".join(lines[: last + 1]), lines[last + 1 :]


def replay(text: str, terminal: Terminal) -> str:
    """Run the sessions of a page; return the page with the output that the commands print now."""

    def fresh(block: re.Match[str]) -> str:
        return f"```console\n{_replay_block(block[1], terminal)}```"

    return re.sub(r"(?ms)^```console\n(.*?)^```", fresh, text)


def _replay_block(block: str, terminal: Terminal) -> str:
    start, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    shown = [start]
    for part in parts:
        command, output = split(part)
        if not command.startswith(SKIPPED):
            actual = _step(command, output, terminal)
            if normal(actual) != normal(output):
                blank = "\n" if part.endswith("\n\n") else ""
                shown.append("\n".join([f"$ {command}", *actual]) + "\n" + blank)
                continue
        shown.append(f"$ {part}")
    return "".join(shown)


def _step(command: str, output: list[str], terminal: Terminal) -> list[str]:
    if "--wait" in command and not output:
        terminal.leave_waiting(command)
        return []
    actual = terminal.run(command)
    if "release" in command or "transfer" in command:
        terminal.expect_waiters_granted()
    return actual


def main() -> int:
    """Rewrite or check the pages that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="report differences, write nothing")
    parser.add_argument("page", nargs="+")
    args = parser.parse_args()
    changed = False
    for name in args.page:
        page = Path(name)
        before = page.read_text("utf-8")
        home = Path(tempfile.mkdtemp(prefix="dibs-session-"))
        terminal = Terminal(home, bare.installed(ROOT / ".venv"))
        try:
            after = replay(before, terminal)
        finally:
            terminal.close()
            shutil.rmtree(home, ignore_errors=True)
        changed |= after != before
        lines = (text.splitlines(keepends=True) for text in (before, after))
        sys.stdout.writelines(difflib.unified_diff(*lines, name, name))
        if not args.check:
            page.write_text(after, "utf-8")
    return int(changed and args.check)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
