"""What stands in git's trees and commits. Pure."""

from __future__ import annotations

import os

from dibs.core.values import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TREE = "40000"
FILE = "100644"
FILES = (FILE, "100755")


class Member(Record):
    """What a tree says of one name in it."""

    mode: str
    oid: str


def headers(commit: bytes, name: str) -> list[str]:
    """Return the values of a header of a commit."""
    lines = commit.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
    return [line[len(name) + 1 :] for line in lines if line.startswith(name + " ")]


def members_of(content: bytes, size: int) -> Iterator[tuple[str, Member]]:
    """Yield what is in a tree."""
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        mode, name = content[at:space].decode(), os.fsdecode(content[space + 1 : end])
        at = end + 1 + size
        yield name, Member(mode, content[end + 1 : at].hex())


def content_of(members: dict[str, Member]) -> bytes:
    """Return the content of a tree."""
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
