"""One process's hold on the state: how a step becomes a commit, and how the remote's commits come in."""

from __future__ import annotations

import contextlib
import json

from dibs.core.values import Record
from dibs.engines import git_files as files
from dibs.engines.git_cache import Cache, Head, Verdict
from dibs.engines.git_clock import observe, tick
from dibs.engines.git_commit import render_commit
from dibs.engines.git_objects import Objects
from dibs.engines.git_remote import Outcome
from dibs.engines.git_repo import REMOTE_REF, keep_lost, open_repo, read_ref, write_ref
from dibs.engines.git_run import TimedOut
from dibs.engines.git_txn import GitTxn, GitView
from dibs.errors import DibsError, Misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.engines.base import Txn
    from dibs.engines.clock import Sources
    from dibs.engines.git_files import Codec
    from dibs.engines.git_remote import Remote
    from dibs.engines.git_run import Git, Reader

    Renew = Callable[[Txn, str], None]

#: Numbers of a new life start above the next multiple of this.
LIFE = 1_000_000_000
#: Commits of this machine after which its repository is packed.
TIDY = 512


class Attempt(Record):
    """What a step came to, on a state that has yet to be shown to be the remote's."""

    answer: Any
    error: DibsError | None
    #: The commit that it was run on.
    base: str
    #: The commit that has to land for the answer to be true, as a number; 0: ``base`` is the remote's.
    number: int
    #: Reading before the newest answer of the remote that it was run after.
    asked: float
    wrote: bool = False


class Parts(Record):
    """What all links of one engine share."""

    state: str
    remote: Remote
    git: Git
    codec: Codec
    sources: Sources
    renew: Renew | None
    timeout: float


