"""Everything about one row, line by line, for the details and for questions about it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dibs.cli.support.text import span
from dibs.cli.top.rows import blockers, time_left
from dibs.core.claims.log_filters import shown_kind
from dibs.core.text.names import few, printable

if TYPE_CHECKING:
    from dibs.cli.top.source import Picture

Shape = dict[str, Any]
Lines = list[tuple[str, str]]


def title_of(kind: str, row: Shape) -> str:
    """Return what a row is, in a few words."""
    if kind == "needs":
        return f"{row['what']} {row['id']}"
    if kind == "agents":
        return f"agent {row['id']}"
    if kind == "claims":
        return f"claim on {row['pattern']}"
    if kind == "waits":
        return f"{row['agent']} waits for {blockers(row)}"
    return f"ledger entry {row['seq']}"


def lines_of(kind: str, row: Shape, picture: Picture, now: float) -> Lines:
    """Return the facts about a row; text from agents is escaped."""
    found = {
        "needs": _alert if row.get("what") == "alert" else _decision,
        "agents": _agent,
        "claims": _claim,
        "waits": _ticket,
        "log": _entry,
    }[kind](row, picture, now)
    return [(name, printable(str(value))) for name, value in found if value not in ("", None)]


def _ago(moment: float, now: float) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(moment))
    return f"{span(now - moment)} ago ({clock})"


def _claim(row: Shape, picture: Picture, now: float) -> Lines:
    waiting = [
        ticket["agent"]
        for ticket in picture.status["queue"]
        if any(one["held"] == row["pattern"] for one in ticket.get("blocked_by", []))
    ]
    return [
        ("path", row["pattern"]),
        ("owner", row["agent"]),
        ("mode", row["mode"]),
        ("since", _ago(row["since"], now)),
        ("expires", f"in {time_left(row, now)[1]}" if not row.get("while_running") else "at exit"),
        ("reason", row["reason"]),
        ("task", row["task"]),
        ("waiting for it", ", ".join(waiting)),
        *(
            ("asked by", f"{one['asker']}, {_ago(one['at'], now)}: {one['note']}")
            for one in row.get("asked_by", [])
        ),
        ("token", str(row["token"])),
    ]


def _ticket(row: Shape, _: Picture, now: float) -> Lines:
    return [
        ("agent", row["agent"]),
        ("wants", ", ".join(row["patterns"])),
        ("mode", row["mode"]),
        ("waits for", blockers(row)),
        *(
            ("blocked by", f"{one['holder']} holds {one['held']}: {one['reason']}")
            for one in row.get("blocked_by", [])
            if not one["waiting"]
        ),
        *(
            ("behind", f"{one['holder']}, which waits for {one['held']}")
            for one in row.get("blocked_by", [])
            if one["waiting"]
        ),
        ("since", _ago(row["since"], now)),
        ("gives up in", span(row["gives_up_in"] - (now - row.get("now", now)))),
        ("place in the queue", str(row["place"])),
        ("reason", row["reason"]),
        ("task", row["task"]),
    ]


def _agent(row: Shape, picture: Picture, now: float) -> Lines:
    held = [one["pattern"] for one in picture.status["claims"] if one["agent"] == row["id"]]
    recent = [one for one in picture.entries if one["agent"] == row["id"]][-5:]
    return [
        ("agent", row["id"]),
        ("name", row["name"] if row["name"] != row["id"] else ""),
        ("role", row["role"]),
        ("started by", row["parent"] or ""),
        ("status", row.get("activity") or row["status"]),
        ("waits for", blockers(row["waits"]) if row.get("waits") else ""),
        ("task", row["task"]),
        ("holds", few(held, 20)),
        ("context used", f"{row['context']:.0%}" if row["context"] is not None else ""),
        ("model", row["model"]),
        ("guarded by", row["guarded"] or "nothing"),
        ("host", row["host"]),
        ("process", str(row["pid"] or "")),
        ("started", _ago(row["started"], now)),
        ("last seen", _ago(row["last_seen"], now)),
        *(("did", f"{_ago(one['at'], now)}: {one['summary']}") for one in reversed(recent)),
    ]


def _decision(row: Shape, _: Picture, now: float) -> Lines:
    data = row.get("data") or {}
    conflict = row["conflict"]
    return [
        ("question", row["title"]),
        ("why", row["rationale"]),
        ("asked by", f"{row['asker']}, {_ago(row['at'], now)}"),
        ("owner", data.get("holder", "") if conflict else ""),
        ("owner's claims", ", ".join(data.get("patterns", [])) if conflict else ""),
        ("wanted", ", ".join(data.get("wanted", [])) if conflict else ""),
        *(("comment", f"{one['by']}: {one['text']}") for one in row["comments"]),
    ]


def _alert(row: Shape, _: Picture, now: float) -> Lines:
    return [
        ("alert", row["text"]),
        ("kind", f"{row['kind']} ({row['severity']})"),
        ("state", row["state"]),
        ("opened", _ago(row["at"], now)),
        ("agents", ", ".join(row["agents"])),
        ("next", row["command"]),
    ]


def _entry(row: Shape, _: Picture, now: float) -> Lines:
    return [
        ("what", row["summary"]),
        ("kind", shown_kind(row["kind"])),
        ("agent", f"{row['agent']} ({row['role']})"),
        ("when", _ago(row["at"], now)),
        ("number", str(row["seq"])),
        *((name, str(value)) for name, value in row["details"].items()),
    ]
