"""Rows of tasks: their content, and how they are read and written; contains no rules.

Ids are stored case-insensitively, because they are file names. Rows derived from a task's row,
which avoid reading all tasks, are in services/state/task_index.py.
"""

from __future__ import annotations

from hashlib import sha256
from os import urandom
from zlib import crc32

from dibs.core.patterns.filing import Range
from dibs.core.tasks.graph import unmet
from dibs.core.tasks.rules import FINISHED, OPEN, Handoff, Status, Task
from dibs.core.text.names import quote
from dibs.errors import NotFound
from dibs.services.state.keys import BOARD, PAST, TASK, VERSION
from dibs.services.state.rows import decode, encode
from dibs.services.state.task_index import ANYBODY, dependents, marks
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dibs.services.state.rows import Rows

#: How many digests of earlier texts a row keeps.
MAX_EARLIER = 20


class Stored(Record):
    """A task as stored: the content of its file, its location, and its agent."""

    task: Task
    #: The file's name, and its folder on the board.
    file: str
    place: str
    #: The whole text of the file.
    text: str
    #: The ledger number of its last change.
    version: int
    #: How many times it was handed out.
    attempt: int = 0
    #: The fencing token of the running attempt, or 0.
    token: int = 0
    #: The session that works on it.
    holder: str = ""
    #: The agent that finished it.
    doer: str = ""
    #: The agent that the file originally named, to which it returns.
    asked: str = ""
    #: When it was last reported as stuck.
    warned: float = 0.0
    #: Digests of earlier texts, newest last: a file that equals one is stale, not edited.
    earlier: tuple[str, ...] = ()
    #: How many attempts failed or were lost, and how many of them no longer count after a retry.
    failures: int = 0
    forgiven: int = 0
    #: The task created from its handoff.
    follower: str = ""
    #: Artifacts that were claimed for the running attempt.
    claimed: tuple[str, ...] = ()
    #: Until when the running attempt is certainly alive; no check is needed before that.
    until: float = 0.0
    #: The names under which it is listed as ready; empty if no one can take it.
    ready: tuple[str, ...] = ()
    #: Why its file is invalid; empty if it is valid. An invalid task is not handed out.
    aside: str = ""
    #: The earlier life of the board of which only the file survived, its version there, and its
    #: version here.
    survived: str = ""
    outlived: int = 0
    adopted: int = 0
    #: When the board learned that it is over; 0 if its file was over when the board first saw it.
    ended: float = 0.0

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id


class Past(Record):
    """How an archived task ended, and where its file is."""

    id: str
    file: str
    #: ``done`` or ``cancelled``.
    status: str
    #: The folder of its month on the board: ``archive/2025-11``.
    place: str
    title: str = ""
    agent: str = ""
    doer: str = ""
    completed: float = 0.0
    #: The digest of its file in the archive.
    digest: str = ""
    #: The ledger number of its archiving.
    version: int = 0


_TASK_DEFAULTS = Task("")._asdict()
#: How a row starts if its first field is the task itself.
_TASK_FIRST = '{"task":'
_PAST_DEFAULTS = Past("", "", "", "")._asdict()
# Building a record from all its values in order is five times as fast as by name.
_TASK_FIELDS: tuple[tuple[str, Any], ...] = tuple(_TASK_DEFAULTS.items())
_STORED_FIELDS: tuple[tuple[str, Any], ...] = tuple(
    Stored(Task(""), "", "", "", 0)._asdict().items()
)
_LISTS = frozenset({"artefacts", "dependencies", "made"})


# -- one task


def load(rows: Rows, id_: str) -> Stored | None:
    """Return the row of a task that is not archived."""
    value = rows.txn.get(_key(TASK, id_)) if id_.isascii() else None  # every id is ASCII
    return None if value is None else _stored(value)


