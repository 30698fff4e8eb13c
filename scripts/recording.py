"""Record the README's terminal session as an animated SVG: docs/recording.svg.

    .venv/bin/python scripts/recording.py            run the session and write the file
    .venv/bin/python scripts/recording.py --check    run it and compare the text; exit status 1

Two coding agents share a repository. Their tool calls are real hook events, and everything shown is what
Dibs printed. The SVG has no scripts, no external fonts, and no external images.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.sessions import normal

from scripts import bare

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "recording.svg"
CLAUDE, CODEX = "claude-7f3a21c4", "codex-0c59d1b2"
PATH = "src/login.py"
WIDTH = 100
#: The width of a character in rich's SVG.
CHARACTER = 12.2
#: Seconds before each step, and before the animation starts again.
PAUSE, HOLD = 2.2, 9.0
#: Steps that are visible from the start, so that a still image tells the story, too.
FIRST = 3

THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [(110, 118, 129), (255, 123, 114), (86, 211, 100), (227, 179, 65), (121, 192, 255),
     (210, 168, 255), (86, 212, 221), (201, 209, 217)],
)  # fmt: skip
#: Like rich's own template, with local fonts, no shadow, and room for the animation.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>Two coding agents share a repository: the second is blocked, waits, and gets the file</title>
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, SFMono-Regular, Menlo, Consolas,
 'DejaVu Sans Mono', monospace; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font: bold 18px ui-sans-serif, system-ui, sans-serif; }}
{styles}
/*animation*/
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
 height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class Step(NamedTuple):
    """What appears at once: lines with ANSI colors."""

    lines: list[str]


class Session:
    """A new repository with two guarded agents."""

    def __init__(self, home: Path, programs: Path) -> None:
        self.folder = home / "shop"
        self._variables = {
            "HOME": str(home), "USER": "you", "LANG": "C.UTF-8", "TERM": "xterm-256color",
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "COLUMNS": str(WIDTH),
        }  # fmt: skip
        (self.folder / "src").mkdir(parents=True)
        (self.folder / PATH).write_text("def login(): ...\n", "utf-8")
        setup = (
            "git init -q -b main . && git config user.name you && git config user.email you@example.com"
            " && dibs init --agents claude,codex && git add . && git commit -qm Start"
        )
        subprocess.run(
            ["sh", "-c", setup],
            cwd=self.folder,
            env=self._variables,
            check=True,
            capture_output=True,
        )

    def hook(self, agent: str) -> list[str]:
        """Send what an agent sends before it writes the file; return what its model reads."""
        kind, _, session = agent.partition("-")
        event = {
            "session_id": session, "cwd": str(self.folder), "hook_event_name": "PreToolUse",
            "tool_name": "Write", "tool_input": {"file_path": str(self.folder / PATH), "content": ""},
        }  # fmt: skip
        # The shell in between leads a session with a terminal, like a person's: no process is the agent's.
        reply = self.start(f"dibs hook {kind} <<'END'\n{json.dumps(event)}\nEND").read()
        if not reply.strip():
            return []
        reason: str = json.loads(reply)["hookSpecificOutput"]["permissionDecisionReason"]
        return reason.splitlines()

    def start(self, command: str, agent: str = "") -> Command:
        """Start a command on a terminal of its own."""
        return Command(
            command, self.folder, self._variables | ({"DIBS_AGENT": agent} if agent else {})
        )

    def run(self, command: str, agent: str = "") -> list[str]:
        """Run a command; return the lines that it printed."""
        return screen(self.start(command, agent).read())


class Command:
    """A command on a pseudo-terminal."""

    def __init__(self, command: str, folder: Path, variables: dict[str, str]) -> None:
        self._master, slave = os.openpty()
        terminal = os.ttyname(slave)
        self._process = subprocess.Popen(
            ["bash", "-c", f"stty cols {WIDTH} rows 40 -echo; {command}"],
            cwd=folder, env=variables, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: os.open(terminal, os.O_RDWR),  # noqa: PLW1509 (take the terminal)
        )  # fmt: skip
        os.close(slave)

    def read(self, until: float = 30.0) -> str:
        """Return what the command prints until it ends, or for ``until`` seconds."""
        parts, end = [], time.monotonic() + until
        os.set_blocking(self._master, False)
        while time.monotonic() < end:
            try:
                parts.append(os.read(self._master, 65536))
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:  # every process on the terminal has ended
                self._process.wait()
                break
        return b"".join(parts).decode()


def screen(output: str) -> list[str]:
    """Return the lines on the screen; a line that was redrawn counts once."""
    plain = re.sub(r"\x1b\[\?\d+[hl]|\x1b\[\d*[ABCDJKG]", "\r", output).replace("\r\n", "\n")
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def play(session: Session) -> list[Step]:
    """Run the session and return its steps."""
    assert session.hook(CLAUDE) == []
    steps = [
        Step(
            [note("Claude Code edits src/login.py. No one holds it, so Dibs claims it for Claude.")]
        ),
        Step(
            [
                "",
                note(
                    "Codex tries to edit the same file. Dibs stops the tool call, and Codex reads:"
                ),
            ]
        ),
        Step([f"\x1b[33m{line}\x1b[0m" for line in session.hook(CODEX)]),
        Step(["", *prompt("you", "dibs status"), *session.run("dibs status")]),
    ]
    words = f"dibs claim {PATH} --wait 5m"
    waiting = session.start(words, CODEX)
    shown = screen(waiting.read(2.0))[-1:]
    steps.append(Step(["", *prompt("codex", words), *shown]))
    (session.folder / PATH).write_text("def login(): return True\n", "utf-8")
    words = 'dibs commit -m "Rework login" --release'
    steps += [
        Step(["", *prompt("claude", words), *session.run(words, CLAUDE)]),
        Step(["", note("Codex was waiting and gets the file:"), *screen(waiting.read())[-1:]]),
    ]
    return steps


def note(text: str) -> str:
    """Return a line that explains what happens."""
    return f"\x1b[3;38;2;139;148;158m# {text}\x1b[0m"


def prompt(who: str, command: str) -> list[str]:
    """Return the line in which someone enters a command."""
    colors = {"you": 32, "claude": 35, "codex": 34}
    return [f"\x1b[1;{colors[who]}m{who}\x1b[0m \x1b[1m$ {command}\x1b[0m"]


def render(steps: list[Step]) -> str:
    """Return the steps as an SVG in which one appears after the other."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor",
                      force_terminal=True, legacy_windows=False)  # fmt: skip
    rules, number = [], 0
    total = PAUSE * (len(steps) - FIRST) + HOLD
    for at, step in enumerate(steps):
        start = 100 * PAUSE * (at - FIRST + 1) / total
        if at >= FIRST:
            frames = f"0%, {start:.1f}% {{ opacity: 0 }} {start + 0.5:.1f}%, 100% {{ opacity: 1 }}"
            rules.append(f"@keyframes s{at} {{ {frames} }}")
        for line in step.lines:
            console.print(Text.from_ansi(line), soft_wrap=True)
            if at >= FIRST:
                rules.append(
                    f'text[clip-path="url(#dibs-line-{number})"] {{ animation-name: s{at} }}'
                )
            number += 1
    rules = [f"text[clip-path] {{ animation: {total:.0f}s infinite }}", *rules]
    rules.append("@media (prefers-reduced-motion: reduce) { text[clip-path] { animation: none } }")
    svg = console.export_svg(title="two agents, one repository", theme=THEME, code_format=SVG,
                             unique_id="dibs")  # fmt: skip
    return svg.replace("/*animation*/", "\n".join(rules)) + "\n"


def text_of(svg: str) -> list[str]:
    """Return the lines of text in an SVG, normalized."""
    rows: dict[float, str] = {}
    for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        row, column = float(node.get("y") or 0), round(float(node.get("x") or 0) / CHARACTER)
        rows[row] = rows.get(row, "").ljust(column) + (node.text or "").replace("\xa0", " ")
    return normal([rows[row] for row in sorted(rows)])


def record(programs: Path) -> str:
    """Run the session in a new repository and return the SVG."""
    home = Path(tempfile.mkdtemp(prefix="dibs-recording-"))
    try:
        return render(play(Session(home, programs)))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main() -> int:
    """Write the recording, or check that it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    svg = record(bare.installed(ROOT / ".venv"))
    if not check:
        FILE.write_text(svg, "utf-8")
        return 0
    old, new = text_of(FILE.read_text("utf-8")), text_of(svg)
    print("\n".join(difflib.unified_diff(old, new, "docs/recording.svg", "now", lineterm="")))
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
