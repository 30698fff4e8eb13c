"""Lock files of the lock-file queue: read any, write ours, and decide when one expires.

Pure. ``current_tasks/NAME.lock`` on a branch says who works on the task ``NAME``. Scripts write three lines
(``agent``, ``claimed``, ``task``); Dibs adds ``expires`` and ``dibs``, a nonce that no other lock has. The
content is text from anyone: nothing in it is an error.
"""

from __future__ import annotations

import time

from dibs.core.text.names import AGENT_ID_CHARACTERS, AGENT_ID_MAX
from dibs.startup.records import Record

LOCKS, PENDING, DONE, FAILED = "current_tasks", "tasks/pending", "tasks/done", "tasks/failed"
#: A queue in one file.
LISTS = tuple(PENDING + ending for ending in (".yml", ".yaml", ".txt"))
#: Endings of lock files; Dibs writes the first.
LOCK_ENDINGS = (".lock", ".txt")
#: The owner of a lock file that names no agent.
NOBODY = "unknown"
#: How long a lock file counts by default, and the longest time that it can ask for, in seconds.
LOCK_AGE, LONGEST = 7_200.0, 2_592_000.0
#: The share of its age after which an owner renews a lock.
RENEW_AFTER = 0.5
#: How far ahead another machine's clock may be, in seconds.
SKEW = 60.0

#: How many bytes of a lock file are read.
_HEAD = 4096
_NONCE_MAX = 64
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class LockFile(Record):
    """What a lock file says. Times are seconds since 1970, 0 if it states none."""

    agent: str
    claimed: float = 0.0
    expires: float = 0.0
    #: The nonce of a lock that Dibs wrote; empty for a script's.
    nonce: str = ""


def parse_lock(content: bytes) -> LockFile:
    """Return what a lock file says, whatever it contains."""
    fields: dict[str, str] = {}
    for line in content[:_HEAD].decode("utf-8-sig", "replace").splitlines():
        field, colon, value = line.partition(":")
        name = field.strip().lower()
        if colon and name not in fields:
            fields[name] = _unquoted(value.strip())
    nonce = fields.get("dibs", "")
    return LockFile(
        _agent(fields.get("agent", "")),
        _moment(fields.get("claimed", "")),
        _moment(fields.get("expires", "")),
        nonce if nonce.isalnum() and nonce.isascii() and len(nonce) <= _NONCE_MAX else "",
    )


def render_lock(lock: LockFile, task: str) -> bytes:
    """Return a lock file in the documented form, with the two lines that Dibs adds."""
    import json

    plain = all(c.isalnum() or c in "-_." for c in task) and task[:1] != "-"
    lines = [
        f"agent: {lock.agent}",
        f"claimed: {stamp(lock.claimed)}",
        f"task: {task if plain else json.dumps(task, ensure_ascii=False)}",
        f"expires: {stamp(lock.expires)}",
        f"dibs: {lock.nonce}",
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def stamp(moment: float) -> str:
    """Return a time as lock files state it."""
    return time.strftime(_FORMAT, time.gmtime(max(moment, 0.0)))


def states_time(lock: LockFile, now: float) -> bool:
    """Return whether a lock states a time that counts; otherwise the time of its commit does."""
    return 0 < lock.claimed <= now + SKEW


def lock_end(lock: LockFile, now: float, age: float, committed: float = 0.0) -> float:
    """Return when a lock expires; ``committed`` is when its file was last committed, 0 if unknown.

    The stated end counts, else the stated beginning plus ``age``. Without a beginning, or with one in the
    future, it counts from its commit; an end that is too far away does not count.
    """
    since = lock.claimed if states_time(lock, now) else min(committed or now, now)
    if not since < lock.expires <= since + LONGEST:
        return since + age
    return lock.expires


def lock_name(file: str) -> str:
    """Return the task that a lock file locks by its name; empty if the file is not a lock."""
    ending = next((e for e in LOCK_ENDINGS if file.endswith(e)), "")
    return file.removesuffix(ending) if ending else ""


def _unquoted(value: str) -> str:
    if value[:1] in {'"', "'"}:
        return value[1:].partition(value[0])[0]
    return value.partition(" #")[0].strip()


def _agent(name: str) -> str:
    """Return the agent that a lock names, as a valid agent id."""
    plain = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in name.strip())
    return plain.strip("-").lstrip("._-")[:AGENT_ID_MAX] or NOBODY


def _moment(text: str) -> float:
    """Return the time that a line states; 0 if it states none."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(zoned.timestamp(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
