"""The plain queue of shell agents: files that are tasks, protected by claims.

A queued file is a row, and another row once it is done. On a branch shared with scripts these rows are files
that anyone can add and remove, so the board has no copy of them. The claim ``task:<name>`` excludes other
agents, and ``Taking`` hands the files out after the board's tasks, in order of name.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import EXCLUSIVE, Request, check_text
from dibs.core.tasks.names import ENDINGS, name_of, pack, task_of_file, task_pattern, unpack
from dibs.core.text.names import quote
from dibs.errors import BadInput, NotFound
from dibs.services.claims.acquire import SHOWN, survey
from dibs.services.claims.holdings import Holdings, give_back
from dibs.services.state.idempotency import once
from dibs.services.state.own_claims import own
from dibs.services.state.presence import arrive, expire
from dibs.services.state.task_index import finish_queue_file, put_queue_file, queue_files
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.services.claims.acquire import Survey
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

FREE, HELD, DONE = "free", "held", "done"
#: The largest file that can become a task, in bytes.
MAX_FILE = 256 * 1024


class QueuedFile(Record):
    """A queued file as a reader sees it."""

    name: str
    file: str
    state: str
    #: The agent that holds it; empty if it is unclaimed.
    holder: str = ""
    reason: str = ""
    since: float = 0.0
    expires_in: float = 0.0


class QueueFiles:
    """The queued files in one transaction; rows with an invalid file name are ignored."""

    def __init__(self, rows: Rows, *, fold_case: bool) -> None:
        self._rows = rows
        self._fold = fold_case

    def pattern(self, name: str) -> Pattern:
        """Return the pattern of a claim on the task."""
        return task_pattern(name, fold_case=self._fold)

    def find(self, name: str, *, done: bool = False) -> dict[str, str]:
        """Return the files of one task; names that differ only in case or ending are the same task."""
        key = self.pattern(name).key
        filed = self._filed(done=done)
        return {file: value for n, file, value in filed if self.pattern(n).key == key}

    def first(self, name: str) -> tuple[str, str]:
        """Return the name and the text of a task's file, pending or done; empty if there is none."""
        found = {**self.find(name, done=True), **self.find(name)}
        file, value = next(iter(found.items()), ("", ""))
        return file, unpack(value).decode("utf-8", "replace")

    def pending(self, agent: str) -> list[QueuedFile]:
        """Return the pending files, in order, each with the owner that blocks ``agent``."""
        return [self._state(name, file, self._around(name, agent)) for name, file in self._open()]

    def done(self) -> list[QueuedFile]:
        """Return the finished files."""
        return [QueuedFile(name, file, DONE) for name, file, _ in self._filed(done=True)]

    def expire(self, agent: str) -> None:
        """Remove every expired claim on them: scripts see lock files, not deadlines."""
        for name, _ in self._open():
            for key, claim in self._around(name, agent).dead.items():
                expire(self._rows, key, claim)

    def _open(self) -> list[tuple[str, str]]:
        done = {self.pattern(name).key for name, _, _ in self._filed(done=True)}
        filed = self._filed(done=False)
        return [(n, file) for n, file, _ in filed if self.pattern(n).key not in done]

    def _around(self, name: str, agent: str) -> Survey:
        return survey(self._rows, Request(agent, (self.pattern(name),), EXCLUSIVE, 0.0))

    def _state(self, name: str, file: str, around: Survey) -> QueuedFile:
        for _, claim in around.own.values():
            left = self._rows.deadline(claim) - self._rows.now
            return QueuedFile(name, file, HELD, claim.agent, claim.reason, claim.since, left)
        for found in around.conflicts:
            why = found.reason or ("waiting for it" if found.ticket else "")
            return QueuedFile(name, file, HELD, found.holder, why, found.since, found.expires_in)
        return QueuedFile(name, file, FREE)

    def _filed(self, *, done: bool) -> Iterator[tuple[str, str, str]]:
        for file, value in queue_files(self._rows, done=done):
            name = task_of_file(file, fold_case=self._fold)
            if name:
                yield name, file, value


