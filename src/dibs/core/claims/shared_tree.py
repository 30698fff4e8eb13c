"""What is checked out in a shared working tree: who depends on it, and why an agent may not change it.

Pure. HEAD selects the branch for everyone who works in the tree, so an agent moves it only while no one else
holds files there or the resource ``@git/HEAD``.
"""

from __future__ import annotations

from dibs.core.text.durations import show_expiry, show_span
from dibs.core.text.names import printable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The resource to claim in order to keep the checked-out branch.
HEAD = "@git/HEAD"
#: The most claims shown.
_SHOWN = 5


class HeldHere(Record):
    """Another agent's claim in the working tree."""

    holder: str
    pattern: str
    reason: str = ""
    task: str = ""
    #: Seconds until the claim expires unless renewed.
    expires_in: float = 0.0
    #: Whether it lasts while its owner's process runs.
    while_running: bool = False


def refusal(held: Sequence[HeldHere]) -> list[str]:
    """Return the lines of a refusal to move HEAD: who works in the tree, and what to do next."""
    lines = ["dibs: refused: this would move HEAD while other agents work in this working tree:"]
    for one in held[:_SHOWN]:
        left = show_span(max(1, round(one.expires_in)))
        until = show_expiry(left, while_running=one.while_running)
        lines.append(f"  {one.holder} holds {printable(one.pattern)} ({until})")
    if len(held) > _SHOWN:
        lines.append(f"  and {len(held) - _SHOWN} more")
    lines.append("  to work on another branch, use a worktree: dibs worktree new")
    return lines
