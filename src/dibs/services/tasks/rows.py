"""The rows of the board in one transaction, typed; decides nothing.

An id is filed without regard to case, because it is a file's name. ``<part>`` is one of 64, so that no folder
of the git engine grows long.

- ``task/<part>/<id>``: a task that is not archived: its file's text, its place, and who works on it
- ``version/<part>/<id>``: the number of the task's last change, for readers that look for what changed
- ``board``: the number of the last change of any task, and the name of this board's life: a store that was
  emptied begins another one
- ``past/<part>/<id>``: how an archived task ended, and in which month; looked up, never walked through

What follows is derived from the rows of tasks, so that nobody has to walk through them:

- ``ready/<who>//<rank>/<created>/<id>``: a task that can be taken now: by ``to-NAME``, or by ``any``; it also
  stands under ``by-NAME`` of those who did what it depended on, and under ``spare`` if it was only lent
- ``needs/<dependency>//<id>``: that a task waits for another one, or did until that was done
- ``busy//<moment>/<id>``: an attempt that runs, and until when it surely does
- ``fresh//<id>``: a ready task that names somebody and is not assigned yet
- ``lent//<id>``: a task that is assigned to an agent for which nobody asked
- ``since//<moment>/<id>``: since when a task is assigned, or in progress without an attempt that can end
- ``handoff//<id>``: a done task that asks for another one, which is not made yet
- ``over//<moment>/<id>``: when a task was finished
- ``aside//<id>``: a task that is handed to nobody because its file stands aside
"""

from __future__ import annotations

from hashlib import sha256
from json.encoder import encode_basestring as quoted
from os import urandom
from zlib import crc32

from dibs.core.patterns.filing import Range
from dibs.core.tasks.graph import unmet
from dibs.core.tasks.order import urgency
from dibs.core.tasks.rules import FINISHED, OPEN, Handoff, Status, Task
from dibs.core.text.names import quote
from dibs.errors import NotFound
from dibs.services.state.rows import decode, encode
from dibs.services.tasks.values import Past, Stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.services.state.rows import Rows

BOARD = "board"
#: How many digests of earlier texts a row keeps.
MAX_EARLIER = 20
#: What the keys of the derived rows begin with; see above.
BUSY, FRESH, LENT, SINCE = "busy//", "fresh//", "lent//", "since//"
HANDOFF, OVER, ASIDE = "handoff//", "over//", "aside//"
ANYBODY = "any"
#: Under this name stand tasks that were assigned to an agent though nobody asked for that agent.
SPARE = "spare"

_TASK_DEFAULTS = Task("")._asdict()
#: How a row begins whose first field is the task itself.
_TASK_FIRST = '{"task":'
_PAST_DEFAULTS = Past("", "", "", "")._asdict()
# A record that is made of all its values in order is made five times as fast as one made by name.
_TASK_FIELDS: tuple[tuple[str, Any], ...] = tuple(_TASK_DEFAULTS.items())
_STORED_FIELDS: tuple[tuple[str, Any], ...] = tuple(
    Stored(Task(""), "", "", "", 0)._asdict().items()
)
_LISTS = frozenset({"artefacts", "dependencies", "made"})


# -- one task


def load(rows: Rows, id_: str) -> Stored | None:
    """Return the row of a task that is not archived."""
    value = rows.txn.get(_key("task", id_)) if id_.isascii() else None  # each id is
    return None if value is None else _stored(value)


def need(rows: Rows, id_: str) -> Stored:
    """Return the row of a task; ``NotFound`` (``NO_TASK``) if there is none."""
    found = load(rows, id_)
    if found is not None:
        return found
    ended = past(rows, id_)
    where = f" any more: it is in {ended.place}" if ended is not None else ""
    raise NotFound(
        f"there is no task {quote(id_)} on the board{where}",
        code="NO_TASK",
        field="task",
        hint="`dibs task ls` shows those that there are",
    )


def every(rows: Rows) -> Iterator[Stored]:
    """Yield all tasks that are not archived, in no order that means anything."""
    for _, value in rows.txn.scan(Range("task/")):
        yield _stored(value)


def unfinished(rows: Rows) -> Iterator[Task]:
    """Yield the tasks that are not finished, without the rest of their rows."""
    for fields in _fields(rows):
        if _status(fields) not in FINISHED:
            yield _task(fields)


