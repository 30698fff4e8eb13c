"""Tasks as files that shell agents understand: lock files, and a queue of folders.

A codec that wraps another one. On the branch that uses it,

- ``current_tasks/<task>.lock`` contains the claims on ``task:<task>``: the lines that scripts write, then
  one ``dibs:`` line for each claim
- ``tasks/pending/<file>`` is the row ``queue/<file>``, ``tasks/done/<file>`` the row ``finished/<file>``

A lock file without a ``dibs:`` line was written by a script. It counts as a claim, without a token, of the
agent that it names. Scripts send no heartbeat, so the claim expires by age, counted from when this machine
first saw it. Any content is accepted; a lock file is never an error.
"""

from __future__ import annotations

import json
import time

from dibs.core.claims.agents import NEVER
from dibs.core.claims.rules import EXCLUSIVE, MODES, Claim
from dibs.core.patterns.filing import entry_prefix
from dibs.core.tasks.names import (
    SCHEME,
    can_be_file,
    claim_key,
    pack,
    task_of_file,
    task_pattern,
    unpack,
)
from dibs.core.text.names import AGENT_ID_CHARACTERS, AGENT_ID_MAX, check_agent_id
from dibs.errors import BadInput
from dibs.services.state.keys import AT, FINISHED, QUEUE
from dibs.services.state.rows import claim_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Codec(Protocol):
        """The layout of everything else; see engines/git/files.py."""

        @property
        def folders(self) -> tuple[str, ...]: ...

        def path_of(self, key: str) -> str: ...
        def parse(self, path: str, content: bytes, now: float) -> dict[str, str] | None: ...
        def render(self, path: str, rows: Mapping[str, str]) -> bytes: ...


LOCKS, PENDING, DONE = "current_tasks", "tasks/pending", "tasks/done"
ENDING = ".lock"
#: The key prefix of a file's row, by folder.
FOLDERS = {PENDING: QUEUE, DONE: FINISHED}
#: How long a script's lock file counts by default.
LOCK_AGE = 7_200.0
#: The id of a claim that a script made, and its reason.
SCRIPT = "script"
REASON = "a script's lock file"
#: The owner of a lock file that names no agent.
NOBODY = "unknown"

_FILED = f"{AT}:{SCHEME}/"
_MARK = b"dibs:"
#: How many bytes of a file are searched for the lines that scripts write.
_HEAD = 4096
#: The latest time at which a claim can have begun: the year 9999.
_LATEST = 253_402_300_799
_NUMBERS = ("ttl", "since", "hard")
_TEXTS = ("pattern", "mode", "agent", "reason", "task")


