"""List, show, and restore saved work: commits under ``refs/salvage/``, and ignored files next to them."""

from __future__ import annotations

import os
import tempfile

from dibs.core.text.names import check_branch, quote
from dibs.errors import BadInput, NotFound
from dibs.git.refs import HEADS, commit_of
from dibs.git.snapshot import write_exact
from dibs.git.state import read_state
from dibs.git.trees import TreeChange, differences
from dibs.local.paths import cannot_hold
from dibs.services.salvage.private import (
    PrivateEntry,
    private_entries,
    private_entry,
    write_private,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.git.calls import GitCalls

REFS, SUBJECT = "refs/salvage/", "salvage: "
#: The author of saved commits, and the start of the message of one that stores exact bytes.
NAME, EXACT = "Dibs", "bytes of "


class Salvaged(Record):
    """An entry of salvaged work."""

    id: str
    commit: str
    #: When it was saved, in seconds of Unix time.
    at: int
    subject: str
    #: The folder with its ignored files; empty if it has none.
    folder: str = ""

    @property
    def ref(self) -> str:
        """The full name of its ref; empty if it contains only ignored files."""
        return REFS + self.id if self.commit else ""


class SalvageView(Record):
    """Salvaged work in detail."""

    found: Salvaged
    message: str
    head: str
    #: How it differs from the commit that was checked out.
    changes: list[TreeChange]
    #: Its ignored files.
    ignored: PrivateEntry | None = None


def listed(git: GitCalls) -> list[Salvaged]:
    """Return all salvaged work, newest first."""
    out = git.must(
        "for-each-ref", "--sort=-creatordate",
        "--format=%(refname)%00%(objectname)%00%(creatordate:unix)%00%(contents:subject)%00%00", REFS,
    )  # fmt: skip
    ignored = {entry.id: entry for entry in private_entries(read_state(git).common)}
    found = []
    for record in out.split(b"\0\0"):
        words = os.fsdecode(record).strip("\n").split("\0")
        if len(words) == 4:  # noqa: PLR2004 - the fields of the format
            ref, commit, at, subject = words
            name = ref.removeprefix(REFS)
            folder = ignored.pop(name).folder if name in ignored else ""
            found.append(Salvaged(name, commit, int(at or 0), subject, folder))
    found += [Salvaged(e.id, "", e.at, e.subject, e.folder) for e in ignored.values()]
    return sorted(found, key=lambda one: -one.at)


def find(git: GitCalls, name: str) -> Salvaged:
    """Return salvaged work by its ID, or by its agent if that has only one entry."""
    wanted = name.removeprefix(REFS)
    every = listed(git)
    found = [s for s in every if s.id == wanted] or [
        s for s in every if s.id.startswith(f"{wanted}/")
    ]
    if len(found) == 1:
        return found[0]
    several = f"{quote(name)} has {len(found)} salvage entries; name one by its ID"
    raise NotFound(
        several if found else f"no salvaged work named {quote(name)}",
        code="NO_SALVAGE",
        hint="`dibs salvage ls` lists the IDs",
    )


def show(git: GitCalls, name: str) -> SalvageView:
    """Return salvaged work in detail."""
    found = find(git, name)
    ignored = private_entry(read_state(git).common, found.id) if found.folder else None
    if not found.commit:
        return SalvageView(found, found.subject, "", [], ignored)
    message = git.must(
        "log", "-1", "--no-show-signature", "--format=%B", "--end-of-options", found.commit, "--"
    )
    head = commit_of(git, f"{found.commit}^1")
    changes = differences(git, head, found.commit)
    return SalvageView(found, message.decode("utf-8", "replace").strip(), head, changes, ignored)


def restore_branch(git: GitCalls, name: str, branch: str = "") -> tuple[Salvaged, str]:
    """Create a branch from the commit that was checked out, plus one commit with the salvaged files."""
    from dibs.services.salvage.save import write_commit

    found = find(git, name)
    if not found.commit:
        raise BadInput(
            f"{found.id} contains only ignored files, which do not belong on a branch",
            field="branch",
            hint=f"restore them to a new folder: dibs salvage restore {found.id} --to DIR",
        )  # fmt: skip
    # Not salvage/…, which git would confuse with the ref of the same name under refs/.
    wanted = check_branch(branch or f"salvaged/{found.id}")
    head = commit_of(git, f"{found.commit}^1")
    commit = write_commit(git, f"{found.commit}^{{tree}}", [head] if head else [], found.subject)
    given = f"create {HEADS}{wanted}\0{commit}\0".encode()
    result = git.run("update-ref", "--stdin", "-z", given=given)
    if result.code:
        there = commit_of(git, HEADS + wanted)
        why = "already exists" if there else f"cannot be created: {result.err}"
        raise BadInput(
            f"branch {wanted} {why}", code="BRANCH_EXISTS", field="branch",
            hint="choose another name with --branch",
        )  # fmt: skip
    return found, wanted


def restore_folder(git: GitCalls, name: str, folder: str) -> tuple[Salvaged, str]:
    """Write the salvaged files to a new folder, changed ones with their exact bytes."""
    found = find(git, name)
    place = os.path.realpath(folder)
    if why := cannot_hold(place, os.path.realpath(read_state(git).common)):
        raise BadInput(f"{quote(folder)} {why}", code="WORKTREE_FOLDER", field="to")
    if os.path.lexists(place) and (not os.path.isdir(place) or os.listdir(place)):
        raise BadInput(
            f"{quote(folder)} exists and is not empty", code="FOLDER_EXISTS", field="to",
            hint="choose a new folder",
        )  # fmt: skip
    os.makedirs(place, exist_ok=True)
    if found.commit:
        _check_out(git, found.commit, place)
    ignored = private_entry(read_state(git).common, found.id)
    if ignored is not None:
        write_private(ignored, place)
    return found, place


def _check_out(git: GitCalls, commit: str, place: str) -> None:
    """Write the files of a saved commit, changed ones with their exact bytes."""
    with tempfile.TemporaryDirectory(prefix="dibs-restore-") as scratch:
        index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        git.must("read-tree", "--end-of-options", commit, variables=index)
        git.must("checkout-index", "--all", f"--prefix={place}/", variables=index)
    write_exact(git, place, _bytes_of(git, commit))


def _bytes_of(git: GitCalls, commit: str) -> dict[str, str]:
    """Return the object with the exact bytes of each changed file."""
    output = git.must("rev-list", "--parents", "-1", "--end-of-options", commit, "--")
    parents = output.decode().split()[1:4]
    head = parents[0] if parents else ""
    stored = {c.path: c.new_oid for c in differences(git, head, commit) if c.is_file}
    for parent in parents[1:]:
        output = git.must(
            "log", "-1", "--no-show-signature", "--format=%cn: %s", "--end-of-options", parent, "--"
        )
        if output.decode("utf-8", "replace").startswith(f"{NAME}: {EXACT}"):
            exact = {c.path: c.new_oid for c in differences(git, "", parent)}
            stored = {path: exact.get(path, oid) for path, oid in stored.items()}
    return stored


class Salvage:
    """The salvaged work of one clone; ``calls`` runs git in its main tree."""

    def __init__(self, calls: Callable[[], GitCalls]) -> None:
        #: Runs git in the main working tree.
        self.calls = calls

    def all(self) -> list[Salvaged]:
        """Return all salvaged work, newest first."""
        return listed(self.calls())

    def show(self, name: str) -> SalvageView:
        """Return an entry in detail."""
        return show(self.calls(), name)

    def to_branch(self, name: str, branch: str = "") -> tuple[Salvaged, str]:
        """Restore an entry as a new branch."""
        return restore_branch(self.calls(), name, branch)

    def to_folder(self, name: str, folder: str) -> tuple[Salvaged, str]:
        """Restore an entry as a new folder."""
        return restore_folder(self.calls(), name, folder)
