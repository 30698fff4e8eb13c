"""Packs of git objects: built in memory, and written with their index. Pure but for the writing."""

from __future__ import annotations

import struct
import zlib

from dibs.local.files import write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    #: Name, kind, size and compressed content of an object.
    Row = tuple[Any, ...]

_KINDS = {"commit": 1, "tree": 2, "blob": 3}


def pack(
    rows: Sequence[Row], new_hash: Callable[..., Any]
) -> tuple[bytes, list[tuple[str, int, int]]]:
    """Return a pack, and the name, checksum and place in it of each object."""
    parts = [struct.pack(">4sII", b"PACK", 2, len(rows))]
    places = []
    at = len(parts[0])
    for oid, kind, size, content in rows:
        data = _header(_KINDS[kind], size) + content
        places.append((oid, zlib.crc32(data), at))
        parts.append(data)
        at += len(data)
    body = b"".join(parts)
    return body + new_hash(body).digest(), places


def write(folder: str, rows: Sequence[Row], new_hash: Callable[..., Any]) -> None:
    """Write a pack and its index into ``folder``; git sees the pack when the index is there."""
    data, places = pack(rows, new_hash)
    places.sort()
    checksum = data[-new_hash().digest_size :]
    index = _index(places, checksum)
    name = f"{folder}/pack-{checksum.hex()}"
    write_file(f"{name}.pack", data)
    write_file(f"{name}.idx", index + new_hash(index).digest())


def _header(kind: int, size: int) -> bytes:
    byte = kind << 4 | size & 15
    size >>= 4
    found = bytearray()
    while size:
        found.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    found.append(byte)
    return bytes(found)


def _index(places: list[tuple[str, int, int]], checksum: bytes) -> bytes:
    names = [bytes.fromhex(oid) for oid, _, _ in places]
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    total, fan = 0, []
    for count in counts:
        total += count
        fan.append(total)
    size = len(places)
    return b"".join(
        (
            b"\377tOc\0\0\0\2",
            struct.pack(">256I", *fan),
            *names,
            struct.pack(f">{size}I", *(checksum for _, checksum, _ in places)),
            struct.pack(f">{size}I", *(at for _, _, at in places)),
            checksum,
        )
    )
