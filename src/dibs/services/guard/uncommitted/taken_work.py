"""Find what a command took away of people's uncommitted work after it ran, save it, and tell both sides."""

from __future__ import annotations

import os

from dibs.core.claims.coverage import Cover
from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind
from dibs.core.text.names import few, printable
from dibs.core.toolcalls.people import PERSON, of
from dibs.errors import DibsError
from dibs.git.refs import value_of
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.local.own_writes import stat_of
from dibs.services.guard.uncommitted.before_call import STASH, TreeSnapshots
from dibs.services.guard.uncommitted.differing import differing
from dibs.services.guard.uncommitted.people import KeptWork
from dibs.services.guard.uncommitted.saved_refs import save_staged, save_stash, stashes_in
from dibs.services.salvage.before_command import CommandCopies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.local.repository import Repository
    from dibs.services.guard.uncommitted.attribution import Attribution
    from dibs.services.guard.uncommitted.before_call import TreeSnapshot
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: Refs that keep the objects of a snapshot while a command runs: it may delete unreachable objects.
_PINS = "refs/dibs/copies/"


def report_taken(
    store: Store,
    marks: TreeSnapshots,
    repository: Repository,
    mark: TreeSnapshot,
    changes: Iterable[str],
) -> list[KeptWork]:
    """Save and report what changed of others' uncommitted work; return the copies."""
    paths = [path for path in changes if path in mark.others and path not in mark.saved]
    copies = []
    for author in dict.fromkeys(mark.others[path] for path in paths):
        theirs = [path for path in paths if mark.others[path] == author]
        about = f"uncommitted changes to {few(theirs)} before a command of {mark.agent}"
        old = {path: (mark.stats[path], mark.blobs.get(path, "")) for path in theirs}
        files = {path: (stat[3], digest) for path, (stat, digest) in old.items() if stat and digest}
        saved = CommandCopies(repository.root, marks.folder).save(
            repository, author or PERSON, files, at=mark.at, about=about
        )
        if saved.id:
            copies.append(KeptWork(author, tuple(files), saved.name))
    copies += _staged(repository, mark)
    copies += _stashed(repository, mark)
    if copies:
        store.apply(lambda rows: _tell(rows, mark.agent, copies))
    return copies


def _staged(repository: Repository, mark: TreeSnapshot) -> list[KeptWork]:
    """Save what was staged, where neither the index nor the last commit has it anymore."""
    if not mark.staged:
        return []
    try:
        git = guarded_calls(repository.root, repository)
        now = {change.path: change for change in changed(git, *mark.staged)}
        gone = {}
        for path, (mode, name) in mark.staged.items():
            known = now.get(path)
            there = {known.index_oid, known.head_oid} if known else {value_of(git, f"HEAD:{path}")}
            if name not in there:
                gone[path] = (mode, name)
    except (DibsError, OSError):
        gone = {path: (mode, name) for path, (mode, name) in mark.staged.items()}
    return save_staged(repository, repository.root, mark.agent, gone, mark.at)


def _stashed(repository: Repository, mark: TreeSnapshot) -> list[KeptWork]:
    """Save stashes that are gone, unless the agent made or applied them."""
    if not mark.stashes or STASH in mark.saved:
        return []
    left = set(stashes_in(repository.common))
    gone = [name for name in mark.stashes if name not in left]
    found = [save_stash(repository, mark.agent, name, mark.at) for name in gone]
    return [copy for copy in found if copy is not None]


def _tell(rows: Rows, agent: str, copies: Sequence[KeptWork]) -> None:
    """Write ledger entries, and notify the agent and the authors."""
    from dibs.services.state.mailbox import tell

    for copy in copies:
        shown = printable(few(list(copy.paths)))
        rows.emit(
            agent, "agent", Kind.WORK_SALVAGED,
            f"{shown}, with {copy.author or 'a person'}'s uncommitted changes, changed while {agent} ran "
            "a command; the old content was saved",
            ref=copy.ref, paths=list(copy.paths[:20]), count=len(copy.paths),
        )  # fmt: skip
        what = f" {copy.what}" if copy.what else ""
        name = copy.ref.removeprefix("refs/salvage/")
        reason = f"Dibs saved a copy of the old{what} content: `dibs salvage show {name}`"
        boxes = ((agent, copy.author, "taker"), (copy.author or HUMANS, agent, "author"))
        for box, sender, told in boxes:
            tell(
                rows, box, MailKind.FOREIGN_WRITE, copy.paths, sender=sender, told=told, sure=False,
                salvage=copy.ref, reason=reason, whose=of(copy.author),
            )  # fmt: skip


