"""Damaged rows: what each kind of row looks like, so that no unreadable row is mistaken for nothing.

Loaded only when a step fails, and by ``dibs engine check``. A row of an unknown kind is left alone.
"""

from __future__ import annotations

from dibs.core.claims.ledger import UNREADABLE
from dibs.core.claims.rules import MODES
from dibs.core.patterns.filing import entry_prefix
from dibs.core.patterns.pattern import parse
from dibs.core.text.findings import Finding, Level
from dibs.errors import DibsError
from dibs.services.state.rows import REMEDY, decode, unreadable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.engines.base import Engine, Txn

#: The classes of rows by the first word of their keys, and whether a row is an array of the fields.
_RECORDS = {
    "wait": ("dibs.core.claims.rules", "Ticket", False),
    "beat": ("dibs.core.claims.agents", "Beat", True),
    "agent": ("dibs.core.claims.agents", "Agent", False),
    "lost": ("dibs.core.claims.rules", "Lost", False),
    "ask": ("dibs.core.claims.rules", "Ask", False),
    "session": ("dibs.services.state.sessions", "SessionRow", True),
    "left": ("dibs.services.state.sessions", "UnfinishedFile", True),
    "mail": ("dibs.core.talk.mail", "Message", False),
    "rate": ("dibs.core.talk.limits", "Bucket", True),
    "offer": ("dibs.services.state.deliveries", "Offer", False),
    "briefed": ("dibs.services.state.deliveries", "Briefed", False),
    "alert": ("dibs.core.alerts.values", "Alert", False),
    "watch": ("dibs.services.state.watch.alerts", "AlertsCheck", False),
    "decision": ("dibs.core.talk.decisions", "Decision", False),
    "tree": ("dibs.services.state.worktrees", "WorktreeRow", False),
    "locked": ("dibs.services.state.lock_notes", "LockNote", False),
    "intent": ("dibs.services.state.commits", "Intent", False),
    "handler": ("dibs.services.state.serving.handlers", "HandlerRow", True),
    "fault": ("dibs.services.state.serving.faults", "ErrorCause", True),
    "crew": ("dibs.core.crew.members", "Member", True),
    "crews": ("dibs.core.crew.members", "CrewStatus", True),
    "crash": ("dibs.core.crew.restarts", "CrashCount", True),
}
#: The fields of other rows that are objects. ``?`` is any value.
_OBJECTS = {
    "claim": "pattern:str mode:str agent:str token:int ttl:float since:float hard:float reason:str task:str",
    "place": "ticket:int pattern:str mode:str",
    "guarded": "at:float dialect:str",
    "req": "asked:str at:float answer:?",
    "box": "",
    "unread": "",
    "due": "",
    "job": "owner:str started:float until:float",
    "group": "members:list roles:list by:str at:float",
    "open": "at:float",
    "refused": "at:float",
    "task": "task:dict",
    "past": "",
    "commit": "",
    "warned": "",
}
#: Rows that are arrays, rows that are JSON texts, and rows that start with a number.
_ARRAYS = frozenset({"ready", "busy", "turn"})
_TEXTS = frozenset({"seat", "gate"})
_NUMBERED = frozenset({"version", "board"})
_JSON = frozenset({*_RECORDS, *_OBJECTS, *_ARRAYS, *_TEXTS})
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "tuple": (list,), "list": (list,),
    "dict": (dict,),
}  # fmt: skip


#: How many damaged rows a report lists.
_SHOWN = 20


class DamagedRow(Record):
    """A row that cannot be read, and why."""

    key: str
    value: str
    why: str


def damaged_rows(txn: Txn) -> Iterator[DamagedRow]:
    """Yield every row that cannot be read, and claims that are not stored under their pattern."""
    for key, value in txn.scan(("", "")):
        why = why_damaged(key, value) or _why_misplaced(key, value)
        if why:
            yield DamagedRow(key, str(value), why)