def need(rows: Rows, id_: str) -> Stored:
    """Return the row of a task; ``NotFound`` (``NO_TASK``) if there is none."""
    found = load(rows, id_)
    if found is not None:
        return found
    ended = past(rows, id_)
    where = f"; it is archived in {ended.place}" if ended is not None else ""
    raise NotFound(
        f"no task {quote(id_)} on the board{where}",
        code="NO_TASK",
        field="task",
        hint="run `dibs task ls` to list the tasks",
    )


def several(rows: Rows, ids: Iterable[str]) -> dict[str, Stored]:
    """Return the rows of these tasks that exist, by the requested ids."""
    return {id_: row for id_ in ids if (row := load(rows, id_)) is not None}


def pasts(rows: Rows, ids: Iterable[str]) -> dict[str, Past]:
    """Return how these tasks ended, if they are archived, by the requested ids."""
    return {id_: ended for id_ in ids if (ended := past(rows, id_)) is not None}


def every(rows: Rows) -> Iterator[Stored]:
    """Yield all tasks that are not archived, in no particular order."""
    for _, value in rows.txn.scan(Range(TASK)):
        yield _stored(value)


def unfinished(rows: Rows) -> Iterator[Task]:
    """Yield the unfinished tasks, without the rest of their rows."""
    for fields in _fields(rows):
        if _status(fields) not in FINISHED:
            yield _task(fields)


