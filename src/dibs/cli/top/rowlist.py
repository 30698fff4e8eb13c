"""A list of rows with a heading, a cursor, and columns that fit the width; draws only visible rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dibs.cli.top.rows import matches, widths

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from dibs.cli.top.rows import Cell, ListKind

Shape = dict[str, Any]
_CURSOR = Style(reverse=True)
_HEAD = Style(dim=True)
_TITLE = Style(bold=True)


class RowList(ScrollView, can_focus=True):
    """The rows of one list; the first two lines are its title and its headings."""

    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "edge(0)", "first", show=False),
        Binding("end,G", "edge(1)", "last", show=False),
        Binding("enter", "choose", "Details", show=True),
    ]
    DEFAULT_CSS = """
    RowList {
        height: 1fr; overflow-x: hidden; scrollbar-size: 1 1;
        scrollbar-color: ansi_bright_black; scrollbar-background: ansi_default;
        scrollbar-color-hover: ansi_blue; scrollbar-background-hover: ansi_default;
    }
    """

    class Chosen(Message):
        """Enter was pressed on a row, or it was clicked again."""

    class Moved(Message):
        """The cursor is on another row, or the list got the focus."""

    def __init__(self, kind: ListKind, number: int, clock: Callable[[], float]) -> None:
        super().__init__(id=kind.id)
        #: Lines of the title and the headings.
        self._top = 2 if kind.heads else 1
        self.kind = kind
        self._number, self._clock = number, clock
        self._all: list[Shape] = []
        self.shown: list[Shape] = []
        self._filter = ""
        self._sort = 0
        self._cursor = 0

    # -- rows

    @property
    def row(self) -> Shape | None:
        """The row under the cursor, if any."""
        return self.shown[self._cursor] if self._cursor < len(self.shown) else None

    def fill(self, rows: list[Shape]) -> None:
        """Show other rows; the cursor stays on the same one if it still exists."""
        self._all = rows
        self._arrange()

    def filter(self, text: str) -> None:
        """Show only rows that contain a text."""
        self._filter = text.casefold()
        self._arrange()

    def sort_next(self) -> str:
        """Sort in the next way; return what it is called."""
        self._sort = (self._sort + 1) % len(self.kind.sorts)
        self._arrange()
        return self.kind.sorts[self._sort][0]

    def _arrange(self) -> None:
        before = identity(self.row)
        found = [row for row in self._all if not self._filter or matches(row, self._filter)]
        self.shown = sorted(found, key=self.kind.sorts[self._sort][1])
        names = [identity(row) for row in self.shown] if self._cursor else []
        if before in names:
            self._cursor = names.index(before)
        self._cursor = max(0, min(self._cursor, len(self.shown) - 1))
        self.virtual_size = Size(self.size.width, len(self.shown) + self._top)
        self.refresh()

    @property
    def wanted(self) -> int:
        """The height that shows all rows."""
        return self._top + max(1, len(self.shown))

    # -- drawing

    def render_line(self, y: int) -> Strip:
        """Return one line: the title, the headings, or a row."""
        width = self.size.width
        if y == 0:
            return self._title(width)
        now = self._clock()
        sizes = widths(self.kind, width, self._visible(), now)
        if y == 1 and not self.shown:
            return self._empty(width)
        if y < self._top:
            heads = [(column.title, _HEAD) for column in self.kind.columns]
            return self._line(heads, sizes, width)
        index = self.scroll_offset.y + y - self._top
        if index >= len(self.shown):
            return Strip.blank(width)
        row = self.shown[index]
        cells = [_styled(column.show(row, now)) for column in self.kind.columns]
        line = self._line(cells, sizes, width)
        chosen = self.has_focus and index == self._cursor
        return line.apply_style(_CURSOR) if chosen else line

    def _visible(self) -> list[Shape]:
        first = self.scroll_offset.y
        return self.shown[first : first + max(1, self.size.height)]

    def _title(self, width: int) -> Strip:
        count = f"{len(self.shown)} of {len(self._all)}" if self._filter else str(len(self._all))
        way = "" if self._sort == 0 else f", {self.kind.sorts[self._sort][0]}"
        text = f" {self._number} {self.kind.title} ({count}{way}) "
        line = "━" if self.has_focus else "─"
        style = _TITLE if self.has_focus else _HEAD
        return Strip(
            [Segment(line, style), Segment(text, _TITLE), Segment(line * width, style)]
        ).crop(0, width)

    def _empty(self, width: int) -> Strip:
        text = "no row contains this text" if self._filter and self._all else self.kind.empty
        return Strip([Segment(set_cell_size(f"  {text}", width), _HEAD)])

    def _line(self, cells: list[tuple[str, Style]], sizes: list[int], width: int) -> Strip:
        segments = [Segment(" ")]
        for column, (text, style), size in zip(self.kind.columns, cells, sizes, strict=True):
            if size:
                fitted = _fitted(text, size, tail=column.tail)
                segments += [Segment(fitted, style), Segment(" ")]
        return Strip(segments).adjust_cell_length(width)

    # -- keys and mouse

    def action_move(self, step: int) -> None:
        """Move the cursor by some rows."""
        self._go(self._cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by a page."""
        self._go(self._cursor + step * max(1, self.size.height - 3))

    def action_edge(self, end: int) -> None:
        """Move the cursor to the first or the last row."""
        self._go(end * len(self.shown))

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.row is not None:
            self.post_message(self.Chosen())

    def _go(self, index: int) -> None:
        self._cursor = max(0, min(index, len(self.shown) - 1))
        visible = max(1, self.size.height - self._top)
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + visible:
            self.scroll_to(y=self._cursor - visible + 1, animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; a second click chooses it."""
        index = self.scroll_offset.y + event.y - self._top
        if event.y >= self._top and index < len(self.shown):
            again = index == self._cursor and event.chain > 1
            self._go(index)
            if again:
                self.action_choose()

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()
        self.post_message(self.Moved())

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        self._arrange()

    def tick(self) -> None:
        """Draw the times again."""
        self.refresh(Region(0, self._top, self.size.width, max(0, self.size.height - self._top)))


def identity(row: Shape | None) -> object:
    """Return what makes a row the same one in the next picture."""
    if row is None:
        return None
    return row.get("seq") or row.get("ticket") or (row.get("what"), row["id"])


def _styled(cell: Cell) -> tuple[str, Style]:
    return cell.text, Style.parse(cell.style) if cell.style else Style.null()


def _fitted(text: str, size: int, *, tail: bool) -> str:
    """Return a text with exactly this width; an ellipsis says where it is cut."""
    if cell_len(text) <= size:
        return set_cell_size(text, size)
    if not tail or "/" not in text:
        return set_cell_size(text, size - 1) + "…"
    rest = text[1:]
    while cell_len(rest) >= size:
        rest = rest[1:]
    return set_cell_size("…" + rest, size)
