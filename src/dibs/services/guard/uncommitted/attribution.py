"""Detect what a shell command changed: a snapshot before it runs, a comparison afterwards.

A change to a file that another agent holds is recorded in the ledger and reported to both agents, and the old
content is saved in a salvage ref. An unclaimed file is claimed for the writer, as by an edit.

The owner's own changes are not blamed on others: Dibs records what an agent's own calls wrote, and while the
owner has an open call, the report only says that the file changed.
"""

from __future__ import annotations

import contextlib
import time

from dibs.core.claims.coverage import Cover, OwnedPattern
from dibs.core.claims.ledger import Kind
from dibs.core.claims.plain_commits import pattern_of
from dibs.core.claims.rules import EXCLUSIVE, Request
from dibs.core.patterns.overlap import matches
from dibs.core.patterns.pattern import parse
from dibs.core.text.names import few, printable
from dibs.errors import DibsError
from dibs.local.branches import checked_branches
from dibs.local.own_writes import stat_of
from dibs.services.claims.views import held_in
from dibs.services.guard.uncommitted.before_call import (
    ENDED,
    STAGED,
    STASH,
    TreeSnapshot,
    TreeSnapshots,
)
from dibs.services.guard.uncommitted.foreign import ForeignChange, tell_foreign
from dibs.services.guard.uncommitted.hidden_files import HiddenFiles, read_status
from dibs.services.salvage.before_command import CommandCopies
from dibs.services.state.sessions import session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.core.toolcalls.policy import GuardPolicy
    from dibs.local.own_writes import Stat
    from dibs.local.repository import Repository
    from dibs.services.guard.uncommitted.hidden_files import TreeStatus
    from dibs.services.guard.uncommitted.people import OthersWork
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: More new files than this are a program's output, not an edit.
MOST_CLAIMED = 50


