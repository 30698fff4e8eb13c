"""Show the demo: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from stages import Stage
    from web import Dashboard

LOOK_EVERY = 0.8
#: How many lines of the story are kept.
LONGEST = 500
#: Width of an agent's ID in notes.
WIDTH = 16
STYLES = {"scene": "bold cyan", "say": "", "quote": "dim", "fail": "bold red"}


class View:
    """Show the steps so far, what each agent does, and who holds what."""

    def __init__(
        self, stage: Stage, page: Dashboard, *, pace: float, plain: bool, short: bool = False
    ) -> None:
        self.console = Console(highlight=False)
        self.pace = pace
        self._stage = stage
        self._page = page
        self._short = short
        self._link = page.link()
        self._plain = plain or not self.console.is_terminal
        self._story: deque[Text] = deque(maxlen=LONGEST)
        self._doing: dict[str, str] = {}
        self._seen: dict[str, Any] = {"claims": [], "queue": []}
        self._seen_at = time.monotonic()
        self._read_until = 0.0
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)
        self._live = Live(get_renderable=self._frame, console=self.console, transient=True)

    def __enter__(self) -> Self:
        if not self._plain:
            self._looking.start()
            self._live.start()
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self._leave_time()
        self._over.set()
        if not self._plain:
            self._live.stop()
            self._looking.join()  # its command must end before the folder is removed
            for line in () if self._short else self._story:
                self.console.print(line)

    def scene(self, title: str) -> None:
        """Start a part of the demo."""
        self._leave_time()
        self._add("scene", "\n" if self._story else "", title)

    def say(self, text: str) -> None:
        """Show the next line, after enough time to read the previous one."""
        self._leave_time()
        self._add("say", "  ", text)

    def quote(self, lines: list[str]) -> None:
        """Show a command's output."""
        for line in lines:
            self._add("quote", "    ", line)
            self._read_until += self.pace / 2

    def fail(self, text: str) -> None:
        """Show what went wrong."""
        self._add("fail", "", text)

    def doing(self, agent: str, what: str) -> None:
        """Set what an agent is doing; an empty text removes it."""
        self._doing = {**self._doing, agent: what} if what else _without(self._doing, agent)

    def note(self, agent: str, what: str) -> None:
        """Add what an agent does, with the time."""
        self._add("say", f"{time.strftime('%H:%M:%S')} {agent:<{WIDTH}} ", what)

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
            self._link = self._page.link()
            answer = self._stage.watcher.dibs("status", "--json")
            if answer.status == 0:
                self._seen, self._seen_at = answer.json, answer.at

    def _frame(self) -> RenderableType:
        top = Table.grid(expand=True, padding=(0, 1))
        top.add_column(ratio=5)
        top.add_column(ratio=7)
        height = max(6, len(self._doing)) + 2
        top.add_row(
            Panel(self._agents(), title="agents", height=height),
            Panel(self._claims(), title="who holds what", height=height),
        )
        foot = [Text(self._link, style="blue", overflow="fold")] if self._link else []
        rows = -(-len(self._link) // self.console.width)
        room = max(6, self.console.height - 3 - height - rows)
        lines = [part for line in tuple(self._story) for part in line.split("\n", allow_blank=True)]
        story = Text("\n").join(lines[-room:])
        story.no_wrap, story.overflow = True, "ellipsis"
        return Group(top, Panel(story, title="log", height=room + 2), *foot)

    def _agents(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for name, what in self._doing.items():
            doing = Text(what, overflow="ellipsis", no_wrap=True)
            table.add_row(Text(name, style="bold"), *self._machine(name), doing)
        return table

    def _machine(self, agent: str) -> list[Text]:
        """Return the agent's machine as a cell, if there is more than one machine."""
        if not self._stage.machines[1:]:
            return []
        place = self._stage.places.get(agent)
        return [Text(place.name if place else "", style="magenta")]

    def _claims(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        passed = time.monotonic() - self._seen_at
        for claim in self._seen["claims"]:
            left = max(0.0, claim["expires_in"] - passed)
            style = "yellow" if left < 5 else "green"
            holder = Text(claim["agent"], style="bold")
            until = Text(f"{left:.0f}s", style)
            table.add_row(holder, *self._machine(claim["agent"]), claim["pattern"], until)
        for ticket in self._seen["queue"]:
            wants = ", ".join(ticket["patterns"])
            waiter = Text(ticket["agent"], style="dim")
            waits = Text(f"waiting for {wants}", "dim")
            table.add_row(waiter, *self._machine(ticket["agent"]), waits, "")
        return table


def _without(doing: dict[str, str], agent: str) -> dict[str, str]:
    return {name: what for name, what in doing.items() if name != agent}