def statuses(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield the id and the status of each task that is not archived."""
    for fields in _fields(rows):
        yield fields["id"], _status(fields)


def _fields(rows: Rows) -> Iterator[dict[str, Any]]:
    """Yield what is stored of each task, without its file's text, which is most of a row."""
    for _, value in rows.txn.scan(Range("task/")):
        first = value.startswith(_TASK_FIRST)
        yield decode(value, len(_TASK_FIRST)) if first else decode(value)["task"]


def _status(fields: dict[str, Any]) -> str:
    return str(fields.get("status", _TASK_DEFAULTS["status"]))


def past(rows: Rows, id_: str) -> Past | None:
    """Return how an archived task ended."""
    value = rows.txn.get(_key("past", id_)) if id_.isascii() else None
    return None if value is None else Past(**{**_PAST_DEFAULTS, **decode(value)})


def status_of(rows: Rows, id_: str) -> str | None:
    """Return the status of a task, for an archived one how it ended, None if there is no such task."""
    found = load(rows, id_)
    if found is None:
        ended = past(rows, id_)
        return ended.status if ended is not None and ended.id == id_ else None
    return found.task.status if found.id == id_ else None


def head(rows: Rows) -> int:
    """Return the number of the last change of any task."""
    return standing(rows)[0]


def standing(rows: Rows) -> tuple[int, str]:
    """Return the number of the last change of any task, and by which name this board's life is known."""
    number, _, life = (rows.txn.get(BOARD) or "0").partition(" ")
    return int(number), life


def _stand(rows: Rows, number: int) -> None:
    """Note the last change of the board; the first one begins its life."""
    life = standing(rows)[1] or urandom(8).hex()
    rows.txn.put(BOARD, f"{number} {life}")


def versions(rows: Rows) -> dict[str, int]:
    """Return the version of each task."""
    found = {}
    for _, value in rows.txn.scan(Range("version/")):
        number, _, id_ = value.partition(" ")
        found[id_] = int(number)
    return found


def digest(text: str) -> str:
    """Return what tells a text from others."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


# -- writing


def put(rows: Rows, new: Stored, old: Stored | None) -> Stored:
    """Write a task's row, all that is derived from it, and how its dependents stand; return it as written."""
    if old is not None and old.text != new.text:
        earlier = dict.fromkeys((*old.earlier, digest(old.text)))
        earlier.pop(digest(new.text), None)
        new = new._replace(earlier=tuple(earlier)[-MAX_EARLIER:])
    new = new._replace(ready=_ready_for(rows, new))
    _write(rows, new, old)
    rows.txn.put(_key("version", new.id), f"{new.version} {new.id}")
    if old is None or new.version != old.version:
        _stand(rows, new.version)
    if _is_done(new) != _is_done(old):
        refresh_dependents(rows, new.id)
    return new


def _write(rows: Rows, new: Stored, old: Stored | None) -> None:
    rows.txn.put(_key("task", new.id), _record(new))
    before = _marks(old) if old is not None else {}
    after = _marks(new)
    for key in before:
        if key not in after:
            rows.txn.delete(key)
    for key, value in after.items():
        if before.get(key) != value:
            rows.txn.put(key, value)


def hold_back(rows: Rows, stored: Stored, why: str) -> Stored:
    """Keep a task from being handed out because of its file; let it go again by an empty ``why``."""
    new = stored._replace(aside=why)
    new = new._replace(ready=_ready_for(rows, new))
    _write(rows, new, stored)
    return new


def note_until(rows: Rows, stored: Stored, until: float) -> None:
    """Note until when an attempt surely lives, so that the next caller need not look."""
    _write(rows, stored._replace(until=until), stored)


def retire(rows: Rows, ended: Past, old: Stored | None) -> None:
    """Put ``ended`` in the place of a task's row, if it has one."""
    if old is not None:
        rows.txn.delete(_key("task", old.id))
        rows.txn.delete(_key("version", old.id))
        for key in _marks(old):
            rows.txn.delete(key)
    kept = {name: value for name, value in ended._asdict().items() if value}
    rows.txn.put(_key("past", ended.id), encode(kept))
    _stand(rows, ended.version)


def refresh_dependents(rows: Rows, id_: str) -> None:
    """Look anew at which tasks that depend on this one are ready."""
    for dependent in dependents(rows, id_):
        found = load(rows, dependent)
        if found is not None:
            ready = _ready_for(rows, found)
            if ready != found.ready:
                _write(rows, found._replace(ready=ready), found)


def dependents(rows: Rows, id_: str) -> list[str]:
    """Return the unfinished tasks that name this one as a dependency."""
    return [value for _, value in rows.txn.scan((f"needs/{id_.lower()}//", ""))]


def _is_done(stored: Stored | None) -> bool:
    return stored is not None and stored.task.status == Status.DONE


def _ready_for(rows: Rows, stored: Stored) -> tuple[str, ...]:
    """Return under whose names a task stands among the ready ones: none if it cannot be taken."""
    task = stored.task
    if stored.aside or task.status not in OPEN or unmet(task, lambda id_: status_of(rows, id_)):
        return ()
    names = [f"to-{task.agent}" if task.agent else ANYBODY]
    for dependency in task.dependencies:
        doer = _doer(rows, dependency)
        if doer and doer != task.agent:
            names.append(f"by-{doer}")
    if is_lent(stored):
        names.append(SPARE)
    return tuple(dict.fromkeys(names))


def is_lent(stored: Stored) -> bool:
    """Tell whether a task that names nobody lies with an agent that has not begun it."""
    return stored.task.status == Status.ASSIGNED and stored.task.agent != stored.asked == ""


def _doer(rows: Rows, id_: str) -> str:
    found: Stored | Past | None = load(rows, id_) or past(rows, id_)
    return found.doer if found is not None else ""


def _marks(stored: Stored) -> dict[str, str]:
    """Return the rows that are derived from a task's own."""
    task, id_ = stored.task, stored.id
    marks = {ready_key(who, task): _pair(id_, task.agent) for who in stored.ready}
    if task.status not in {Status.DONE, Status.CANCELLED}:
        marks |= {f"needs/{d.lower()}//{id_.lower()}": id_ for d in task.dependencies}
    if stored.token:
        marks[f"{BUSY}{_moment(stored.until)}/{id_.lower()}"] = _pair(id_, stored.holder)
    if stored.ready and task.agent and task.status == Status.NEW:
        marks[f"{FRESH}{id_.lower()}"] = id_
    if is_lent(stored):
        marks[f"{LENT}{id_.lower()}"] = _pair(id_, task.agent)
    if task.status in {Status.ASSIGNED, Status.IN_PROGRESS} and not stored.token:
        marks[f"{SINCE}{_moment(since(stored))}/{id_.lower()}"] = id_
    if task.status == Status.DONE and task.handoff is not None and not stored.follower:
        marks[f"{HANDOFF}{id_.lower()}"] = id_
    if stored.aside:
        marks[f"{ASIDE}{id_.lower()}"] = id_
    if task.status in {Status.DONE, Status.CANCELLED}:
        marks[f"{OVER}{_moment(task.completed)}/{id_.lower()}"] = id_
    return marks


def since(stored: Stored) -> float:
    """Return since when nothing was heard of a task that is assigned or in progress."""
    task = stored.task
    return max(task.created, task.assigned, task.started, stored.warned)


def moment_of(key: str) -> float:
    """Return the moment that the key of a row of ``busy``, ``since`` or ``over`` holds."""
    return float(key.split("/")[2])


def ready_key(who: str, task: Task) -> str:
    """Return the key under which a task stands among the ready ones of ``who``."""
    return f"{ready_prefix(who, urgency(task.priority))}{_moment(task.created)}/{task.id.lower()}"


def ready_prefix(who: str, rank: int) -> str:
    """Return what the keys of ready tasks of one priority begin with."""
    return f"{ready_of(who)}{rank}/"


def ready_of(who: str) -> str:
    """Return what the keys of the ready tasks of ``who`` begin with."""
    return f"ready/{who}//"


def _moment(seconds: float) -> str:
    """Return a moment as text that sorts by time."""
    return f"{min(max(seconds, 0.0), 999_999_999_999.0):016.3f}"


def _key(kind: str, id_: str) -> str:
    folded = id_.lower()
    return f"{kind}/{crc32(folded.encode('utf-8', 'replace')) & 63:02x}/{folded}"


# -- values as text


def _record(stored: Stored) -> str:
    task: dict[str, Any] = {
        n: v for (n, usual), v in zip(_TASK_FIELDS, stored.task, strict=True) if v != usual
    }
    if stored.task.handoff is not None:
        task["handoff"] = stored.task.handoff._asdict()
    kept = {n: v for (n, usual), v in zip(_STORED_FIELDS, stored, strict=True) if v != usual}
    kept["task"] = task
    return encode(kept)


def _pair(first: str, second: str) -> str:
    """Return two texts as ``encode`` does, three times as fast."""
    return f"[{quoted(first)},{quoted(second)}]"


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
