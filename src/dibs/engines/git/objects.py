"""Reading and writing git objects without git.

A transaction creates a dozen small objects. Starting a git process, or creating a dozen files,
would cost more than all of them, so new objects go into the shared SQLite file, in the transaction
that needs them. They are moved to our private repository when git itself must see them. Fetched
objects are read from loose files, or from packs through one ``git cat-file``.
"""

from __future__ import annotations

import hashlib
import os
import zlib

from dibs.engines.git.errors import start_again
from dibs.engines.git.files import FOLDER
from dibs.errors import Misconfigured, Unavailable
from dibs.git.objects import (
    FILE,
    FILES,
    TREE,
    TreeEntry,
    content_of,
    framed,
    headers,
    members_of,
    read_loose,
    write_loose,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from dibs.engines.git.cache import Cache

    #: What happens to the names in a folder: a blob, nothing, or a plan for its contents.
    Plan = dict[str, "str | Plan | None"]
    #: Reads a packed object: its kind and content, or None if it does not exist.
    Packed = Callable[[str], tuple[str, bytes] | None]

_ADD = "INSERT INTO object(oid, kind, size, content, n, packed) VALUES (?, ?, ?, ?, ?, ?)"
_READ = "SELECT kind, content FROM object WHERE oid = ?"
#: The length of an object's name in a tree, in bytes.
_DIGEST = 20
_UNSEEN = "SELECT oid, kind, content FROM object WHERE NOT packed"


class FileDifference(Record):
    """A file that differs between two trees; without ``oid`` if it was removed."""

    path: str
    oid: str


class Objects:
    """The objects on this machine."""

    __slots__ = ("_cache", "_folder", "_packed", "_trees")

    def __init__(self, cache: Cache, repo: str, packed: Packed) -> None:
        self._cache = cache
        self._folder = f"{repo}/objects"
        self._packed = packed
        self._trees: dict[str, dict[str, TreeEntry]] = {}

    def write(self, kind: str, content: bytes, number: int) -> str:
        """Write an object of the commit with this number, and return its id."""
        oid = hashlib.sha1(framed(kind, content), usedforsecurity=False).hexdigest()
        row = (oid, kind, len(content), zlib.compress(content, 1), number, 0)
        # An object that was written before may have been dropped since, so it belongs to this commit too.
        self._cache.run(f"{_ADD} ON CONFLICT(oid) DO UPDATE SET n = excluded.n, packed = 0", row)
        return oid

    def read(self, oid: str) -> tuple[str, bytes]:
        """Return the kind and the content of an object."""
        for kind, content in self._cache.run(_READ, (oid,)).fetchall():
            assert isinstance(content, bytes)
            return str(kind), zlib.decompress(content)
        try:
            return read_loose(self._folder, oid)
        except FileNotFoundError:
            found = self._packed(oid)
            if found is None:
                raise damaged(self._folder, oid) from None
            return found
        except (OSError, zlib.error) as error:
            raise damaged(self._folder, oid) from error

    def flush(self) -> None:
        """Write new objects to the repository for git to see; the caller is the machine's only writer."""
        rows: list[Any] = self._cache.run(_UNSEEN).fetchall()
        for oid, kind, content in rows:
            write_loose(self._folder, kind, zlib.decompress(content), oid)
        if rows:
            self._cache.run("UPDATE object SET packed = 1 WHERE NOT packed")

    def forget(self, root: str, before: int) -> None:
        """Drop objects that are also in the repository, except trees that the next commit will need."""
        wanted = self._trees_in(root)
        rows = self._cache.run(
            "SELECT oid FROM object WHERE packed AND n < ?", (before,)
        ).fetchall()
        for (oid,) in rows:
            if oid not in wanted:
                self._cache.run("DELETE FROM object WHERE oid = ?", (oid,))

    def _trees_in(self, oid: str) -> set[str]:
        found = {oid}
        for member in self.tree(oid).values():
            if member.mode == TREE:
                found |= self._trees_in(member.oid)
        return found

    # -- commits

    def root_of(self, commit: str) -> str:
        """Return the tree of a commit; an empty text for no commit."""
        return headers(self.read(commit)[1], "tree")[0] if commit else ""

    # -- trees

    def tree(self, oid: str) -> dict[str, TreeEntry]:
        """Return the entries of a tree; none for an empty id."""
        if not oid:
            return {}
        found = self._trees.get(oid)
        if found is None:
            content = self.read(oid)[1]
            found = members_of(content, _DIGEST)
            if self._cache.db.in_transaction:  # so that the next process finds it without git
                row = (oid, "tree", len(content), zlib.compress(content, 1), 0, 1)
                self._cache.run(f"{_ADD} ON CONFLICT(oid) DO NOTHING", row)
            if len(self._trees) > 4096:  # noqa: PLR2004 - a bound, no more
                self._trees.clear()
            self._trees[oid] = found
        return found

    def edit(self, root: str, changes: Mapping[str, bytes | None], number: int) -> str:
        """Return a tree like ``root`` with some files changed or removed."""
        plan: Plan = {}
        for path, content in changes.items():
            at = plan
            *folders, name = path.split("/")
            for folder in folders:
                at = at.setdefault(folder, {})  # type: ignore[assignment]
            at[name] = None if content is None else self.write("blob", content, number)
        return self._edit(root, plan, number, "") or self.write("tree", b"", number)

    def _edit(self, oid: str, plan: Plan, number: int, where: str) -> str:
        members = dict(self.tree(oid))
        for name, wanted in plan.items():
            before = members.pop(name, None)
            is_folder = isinstance(wanted, dict)
            if before and not is_folder and before.mode not in FILES:
                raise _in_the_way(where + name, "not a plain file", "file")
            if isinstance(wanted, str):
                members[name] = TreeEntry(FILE, wanted)
            elif wanted is not None:
                if before is not None and before.mode != TREE:
                    raise _in_the_way(where + name, "a file", "folder")
                below = self._edit(before.oid if before else "", wanted, number, f"{where}{name}/")
                if below:
                    members[name] = TreeEntry(TREE, below)
        if not members:
            return ""
        written = self.write("tree", content_of(members), number)
        self._trees[written] = members
        return written

    def changes(self, old: str, new: str) -> Iterator[FileDifference]:
        """Yield the files of ours that differ between two trees."""
        yield from self._changed(FOLDER, self.tree(old).get(FOLDER), self.tree(new).get(FOLDER))

    def _changed(
        self, path: str, old: TreeEntry | None, new: TreeEntry | None
    ) -> Iterator[FileDifference]:
        if old == new or not _is_text(path):
            return
        below_old = old.oid if old and old.mode == TREE else ""
        below_new = new.oid if new and new.mode == TREE else ""
        file_old = old.oid if old and old.mode in FILES else ""
        file_new = new.oid if new and new.mode in FILES else ""
        if file_old != file_new:
            yield FileDifference(path, file_new)
        if below_old != below_new:
            before, after = self.tree(below_old), self.tree(below_new)
            for name in sorted(before.keys() | after.keys()):
                yield from self._changed(f"{path}/{name}", before.get(name), after.get(name))


def _is_text(name: str) -> bool:
    """Return whether a name in a tree is UTF-8, as all of ours are; others are skipped."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def damaged(where: str, oid: str) -> Unavailable:
    """Return the error for an unreadable object."""
    return Unavailable(
        f"cannot read git object {oid} in {where}",
        code="STORE_DAMAGED",
        hint=start_again(os.path.dirname(os.path.dirname(where))),
    )


def _in_the_way(path: str, found: str, wanted: str) -> Misconfigured:
    return Misconfigured(
        f"{path} on the branch is {found}, but Dibs needs a {wanted} there",
        code="REMOTE_TREE",
        hint="remove it from the branch, or set another branch under [git]",
    )
