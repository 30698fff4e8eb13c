"""The rows of each list and how their cells read. Pure: values in, text out.

Cells are never markup, and control characters are escaped, so that text from agents is only shown.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from dibs.cli.support.text import span
from dibs.core.claims.log_filters import shown_kind
from dibs.core.text.names import few, printable
from dibs.startup.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.cli.top.source import Picture

Shape = dict[str, Any]
#: Cells of a bar that shows the time left.
BAR = 8
#: Below this share of its ttl, a claim is about to expire.
SOON = 0.2
_MOSTLY_FULL = 0.85
#: A task's id: when it was created, for whom, and what it is about.
_TASK = re.compile(r"\d{4}-\d\d-\d\dT\d{4}-(?:any-)?(.+)")
_WORDS = {"running": "working"}
_COLORS = {"working": "green", "idle": "dim"}


class Cell(Record):
    """Text and its style: the name of an ANSI color, bold, or dim."""

    text: str
    style: str = ""


class Column(Record):
    """A column: its heading, its greatest width (0: a share of what is left), and what it shows of a row."""

    title: str
    width: int
    show: Callable[[Shape, float], Cell]
    #: The list's width from which this column is shown.
    since: int = 0
    #: Whether the end of a text matters more than its beginning, as in paths.
    tail: bool = False


class ListKind(Record):
    """One list: its title, columns, the ways to sort it, and the text if it is empty.

    ``heads`` says whether it has a line with the titles of its columns.
    """

    id: str
    title: str
    columns: tuple[Column, ...]
    sorts: tuple[tuple[str, Callable[[Shape], Any]], ...]
    empty: str
    heads: bool = True


def rows_of(picture: Picture) -> dict[str, list[Shape]]:
    """Return the rows of each list."""
    status = picture.status
    waiting = {ticket["agent"]: ticket for ticket in status["queue"]}
    agents = [{**agent, "waits": waiting.get(agent["id"])} for agent in status["agents"]]
    return {
        "needs": [
            *({**one, "what": "decision"} for one in picture.decisions),
            *({**one, "what": "alert"} for one in picture.alerts),
        ],
        "agents": [agent for agent in agents if agent["role"] != "human"],
        "claims": list(status["claims"]),
        "waits": list(status["queue"]),
        "log": picture.entries,
    }


def matches(row: Shape, text: str) -> bool:
    """Return whether some value of a row contains a text, in any case."""
    return text in " ".join(_words(row)).casefold()


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        return [word for inner in value.values() for word in _words(inner)]
    if isinstance(value, (list, tuple)):
        return [word for inner in value for word in _words(inner)]
    return [value] if isinstance(value, str) else []


def headline(picture: Picture) -> list[Cell]:
    """Return the counts that say how the project is doing; what needs attention only if there is any."""
    status = picture.status
    agents = [agent for agent in status["agents"] if agent["role"] != "human"]
    working = sum(_activity(agent)[0] in {"working", "waiting"} for agent in agents)
    waiting, undecided = len(status["queue"]), len(picture.decisions)
    cells = [
        Cell(f"{working} of {_count(len(agents), 'agent')} working"),
        Cell(_count(len(status["claims"]), "claim")),
        Cell(f"{waiting} waiting" if waiting else "", "yellow"),
        Cell(f"{undecided} to decide" if undecided else "", "yellow"),
        Cell(_count(len(picture.alerts), "alert") if picture.alerts else "", "red"),
    ]
    return [cell for cell in cells if cell.text]


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def time_left(claim: Shape, now: float) -> tuple[float, str]:
    """Return the share of its ttl that a claim has left, and the time as text."""
    if claim.get("while_running"):
        return 1.0, "at exit"
    left = max(0.0, (claim["expires_at"] or now) - now)
    return min(1.0, left / claim["ttl"]) if claim["ttl"] else 0.0, span(left)


def short(text: str) -> str:
    """Return a path or a task's id without the time in it, escaped."""
    scheme, _, name = text.rpartition("task:")
    found = _TASK.fullmatch(name)
    return printable(f"task {found[1]}" if found and not scheme else text)


def blockers(ticket: Shape) -> str:
    """Return whom a ticket waits for."""
    names = dict.fromkeys(one["holder"] for one in ticket.get("blocked_by", []))
    return few([printable(name) for name in names]) or "its turn"


# -- cells


def _plain(key: str, style: str = "") -> Callable[[Shape, float], Cell]:
    return lambda row, _: Cell(printable(str(row.get(key) or "")), style)


def _age(key: str) -> Callable[[Shape, float], Cell]:
    return lambda row, now: Cell(span(now - row[key]), "dim")


def _left(claim: Shape, now: float) -> Cell:
    share, text = time_left(claim, now)
    full = round(share * BAR)
    style = "red" if share < SOON else "green"
    return Cell("━" * full + "─" * (BAR - full) + f" {text}", style)


def _why(row: Shape, _: float) -> Cell:
    asked = [f"{ask['asker']} asked for it" for ask in row.get("asked_by", [])]
    parts = [row.get("reason") or "", *asked]
    return Cell(printable("; ".join(part for part in parts if part)), "yellow" if asked else "")