def pin(repository: Repository, marks: TreeSnapshots, names: Iterable[str]) -> None:
    """Let a ref reach the objects of a snapshot, so that no `git gc` in a command deletes them."""
    wanted = sorted(set(names))
    if not wanted or wanted == marks.pinned():
        return
    tree = os.path.basename(marks.folder)
    rows = b"".join(f"100644 blob {name}\t{name}\0".encode() for name in wanted)
    try:
        git = guarded_calls(repository.root, repository, timeout=1.0)
        made = git.must("mktree", "-z", "--missing", given=rows).decode().strip()
        git.must("update-ref", f"{_PINS}{tree}", made)
    except (DibsError, OSError):
        return
    marks.pin(wanted)


# -- an agent's changes that someone discarded outside its calls


def report_undone(
    store: Store, repository: Repository, agent: str, attribution: Attribution
) -> bool:
    """Notify an agent of its files that lost their uncommitted changes; return whether there are any."""
    root, marks = repository.root, TreeSnapshots(repository)
    own = {p: v[0] for p, v in marks.own(agent).items() if v[0] and not p.startswith(STASH)}
    moved = [path for path, about in own.items() if stat_of(root, path) != about]
    if not moved or agent in set(marks.running()) or not marks.is_news(agent, moved):
        return False
    now, claims = attribution.claims()
    cover = Cover(held for held in claims if held.claim.agent == agent)
    held = [path for path in moved if any(cover.of(path))]
    there = [path for path in held if os.path.lexists(os.path.join(root, path))]
    changed = differing(root, there) if there else []
    gone = [path for path in held if path not in changed]
    if not gone:
        return False
    where = _where(repository, agent, gone, marks, own, now)
    marks.note_own(agent, gone, now)

    def step(rows: Rows) -> None:
        from dibs.services.state.mailbox import tell

        shown = printable(few(gone))
        summary = f"{agent}'s uncommitted changes to {shown} were discarded outside its calls"
        rows.emit(agent, "agent", Kind.PROGRESS_UPDATE, summary, paths=gone[:20], count=len(gone))
        tell(
            rows, agent, MailKind.FOREIGN_WRITE, tuple(gone), sender="", told="undone", sure=True,
            reason=where,
        )  # fmt: skip

    store.apply(step)
    return True


def _where(
    repository: Repository,
    agent: str,
    paths: Sequence[str],
    marks: TreeSnapshots,
    own: dict[str, list[int]],
    now: float,
) -> str:
    """Return where the discarded content is, as far as that is known."""
    found = []
    stash = next(iter(stashes_in(repository.common)), "")
    if stash and _has(repository, stash, paths[0]):
        found.append("git stash list shows them")
    cached = marks.cached()
    files = {p: (own[p][3], cached[p][1]) for p in paths if p in cached and cached[p][0] == own[p]}
    if files:
        about = f"uncommitted changes to {few(list(files))} that someone discarded"
        copies = CommandCopies(repository.root, marks.folder)
        saved = copies.save(repository, agent, files, at=now, about=about)
        found += [f"dibs salvage show {saved.id}"] if saved.id else []
    return "; ".join(found) or "Dibs has no copy of them"


def _has(repository: Repository, stash: str, path: str) -> bool:
    """Return whether a stash changes a file."""
    try:
        git = guarded_calls(repository.root, repository)
        return value_of(git, f"{stash}:{path}") != value_of(git, f"{stash}^1:{path}")
    except (DibsError, OSError):
        return False