class LockFiles:
    """Store tasks where shell agents look for them, and everything else where ``inner`` does."""

    #: Scripts only check whether a lock file exists; it expires by age.
    markers = (LOCKS,)

    def __init__(self, inner: Codec, *, lock_age: float = LOCK_AGE, fold_case: bool = True) -> None:
        self._inner = inner
        #: The top-level folders on the branch that contain our files.
        self.folders = (*inner.folders, LOCKS, PENDING.partition("/")[0])
        self._lock_age = lock_age
        self._fold = fold_case

    def path_of(self, key: str) -> str:
        """Return the path of the file that contains the row ``key``."""
        for folder, prefix in FOLDERS.items():
            file = key.removeprefix(prefix)
            if file != key and task_of_file(file, fold_case=self._fold):
                return f"{folder}/{file}"
        task = self._locked_by(key) if key.startswith(_FILED) else ""
        return f"{LOCKS}/{task}{ENDING}" if task else self._inner.path_of(key)

    def parse(self, path: str, content: bytes, now: float) -> dict[str, str] | None:
        """Return the rows of a file, None for one that is not ours."""
        folder, _, file = path.rpartition("/")
        if folder in FOLDERS and task_of_file(file, fold_case=self._fold):
            return {FOLDERS[folder] + file: pack(content)}
        if folder == LOCKS and file.endswith(ENDING) and can_be_file(file.removesuffix(ENDING)):
            rows = self._ours(path, content) or self._script(
                file.removesuffix(ENDING), content, now
            )
            if rows:
                return rows
        return self._inner.parse(path, content, now)

    def render(self, path: str, rows: Mapping[str, str]) -> bytes:
        """Return the content of a file from its rows."""
        folder = path.rpartition("/")[0]
        if folder in FOLDERS:
            return b"".join(map(unpack, rows.values()))
        if folder == LOCKS:
            return _lock_file(path, rows)
        return self._inner.render(path, rows)

    def _locked_by(self, key: str) -> str:
        """Return the task of the claim with this key, if it can name a lock file."""
        folded, _, rest = key.removeprefix(_FILED).partition("//")
        agent, *spelled = rest.split("/")
        name = spelled.pop() if spelled else ""
        task = spelled[0] if spelled else folded
        is_claim = agent and (name == SCRIPT or name[:1] == "c")
        if not is_claim or len(spelled) > 1 or not can_be_file(task):
            return ""
        try:
            pattern = task_pattern(task, fold_case=self._fold)
        except BadInput:
            return ""
        return task if entry_prefix(pattern) == f"{_FILED}{folded}//" else ""

    def _ours(self, path: str, content: bytes) -> dict[str, str]:
        """Return the rows that Dibs wrote into a lock file, except damaged ones."""
        rows = {}
        for line in content.split(b"\n") if _MARK in content else ():
            if line.startswith(_MARK):
                row = _decoded(line.removeprefix(_MARK))
                key, value = row.get("key"), row.get("value")
                if isinstance(key, str) and isinstance(value, str) and self._fits(path, key, value):
                    rows[key] = value
        return rows

    def _fits(self, path: str, key: str, value: str) -> bool:
        """Return whether a row is a valid claim that belongs in this file."""
        record = _decoded(value)
        if not key.startswith(_FILED) or self.path_of(key) != path or not _is_claim(record):
            return False
        agent = key[key.index("//") + 2 :].partition("/")[0]
        try:
            pattern = task_pattern(path[len(LOCKS) + 1 : -len(ENDING)], fold_case=self._fold)
            return agent == check_agent_id(record["agent"]) and record["pattern"] == pattern.text
        except BadInput:
            return False

    def _script(self, task: str, content: bytes, now: float) -> dict[str, str]:
        """Return the claim that a script's lock file represents."""
        try:
            pattern = task_pattern(task, fold_case=self._fold)
        except BadInput:
            return {}  # it cannot be claimed either
        agent, age = _named_agent(content), self._lock_age
        # The hard deadline makes it expire by age, even if an agent of that name sends heartbeats.
        claim = Claim(
            SCRIPT, pattern.text, EXCLUSIVE, agent, 0, age, now, now + age, REASON, task
        )  # fmt: skip
        return {claim_key(pattern, task, agent, SCRIPT): claim_record(claim)}


def _lock_file(path: str, rows: Mapping[str, str]) -> bytes:
    """Return a lock file in the documented form, plus a ``dibs:`` line for each row."""
    task = path[len(LOCKS) + 1 : -len(ENDING)]
    since, agent = min(
        (r.get("since", 0.0), r.get("agent", NOBODY)) for r in map(_decoded, rows.values())
    )
    is_plain = all(c.isalnum() or c in "-_." for c in task) and task[0] != "-"
    lines = [
        f"agent: {agent}",
        time.strftime("claimed: %Y-%m-%dT%H:%M:%SZ", time.gmtime(since)),
        f"task: {task if is_plain else json.dumps(task, ensure_ascii=False)}",
    ]
    ours = ({"key": key, "value": rows[key]} for key in sorted(rows))
    lines += ["dibs: " + json.dumps(row, ensure_ascii=False) for row in ours]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def _named_agent(content: bytes) -> str:
    """Return the agent that a lock file names, as a valid agent id."""
    text = content[:_HEAD].decode("utf-8-sig", "replace")
    for line in text.splitlines():
        field, colon, value = line.partition(":")
        if colon and field.strip().lower() == "agent":
            value = value.strip()
            quoted = value[:1] in {'"', "'"}
            name = value[1:].partition(value[0])[0] if quoted else value.partition(" #")[0]
            plain = "".join(c if c in AGENT_ID_CHARACTERS else "-" for c in name.strip())
            return plain.strip("-").lstrip("._-")[:AGENT_ID_MAX] or NOBODY
    return NOBODY


def _decoded(text: bytes | str) -> dict[str, Any]:
    """Return ``text`` as a JSON object; an empty one if it is not one or cannot be stored."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # JSON can contain lone surrogates
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_claim(record: dict[str, Any]) -> bool:
    """Return whether a record, which someone may have edited, is a valid claim."""
    kinds = {name: type(value) for name, value in record.items()}
    return (
        all(kinds.get(name) is str for name in _TEXTS)
        and all(kinds.get(name) in {int, float} for name in _NUMBERS)
        and all(0 <= record[name] <= NEVER for name in _NUMBERS)
        and record["since"] <= _LATEST
        and kinds.get("token") is int
        and record["mode"] in MODES
    )