class Link:
    """A connection to this machine's shared state. One thread uses it at a time."""

    __slots__ = ("_parts", "_reader", "cache", "objects", "remote", "repo")

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._reader: Reader | None = None
        self.remote = parts.remote
        self.cache = Cache(parts.state, parts.timeout)
        self.repo = f"{parts.state}/repo"
        open_repo(self.repo, self.cache.head().algorithm)
        self.objects = Objects(self.cache, self.repo, self._packed)

    def close(self) -> None:
        """Give back everything."""
        self.rest()
        self.cache.close()

    def rest(self) -> None:
        """End what is only needed during a call."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _packed(self, oid: str) -> tuple[str, bytes] | None:
        if self._reader is None:
            self._reader = self._parts.git.start_reader()
        return self._reader.read(oid)

    def head(self) -> Head:
        """Return where this machine stands, now."""
        return tick(self.cache.head(), self._parts.sources)[0]

    def now_reading(self) -> float:
        """Return the machine's clock since boot."""
        return self._parts.sources.since_boot()

    # -- steps

    def attempt(self, step: Callable[[Txn], Any], deadline: float) -> Attempt:
        """Run ``step`` on the tip; if it writes, make the commit that is the tip from then on."""
        with self.cache.writing(deadline) as found:
            head, now = tick(found, self._parts.sources)
            self.objects.name_by(head.algorithm)
            base = Attempt(None, None, head.tip, head.pending, head.asked)
            txn = GitTxn(self.cache, now, head.newest)
            try:
                if head.broken and not head.pending:
                    head = self._begin_life(head, txn)
                answer = step(txn)
                changed = txn.files(self.cache, self._parts.codec)
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
        newest = max(head.newest, head.seen)
        txn.newest = newest + -newest % LIFE
        if self._parts.renew is not None:
            self._parts.renew(txn, head.broken)
        return head._replace(life=max(head.life, head.seen_life) + 1)

    def _commit(self, head: Head, txn: GitTxn, changed: dict[str, bytes | None]) -> int:
        standing = files.Standing(txn.newest, head.life, txn.now)
        changed[files.META] = files.render_standing(standing)
        number = self.cache.next_fate()
        root = self.objects.edit(head.root, changed, number)
        content = render_commit(root, head.tip, txn.told, self._parts.sources.wall())
        tip = self.objects.write("commit", content, number)
        self.cache.add_fate(number, tip)
        head = head._replace(tip=tip, root=root, pending=number, loose=head.loose + 1)
        self.cache.set_head(head._replace(newest=txn.newest, time=txn.now))
        return number

    def look_at(self, step: Callable[[Txn], Any]) -> Attempt:
        """Run ``step`` on a snapshot of the tip, without any lock."""
        with self.cache.reading() as found:
            head, now = tick(found, self._parts.sources)
            txn = GitView(self.cache, now, head.newest)
            try:
                answer, error = step(txn), None
            except DibsError as refusal:
                answer, error = None, refusal
            finally:
                txn.end()
            return Attempt(answer, error, head.tip, head.pending, head.asked)

    # -- the remote's commits

    def ask(self, deadline: float) -> None:
        """See where the remote is, and follow it; the caller has claimed the remote."""
        reading = self.now_reading()
        head = self.cache.head()
        if not head.met:
            self._agree(deadline)
            self.fetch(deadline)
        elif self.remote.look(deadline) == head.remote:
            self.adopt(head.remote, reading, deadline)
        else:
            self.fetch(deadline)

    def _agree(self, deadline: float) -> None:
        """Name objects as the remote does."""
        algorithm = self.remote.algorithm(deadline)
        with self.cache.writing(deadline) as head:
            if head.algorithm != algorithm:
                self.cache.set_head(head._replace(algorithm=algorithm))
                open_repo(self.repo, algorithm)

    def show_git(self, deadline: float) -> None:
        """Let git see what this machine has made."""
        with self.cache.writing(deadline) as head:
            self.objects.name_by(head.algorithm)
            self.objects.flush()
            if head.remote:
                write_ref(self.repo, REMOTE_REF, head.remote)

    def push(self, deadline: float) -> tuple[Head, str]:
        """Push the tip; return what was pushed, and how it went."""
        with self.cache.reading() as head:
            if not head.pending:
                return head, Outcome.LANDED
            pack = b""
            self.objects.name_by(head.algorithm)
            if self.remote.place.folder:
                pack = self.objects.pack_from(self.cache.first_pending())
        if pack:
            return head, self.remote.send(pack, head.tip, head.remote, deadline)
        self.show_git(deadline)
        return head, self.remote.push(head.tip, head.remote, deadline)

    def fetch(self, deadline: float) -> None:
        """Bring in what the remote has, and follow it; the caller has claimed the remote."""
        reading = self.now_reading()
        self.show_git(deadline)
        there = self.remote.fetch(REMOTE_REF, deadline)
        self.adopt(read_ref(self.repo, REMOTE_REF) if there else "", reading, deadline)

    def adopt(self, commit: str, reading: float, deadline: float) -> None:
        """Take ``commit`` for what the remote has, as asked at ``reading``."""
        head = self.cache.head()
        self.objects.name_by(head.algorithm)
        if commit != head.remote:
            passed, grown = self._since(head.remote, commit, deadline)
        with self.cache.writing(deadline) as found:
            head, now = tick(found, self._parts.sources)
            if commit != head.remote:
                head = self._follow(head, commit, set(passed), grown=grown)
            head = head._replace(asked=reading, known_at=now)
            self.cache.set_head(head)

    def _since(self, old: str, new: str, deadline: float) -> tuple[list[str], bool]:
        """Return the commits that are new, and whether the old one is still in the history."""
        if not new:
            return [], False
        passed = self.objects.between(new, old) if old else None
        if passed is not None:
            return passed, True
        git = self._parts.git
        known = [f"^{old}"] if old else []
        listed = git.run("rev-list", "--end-of-options", new, *known, deadline=deadline)
        grown = True
        if old:
            argv = ("merge-base", "--is-ancestor", old, new)
            grown = git.run(*argv, deadline=deadline).code == 0
        return listed.out.decode().split(), grown

    def _follow(self, head: Head, commit: str, passed: set[str], *, grown: bool) -> Head:
        """Move to another commit of the remote; what of ours is not in it is dropped."""
        ours = {oid for _, oid in self.cache.open_fates()}
        for number, oid in self.cache.open_fates():
            verdict = Verdict.LANDED if oid in passed else Verdict.DROPPED
            self.cache.decide_one(number, verdict)
        if passed - ours:
            head = head._replace(rival=self.now_reading())
        lost, had = head.remote, head
        head = self.move(head, commit)
        head = observe(head, head.time, self._parts.sources)
        head = head._replace(remote=commit, landed=head.newest)
        why = ""
        branch = self.remote.place.branch
        if lost and not commit:
            why = f"the branch {branch} was deleted"
        elif lost and not grown:
            why = f"the branch {branch} was forced back"
        elif head.newest < had.seen:
            why = f"the branch {branch} lost its newest numbers"
        if why and not (head.life > had.seen_life and head.newest > had.seen):
            if lost:
                keep_lost(self.repo, lost, int(self._parts.sources.wall()))
            return head._replace(broken=why)
        return self._seen(head)

    def _seen(self, head: Head) -> Head:
        return head._replace(
            broken="", seen=max(head.seen, head.newest), seen_life=max(head.seen_life, head.life)
        )

    def rebuild(self, deadline: float) -> bool:
        """Build rows and ledger anew from the repository; tell whether they had been wrong."""
        with self.cache.writing(deadline) as head:
            if head.pending:
                return False
            self.objects.name_by(head.algorithm)
            before = self.cache.content()
            self.cache.clear()
            found = self.move(head._replace(root="", newest=0, life=0, time=0.0), head.remote)
            self.cache.set_head(found)
            return before != self.cache.content()

    def move(self, head: Head, commit: str) -> Head:
        """Bring rows and ledger to the state of ``commit``."""
        root = self.objects.root_of(commit)
        folders = getattr(self._parts.codec, "folders", None)
        if folders is not None:
            folders = tuple({files.FOLDER, *folders})
        _, now = tick(head, self._parts.sources)
        standing = files.Standing(head.newest, head.life, head.time)
        for change in self.objects.changes(head.root, root, folders):
            content = self.objects.read(change.oid)[1] if change.oid else None
            if change.path == files.META:
                standing = files.parse_standing(content or b"")
            else:
                self._take_in(change.path, content, now)
        if standing.format > files.FORMAT:
            raise Misconfigured(
                f"the branch has format {standing.format}, this program knows {files.FORMAT}",
                code="VERSION",
                hint="update this program",
            )
        newest = max(standing.newest, self._highest())
        return head._replace(
            tip=commit, root=root, pending=0, newest=newest, life=standing.life, time=standing.time
        )

    def _take_in(self, path: str, content: bytes | None, now: float) -> None:
        if path.startswith(files.LEDGER):
            first = files.first_of(path)
            if first is not None:
                rows = list(files.parse_entries(path, content or b""))
                self.cache.set_entries(first, first + files.CHUNK, rows)
            return
        found = None if content is None else self._parts.codec.parse(path, content, now)
        self.cache.set_rows(path, found or {})

    def _highest(self) -> int:
        ((seq,),) = self.cache.run("SELECT coalesce(max(seq), 0) FROM ledger").fetchall()
        assert isinstance(seq, int)
        return seq

    def tidy(self, deadline: float) -> None:
        """Pack the repository now and then; the caller has claimed the remote."""
        with self.cache.writing(deadline) as head:
            if head.loose < TIDY:
                return
            self.objects.name_by(head.algorithm)
            self.objects.flush()
            self.objects.forget(head.root, self.cache.first_pending() or head.pending or 1 << 62)
            self.cache.set_head(head._replace(loose=0))
        with contextlib.suppress(TimedOut):
            self._parts.git.run(
                "-c", "gc.packRefs=false", "gc", "--quiet", "--prune=1.hour.ago", deadline=deadline
            )

    # -- what became of a push

    def landed(self, head_then: Head, reading: float, deadline: float) -> None:
        """Note that the tip of ``head_then`` is what the remote has."""
        with self.cache.writing(deadline) as found:
            head, now = tick(found, self._parts.sources)
            self.cache.decide(Verdict.LANDED, upto=head_then.pending)
            if head.pending == head_then.pending:
                head = head._replace(pending=0)
            head = head._replace(
                remote=head_then.tip, landed=head_then.newest, broken="", anchored=True,
                seen=max(head.seen, head_then.newest), asked=reading, known_at=now,
                seen_life=max(head.seen_life, head_then.life), won=self.now_reading(),
            )  # fmt: skip
            self.cache.set_head(head)

    def give_up(self, verdict: str, error: DibsError, deadline: float) -> None:
        """Go back to what the remote was last seen at; tell those who wait."""
        why = json.dumps([type(error).__name__, error.message, error.code, error.hint])
        with self.cache.writing(deadline) as found:
            head, _ = tick(found, self._parts.sources)
            self.cache.decide(verdict, why)
            head = self.move(head, head.remote)
            self.cache.set_head(head)