class Queue:
    """The operations on the queue, except taking; each is one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._fold = store.fold_case

    def done(
        self, caller: Caller, name: str, *, token: int = 0, note: str = "", request_id: str = ""
    ) -> QueuedFile:
        """Finish a task that the caller holds: release its claim, and mark its file as done."""
        pattern = task_pattern(name, fold_case=self._fold)
        words = check_text(note, "note") if note else ""

        def finish(rows: Rows) -> list[Claim]:
            beat = arrive(rows, caller)
            filed = own(rows, caller.id, [pattern], token)
            files = self._files(rows).find(name)
            if not files:
                raise _no_task(name)
            for file, value in files.items():
                finish_queue_file(rows, file, value)
            task = task_of_file(next(iter(files)), fold_case=self._fold)
            summary = f"{caller.id} finished {task}" + (f": {words}" if words else "")
            details = {"task": task, "note": words} if words else {"task": task}
            rows.emit(caller.id, beat.role, Kind.TASK_COMPLETED, summary, **details)
            give_back(rows, caller.id, beat, filed)
            return [claim for _, claim in filed]

        def step(rows: Rows) -> QueuedFile:
            once(rows, caller.id, request_id, f"done\n{pattern.key}", lambda: finish(rows))
            # A repeated request may arrive after the file is gone.
            file = next(iter(self._files(rows).find(name, done=True)), "")
            spelled = task_of_file(file, fold_case=self._fold) or name_of(pattern)
            return QueuedFile(spelled, file, DONE, caller.id, words)

        return self._store.apply(step)

    def release(self, caller: Caller, name: str, *, token: int = 0) -> QueuedFile:
        """Release a task so that another agent can take it."""
        pattern = task_pattern(name, fold_case=self._fold)
        Holdings(self._store).release(caller, [pattern], token=token)
        file, _ = self._store.look(lambda rows: self._files(rows).first(name))
        return QueuedFile(name_of(pattern), file, FREE)

    def all(self) -> list[QueuedFile]:
        """Return the pending files in order, then the finished ones."""

        def step(rows: Rows) -> list[QueuedFile]:
            files = self._files(rows)
            return [*files.pending(""), *files.done()]

        return self._store.look(step)

    def add(self, caller: Caller, files: Mapping[str, bytes]) -> list[QueuedFile]:
        """Add files to the queue, all or nothing, without reading them."""
        names = {file: self._checked(file, content) for file, content in files.items()}

        def step(rows: Rows) -> list[QueuedFile]:
            beat = arrive(rows, caller)
            for file, name in names.items():
                for done, where in ((False, "in the queue"), (True, "done")):
                    if self._files(rows).find(name, done=done):
                        raise _exists(name, where)
                put_queue_file(rows, file, pack(files[file]))
            added = list(names.values())
            summary = f"{caller.id} added {', '.join(added[:5])}"
            rows.emit(caller.id, beat.role, Kind.TASK_ADDED, summary, tasks=added[:SHOWN])
            return [QueuedFile(name, file, FREE) for file, name in names.items()]

        return self._store.apply(step)

    def _files(self, rows: Rows) -> QueueFiles:
        return QueueFiles(rows, fold_case=self._fold)

    def _checked(self, file: str, content: bytes) -> str:
        """Return the name of a file's task; raise ``BadInput`` if the file cannot be a task."""
        name = task_of_file(file, fold_case=self._fold)
        if not name:
            raise BadInput(
                f"{quote(file)} cannot be a task file",
                code="TASK_FILE",
                field="file",
                hint=f"name it TASK with the ending {' or '.join(ENDINGS)}",
            )
        if len(content) > MAX_FILE:
            message = f"{quote(file)} has {len(content)} bytes: at most {MAX_FILE} are allowed"
            raise BadInput(message, code="LIMIT", field="file")
        return name


def _no_task(name: str) -> NotFound:
    return NotFound(
        f"task {quote(name)} is not in the queue, although you hold its claim",
        code="NO_TASK",
        hint=f"release the claim: dibs task release {name}",
    )


def _exists(name: str, where: str) -> BadInput:
    message = f"task {quote(name)} is already {where}"
    return BadInput(message, code="TASK_EXISTS", field="file", hint="rename the file")
