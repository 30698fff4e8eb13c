"""Dialogs: details of a row, a question with one answer, and help. All text is plain, never markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from textual.app import ComposeResult

_CSS = """
{name} {{ align: center middle; background: transparent; }}
{name} > Vertical, {name} > VerticalScroll {{
    width: 90%; max-width: 90; height: auto; max-height: 90%; padding: 0 1;
    border: round ansi_blue; background: ansi_default;
}}
"""


class DetailsDialog(ModalScreen[str]):
    """Facts about a row; returns the key of an action, or an empty text."""

    BINDINGS: ClassVar = [
        Binding("escape,enter,q", "dismiss('')", "Close"),
        *(Binding(key, f"dismiss('{key}')", show=False) for key in ("a", "r", "m", "c", "x", "o")),
    ]
    DEFAULT_CSS = _CSS.format(name="DetailsDialog")

    def __init__(self, title: str, lines: list[tuple[str, str]], keys: str) -> None:
        super().__init__()
        self._title, self._lines, self._keys = title, lines, keys

    def compose(self) -> ComposeResult:
        """Show the facts below each other."""
        facts = Table.grid(padding=(0, 2))
        facts.add_column(justify="right", no_wrap=True)
        facts.add_column(overflow="fold")
        for name, value in self._lines:
            facts.add_row(Text(name, "dim"), Text(value))
        with VerticalScroll() as box:
            box.border_title = Text(self._title)
            yield Static(facts)
            yield Static(Text(f"\n{self._keys}", "dim"))


class QuestionDialog(ModalScreen[str | None]):
    """Asks for one line; returns it, or None if the person changes their mind."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss(None)", "Cancel")]
    DEFAULT_CSS = _CSS.format(name="QuestionDialog")

    def __init__(self, title: str, label: str, *, required: bool) -> None:
        super().__init__()
        self._title, self._label, self._required = title, label, required

    def compose(self) -> ComposeResult:
        """Show what the text is for, and a line for it."""
        with Vertical():
            yield Static(Text(self._title, "bold"))
            yield Static(Text(self._label, "dim"), id="label")
            yield Input(id="answer", compact=True)
            yield Static(Text("Enter: do it   Esc: cancel", "dim"))

    def on_mount(self) -> None:
        """Let the person type at once."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the text, if there must be one and there is."""
        text = event.value.strip()
        if text or not self._required:
            self.dismiss(text)
        else:
            self.query_one("#label", Static).update(Text(f"{self._label} (required)", "bold red"))


HELP = """\
Tab, Shift-Tab, 1-5   go to another list
Up, Down, j, k        move; Home, End, PageUp, PageDown
Enter                 details of the row
/                     show only rows that contain a text; Esc shows all again
s                     sort the list in another way

a   ask the owner to release a claim
r   revoke a claim; the owner gets your reason
m   send a message to the row's agent
c   confirm a decision; in a conflict, revoke the owner's claim
x   reject a decision; in a conflict, the owner keeps the claim
o   acknowledge an alert

?   this help
q   quit (also Ctrl-C)

The bars show how much time is left until a claim expires. Each call of its
owner renews it. Everything you do here is recorded under your name.
`dibs help` lists the commands for the same actions."""


class HelpDialog(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar = [Binding("escape,enter,q,question_mark", "dismiss(None)", "Close")]
    DEFAULT_CSS = _CSS.format(name="HelpDialog")

    def compose(self) -> ComposeResult:
        """Show the keys and what they do."""
        with VerticalScroll() as box:
            box.border_title = "Keys"
            yield Static(Text(HELP))
