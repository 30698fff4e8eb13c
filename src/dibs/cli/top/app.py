"""The application: lists of what needs you, agents, claims, waits, and the log, with keys to act."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widgets import Footer, Input, Static

from dibs.cli.top.actions import ACTIONS, IN_CONFLICT, NAMES, action_for
from dibs.cli.top.details import lines_of, title_of
from dibs.cli.top.dialogs import DetailsDialog, HelpDialog, QuestionDialog
from dibs.cli.top.rowlist import RowList
from dibs.cli.top.rows import LISTS, headline, rows_of
from dibs.core.text.names import printable
from dibs.errors import DibsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.events import Resize
    from textual.geometry import Size

    from dibs.cli.top.source import Picture, Source

#: From this width on, the lists are in two columns.
WIDE = 130
#: From this height on, there is room for more rows of each list.
TALL = 40
#: A lower screen does not show the log.
SHORT = 18
#: The most lines of the lists that are only as high as their rows, and the least of the log.
MOST, LOG = 5, 4
#: Seconds between attempts to reach a store that does not answer.
RETRY = 1.0


class Looked(Message):
    """The watching thread has seen the project, or why it has not."""

    def __init__(self, picture: Picture | None, trouble: str) -> None:
        super().__init__()
        self.picture, self.trouble = picture, trouble


class Happened(Message):
    """An action is done, or was refused."""

    def __init__(self, text: str, severity: str) -> None:
        super().__init__()
        self.text, self.severity = text, severity


class TopApp(App[None]):
    """Shows the project until the person quits."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        *(Binding(key, f"act('{key}')", NAMES[key].capitalize()) for key in NAMES),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("s", "sort", "Sort"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
        Binding("escape", "clear_filter", "Show all", show=False),
        *(Binding(str(n), f"list({n})", show=False) for n in range(1, len(LISTS) + 1)),
    ]
    CSS = """
    Screen#_default { background: ansi_default; }
    #head { height: 1; }
    #filter { dock: bottom; height: 1; margin-bottom: 1; display: none; }
    #filter.on { display: block; }
    .none { display: none; }
    #body { layout: vertical; }
    #left { height: auto; width: 1fr; }
    #right { height: 1fr; width: 1fr; }
    #body.wide { layout: horizontal; }
    #body.wide #left, #body.wide #right { height: 100%; }
    #body.wide #left { padding-right: 1; }
    """

    def __init__(self, source: Source) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._source = source
        self._picture: Picture | None = None
        self._over = threading.Event()
        self._trouble = ""
        self._headline = Static(id="head")
        self._field = Input(
            id="filter", compact=True, placeholder="show only rows that contain this text"
        )
        self._lists = {
            kind.id: RowList(kind, number, self.now) for number, kind in enumerate(LISTS, 1)
        }

    # -- what is shown

    def compose(self) -> ComposeResult:
        """Show the counts, the lists, and the keys."""
        yield self._headline
        with Container(id="body"):
            with Vertical(id="left"):
                yield from (self._lists[name] for name in ("needs", "agents", "waits"))
            with Vertical(id="right"):
                yield from (self._lists[name] for name in ("claims", "log"))
        yield self._field
        yield Footer()

    def on_mount(self) -> None:
        """Start to watch, and leave the terminal clean if a signal ends the process."""
        import asyncio

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit)
        self._lists["agents"].focus()
        self.set_interval(1.0, self._tick)
        threading.Thread(target=self._watch, name="dibs-top", daemon=True).start()
        self._head()

    def now(self) -> float:
        """Return the time on the engine's clock."""
        return time.time() + (self._picture.ahead if self._picture else 0.0)

    def _watch(self) -> None:
        """Look at the project after each change, in a thread of its own."""
        while not self._over.is_set():
            try:
                self.post_message(Looked(self._source.look(), ""))
                self._source.wait()
            except DibsError as error:
                self.post_message(Looked(None, printable(error.message)))
                self._over.wait(RETRY)

    def on_unmount(self) -> None:
        """Let the thread end."""
        self._over.set()

    def on_looked(self, event: Looked) -> None:
        """Show what the thread saw, or why it saw nothing."""
        if event.picture is not None:
            self.show_picture(event.picture)
        else:
            self._trouble = event.trouble
            self._head()

    def show_picture(self, picture: Picture) -> None:
        """Show the state of the project."""
        self._picture, self._trouble = picture, picture.stale
        for name, rows in rows_of(picture).items():
            found = self._lists[name]
            found.fill(rows)
            found.set_class(not rows and name in {"needs", "waits"}, "none")
        self._arrange()
        self._head()
        self.refresh_bindings()

    def _tick(self) -> None:
        for found in self._lists.values():
            found.tick()
        self._head()

    def _head(self) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(" dibs ", "bold reverse").append(f" {printable(self._source.name)}", "bold")
        if self._trouble:
            text.append(f" · {self._trouble}", "bold red")
        if self._picture is not None:
            for cell in headline(self._picture):
                text.append(" · ", "dim").append(cell.text, cell.style)
        else:
            text.append("  loading…", "dim")
        self._headline.update(text)

    def on_resize(self, event: Resize) -> None:
        """Show the lists in one column or in two."""
        self._arrange(event.size)

    def _arrange(self, size: Size | None = None) -> None:
        """Divide the screen: first what needs attention, then agents and claims, then the log."""
        width, height = size or self.size
        wide = width >= WIDE
        lists = self._lists
        for column in self.screen_stack[0].query("#body"):
            column.set_class(wide, "wide")
        rest = height - 2
        for name in ("needs", "waits"):
            most = min(lists[name].wanted, MOST if height < TALL else 2 * MOST)
            lists[name].styles.height = most
            rest -= most if lists[name].display else 0
        lists["log"].display = wide or height >= SHORT
        agents = min(lists["agents"].wanted, max(4, rest * 2 // 5))
        lists["agents"].styles.height = "1fr" if wide else agents
        share = (height - 2) if wide else rest - agents
        lists["log"].styles.height = max(LOG, share - min(lists["claims"].wanted, share * 2 // 3))

    # -- where the person is

    @property
    def _list(self) -> RowList | None:
        return self.focused if isinstance(self.focused, RowList) else None

    def _kind(self) -> str:
        """Return which actions apply: the name of the list, or what the row needs."""
        found = self._list
        if found is None or found.row is None:
            return ""
        if found.kind.id != "needs":
            return found.kind.id
        return "conflict" if found.row.get("conflict") else str(found.row["what"])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only actions that apply to the row under the cursor."""
        if action == "act":
            return str(parameters[0]) in ACTIONS.get(self._kind(), "")
        return True

    def on_row_list_moved(self) -> None:
        """Offer the actions for another row."""
        self.refresh_bindings()

    def action_list(self, number: int) -> None:
        """Go to a list."""
        found = self._lists[LISTS[number - 1].id]
        if found.display:
            found.focus()

    def action_sort(self) -> None:
        """Sort the list in another way."""
        if self._list is not None:
            self._say(f"{self._list.kind.title}: {self._list.sort_next()}")

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpDialog())

    def action_filter(self) -> None:
        """Let the person type what to look for."""
        self._field.add_class("on")
        self._field.focus()

    def action_clear_filter(self) -> None:
        """Show all rows again."""
        self._field.value = ""
        self._field.remove_class("on")
        self._lists["agents"].focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only rows that contain the text."""
        if event.input.id == "filter":
            for found in self._lists.values():
                found.filter(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go back to the lists; the filter stays."""
        if event.input.id == "filter":
            self._lists["claims"].focus()

    # -- actions

    def on_row_list_chosen(self) -> None:
        """Show the details of a row, and run the action whose key is pressed there."""
        found = self._list
        if found is None or found.row is None or self._picture is None:
            return
        names = {**NAMES, **(IN_CONFLICT if self._kind() == "conflict" else {})}
        keys = [f"{key}: {names[key]}" for key in ACTIONS.get(self._kind(), "")]
        hint = "   ".join([*keys, "Esc: close"])
        lines = lines_of(found.kind.id, found.row, self._picture, self.now())
        title = printable(title_of(found.kind.id, found.row))
        self.push_screen(DetailsDialog(title, lines, hint), lambda key: self.action_act(key or ""))

    def action_act(self, key: str) -> None:
        """Ask for what an action needs, then run it."""
        row = self._list.row if self._list else None
        if row is None or key not in ACTIONS.get(self._kind(), "") or not key:
            return
        title, label, required, run = action_for(self._source, key, self._kind(), row)

        def answered(text: str | None) -> None:
            if text is not None:
                self.run_worker(lambda: self._run(run, text), thread=True)

        self.push_screen(QuestionDialog(printable(title), label, required=required), answered)

    def _run(self, run: Callable[[str], str], text: str) -> None:
        """Run an action in a thread, and say what happened."""
        try:
            said, severity = run(text), "information"
        except DibsError as error:
            hint = f" ({error.hint})" if error.hint else ""
            said, severity = f"{error.message}{hint}", "error"
        self.post_message(Happened(said, severity))

    def on_happened(self, event: Happened) -> None:
        """Show the result of an action."""
        self._say(event.text, event.severity)

    def _say(self, text: str, severity: Any = "information") -> None:
        self.notify(printable(text), severity=severity, markup=False, timeout=6)

    async def action_quit(self) -> None:
        """Leave."""
        self.exit()
