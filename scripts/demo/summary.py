"""Summarize the ledger, and check that no two claims ever overlapped."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from machines import DemoError
from rich.table import Table

if TYPE_CHECKING:
    from machines import Machine
    from rich.console import Console
    from stages import Stage

Entry = dict[str, Any]
NEXT = """
Try it in your own repository (README.md explains how to install Dibs):
  dibs init                                      guard the coding agents you use
  dibs claim src/ --reason "rework the login"    claim files yourself
  dibs status --watch                            see who holds what
docs/tutorial.md continues from here."""


def show(console: Console, stage: Stage, fenced: int) -> None:
    """Print the table; raise if two claims ever overlapped."""
    entries, *others = [
        machine.dibs("log", "--json", "-n", "1000").json for machine in stage.machines
    ]
    # A machine that is asked later may know more.
    if any(other[: len(entries)] != entries for other in others):
        raise DemoError("the machines have different ledgers")
    kinds = [entry["kind"] for entry in entries]
    doubles, most = _double_holds(stage.watcher, entries)
    table = Table(title="Ledger summary", title_justify="left", show_header=False)
    for name, count in (
        ("claims granted", kinds.count("lock_acquired")),
        ("claims denied", kinds.count("lock_denied")),
        ("requests queued", kinds.count("lock_queued")),
        ("release requests", kinds.count("release_requested")),
        ("claims expired", kinds.count("lock_expired")),
        *_revoked(kinds),
        ("stale owners fenced", fenced),
        ("most claims at once", most),
        ("overlapping claims", len(doubles)),
    ):
        table.add_row(name, str(count))
    console.print()
    console.print(table)
    if doubles:
        raise DemoError(f"two claims overlapped: {doubles[0]}")
    print(NEXT)
    if stage.setting:
        print(f"For several machines, put this into dibs.toml of every clone: {stage.setting}")


def _revoked(kinds: list[str]) -> list[tuple[str, int]]:
    revoked = kinds.count("lock_revoked")
    return [("claims revoked", revoked)] if revoked else []


def _double_holds(machine: Machine, entries: list[Entry]) -> tuple[list[str], int]:
    """Replay the ledger; return overlapping claims of different agents, and the most claims at once."""
    held: set[tuple[str, str]] = set()
    pairs: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    most = 0
    for entry in entries:
        details = entry["details"]
        patterns = details.get("patterns") or [details.get("pattern")]
        claims = {(details.get("holder", entry["agent"]), pattern) for pattern in patterns}
        if entry["kind"] == "lock_acquired":
            held |= claims
            most = max(most, len(held))
            pairs.update(p for p in combinations(sorted(held), 2) if p[0][0] != p[1][0])
        elif entry["kind"] in {"lock_released", "lock_expired", "lock_revoked"}:
            held -= claims
    return [f"{a} and {b}" for a, b in sorted(pairs) if _overlap(machine, a[1], b[1])], most


def _overlap(machine: Machine, one: str, other: str) -> bool:
    return bool(machine.dibs("explain", "--json", one, other).json["overlap"])
