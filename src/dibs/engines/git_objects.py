"""Git objects without git: reading and writing them in our private repository.

A transaction writes a handful of small objects. Starting a git process costs more than all of them, so they
are written here, as loose objects. What is packed is read through one ``git cat-file``.
"""

from __future__ import annotations

import hashlib
import os
import zlib

from dibs.core.values import Record
from dibs.errors import Misconfigured, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    #: Reads an object that is packed: its kind and content; None if it is not there.
    Packed = Callable[[str], tuple[str, bytes] | None]

TREE = "40000"
FILE = "100644"
_FILES = (FILE, "100755")
#: Commits to walk through, looking for an ancestor.
_FAR = 200


class Member(Record):
    """What a tree says of one name in it."""

    mode: str
    oid: str


class Change(Record):
    """How one file differs between two trees; no ``oid`` if it is gone."""

    path: str
    oid: str


class Objects:
    """The objects of one repository."""

    __slots__ = ("_folder", "_hash", "_packed", "_trees")

    def __init__(self, repo: str, algorithm: str, packed: Packed) -> None:
        self._folder = f"{repo}/objects"
        self._hash = getattr(hashlib, algorithm)
        self._packed = packed
        self._trees: dict[str, dict[str, Member]] = {}

    def write(self, kind: str, content: bytes) -> str:
        """Write an object, unless it is there, and return its name."""
        data = b"%s %d\0%s" % (kind.encode(), len(content), content)
        oid = str(self._hash(data).hexdigest())
        path = f"{self._folder}/{oid[:2]}/{oid[2:]}"
        if not os.path.exists(path):
            _write_new(path, zlib.compress(data, 1))
        return oid

    def read(self, oid: str) -> tuple[str, bytes]:
        """Return the kind and the content of an object."""
        try:
            with open(f"{self._folder}/{oid[:2]}/{oid[2:]}", "rb") as file:
                data = zlib.decompress(file.read())
        except FileNotFoundError:
            found = self._packed(oid)
            if found is None:
                raise damaged(self._folder, oid) from None
            return found
        except (OSError, zlib.error) as error:
            raise damaged(self._folder, oid) from error
        head, _, content = data.partition(b"\0")
        return head.split(b" ", 1)[0].decode(), content

    # -- commits

    def root_of(self, commit: str) -> str:
        """Return the tree of a commit; no commit has no tree."""
        return _headers(self.read(commit)[1], "tree")[0] if commit else ""

    def between(self, commit: str, older: str) -> list[str] | None:
        """Return the commits from ``commit`` down to ``older``, without it.

        None if ``older`` is not met in a straight and short walk; then git has to be asked.
        """
        passed: list[str] = []
        while commit != older:
            passed.append(commit)
            parents = _headers(self.read(commit)[1], "parent")
            if len(parents) != 1 or len(passed) > _FAR:
                return None
            commit = parents[0]
        return passed

    # -- trees

    def tree(self, oid: str) -> dict[str, Member]:
        """Return what is in a tree; no tree has nothing in it."""
        if not oid:
            return {}
        found = self._trees.get(oid)
        if found is None:
            found = dict(_members(self.read(oid)[1], self._hash().digest_size))
            if len(self._trees) > 4096:  # noqa: PLR2004 - a bound, no more
                self._trees.clear()
            self._trees[oid] = found
        return found

    def edit(self, root: str, changes: Mapping[str, bytes | None]) -> str:
        """Return a tree like ``root`` with files set to new contents, or removed."""
        plan: dict[str, object] = {}
        for path, content in changes.items():
            at = plan
            *folders, name = path.split("/")
            for folder in folders:
                at = at.setdefault(folder, {})  # type: ignore[assignment]
            at[name] = None if content is None else self.write("blob", content)
        return self._edit(root, plan, "") or self.write("tree", b"")

    def _edit(self, oid: str, plan: dict[str, object], where: str) -> str:
        members = dict(self.tree(oid))
        for name, wanted in plan.items():
            before = members.get(name)
            if isinstance(wanted, dict):
                if before is not None and before.mode != TREE:
                    raise Misconfigured(
                        f"{where}{name} is a file on the branch, where a folder of ours has to be",
                        code="REMOTE_TREE",
                        hint="remove it from the branch, or name another branch",
                    )
                below = self._edit(before.oid if before else "", wanted, f"{where}{name}/")
                wanted = Member(TREE, below) if below else None
            elif isinstance(wanted, str):
                wanted = Member(FILE, wanted)
            if wanted is None:
                members.pop(name, None)
            else:
                members[name] = wanted
        if not members:
            return ""
        written = self.write("tree", _content(members))
        self._trees[written] = members
        return written

    def changes(self, old: str, new: str, folders: tuple[str, ...] | None) -> Iterator[Change]:
        """Yield the files that differ between two trees; at the top only those in ``folders``."""
        before, after = self.tree(old), self.tree(new)
        for name in sorted(before.keys() | after.keys()):
            if folders is None or name in folders:
                yield from self._changed(name, before.get(name), after.get(name))

    def _changed(self, path: str, old: Member | None, new: Member | None) -> Iterator[Change]:
        if old == new:
            return
        below_old = old.oid if old and old.mode == TREE else ""
        below_new = new.oid if new and new.mode == TREE else ""
        if old and old.mode in _FILES and not (new and new.mode in _FILES):
            yield Change(path, "")
        if new and new.mode in _FILES and not (old and old.mode in _FILES and old.oid == new.oid):
            yield Change(path, new.oid)
        if below_old != below_new:
            before, after = self.tree(below_old), self.tree(below_new)
            for name in sorted(before.keys() | after.keys()):
                yield from self._changed(f"{path}/{name}", before.get(name), after.get(name))


def damaged(where: str, oid: str) -> Unavailable:
    """Return the error for an object that cannot be read."""
    return Unavailable(
        f"the git object {oid} cannot be read in {where}",
        code="STORE_DAMAGED",
        hint="dibs engine repair fetches it anew",
    )


def _write_new(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    with open(handle, "wb") as file:
        file.write(data)
    os.replace(temporary, path)


def _headers(commit: bytes, name: str) -> list[str]:
    lines = commit.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
    return [line[len(name) + 1 :] for line in lines if line.startswith(name + " ")]


def _members(content: bytes, size: int) -> Iterator[tuple[str, Member]]:
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        mode, name = content[at:space].decode(), os.fsdecode(content[space + 1 : end])
        at = end + 1 + size
        yield name, Member(mode, content[end + 1 : at].hex())


def _content(members: dict[str, Member]) -> bytes:
    rows = []
    for name, member in members.items():
        raw = os.fsencode(name)
        # git sorts a folder as if its name ended in a slash
        rows.append((raw + b"/" if member.mode == TREE else raw, raw, member))
    rows.sort()
    return b"".join(
        b"%s %s\0%s" % (member.mode.encode(), raw, bytes.fromhex(member.oid))
        for _, raw, member in rows
    )
