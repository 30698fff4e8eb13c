"""What a git hook says when it stops a command, and how it ends."""

from __future__ import annotations

import sys

from dibs.core.claims.coverage import BlockReason
from dibs.core.text.durations import show_span
from dibs.core.text.names import printable
from dibs.errors import BadInput, DibsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.project.project import Project

OK, REFUSED = 0, 1
#: How many bytes of SQLite's shared memory change with every write: the header of its WAL index.
HEADER = 48
#: What to do where Dibs cannot be asked and the command cannot wait.
WAY_OUT = "  if it must be, set gate.on_error (DIBS_GATE_ON_ERROR=allow)"
#: How many paths are named one by one.
SHOWN = 10


def refuse(
    stopped: Sequence[Blocked], what: str, caller: Caller | None, project: Project | None = None
) -> int:
    """Print what is stopped, by whom, and what to do next; record it in the ledger of ``project``."""
    print("\n".join(lines(stopped, what, caller)), file=sys.stderr, flush=True)
    if project is not None and caller is not None:
        try:
            project.gating.tell(caller, stopped)
        except DibsError:
            return REFUSED  # it stays refused, told or not
    return REFUSED


def not_asked(
    error: DibsError | OSError | ImportError, *, allowed: bool, way_out: str = WAY_OUT
) -> int:
    """Print that Dibs could not be asked; refuse unless ``allowed``."""
    message = str(error)
    if isinstance(error, BadInput):  # whoever asks is wrong, not the store
        print(f"dibs: refused: {printable(message)}", file=sys.stderr)
        return REFUSED
    does = "let pass, though" if allowed else "refused, because"
    print(f"dibs: {does} nobody can say who holds what: {printable(message)}", file=sys.stderr)
    if not allowed:
        if isinstance(error, DibsError) and error.hint:
            print(f"  {printable(error.hint)}", file=sys.stderr)
        print(way_out, file=sys.stderr)
    return OK if allowed else REFUSED


def lines(stopped: Sequence[Blocked], what: str, caller: Caller | None) -> list[str]:
    """Return the refusal: each path with its holder, then what to do next."""
    found = [f"dibs: {what} is refused:"]
    found += [f"  {_line(stop)}" for stop in stopped[:SHOWN]]
    if len(stopped) > SHOWN:
        found.append(f"  and {len(stopped) - SHOWN} more")
    first = {stop.why: _word(stop.path) for stop in reversed(stopped)}
    if BlockReason.UNCLAIMED in first:
        found.append(f"  claim it: dibs claim {first[BlockReason.UNCLAIMED]}")
    if BlockReason.HELD not in first:
        return found
    path = first[BlockReason.HELD]
    found.append(f"  ask for it: dibs ask {path}; or wait: dibs claim {path} --wait 10m")
    found.append("  or commit what is yours alone: dibs commit -m MESSAGE")
    if caller is not None and caller.human:
        found.append(f"  you are a human, so you may take it: dibs revoke {path}")
    return found


def _line(stop: Blocked) -> str:
    path = printable(stop.path)
    if stop.why == BlockReason.GUARDED:
        return f"{path}: {stop.hint}"
    if stop.why != BlockReason.HELD:
        return (
            f"{path}: you have not claimed it, and the settings want that (gate.unclaimed = deny)"
        )
    pattern = "it" if stop.pattern == stop.path else printable(stop.pattern)
    task = f", task {printable(stop.task)}" if stop.task else ""
    why = f': "{printable(stop.reason)}"' if stop.reason else ""
    left = show_span(max(0, round(stop.expires_in)))
    return f"{path}: {stop.holder} holds {pattern} (exclusive, {left} left{task}){why}"


def _word(path: str) -> str:
    """Return a path as one word of a shell, fit for a terminal."""
    from shlex import quote

    return printable(quote(path))
