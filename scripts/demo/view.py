"""What the audience sees: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Self

from crew import run_dibs
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

LOOK_EVERY = 0.8
STYLES = {"scene": "bold cyan", "say": "", "quote": "dim", "fail": "bold red"}


class View:
    """The story so far, what each agent does, and who holds what."""

    def __init__(self, tree: Path, *, pace: float, plain: bool) -> None:
        self.console = Console(highlight=False)
        self.pace = pace
        self._tree = tree
        self._plain = plain or not self.console.is_terminal
        self._story: list[Text] = []
        self._doing: dict[str, str] = {}
        self._seen: dict[str, Any] = {"claims": [], "queue": []}
        self._seen_at = time.monotonic()
        self._read_until = 0.0
        self._over = threading.Event()
        self._live = Live(get_renderable=self._frame, console=self.console, transient=True)

    def __enter__(self) -> Self:
        if not self._plain:
            threading.Thread(target=self._look, daemon=True).start()
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave_time()
        self._over.set()
        if not self._plain:
            self._live.stop()
            for line in self._story:
                self.console.print(line)

    def scene(self, title: str) -> None:
        """Begin a part of the story."""
        self._leave_time()
        self._add("scene", "\n" if self._story else "", title)

    def say(self, text: str) -> None:
        """Tell the next line of the story, once there was time to read the one before."""
        self._leave_time()
        self._add("say", "  ", text)

    def quote(self, lines: list[str]) -> None:
        """Show what a command printed."""
        for line in lines:
            self._add("quote", "    ", line)
            self._read_until += self.pace / 2

    def fail(self, text: str) -> None:
        """Tell what went wrong."""
        self._add("fail", "", text)

    def doing(self, agent: str, what: str) -> None:
        """Show what an agent does now."""
        self._doing[agent] = what

    def _leave_time(self) -> None:
        time.sleep(max(0.0, self._read_until - time.monotonic()))
        self._read_until = time.monotonic() + self.pace

    def _add(self, style: str, before: str, text: str) -> None:
        line = Text(before + text, style=STYLES[style])
        self._story.append(line)
        if self._plain:
            print(before + text, flush=True)

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            answer = run_dibs(self._tree, "status", "--json")
            if answer.status == 0:
                self._seen, self._seen_at = answer.json, answer.at

    def _frame(self) -> RenderableType:
        top = Table.grid(expand=True, padding=(0, 1))
        top.add_column(ratio=5)
        top.add_column(ratio=7)
        top.add_row(
            Panel(self._agents(), title="agents", height=8),
            Panel(self._claims(), title="who holds what", height=8),
        )
        room = max(6, self.console.height - 11)
        lines = [part for line in self._story for part in line.split("\n", allow_blank=True)]
        story = Text("\n").join(lines[-room:])
        story.no_wrap, story.overflow = True, "ellipsis"
        return Group(top, Panel(story, title="what happens", height=room + 2))

    def _agents(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for name, what in self._doing.items():
            table.add_row(Text(name, style="bold"), Text(what, overflow="ellipsis", no_wrap=True))
        return table

    def _claims(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        passed = time.monotonic() - self._seen_at
        for claim in self._seen["claims"]:
            left = max(0.0, claim["expires_in"] - passed)
            style = "yellow" if left < 5 else "green"
            table.add_row(
                Text(claim["agent"], style="bold"), claim["pattern"], Text(f"{left:.0f}s", style)
            )
        for ticket in self._seen["queue"]:
            wants = ", ".join(ticket["patterns"])
            table.add_row(Text(ticket["agent"], style="dim"), Text(f"waits for {wants}", "dim"), "")
        return table
