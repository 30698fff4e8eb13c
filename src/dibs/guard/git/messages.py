"""What a git hook prints when it refuses a command, and its exit status."""

from __future__ import annotations

import sys

from dibs.core.claims.coverage import BlockReason, inherited_lines
from dibs.core.text.durations import show_expiry, show_span
from dibs.core.text.names import printable, typed_in
from dibs.errors import BadInput, DibsError, NotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.project.project import Project

OK, REFUSED = 0, 1
#: The exit status with which the interpreter says that it cannot load Dibs.
UNLOADABLE = 113
#: The size of the header of SQLite's WAL index, which changes with every write.
HEADER = 48
#: What to do when the check is impossible and the command cannot wait.
WAY_OUT = "  to skip this check once, a human can run it with DIBS_GATE_ON_ERROR=allow"
#: The most paths shown.
SHOWN = 10


def refuse(stopped: Sequence[Blocked], what: str, caller: Caller, project: Project) -> int:
    """Print what is refused, why, and what to do next; record it in the ledger."""
    print("\n".join(lines(stopped, what, caller)), file=sys.stderr, flush=True)
    try:
        project.gating.tell(caller, stopped)
    except DibsError:
        return REFUSED  # a missing ledger entry does not change the refusal
    return REFUSED


def say_refused(lines: Iterable[str]) -> int:
    """Print the lines of a refusal."""
    print("\n".join(map(printable, lines)), file=sys.stderr, flush=True)
    return REFUSED


def not_asked(error: DibsError | OSError, *, allowed: bool) -> int:
    """Print that the check was impossible; refuse unless ``allowed``."""
    message = str(error)
    wrong_store = isinstance(error, DibsError) and error.code == "ENGINE_MISMATCH"
    if (
        isinstance(error, BadInput | NotAllowed) or wrong_store
    ):  # the caller's mistake; the store is fine
        print(f"dibs: refused: {printable(message)}", file=sys.stderr)
        if isinstance(error, DibsError) and error.hint:
            print(f"  {printable(error.hint)}", file=sys.stderr)
        return REFUSED
    does = "warning: allowed without checking claims" if allowed else "refused: cannot check claims"
    print(f"dibs: {does}: {printable(message)}", file=sys.stderr)
    if not allowed:
        if isinstance(error, DibsError) and error.hint:
            print(f"  {printable(error.hint)}", file=sys.stderr)
        print(WAY_OUT, file=sys.stderr)
    return OK if allowed else REFUSED


def lines(stopped: Sequence[Blocked], what: str, caller: Caller) -> list[str]:
    """Return the refusal: each path with its owner, then what to do next."""
    found = [f"dibs: {what} refused:"]
    found += [f"  {_line(stop)}" for stop in stopped[:SHOWN]]
    if len(stopped) > SHOWN:
        found.append(f"  and {len(stopped) - SHOWN} more")
    first = {stop.why: _word(stop.path) for stop in reversed(stopped)}
    if BlockReason.GUARDED in first and not caller.human:
        from dibs.core.claims.agents import why_not

        found.append(f"  {why_not(caller)}")
    if BlockReason.UNCLAIMED in first:
        found.append(f"  to claim it: dibs claim {first[BlockReason.UNCLAIMED]}")
    if BlockReason.INHERITED in first:
        found.append('  to commit both and name the author: dibs commit --inherited -m "MESSAGE"')
        found.append("  if you mean it, run the same command again")
    if BlockReason.HELD not in first:
        return found
    path = first[BlockReason.HELD]
    found.append(f"  to request it: dibs ask {path}")
    found.append(f"  to wait for it: dibs claim {path} --wait 10m")
    if what == "commit":
        found.append('  to commit only the files you hold: dibs commit -m "MESSAGE"')
    if caller.human:
        found.append(f'  to take it (humans only): dibs revoke {path} --reason "REASON"')
    return found


def _line(stop: Blocked) -> str:
    path = printable(stop.path)
    if stop.why == BlockReason.GUARDED:
        return f"{path}: {printable(stop.hint)}"
    if stop.why == BlockReason.INHERITED:
        theirs = [f"{stop.holder}'s: {line}" for line in stop.landed]
        lines = [*theirs, *(f"yours: {line}" for line in stop.yours)]
        what = f"{path}: {inherited_lines(stop)}"
        shown = (f"    {printable(line)}" for line in lines)
        return "\n".join([what, *shown, f"  {printable(stop.hint)}"])
    if stop.why == BlockReason.UNDOES:
        lines = [*(f"-{line}" for line in stop.landed), *(f"+{line}" for line in stop.yours)]
        unread = ", which you have not read" if lines else ""
        what = f"{path}: it would undo {stop.commit[:10]} by {stop.holder}{unread}"
        return "\n".join([what, *(f"    {printable(line)}" for line in lines), f"  {stop.hint}"])
    if stop.why != BlockReason.HELD:
        return f"{path}: you have not claimed it (this project sets gate.unclaimed = deny)"
    pattern = "it" if stop.pattern == stop.path else printable(stop.pattern)
    task = f", task {printable(stop.task)}" if stop.task else ""
    why = f': "{printable(stop.reason)}"' if stop.reason else ""
    span = show_span(max(0, round(stop.expires_in)))
    left = show_expiry(span, while_running=stop.while_running)
    return f"{path}: {stop.holder} holds {pattern} ({left}{task}){why}"


def _word(path: str) -> str:
    """Return a path for the shell of the folder in which git was called, safe to print."""
    import os
    from shlex import quote

    folder = os.environ.get("GIT_PREFIX", "").rstrip("/")
    return printable(quote(typed_in(folder, path)))