class WithoutDamaged:
    """A transaction in which damaged rows do not exist; everything else is passed on."""

    def __init__(self, txn: Txn) -> None:
        self._txn = txn

    def __getattr__(self, name: str) -> Any:
        """Return what the transaction itself provides."""
        return getattr(self._txn, name)

    def get(self, key: str) -> str | None:
        """Return the value of ``key``, unless it is damaged."""
        value = self._txn.get(key)
        return None if value is None or why_damaged(key, value) else value

    def scan(self, *ranges: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the rows of each range that are not damaged."""
        return (row for row in self._txn.scan(*ranges) if not why_damaged(*row))


def without_damaged(txn: Txn) -> Txn:
    """Return a view of ``txn`` without damaged rows."""
    found: Any = WithoutDamaged(txn)
    return found  # type: ignore[no-any-return]


def explained(txn: Txn, error: Exception) -> Exception:
    """Return the error of a step that failed on a damaged row; otherwise ``error`` itself."""
    try:
        found = next(damaged_rows(txn), None)
    except UnicodeDecodeError:
        found = DamagedRow("", "", "it contains invalid UTF-8")
    return error if found is None else unreadable(found.key, found.why)


def findings(engine: Engine) -> list[Finding]:
    """Report the damaged rows of a store."""
    try:
        found = engine.view(lambda txn: list(damaged_rows(txn)))
    except UnicodeDecodeError:
        return []  # the engine reports such rows itself
    shown = [Finding(Level.BAD, "rows", _report(row)) for row in found[:_SHOWN]]
    if len(found) > _SHOWN:
        shown.append(Finding(Level.BAD, "rows", f"{len(found) - _SHOWN} more rows are damaged"))
    return shown


def _report(row: DamagedRow) -> str:
    return f"the row {row.key[:200]!r} is damaged: {row.why}; {REMEDY}"


def why_damaged(key: str, value: object) -> str:
    """Return why a row cannot be read; empty if it can."""
    if not isinstance(value, str):
        return "it is not text"
    if value.startswith(UNREADABLE):
        return "its bytes are not text with a line break at the end"
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        return "it contains invalid UTF-8"
    name = name_of(key)
    if name in _NUMBERED:
        number = value.partition(" ")[0]
        return "" if number.isascii() and number.isdigit() else "it does not start with a number"
    return _why_wrong(name, key, value) if name in _JSON else ""


def _why_wrong(name: str, key: str, value: str) -> str:
    try:
        record = decode(value)
    except (DibsError, RecursionError):
        return "it is not JSON"
    if name in _TEXTS:
        why = "" if type(record) is str else "it is not a text"
    elif name in _ARRAYS:
        why = "" if type(record) is list and record else "it is not an array with values"
    elif name in _RECORDS:
        why = _why_not_record(name, record)
    else:
        why = _why_not_object(name, record)
    return why or (_why_not_claim(key, record) if name == "claim" else "")


def _why_not_object(name: str, record: Any) -> str:
    if type(record) is not dict:
        return "it is not an object"
    for part in _OBJECTS[name].split():
        field, _, kind = part.partition(":")
        if field not in record:
            return f"{field} is missing"
        if not _is(record[field], kind, None):
            return f"{field} is invalid"
    return ""


def _why_not_claim(key: str, record: dict[str, Any]) -> str:
    if record["mode"] not in MODES:
        return "mode is invalid"
    if not record["ttl"] > 0:
        return "ttl is invalid"
    return "" if f"//{record['agent']}/" in key else "agent is not the one in its key"


def _why_misplaced(key: str, value: str) -> str:
    """Return why a readable claim protects nothing: its key is another pattern's."""
    if name_of(key) != "claim":
        return ""
    record = decode(value)
    for fold in (True, False):
        try:
            pattern = parse(record["pattern"], fold_case=fold)
        except DibsError:
            return "pattern is invalid"
        # A task is stored under the name that its file has.
        if pattern.scheme == "task" or key.startswith(f"{entry_prefix(pattern)}{record['agent']}/"):
            return ""
    return "pattern is not the one in its key"


def _why_not_record(name: str, record: Any) -> str:
    module, kind, listed = _RECORDS[name]
    __import__(module)
    from sys import modules

    cls = getattr(modules[module], kind)
    if type(record) is not (list if listed else dict):
        return "it is not an array" if listed else "it is not an object"
    values: dict[str, Any] = dict(zip(cls._fields, record, strict=False) if listed else record)
    if len(values) < len(record) or not values.keys() <= set(cls._fields):
        return "it has unknown fields"
    for field, annotation in cls.__annotations__.items():
        default = cls._field_defaults.get(field)
        if field not in values:
            if field not in cls._field_defaults:
                return f"{field} is missing"
        elif not _is(values[field], annotation.partition("[")[0], default):
            return f"{field} is invalid"
    return ""


def _is(value: Any, kind: str, default: Any) -> bool:
    """Return whether a value has this kind; numbers are not negative, unless that is the default."""
    allowed = _KINDS.get(kind)
    if allowed is None:
        return True
    if type(value) not in allowed:
        return False
    return not isinstance(value, int | float) or value >= 0 or value == default


def name_of(key: str) -> str:
    """Return the kind of a row: the first word of its key; for a row stored by pattern, claim or place."""
    name = key.partition("/")[0]
    if name in {"at", "in"}:
        return "place" if key[key.rfind("/") + 1 :].startswith("t") else "claim"
    return name
