"""Temporary git objects in a private folder; they disappear with the folder."""

from __future__ import annotations

import os
import stat
import zlib

from dibs.core.changes.forecasts import above
from dibs.errors import Unavailable
from dibs.git.batch_process import BatchProcess
from dibs.git.objects import (
    GONE,
    LINK,
    TREE,
    TreeEntry,
    content_of,
    headers,
    members_of,
    names_of,
    read_loose,
    write_loose,
)
from dibs.git.snapshot import quarantined
from dibs.local.files import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from dibs.git.attributes import Conversions
    from dibs.git.calls import GitCalls

#: Temporary objects need not survive a power failure, and are read again soon.
QUICK = ("-c", "core.fsync=none", "-c", "core.looseCompression=1")
#: Larger changed files are skipped, because reading them takes too long; in bytes.
LARGEST = 16 << 20
_WHO = "dibs <dibs@localhost> 0 +0000"
#: The most trees cached.
_TREES = 4_096


class TempObjects:
    """The objects of a repository, plus temporary ones."""

    def __init__(self, git: GitCalls, common: str, folder: str) -> None:
        self.variables = quarantined(common, folder)
        self._git = git
        self._folder = folder
        self._folders = (folder, os.path.join(common, "objects"))
        self._reader = BatchProcess(git, "cat-file", "--batch", "-z", variables=self.variables)
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self._roots: dict[str, str] = {}

    def close(self) -> None:
        """End the reader process."""
        self._reader.close()

    def read(self, oid: str) -> tuple[str, bytes] | None:
        """Return the kind and the content of an object, or None."""
        for folder in self._folders:
            try:
                return read_loose(folder, oid)
            except (OSError, zlib.error):
                continue  # it is in a pack, or git will report the error
        self._reader.ask(oid.encode() + b"\0")
        words = self._reader.until(b"\n").split(b" ")
        if not words[-1].isdigit():
            return None
        content = self._reader.exactly(int(words[-1]))
        self._reader.exactly(1)
        return words[1].decode(), content

    def foresee(self, wanted: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Load the folders of these paths in one git call, instead of one by one."""
        names: dict[bytes, str] = {}
        for head, paths in wanted:
            if head not in self._roots:
                names[f"{head}^{{tree}}".encode()] = head
                folders = {folder for path in paths for folder in above(path)}
                names |= dict.fromkeys((os.fsencode(f"{head}:{f}") for f in folders), "")
        if not names:
            return
        output = self._git.must(
            "cat-file", "--batch", "-z", given=b"\0".join(names) + b"\0", variables=self.variables
        )
        at = 0
        for name, head in names.items():
            if output.startswith(name + b" missing\n", at):
                at += len(name) + len(b" missing\n")
                continue
            end = output.index(b"\n", at)
            oid, kind, size = output[at:end].decode().split(" ")
            at = end + 1 + int(size) + 1
            if kind == "tree":
                self._trees[oid] = members_of(output[end + 1 : at - 1], len(oid) // 2)
            if head:
                self._roots[head] = oid

    def write(self, kind: str, content: bytes, like: str) -> str:
        """Write an object, and return its name, with the length of ``like``."""
        return write_loose(self._folder, kind, content, like)

    def commit(self, head: str, entries: Mapping[str, TreeEntry]) -> str:
        """Return a commit on top of ``head`` with ``entries`` changed; the same for the same input."""
        plan: _Plan = {}
        for path, entry in entries.items():
            *folders, name = names_of(path)
            level = plan
            for folder in folders:
                level = level.setdefault(folder, (None, {}))[1]
            level[name] = (entry, level.get(name, (None, {}))[1])
        tree = self._overlay(self._root(head), plan, head) or self.write("tree", b"", head)
        text = f"tree {tree}\nparent {head}\nauthor {_WHO}\ncommitter {_WHO}\n\nas it lies\n"
        return self.write("commit", text.encode(), head)

    def at(self, head: str, path: str) -> TreeEntry:
        """Return what a commit has at a path; cache the folders on the way."""
        return self.within(self._root(head), path)

    def within(self, tree: str, path: str) -> TreeEntry:
        """Return what a tree has at a path."""
        found = TreeEntry(TREE, tree)
        for name in names_of(path):
            if found.mode != TREE or not found.oid:
                return GONE
            found = self._tree(found.oid).get(name, GONE)
        return found

    def _root(self, head: str) -> str:
        known = self._roots.get(head)
        if known is None:
            found = self.read(head)
            known = "" if found is None else headers(found[1], "tree")[0]
            self._roots[head] = known
        return known

    def _overlay(self, tree: str, plan: _Plan, like: str) -> str:
        """Write the folder ``tree`` as changed by ``plan``; return an empty text if it becomes empty."""
        members = dict(self._tree(tree)) if tree else {}
        for name, (entry, below) in plan.items():
            old = members.pop(name, None)
            is_folder = old is not None and old.mode == TREE
            inside = old.oid if old is not None and is_folder else ""
            if below:
                inside = self._overlay(inside, below, like)
            if entry is not None and entry.mode:
                # A file has replaced the folder and everything below it.
                members[name] = TreeEntry(TREE, inside) if below and inside else entry
            elif inside:
                members[name] = TreeEntry(TREE, inside)
            elif entry is None and old is not None and not is_folder:
                members[name] = old
        return self.write("tree", content_of(members), like) if members else ""

    def _tree(self, oid: str) -> dict[str, TreeEntry]:
        known = self._trees.get(oid)
        if known is None:
            found = self.read(oid)
            if found is None or found[0] != "tree":
                raise Unavailable(f"the tree {oid} is missing in the repository", code="GIT_FAILED")
            known = members_of(found[1], len(oid) // 2)
            if len(self._trees) >= _TREES:
                self._trees.clear()
                self._roots.clear()
            self._trees[oid] = known
        return known


#: The changes to the names in a folder: to the name itself, if any, and to what is below it.
_Plan = dict[str, tuple[TreeEntry | None, "_Plan"]]


class Filler:
    """Stores changed files of one working tree as objects, converted as git would."""

    def __init__(self, git: GitCalls, scratch: TempObjects, conversions: Conversions) -> None:
        self._git = git
        self._scratch = scratch
        self._conversions = conversions
        self._hasher = BatchProcess(
            git, *QUICK, "-c", "core.safecrlf=false", "hash-object", "-w", "--stdin-paths",
            variables=scratch.variables,
        )  # fmt: skip

    def close(self) -> None:
        """End the reader process."""
        self._hasher.close()

    def fill(self, entries: dict[str, TreeEntry], like: str) -> list[tuple[str, str]]:
        """Add object names to ``entries``; remove unreadable ones, and return them with the reason."""
        left = []
        gone = {path for path, entry in entries.items() if not entry.mode}
        for path, entry in list(entries.items()):
            if not entry.mode or entry.oid:
                continue
            why, oid = self._filled(path, entry, like, gone)
            if oid:
                entries[path] = entry._replace(oid=oid)
            elif why:
                left.append((path, why))
                del entries[path]
            else:
                entries[path] = GONE
        return left

    def _filled(
        self, path: str, entry: TreeEntry, like: str, gone: Container[str]
    ) -> tuple[str, str]:
        """Return why a file is skipped, or its object, or neither if it was deleted."""
        place = os.path.join(self._git.tree, path)
        try:
            if entry.mode == LINK:
                return "", self._scratch.write("blob", os.fsencode(os.readlink(place)), like)
            status = os.lstat(place)
        except OSError:
            status = None
        if status is None or not stat.S_ISREG(status.st_mode):
            return "", ""
        if status.st_size > LARGEST:
            return f"larger than {LARGEST >> 20} MiB", ""
        if not os.access(place, os.R_OK):
            return "unreadable", ""
        return self._taken(path, like, gone)

    def _taken(self, path: str, like: str, gone: Container[str]) -> tuple[str, str]:
        """Return the object of a readable file; use git only if git might convert it."""
        try:
            if self._conversions.leaves(self._git.tree, path, gone):
                content = read_file(os.path.join(self._git.tree, path))
                return "", self._scratch.write("blob", content, like)
            self._hasher.ask(_quoted(os.fsencode(path)) + b"\n")
            return "", self._hasher.until(b"\n").decode()
        except (Unavailable, OSError):  # it changed meanwhile; the next file gets a new process
            return "unreadable", ""


def _quoted(path: bytes) -> bytes:
    """Quote a path so that it fits on one line."""
    if not path.startswith(b'"') and b"\n" not in path and b"\r" not in path:
        return path
    plain = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + plain + b'"'
