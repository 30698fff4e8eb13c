"""The end: what the ledger says happened, and whether any two claims ever held the same path."""

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
In a repository of your own (with this folder's .venv/bin on your PATH, or after pip install .):
  dibs claim src/ --reason "what I do there"     the terminal you sit at is an agent, too
  DIBS_AGENT=alice dibs claim docs/ --wait 2m    an agent says who it is by DIBS_AGENT
  dibs status --watch                            see who holds what; docs/tutorial.md goes on"""


def show(console: Console, stage: Stage, fenced: int) -> None:
    """Print the table, or raise if two claims overlapped at any moment."""
    entries, *others = [
        machine.dibs("log", "--json", "-n", "1000").json for machine in stage.machines
    ]
    if any(other != entries for other in others):
        raise DemoError("the machines read different ledgers")
    kinds = [entry["kind"] for entry in entries]
    doubles, most = _double_holds(stage.watcher, entries)
    table = Table(title="What the ledger says", title_justify="left", show_header=False)
    for name, count in (
        ("claims granted", kinds.count("lock_acquired")),
        ("claims refused", kinds.count("lock_denied")),
        ("waits in the queue", kinds.count("lock_queued")),
        ("releases asked for", kinds.count("release_requested")),
        ("claims expired", kinds.count("lock_expired")),
        *_revoked(kinds),
        ("late holders fenced", fenced),
        ("most claims at once", most),
        ("paths held twice", len(doubles)),
    ):
        table.add_row(name, str(count))
    console.print()
    console.print(table)
    if doubles:
        raise DemoError(f"two claims overlapped: {doubles[0]}")
    print(NEXT)
    if stage.setting:
        print(f"  {stage.setting:<47}in dibs.toml of every clone: these commands, on many machines")


def _revoked(kinds: list[str]) -> list[tuple[str, int]]:
    revoked = kinds.count("lock_revoked")
    return [("claims revoked", revoked)] if revoked else []


def _double_holds(machine: Machine, entries: list[Entry]) -> tuple[list[str], int]:
    """Replay the ledger; return the overlaps of different agents' claims, and the most at once."""
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