class Attribution:
    """Detects what shell commands changed in one working tree."""

    def __init__(
        self, store: Store, repository: Repository, policy: GuardPolicy | None = None
    ) -> None:
        self._store = store
        self._repository = repository
        self._policy = policy
        self._marks = TreeSnapshots(repository)
        self._copies = CommandCopies(repository.root, self._marks.folder)

    def mark(
        self,
        agent: str,
        call: str = "",
        work: OthersWork | None = None,
        *,
        saved: Sequence[str] = (),
        named: Sequence[str] = (),
    ) -> None:
        """Take a snapshot of the tree before an agent's command runs.

        ``work`` are the changes of people in it, ``saved`` the files of which a copy was saved, and ``named``
        the patterns that the command shows it writes.
        """
        if not self._repository.common:
            return
        began = time.time()
        now, claims = self.claims()
        others = [held for held in claims if held.claim.agent != agent]
        hidden = HiddenFiles(self._repository, self._marks, others)
        look = work or read_status(self._repository, ignored=bool(hidden))
        dirty = None if look is None else look.dirty
        theirs = {} if work is None else work.files
        cover = Cover(others)
        paths = {held.pattern.path.removeprefix("./") for held in others if held.pattern.literal}
        paths.update(dirty or (), theirs)
        paths.update(hidden.ignored(look.ignored if look else ()), hidden.marked_unchanged())
        root = self._repository.root
        stats = {path: stat_of(root, path) for path in sorted(paths)}
        # Include files that git reports as unchanged: they may be ignored or marked assume-unchanged.
        at_stake = {
            path: about
            for path, about in stats.items()
            if about and (path in theirs or any(cover.of(path)))
        }
        head = look.head if look else ""
        with contextlib.suppress(OSError):  # a full disk must not block the command
            blobs = self._copied(at_stake)
            mark = TreeSnapshot(
                agent, call, now, stats, blobs, dirty is not None, named=tuple(named), head=head,
                branches=checked_branches(self._repository), began=began,
            )  # fmt: skip
            self._marks.put(mark if work is None else self._with_work(mark, work, saved))

    def _copied(self, files: dict[str, list[int]]) -> dict[str, str]:
        """Copy files, unless there is a copy of their state already; return the digests."""
        known = self._marks.cached()
        blobs = self._copies.add(files, known)
        made = {path: [files[path], digest] for path, digest in blobs.items()}
        if any(known.get(path) != row for path, row in made.items()):
            self._marks.cache({**known, **made})
        return blobs

    def _with_work(
        self, mark: TreeSnapshot, work: OthersWork, saved: Sequence[str]
    ) -> TreeSnapshot:
        from dibs.services.guard.uncommitted.saved_refs import stashes_in
        from dibs.services.guard.uncommitted.taken_work import pin

        staged = {path: one for path, one in work.staged.items() if f"{STAGED}{path}" not in saved}
        pin(self._repository, self._marks, [name for _, name in staged.values()])
        own = self._marks.own(mark.agent)
        stashes = [
            name for name in stashes_in(self._repository.common) if f"{STASH}{name}" not in own
        ]
        return mark._replace(
            others=work.files, staged=staged, saved=tuple(saved), stashes=tuple(stashes)
        )

    def found(self, agent: str, *, ended: bool = False) -> list[ForeignChange]:
        """Report foreign changes since the agent's snapshots and return them; claim unclaimed files.

        A call whose end was not reported may still run, unless the agent has ``ended`` its turn: it gets a
        new snapshot. A snapshot is deleted last, so that a hook that runs out of time loses nothing.
        """
        found: list[ForeignChange] = []
        for name in self._marks.left(agent):
            mark = self._marks.read(name)
            found += self._both(mark) if mark is not None else []
            if mark is None or ended or name.endswith(ENDED):
                self._marks.drop(name)
            else:
                self.mark(agent, mark.call, self._work(agent), saved=mark.saved, named=mark.named)
        return found

    def _work(self, agent: str) -> OthersWork | None:
        """Return the changes of people; None if git is slow."""
        from dibs.services.guard.uncommitted.people import PeoplesWork

        with contextlib.suppress(OSError, DibsError):
            return PeoplesWork(self._store, self._repository).look(agent, self.claims()[1])
        return None

    def _both(self, mark: TreeSnapshot) -> list[ForeignChange]:
        """Return what changed in the working tree and on branches."""
        from dibs.services.guard.uncommitted.moved_branches import MovedBranches

        found = self._since(mark)
        moved = MovedBranches(self._store, self._repository, mark)
        return [*found, *moved.report({(one.path, one.holder) for one in found})]

    def _since(self, mark: TreeSnapshot) -> list[ForeignChange]:
        """Detect, report, and claim what changed since a snapshot."""
        agent = mark.agent
        now, claims = self.claims()
        hidden = HiddenFiles(
            self._repository, self._marks, [held for held in claims if held.claim.agent != agent]
        )
        look = read_status(self._repository, ignored=bool(hidden))
        dirty = None if look is None else look.dirty
        changes = self._changes(mark, look, hidden)
        taken = self._taken(mark, changes)
        if not changes:
            return taken
        cover = Cover(claims)
        owners = {path: cover.holder(path) for path in changes}
        owners = {p: h for p, h in owners.items() if not h or not self._brought_in(p, h, dirty)}
        lost = {one.path for one in taken}
        own = [p for p, holder in owners.items() if holder in {agent, ""} and p not in lost]
        self._marks.note_own(agent, self._made(mark, own, dirty or {}), now)
        theirs = self._marks.writers(changes, besides=agent)
        # A subagent may write under its parent's claims.
        known = self._store.look(lambda rows: rows.agent(agent))
        mine = {agent, "", known.parent if known is not None else ""}
        running = set(self._marks.running())
        foreign = [
            ForeignChange(
                path, holder, sure=holder not in running and not self._may_have(holder, mark, now)
            )
            for path, holder in owners.items()
            if holder not in mine and path not in theirs
        ]
        moved = bool(mark.head) and look is not None and look.head != mark.head
        foreign = self._told(agent, mark, foreign, moved=moved)
        if running <= {agent}:
            free = [path for path, holder in owners.items() if not holder and path not in theirs]
            self._take(agent, free)
        return [*foreign, *taken]

    def _taken(self, mark: TreeSnapshot, changes: Sequence[str]) -> list[ForeignChange]:
        """Report what a command took away of people's work; note the agent's own stashes."""
        if not self._repository.common:
            return []
        from dibs.services.guard.uncommitted.saved_refs import stashes_in
        from dibs.services.guard.uncommitted.taken_work import report_taken

        if mark.stashes is not None:
            now = stashes_in(self._repository.common)
            own = [f"{STASH}{name}" for name in now if name not in mark.stashes]
            self._marks.note_own(mark.agent, own, mark.at)
        copies = report_taken(self._store, self._marks, self._repository, mark, changes)
        return [ForeignChange(path, one.author, one.ref) for one in copies for path in one.paths]

    def _made(
        self, mark: TreeSnapshot, paths: Sequence[str], dirty: Mapping[str, bool]
    ) -> list[str]:
        """Return the files that a command certainly wrote: it names them, or they are new.

        A person may have edited any other file while the command ran.
        """
        fold = self._store.fold_case
        named = [parse(text, fold_case=fold) for text in mark.named]
        return [
            path
            for path in paths
            if (dirty.get(path) and path not in mark.stats)
            or any(matches(pattern, f"./{path}") for pattern in named)
        ]

    # -- what changed

    def _brought_in(self, path: str, holder: str, dirty: Mapping[str, bool] | None) -> bool:
        """Return whether git checked the file out from a commit while its owner works in another tree."""
        if dirty is None or path in dirty:
            return False
        root = self._repository.root
        found = self._store.look(lambda rows: session_of(rows, holder))
        return found is not None and not found[1].works_in(root)

    def _changes(
        self, mark: TreeSnapshot, look: TreeStatus | None, hidden: HiddenFiles
    ) -> list[str]:
        """Return the files whose content differs from the snapshot."""
        root = self._repository.root
        found = [path for path, before in mark.stats.items() if stat_of(root, path) != before]
        if mark.known and look is not None:
            new = [*look.dirty, *hidden.ignored(look.ignored)]
            new += hidden.committed(mark.head, look.head) + hidden.newly_marked(mark.stats)
            found += [path for path in dict.fromkeys(new) if path not in mark.stats]
        touched = [p for p in found if _mode(mark.stats.get(p)) == _mode(stat_of(root, p))]
        same = self._copies.unchanged(touched, mark.blobs)
        return [path for path in found if path not in same]

    def claims(self) -> tuple[float, list[OwnedPattern]]:
        """Return the time, and all exclusive claims on paths."""

        def step(rows: Rows) -> tuple[float, list[OwnedPattern]]:
            held = [
                OwnedPattern(h.claim, rows.pattern(h.claim.pattern), h.expires_in)
                for h in held_in(rows)
            ]
            return rows.now, [h for h in held if not h.pattern.scheme and h.claim.mode == EXCLUSIVE]

        return self._store.look(step)

    def _may_have(self, holder: str, mark: TreeSnapshot, now: float) -> bool:
        """Return whether the owner, which has no call open, may have changed its file during a call."""
        noted = self._marks.last_noted(holder)
        seen = self._store.look(lambda rows: rows.active(holder))
        # A call during the call that is newer than the owner's recorded writes.
        return mark.at <= seen <= now and seen > noted

    # -- reports and claims

    def _told(
        self, agent: str, mark: TreeSnapshot, foreign: Sequence[ForeignChange], *, moved: bool
    ) -> list[ForeignChange]:
        """Save the old content; report to the ledger and both agents. ``moved`` says whether HEAD moved."""
        found: list[ForeignChange] = []
        for holder in dict.fromkeys(one.holder for one in foreign):
            theirs = [one for one in foreign if one.holder == holder]
            paths = [one.path for one in theirs]
            about = f"{few(paths)} before {agent} ran a command"
            old = {
                p: (_mode(mark.stats.get(p)) or 0, mark.blobs[p]) for p in paths if p in mark.blobs
            }
            if moved:
                old |= self._committed(mark, paths)
            saved = self._copies.save(self._repository, holder, old, at=mark.at, about=about)
            ref = saved.name
            kept = [
                one._replace(salvage=ref)
                if one.path in old and one.path not in saved.missing
                else one._replace(lost=mark.stats.get(one.path) is not None)
                for one in theirs
            ]
            self._store.apply(lambda rows, kept=kept, ref=ref: tell_foreign(rows, agent, kept, ref))  # type: ignore[misc]
            self._marks.note_own(holder, paths, mark.at)  # the owner knows
            found += kept
        return found

    def _committed(self, mark: TreeSnapshot, paths: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Return copies of files that were unchanged from the commit that was checked out before."""
        clean = [path for path in paths if path not in mark.stats]
        with contextlib.suppress(OSError, DibsError):
            return self._copies.add_committed(mark.head, clean) if clean else {}
        return {}

    def _take(self, agent: str, paths: Sequence[str]) -> None:
        """Claim unclaimed files for the agent whose command wrote them."""
        config = self._store.config
        if config.guard_auto_claim == "off" or not paths or len(paths) > MOST_CLAIMED:
            return
        policy = self._policy
        wanted = [path for path in paths if policy is None or policy.fate(path) == "claim"]

        def step(rows: Rows) -> None:
            taken = [path for path in wanted if _claim(rows, self._store, agent, path)]
            if taken:
                shown = printable(few(taken))
                rows.emit(
                    agent, "agent", Kind.FILE_EDIT, f"{agent} wrote {shown} with a command",
                    paths=taken[:20], count=len(taken),
                )  # fmt: skip

        if wanted:
            self._store.apply(step)


def _claim(rows: Rows, store: Store, agent: str, path: str) -> bool:
    from dibs.core.claims.rules import Denied, Queued
    from dibs.services.claims.acquire import attempt

    beat = rows.beat(agent)
    if beat is None:
        return False
    pattern = pattern_of(path, fold_case=store.fold_case)
    ttl = max(store.config.ttl, store.engine.shortest_ttl)
    request = Request(agent, (pattern,), EXCLUSIVE, ttl)
    outcome = attempt(rows, request, beat, max_hold=store.config.max_hold, waiting=None)
    if isinstance(outcome, Denied | Queued):
        return False
    from dibs.services.state.ownership import mail_left, take_over

    mail_left(rows, agent, take_over(rows, agent, (pattern,)))
    return True


def _mode(about: Stat) -> int | None:
    return about[3] if about else None