def _activity(agent: Shape) -> tuple[str, str]:
    """Return what an agent does, and the color for it."""
    word = str(agent.get("activity") or _WORDS.get(agent["status"], agent["status"]))
    if agent.get("waits") and word == "working":
        return "waiting", "yellow"
    return word, _COLORS.get(word, "red")


def _status(agent: Shape, _: float) -> Cell:
    return Cell(*_activity(agent))


def _doing(agent: Shape, _: float) -> Cell:
    if agent.get("waits"):
        patterns = few([short(one) for one in agent["waits"]["patterns"]])
        return Cell(f"waits for {blockers(agent['waits'])}: {patterns}", "yellow")
    return Cell(short(agent["task"] or ""))


def _context(agent: Shape, _: float) -> Cell:
    used = agent["context"]
    if used is None:
        return Cell("")
    return Cell(f"{used:.0%}", "red" if used > _MOSTLY_FULL else "")


def _need(row: Shape, _: float) -> Cell:
    if row["what"] == "alert":
        return Cell(row["severity"], "red" if row["severity"] == "critical" else "yellow")
    return Cell("conflict" if row["conflict"] else "decide", "bold yellow")


def _about(row: Shape, _: float) -> Cell:
    text = printable(row["text"] if row["what"] == "alert" else row["title"])
    if row.get("rationale"):
        text += f" ({printable(row['rationale'])})"
    return Cell(text)


def _clock(entry: Shape, _: float) -> Cell:
    return Cell(time.strftime("%H:%M:%S", time.localtime(entry["at"])), "dim")


def _kind(entry: Shape, _: float) -> Cell:
    return Cell(shown_kind(entry["kind"]), "dim")


LISTS = (
    ListKind(
        "needs", "Needs you",
        (
            Column("ID", 5, _plain("id", "bold")), Column("KIND", 8, _need), Column("WHAT", 0, _about),
            Column("AGE", 6, _age("at"), 60),
        ),
        (("oldest first", lambda row: row["at"]), ("newest first", lambda row: -row["at"])),
        "nothing: no decision is pending, and no alert is open", heads=False,
    ),
    ListKind(
        "agents", "Agents",
        (
            Column("AGENT", 20, _plain("id", "bold")), Column("STATUS", 8, _status),
            Column("DOING", 0, _doing), Column("CLAIMS", 6, lambda a, _: Cell(str(a["claims"] or ""))),
            Column("CONTEXT", 7, _context, 70), Column("ROLE", 9, _plain("role"), 90),
            Column("SEEN", 7, _age("last_seen"), 60),
        ),
        (
            ("by name", lambda row: row["id"]), ("most claims first", lambda row: -row["claims"]),
            ("silent first", lambda row: row["last_seen"]),
        ),
        "no agents: run `dibs init`, then start one",
    ),
    ListKind(
        "waits", "Who waits for whom",
        (
            Column("AGENT", 20, _plain("agent", "bold")), Column("WAITS", 9, lambda *_: Cell("waits for")),
            Column("OWNER", 20, lambda row, _: Cell(blockers(row), "bold yellow")),
            Column("PATH", 0, lambda row, _: Cell(few([short(one) for one in row["patterns"]])), tail=True),
            Column("FOR", 6, _age("since")), Column("REASON", 0, _plain("reason"), 90),
        ),
        (("by turn", lambda row: row["place"]), ("longest first", lambda row: row["since"])),
        "nobody waits", heads=False,
    ),
    ListKind(
        "claims", "Claims",
        (
            Column("CLAIM", 0, lambda row, _: Cell(short(row["pattern"])), tail=True),
            Column("OWNER", 20, _plain("agent", "bold")),
            Column("TIME LEFT", BAR + 7, _left), Column("REASON", 0, _why, 70),
        ),
        (
            ("by owner", lambda row: (row["agent"], ":" in row["pattern"], row["pattern"])),
            ("expiring first", lambda row: row["expires_at"] or 0.0),
            ("by path", lambda row: row["pattern"]), ("newest first", lambda row: -row["since"]),
        ),
        "nothing is claimed",
    ),
    ListKind(
        "log", "Log",
        (
            Column("TIME", 8, _clock), Column("KIND", 18, _kind, 100),
            Column("WHAT HAPPENED", 0, _plain("summary")),
        ),
        (("newest first", lambda row: -row["seq"]), ("oldest first", lambda row: row["seq"])),
        "nothing has happened yet", heads=False,
    ),
)  # fmt: skip


def widths(kind: ListKind, total: int, rows: Sequence[Shape], now: float) -> list[int]:
    """Return each column's width so that all fit; 0 for a column that is not shown."""
    columns = [column for column in kind.columns if total >= column.since]
    sizes = {
        column.title: min(column.width, max(map(len, _texts(kind, column, rows, now))))
        for column in columns
        if column.width
    }
    shares = len(columns) - len(sizes)
    used = sum(width + 1 for width in sizes.values()) + shares + 1
    each = max(4, (total - used) // shares) if shares else 0
    return [sizes.get(one.title, each) if one in columns else 0 for one in kind.columns]


def _texts(kind: ListKind, column: Column, rows: Sequence[Shape], now: float) -> list[str]:
    """Return all texts of a column."""
    head = column.title if kind.heads else ""
    return [head, *(column.show(row, now).text for row in rows)]
