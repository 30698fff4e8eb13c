"""Why an agent's process ended, and when it is started again.

Pure. Crashes are counted for a role and a task, so an agent that always fails at one task does not end
another one's chances.
"""

from __future__ import annotations

from dibs.core.text.durations import show_span
from dibs.startup.records import Record

TYPE_CHECKING = False

#: How often a role is started again for one task, within this many seconds.
MOST_RESTARTS, WINDOW = 3, 600.0
#: The pause before the first restart; each later one is twice as long.
FIRST_PAUSE = 2.0
#: How long a runner may take to start before it counts as failed.
STARTUP = 60.0
_KILLED = 9
_SHELL = 128


class CrashCount(Record):
    """The crashes of a role at one task."""

    times: int = 0
    last: float = 0.0


def counted(crashes: CrashCount, now: float) -> CrashCount:
    """Return the crashes after another one; those before the window no longer count."""
    recent = crashes.times if now < crashes.last + WINDOW else 0
    return CrashCount(recent + 1, now)


def restart_after(crashes: CrashCount) -> float | None:
    """Return the pause before the next start, in seconds; None if the limit is reached."""
    if crashes.times > MOST_RESTARTS:
        return None
    return FIRST_PAUSE * float(2 ** (crashes.times - 1))


def exit_cause(
    status: int | None, *, timed_out: float = 0.0, out_of_memory: bool = False, lost: str = ""
) -> str:
    """Return why a process ended, in words; ``status`` is negative for a signal."""
    if lost or status is None:
        return lost or "its exit status is unknown"
    if timed_out:
        return f"timed out after {show_span(timed_out)}"
    number = -status if status < 0 else status - _SHELL if status > _SHELL else 0
    if out_of_memory and number == _KILLED:
        return "out of memory"
    if status < 0:
        return f"killed by signal {number}{_name(number)}"
    return f"exit status {status}{_name(number) if number else ''}"


def _name(number: int) -> str:
    from signal import Signals

    try:
        return f" ({Signals(number).name})"
    except ValueError:
        return ""
