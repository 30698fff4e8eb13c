"""Find what a command took away of people's uncommitted work after it ran, save it, and tell both sides."""

from __future__ import annotations

import os

from dibs.core.claims.ledger import Kind
from dibs.core.talk.mail import HUMANS, MailKind
from dibs.core.text.names import few, printable
from dibs.core.toolcalls.people import PERSON, of
from dibs.errors import DibsError
from dibs.git.refs import value_of
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.services.guard.before_call import STASH
from dibs.services.guard.people import KeptWork
from dibs.services.guard.saved_refs import save_staged, save_stash, stashes_in
from dibs.services.salvage.before_command import CommandCopies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.local.repository import Repository
    from dibs.services.guard.before_call import TreeSnapshot, TreeSnapshots
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
            f"{shown} with {copy.author or 'a person'}'s uncommitted changes changed while {agent} ran "
            "a command; the old content was saved",
            ref=copy.ref, paths=list(copy.paths[:20]), count=len(copy.paths),
        )  # fmt: skip
        what = f" {copy.what}" if copy.what else ""
        name = copy.ref.removeprefix("refs/salvage/")
        reason = f"Dibs saved a copy of the old{what} content: dibs salvage show {name}"
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
