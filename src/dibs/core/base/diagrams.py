"""The states of a task and the moves between them, drawn from the one table.

Pure.
"""

from __future__ import annotations

from dibs.core.tasks.rules import TRANSITIONS, Status, folder_of, next_statuses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def state_diagram() -> str:
    """Return a state diagram of Mermaid; an arrow bears the verbs that lead along it."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for step in TRANSITIONS:
        verbs.setdefault((step.source, step.target), []).append(step.verb)
    lines = ["stateDiagram-v2", f"    [*] --> {Status.NEW}"]
    for (source, target), names in verbs.items():
        lines.append(f"    {source} --> {target}: {', '.join(dict.fromkeys(names))}")
    ends = [status for status in Status if not next_statuses(status)]
    return "\n".join([*lines, *(f"    {end} --> [*]" for end in ends)])


def state_table() -> str:
    """Return the states as a table: where the file lies, and which verb leads where."""
    rows = ["| status | folder | from there |", "|---|---|---|"]
    for status in Status:
        folder = folder_of(status, "AGENT", "YYYY-MM")
        rows.append(f"| `{status}` | `{folder}/` | {'; '.join(_ways(status)) or 'the end'} |")
    return "\n".join(rows)


def _ways(status: str) -> Iterator[str]:
    targets: dict[str, list[str]] = {}
    for step in TRANSITIONS:
        if step.source == status:
            targets.setdefault(step.verb, []).append(f"`{step.target}`")
    return (f"{verb}: {' or '.join(found)}" for verb, found in targets.items())
