"""Read and write git objects without a git process, and parse trees and commits."""

from __future__ import annotations

import os

from dibs.local.files import read_file
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TREE = "40000"
FILE = "100644"
FILES = (FILE, "100755")
LINK = "120000"
SUBMODULE = "160000"
#: The mode of a missing path.
ABSENT = "000000"
_SHA1 = 40


class TreeEntry(Record):
    """What a tree has at a path. No ``mode``: nothing. No ``oid``: the file on disk must be read."""

    mode: str = ""
    oid: str = ""


GONE = TreeEntry()


def framed(kind: str, content: bytes) -> bytes:
    """Return an object as git hashes and stores it."""
    return b"%s %d\0%s" % (kind.encode(), len(content), content)


def write_loose(folder: str, kind: str, content: bytes, like: str) -> str:
    """Write an object to the object store ``folder`` and return its name, with the length of ``like``."""
    import hashlib
    import zlib

    from dibs.local.files import write_file

    data = framed(kind, content)
    oid = str((hashlib.sha1 if len(like) == _SHA1 else hashlib.sha256)(data).hexdigest())
    place = os.path.join(folder, oid[:2])
    path = os.path.join(place, oid[2:])
    if not os.path.exists(path):
        os.makedirs(place, exist_ok=True)
        write_file(path, zlib.compress(data, 1))
    return oid


def read_loose(folder: str, oid: str, most: int = 0) -> tuple[str, bytes]:
    """Return the kind and content of a loose object, or its first ``most`` bytes.

    Raises ``OSError`` or ``zlib.error``.
    """
    import zlib

    packed = read_file(f"{folder}/{oid[:2]}/{oid[2:]}")
    whole = zlib.decompressobj().decompress(packed, most) if most else zlib.decompress(packed)
    head, _, content = whole.partition(b"\0")
    return head.split(b" ", 1)[0].decode(), content


def headers(commit: bytes, name: str) -> list[str]:
    """Return the values of a header of a commit."""
    lines = commit.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
    return [line[len(name) + 1 :] for line in lines if line.startswith(name + " ")]


def names_of(path: str) -> list[str]:
    """Split a path on disk into names, spelled as ``members_of`` spells them."""
    return os.fsencode(path).decode("utf-8", "surrogateescape").split("/")


def members_of(content: bytes, size: int) -> dict[str, TreeEntry]:
    """Parse a tree; ``size`` is the number of bytes in an object's name."""
    members, at = {}, 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        # Independent of the locale: all machines must read and write the same names.
        name = content[space + 1 : end].decode("utf-8", "surrogateescape")
        mode = content[at:space].decode()
        at = end + 1 + size
        members[name] = TreeEntry(mode, content[end + 1 : at].hex())
    return members


def content_of(members: Mapping[str, TreeEntry]) -> bytes:
    """Return the content of a tree; git sorts a folder as if its name ended in a slash."""
    rows = []
    for name, member in members.items():
        raw = name.encode("utf-8", "surrogateescape")
        rows.append((raw + b"/" if member.mode == TREE else raw, raw, member))
    rows.sort()
    return b"".join(
        b"%s %s\0%s" % (member.mode.encode(), raw, bytes.fromhex(member.oid))
        for _, raw, member in rows
    )
