"""This machine's copy of the state: building it, and turning a step into a commit."""

from __future__ import annotations

import time

from dibs.engines.git import errors, files
from dibs.engines.git.cache import Cache
from dibs.engines.git.head import tick
from dibs.engines.git.objects import Objects
from dibs.engines.git.repo import open_repo
from dibs.engines.git.txn import GitTxn, GitView, render_commit
from dibs.engines.shared.format import FORMAT, other_format
from dibs.engines.shared.mark import start_of_life
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.git.batch_process import BatchProcess
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.engines.base import Txn
    from dibs.engines.git.head import Head
    from dibs.engines.git.remote import Remote
    from dibs.engines.git.repo import EngineGit
    from dibs.engines.shared.clock import Sources

    Renew = Callable[[Txn, str], None]

#: The layout of rows.
_ROWS = files.RowFiles()


class StepResult(Record):
    """The result of a step on a state that is not confirmed as the remote's yet."""

    answer: Any
    error: DibsError | None
    #: The commit that it ran on.
    base: str
    #: The number of the commit that must land for the result to be valid; 0 if only ``base`` must
    #: be the remote's.
    number: int
    #: Clock reading before the remote's latest response that preceded the run.
    asked: float
    wrote: bool = False

    def told(self) -> Any:
        """Return the step's result, or raise its exception."""
        if self.error is not None:
            raise self.error
        return self.answer


class Parts(Record):
    """What all connections of one engine share."""

    state: str
    remote: Remote
    git: EngineGit
    sources: Sources
    renew: Renew | None
    timeout: float


class SharedCopy:
    """A connection to what this machine's processes share. One thread uses it at a time."""

    __slots__ = ("_parts", "_reader", "cache", "objects", "repo")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._reader = BatchProcess(parts.git, "cat-file", "--batch")
        self.cache = Cache(parts.state, parts.timeout)
        self.repo = f"{parts.state}/repo"
        open_repo(self.repo)
        self.objects = Objects(self.cache, self.repo, self._packed)

    def close(self) -> None:
        """Release all resources."""
        self.rest()
        self.cache.close()

    def rest(self) -> None:
        """Release what is only needed during a call."""
        self._reader.close()

    def _packed(self, oid: str) -> tuple[str, bytes] | None:
        deadline = time.monotonic() + self._parts.git.timeout
        try:
            self._reader.ask(oid.encode() + b"\n")
            _, kind, *size = self._reader.until(b"\n").decode().split(" ")
            if not size:  # it prints "missing"
                return None
            return kind, self._reader.exactly(int(size[0]) + 1)[:-1]
        except Unavailable:
            if time.monotonic() >= deadline:
                raise errors.too_slow(self.repo) from None
            return None

    def head(self) -> Head:
        """Return what this machine knows about the remote now."""
        return tick(self.cache.head(), self._parts.sources)[0]

    def now_reading(self) -> float:
        """Return the machine's monotonic clock."""
        return self._parts.sources.since_boot()

    # -- steps

    def attempt(self, step: Callable[[Txn], Any], deadline: float) -> StepResult:
        """Run ``step`` on the tip; if it writes, make its commit the new tip."""
        with self.cache.writing(deadline) as found:
            head, now = tick(found, self._parts.sources)
            base = StepResult(None, None, head.tip, head.pending, head.asked)
            txn = GitTxn(self.cache, now, head.newest)
            try:
                if head.broken and not head.pending:
                    head = self._begin_life(head, txn)
                answer = step(txn)
                changed = txn.files(self.cache, _ROWS)
            except DibsError as error:
                self.cache.undo()
                return base._replace(error=error)
            finally:
                txn.end()
            if not changed and head.life == found.life:
                self.cache.undo()
                return base._replace(answer=answer)
            number = self._commit(head, txn, changed)
            return base._replace(answer=answer, number=number, wrote=True)

    def _begin_life(self, head: Head, txn: GitTxn) -> Head:
        txn.newest = start_of_life(max(head.newest, head.seen))
        if self._parts.renew is not None:
            self._parts.renew(txn, head.broken)
        return head._replace(life=max(head.life, head.seen_life) + 1)

    def _commit(self, head: Head, txn: GitTxn, changed: dict[str, bytes | None]) -> int:
        standing = files.BranchMeta(txn.newest, head.life, txn.now)
        changed[files.META] = files.render_standing(standing)
        number = self.cache.next_fate()
        root = self.objects.edit(head.root, changed, number)
        content = render_commit(root, head.tip, txn.told, self._parts.sources.wall())
        tip = self.objects.write("commit", content, number)
        self.cache.add_fate(number, tip)
        head = head._replace(tip=tip, root=root, pending=number, loose=head.loose + 1)
        self.cache.set_head(head._replace(newest=txn.newest, time=txn.now))
        return number

    def look_at(self, step: Callable[[Txn], Any]) -> StepResult:
        """Run ``step`` on a snapshot of the tip, without locks."""
        with self.cache.reading() as found:
            head, now = tick(found, self._parts.sources)
            txn = GitView(self.cache, now, head.newest)
            try:
                answer, error = step(txn), None
            except DibsError as refusal:
                answer, error = None, refusal
            finally:
                txn.end()
            return StepResult(answer, error, head.tip, head.pending, head.asked)

    # -- the copy itself

    def move(self, head: Head, commit: str) -> Head:
        """Update rows and ledger to the state of ``commit``."""
        root = self.objects.root_of(commit)
        standing = files.BranchMeta(head.newest, head.life, head.time)
        for change in self.objects.changes(head.root, root):
            content = self.objects.read(change.oid)[1] if change.oid else None
            if change.path == files.META:
                standing = files.BranchMeta() if content is None else _standing(content)
            else:
                self._take_in(change.path, content)
        newest = max(standing.newest, self._highest())
        return head._replace(
            tip=commit, root=root, pending=0, newest=newest, life=standing.life, time=standing.time
        )

    def _take_in(self, path: str, content: bytes | None) -> None:
        if path.startswith(files.LEDGER):
            first = files.first_of(path)
            if first is not None:
                rows = list(files.parse_entries(path, content or b""))
                self.cache.set_entries(first, first + files.CHUNK, rows)
            return
        found = None if content is None else _ROWS.parse(path, content)
        self.cache.set_rows(path, found or {})

    def _highest(self) -> int:
        ((seq,),) = self.cache.run("SELECT coalesce(max(seq), 0) FROM ledger").fetchall()
        assert isinstance(seq, int)
        return seq


def _standing(content: bytes) -> files.BranchMeta:
    standing = files.parse_standing(content)
    if standing is None:
        raise Misconfigured(
            f"{files.META} on the branch is damaged",
            code="REMOTE_META",
            hint="find the commit that changed it with `git log` and revert it",
        )
    if standing.format != FORMAT:
        raise other_format("the branch", standing.format)
    return standing
