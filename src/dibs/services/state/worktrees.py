"""Rows of worktrees, and of warnings that two of them would conflict."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote

from dibs.core.changes.worktrees import WorktreeStage, is_left_alone
from dibs.core.claims.agents import is_terminal
from dibs.services.state.keys import TREE, WARNED
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.services.state.rows import Rows


class WorktreeRow(Record):
    """A worktree that Dibs created."""

    agent: str
    path: str
    branch: str
    #: The commit at which the branch started or continued.
    base: str
    slot: int
    clone: str
    host: str
    made: float
    stage: str
    #: Whether the branch was created with it.
    new_branch: bool = False
    #: Whether its agent had not started when it was created.
    waiting: bool = False
    #: Where its folder is while it is being removed.
    aside: str = ""
    #: Whether a person created it for himself or herself; only that person removes it.
    human: bool = False

    def is_missing_on(self, host: str) -> bool:
        """Return whether it was complete on this host and its folder no longer exists."""
        whole = self.stage in {WorktreeStage.SETUP, WorktreeStage.READY}
        return whole and self.host == host and not os.path.lexists(self.path)


def forget_command(agent: str) -> str:
    """Return the command that removes the record of another clone's worktree."""
    return f"`dibs worktree rm {agent} --force --reason TEXT`"


def all_rows(rows: Rows) -> list[WorktreeRow]:
    """Return all worktrees of all clones."""
    return [WorktreeRow(**decode(value)) for _, value in rows.txn.scan((TREE, ""))]


def row_of(rows: Rows, agent: str) -> WorktreeRow | None:
    """Return the worktree of ``agent``."""
    value = rows.txn.get(TREE + agent)
    return None if value is None else WorktreeRow(**decode(value))


def put_row(rows: Rows, row: WorktreeRow) -> None:
    """Write the row of a worktree."""
    rows.txn.put(TREE + row.agent, encode(row._asdict()))


def drop_row(rows: Rows, agent: str) -> None:
    """Delete the row of a worktree; its slot becomes available."""
    rows.txn.delete(TREE + agent)


def is_live(rows: Rows, agent: str) -> bool:
    """Return whether an agent is active: it has not ended."""
    known = rows.agent(agent)
    return known is not None and not is_terminal(known.status) and rows.beat(agent) is not None


def is_abandoned(rows: Rows, row: WorktreeRow) -> bool:
    """Return whether the agent of a worktree has ended, is dead, or sent no heartbeat for long."""
    return not row.human and is_left_alone(
        now=rows.now,
        seen=rows.heard(row.agent),
        ended=not is_live(rows, row.agent) or rows.is_gone(row.agent),
        made=row.made,
        waiting=is_awaited(rows, row),
    )


def is_awaited(rows: Rows, row: WorktreeRow) -> bool:
    """Return whether a worktree was created for an agent that has not started since."""
    known = rows.agent(row.agent)
    return row.waiting and (known is None or known.started < row.made)


# -- warnings that two worktrees of a clone would conflict


def warnings(rows: Rows, clone: str) -> dict[str, dict[str, Any]]:
    """Return the last warning sent to each pair, by key."""
    return {key: decode(value) for key, value in rows.txn.scan((f"{WARNED}{clone}/", ""))}


def all_warnings(rows: Rows) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield each pair that was warned, in all clones, and the warning."""
    for key, value in rows.txn.scan((WARNED, "")):
        names = key.partition("/")[2].partition("/")[2].split("//")
        yield tuple(unquote(name, errors="surrogateescape") for name in names), decode(value)


def put_warning(rows: Rows, key: str, warning: dict[str, Any]) -> None:
    """Store the last warning sent to a pair."""
    rows.txn.put(key, encode(warning))


def drop_warning(rows: Rows, key: str) -> None:
    """Delete a warning whose conflict is resolved."""
    rows.txn.delete(key)


def warning_key(clone: str, one: str, other: str) -> str:
    """Return the key of the warning to a pair, in either order."""
    names = (
        quote(name.encode("utf-8", "surrogateescape"), safe="@+") for name in sorted((one, other))
    )
    return f"{WARNED}{clone}/{'//'.join(names)}"
