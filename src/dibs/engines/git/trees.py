"""What stands in git's trees and commits. Pure."""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TREE = "40000"
FILE = "100644"
FILES = (FILE, "100755")
LINK = "120000"


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
        # Never as the locale has it: all machines have to read and write the same names.
        name = content[space + 1 : end].decode("utf-8", "surrogateescape")
        mode = content[at:space].decode()
        at = end + 1 + size
        yield name, Member(mode, content[end + 1 : at].hex())


def is_text(name: str) -> bool:
    """Tell whether a name in a tree is UTF-8; all of ours are, and others are passed over."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def content_of(members: dict[str, Member]) -> bytes:
    """Return the content of a tree."""
    rows = []
    for name, member in members.items():
        raw = name.encode("utf-8", "surrogateescape")
        # git sorts a folder as if its name ended in a slash
        rows.append((raw + b"/" if member.mode == TREE else raw, raw, member))
    rows.sort()
    return b"".join(
        b"%s %s\0%s" % (member.mode.encode(), raw, bytes.fromhex(member.oid))
        for _, raw, member in rows
    )
