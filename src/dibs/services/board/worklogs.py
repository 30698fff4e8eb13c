"""Work logs: one file per finished or failed attempt, in ``logs/<agent>/`` of the board.

Dibs writes a log only if the attempt has none, so an agent's own log is never touched. A log decides
nothing; the orchestrator adds logs that a command could not write.
"""

from __future__ import annotations

import os
from itertools import islice

from dibs.core.claims.ledger import Kind
from dibs.core.tasks import worklog
from dibs.core.tasks.rules import Status
from dibs.core.text.names import check_agent_id
from dibs.workdir.disk import read
from dibs.workdir.moves import write_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from dibs.core.claims.ledger import Entry
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored
    from dibs.workdir.disk import Folders

PLACE = "logs"
#: Ledger kinds that end an attempt with a log.
ENDINGS = frozenset({Kind.TASK_COMPLETED, Kind.TASK_FAILED})
_ENDED = frozenset({Status.DONE, Status.ERROR})
#: How far back the ledger is searched for the steps of a task.
LOOK_BACK = 1_000


def steps_of(rows: Rows, ids: Container[str] | None) -> dict[str, list[Entry]]:
    """Return the newest ledger entries of each task, the oldest first."""
    newest = list(islice(rows.events(newest_first=True), LOOK_BACK))
    found: dict[str, list[Entry]] = {}
    for entry in reversed(newest):
        id_ = entry.details.get("task")
        if isinstance(id_, str) and (ids is None or id_ in ids):
            found.setdefault(id_, []).append(entry)
    return found


def ended_in(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the last entry that ended an attempt, by task."""
    return {
        str(entry.details["task"]): entry
        for entry in entries
        if entry.kind in ENDINGS and entry.details.get("task")
    }


def write_logs(store: Store, folders: Folders, listed: Mapping[str, Stored]) -> None:
    """Write missing logs of ended attempts at these tasks; other machines log their own."""
    listed = {id_: row for id_, row in listed.items() if row.task.status in _ENDED}
    if not listed:
        return

    def look(rows: Rows) -> tuple[dict[str, list[Entry]], dict[str, Entry]]:
        steps = steps_of(rows, listed)
        ended = ended_in(entry for entries in steps.values() for entry in entries)
        return steps, {id_: end for id_, end in ended.items() if _is_here(rows, end.agent)}

    steps, ended = store.look(look)
    for id_, ending in ended.items():
        write_log(folders, folders.base, listed[id_], ending, steps[id_])


def _is_here(rows: Rows, agent: str) -> bool:
    known = rows.agent(agent) if hasattr(os, "uname") else None
    return known is None or known.host in {"", os.uname().nodename}


def write_log(
    folders: Folders, root: str, stored: Stored, ending: Entry, steps: Sequence[Entry]
) -> str:
    """Write the log of a task's last attempt; return its path under the board, empty if there is one."""
    task = stored.task
    agent = stored.doer or task.agent or ending.agent
    if task.status not in _ENDED:
        return ""
    place = f"{PLACE}/{check_agent_id(agent)}"
    before = (e.at for e in steps if e.kind in ENDINGS and _attempt(e) != stored.attempt)
    since = max(before, default=0.0)
    with folders.open(PLACE, make=True) as logs, folders.open(place, make=True) as folder:
        if _is_logged(logs, stored, since) or _is_logged(folder, stored, since):
            return ""
        artefacts = worklog.marks(task, _there(root, task.made))
        text = worklog.text(task, agent, stored.attempt, ending.at, artefacts, steps)
        names = worklog.file_names(task, ending.at)
        name = next(name for name in names if write_new(folders.disk, folder, name, text))
    return f"{place}/{name}"


def _attempt(entry: Entry) -> int:
    return int(entry.details.get("attempt") or 0)


def _is_logged(folder: int, stored: Stored, since: float) -> bool:
    """Return whether a folder has a log of the task's last attempt; an agent's own log counts."""
    about = worklog.description(stored.id)
    for name in os.listdir(folder):
        if about in name:
            try:
                content, known = read(folder, name, 1 << 16)
            except OSError:
                continue  # a folder, or not readable
            log, changed = content.decode("utf-8", "replace"), known.mtime / 1e9
            if worklog.belongs_to(name, log, changed, stored.task, stored.attempt, since):
                return True
    return False


def _there(root: str, paths: Iterable[str]) -> list[str]:
    """Return those of ``paths`` that are in the working tree."""
    return [path for path in paths if os.path.lexists(os.path.join(root, path))]