def statuses(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield the id and the status of each task that is not archived."""
    for fields in _fields(rows):
        yield fields["id"], _status(fields)


def _fields(rows: Rows) -> Iterator[dict[str, Any]]:
    """Yield the stored fields of each task, without its file's text, which is most of a row."""
    for _, value in rows.txn.scan(Range(TASK)):
        first = value.startswith(_TASK_FIRST)
        yield decode(value, len(_TASK_FIRST)) if first else decode(value)["task"]


def _status(fields: dict[str, Any]) -> str:
    return str(fields.get("status", _TASK_DEFAULTS["status"]))


def past(rows: Rows, id_: str) -> Past | None:
    """Return how an archived task ended."""
    value = rows.txn.get(_key(PAST, id_)) if id_.isascii() else None
    return None if value is None else Past(**{**_PAST_DEFAULTS, **decode(value)})


def status_of(rows: Rows, id_: str) -> str | None:
    """Return the status of a task, including archived ones; None if it does not exist."""
    found = load(rows, id_)
    if found is None:
        ended = past(rows, id_)
        return ended.status if ended is not None and ended.id == id_ else None
    return found.task.status if found.id == id_ else None


def standing(rows: Rows) -> tuple[int, str]:
    """Return the number of the last change to any task, and the id of this board's life."""
    number, _, life = (rows.txn.get(BOARD) or "0").partition(" ")
    return int(number), life


def _stand(rows: Rows, number: int) -> None:
    """Record the board's last change; the first one starts its life."""
    life = standing(rows)[1] or urandom(8).hex()
    rows.txn.put(BOARD, f"{number} {life}")


def versions(rows: Rows) -> dict[str, int]:
    """Return the version of each task."""
    found = {}
    for _, value in rows.txn.scan(Range(VERSION)):
        number, _, id_ = value.partition(" ")
        found[id_] = int(number)
    return found


def digest(text: str) -> str:
    """Return a digest of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


# -- writing


def put(rows: Rows, new: Stored, old: Stored | None) -> Stored:
    """Write a task's row, all derived rows, and the readiness of its dependents; return it as written."""
    if old is not None and old.text != new.text:
        earlier = dict.fromkeys((*new.earlier, digest(old.text)))
        earlier.pop(digest(new.text), None)
        new = new._replace(earlier=tuple(earlier)[-MAX_EARLIER:])
    new = new._replace(ready=_ready_for(rows, new))
    _write(rows, new, old)
    rows.txn.put(_key(VERSION, new.id), f"{new.version} {new.id}")
    if old is None or new.version != old.version:
        _stand(rows, new.version)
    if _is_done(new) != _is_done(old):
        refresh_dependents(rows, new.id)
    return new


def _write(rows: Rows, new: Stored, old: Stored | None) -> None:
    rows.txn.put(_key(TASK, new.id), _record(new))
    before = marks(old) if old is not None else {}
    after = marks(new)
    for key in before:
        if key not in after:
            rows.txn.delete(key)
    for key, value in after.items():
        if before.get(key) != value:
            rows.txn.put(key, value)


def hold_back(rows: Rows, stored: Stored, why: str) -> Stored:
    """Keep a task from being handed out because its file is invalid; an empty ``why`` undoes that."""
    new = stored._replace(aside=why)
    new = new._replace(ready=_ready_for(rows, new))
    _write(rows, new, stored)
    return new


def note_until(rows: Rows, stored: Stored, until: float) -> None:
    """Record until when an attempt is certainly alive, so that the next caller need not check."""
    _write(rows, stored._replace(until=until), stored)


def retire(rows: Rows, ended: Past, old: Stored | None) -> None:
    """Replace a task's row, if it has one, with ``ended``."""
    if old is not None:
        rows.txn.delete(_key(TASK, old.id))
        rows.txn.delete(_key(VERSION, old.id))
        for key in marks(old):
            rows.txn.delete(key)
    kept = {name: value for name, value in ended._asdict().items() if value}
    rows.txn.put(_key(PAST, ended.id), encode(kept))
    _stand(rows, ended.version)


def refresh_dependents(rows: Rows, id_: str) -> None:
    """Update which tasks that depend on this one are ready."""
    for dependent in dependents(rows, id_):
        found = load(rows, dependent)
        if found is not None:
            ready = _ready_for(rows, found)
            if ready != found.ready:
                _write(rows, found._replace(ready=ready), found)


def _is_done(stored: Stored | None) -> bool:
    return stored is not None and stored.task.status == Status.DONE


def _ready_for(rows: Rows, stored: Stored) -> tuple[str, ...]:
    """Return the names under which a task is listed as ready: none if it cannot be taken."""
    task = stored.task
    if stored.aside or task.status not in OPEN or unmet(task, lambda id_: status_of(rows, id_)):
        return ()
    names = [f"to-{task.agent}" if task.agent else ANYBODY]
    for dependency in task.dependencies:
        doer = _doer(rows, dependency)
        if doer and doer != task.agent:
            names.append(f"by-{doer}")
    return tuple(dict.fromkeys(names))


def _doer(rows: Rows, id_: str) -> str:
    found: Stored | Past | None = load(rows, id_) or past(rows, id_)
    return found.doer if found is not None else ""


def _key(prefix: str, id_: str) -> str:
    folded = id_.lower()
    return f"{prefix}{crc32(folded.encode('utf-8', 'replace')) & 63:02x}/{folded}"


# -- encoding


def _record(stored: Stored) -> str:
    task: dict[str, Any] = {
        n: v for (n, usual), v in zip(_TASK_FIELDS, stored.task, strict=True) if v != usual
    }
    if stored.task.handoff is not None:
        task["handoff"] = stored.task.handoff._asdict()
    kept = {n: v for (n, usual), v in zip(_STORED_FIELDS, stored, strict=True) if v != usual}
    kept["task"] = task
    return encode(kept)


def _stored(value: str) -> Stored:
    record = decode(value)
    for name in ("earlier", "claimed", "ready"):
        if name in record:
            record[name] = tuple(record[name])
    record["task"] = _task(record["task"])
    return Stored(*[record.get(name, default) for name, default in _STORED_FIELDS])


def _task(fields: dict[str, Any]) -> Task:
    for name in _LISTS.intersection(fields):
        fields[name] = tuple(fields[name])
    if "handoff" in fields:
        handoff = fields["handoff"]
        listed = {name: tuple(handoff.get(name, ())) for name in ("artefacts", "notes")}
        fields["handoff"] = Handoff(**{**handoff, **listed})
    return Task(*[fields.get(name, default) for name, default in _TASK_FIELDS])
