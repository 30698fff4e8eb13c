"""The state as files on a branch: which file contains a row, and its format. Pure functions.

All of our files are under ``dibs/``: ``meta.json`` describes the state, ``ledger/`` contains the
ledger in files of 64 entries, and everything else is rows, laid out by ``RowFiles``. Other files
are left alone, so a branch may contain some.
"""

from __future__ import annotations

import json
from hashlib import sha256

from dibs.core.claims.ledger import UNREADABLE
from dibs.engines.shared.format import FORMAT
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


FOLDER = "dibs"
META = "dibs/meta.json"
LEDGER = "dibs/ledger/"
#: Entries per ledger file.
CHUNK = 64
#: The extension of row files, so that ``a`` and ``a/b`` can both be rows.
ROW = ".row"

_TEXTS = ("agent", "role", "kind", "summary")
_EMPTY = "-"
_MARK = ","
#: The start of the key of a file that should name its key and does not.
_DAMAGED = "damaged/"
#: Precedes a digest; escaped elsewhere.
_SHORT = "~"
#: The start of the first line of a file whose path contains a digest.
_KEY = "key: "
#: Lengths in bytes of a name and of a path that every file system accepts, and of what is kept of a
#: longer name.
_LONGEST_NAME, _LONGEST_PATH, _READABLE = 200, 1000, 100
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class RowFiles:
    """The plain layout: each row is a file whose path is the key.

    Everything after the first ``//`` of a key becomes part of the file name, with commas for
    slashes, because every folder costs an object in every commit: ``at/src/a.py//bob/c12`` is
    stored in ``dibs/at/src/a.py,,bob,c12.row``. An empty segment before that becomes ``-``.
    Characters that git or a file system cannot handle are escaped as in a URL. A name that is too
    long ends in ``~`` and a digest, and the file then starts with the key.
    """

    def path_of(self, key: str) -> str:
        """Return the path of the file that contains the row ``key``."""
        return _fitting(key, self._plain_path(key))

    def _plain_path(self, key: str) -> str:
        place, mark, tail = key.partition("//")
        *folders, name = place.split("/")
        parts = [_folder(part) for part in folders]
        if parts and parts[0] in ("ledger", "meta.json"):
            parts[0] = f"%{ord(parts[0][0]):02X}{parts[0][1:]}"  # those names are reserved
        names = [name, "", *tail.split("/")] if mark else [name]
        return "/".join([FOLDER, *parts, _MARK.join(map(_name, names)) + ROW])

    def parse(self, path: str, content: bytes) -> dict[str, str] | None:
        """Return the row of a file; None for a name that we would not write.

        Content that we would not write is a damaged row: it must not look as if nothing were there.
        """
        if not path.endswith(ROW) or not path.startswith(FOLDER + "/"):
            return None
        text = content.decode("utf-8", "backslashreplace")
        damaged = text.encode() != content or not text.endswith("\n")
        key, value = f"{_DAMAGED}{path}", text
        try:
            if _SHORT not in path:
                key = _key_of(path)
            elif not damaged:
                key, value = _split_key(text)
            key.encode()  # fails for a lone surrogate, which no store can contain
        except ValueError:
            if _SHORT not in path:
                return None
            damaged = True
        if not key.startswith(_DAMAGED) and path != self.path_of(key):
            return None
        return {key: UNREADABLE + text if damaged else value[:-1]}

    def render(self, path: str, rows: Mapping[str, str]) -> bytes:
        """Return the value of the only row."""
        ((key, value),) = rows.items()
        first = f"{_KEY}{json.dumps(key)}\n" if _SHORT in path else ""
        return f"{first}{value}\n".encode()


class BranchMeta(Record):
    """The content of ``meta.json`` in a commit."""

    #: The newest number in the ledger.
    newest: int = 0
    #: The life of the store.
    life: int = 0
    #: The writer's engine time; 0 if no one wrote any.
    time: float = 0.0
    format: int = FORMAT


def render_standing(standing: BranchMeta) -> bytes:
    """Return the content of ``meta.json``."""
    return (json.dumps(standing._asdict(), indent=1) + "\n").encode()


def parse_standing(content: bytes) -> BranchMeta | None:
    """Parse ``meta.json``; None if it is damaged. A field in an unexpected format counts as missing."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    time = found.get("time")
    return BranchMeta(
        _count(found.get("newest")),
        _count(found.get("life")),
        float(time) if isinstance(time, int | float) and 0 < time < 1e12 else 0.0,  # noqa: PLR2004
        _count(found.get("format")),
    )


def chunk_of(seq: int) -> str:
    """Return the path of the file that contains the entry ``seq``."""
    return f"{LEDGER}{seq - seq % CHUNK:012}.jsonl"


def first_of(path: str) -> int | None:
    """Return the lowest number that the ledger file ``path`` may contain; None if it is not a ledger file."""
    digits = path[len(LEDGER) : -len(".jsonl")]
    if not digits.isascii() or not digits.isdigit() or chunk_of(int(digits)) != path:
        return None
    return int(digits)


def render_entry(row: tuple[Any, ...]) -> str:
    """Return the line of an entry; its last field is already JSON text."""
    seq, at, agent, role, kind, summary, details = row
    record = {"seq": seq, "at": at, "agent": agent, "role": role, "kind": kind, "summary": summary}
    return f'{_encode(record)[:-1]},"details":{details}}}\n'


def parse_entries(path: str, content: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of a ledger file; skip lines in an unexpected format."""
    first = first_of(path)
    for line in content.split(b"\n"):
        try:
            row = _entry(json.loads(line))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
        if first is not None and _is_count(row[0]) and first <= row[0] < first + CHUNK:
            yield row


def _entry(found: dict[str, Any]) -> tuple[Any, ...]:
    at, texts = float(found["at"]), [str(found[name]) for name in _TEXTS]
    if not isinstance(found["details"], dict):
        raise TypeError("details")
    details = _encode(found["details"])
    "".join((*texts, details)).encode()  # fails for a lone surrogate, which JSON can spell
    _encode(at)  # fails for non-numbers
    return (found["seq"], at, *texts, details)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _count(value: Any) -> int:
    return int(value) if _is_count(value) else 0


def _key_of(path: str) -> str:
    *folders, name = path[len(FOLDER) + 1 : -len(ROW)].split("/")
    return "/".join([*map(_unescape, folders), *map(_unescape_name, name.split(_MARK))])


def _split_key(content: str) -> tuple[str, str]:
    """Return the key at the start of a file, and the rest."""
    first, _, value = content.partition("\n")
    key = json.loads(first.removeprefix(_KEY)) if first.startswith(_KEY + '"') else None
    if not isinstance(key, str):
        raise ValueError("key")  # noqa: TRY004 - the content is wrong, not a type
    return key, value


def _fitting(key: str, path: str) -> str:
    """Return a path that every file system accepts, with digests for parts that are too long."""
    if path.isascii() and len(path) <= _LONGEST_NAME:
        return path
    *folders, name = path.removesuffix(ROW).split("/")
    parts = [part if _size(part) <= _LONGEST_NAME else _digested(part, part) for part in folders]
    name = name if _size(name) <= _LONGEST_NAME else _digested(name, name)
    fitting = "/".join([*parts, name + ROW])
    if _size(fitting) <= _LONGEST_PATH:
        return fitting
    return "/".join([*parts[:2], _digested(name.partition(_SHORT)[0], key) + ROW])


def _digested(readable: str, text: str) -> str:
    short = readable.encode()[:_READABLE].decode("utf-8", "ignore")
    return f"{short}{_SHORT}{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _size(text: str) -> int:
    return len(text.encode())


def _folder(segment: str) -> str:
    escaped = _escape(segment)
    return f"{escaped[:-1]}%77" if escaped.endswith(ROW) else escaped


def _name(segment: str) -> str:
    return _escape(segment).replace(_MARK, "%2C") if segment else ""


def _unescape_name(segment: str) -> str:
    return _unescape(segment) if segment else ""


def _escape(segment: str) -> str:
    if not segment:
        return _EMPTY
    if segment == _EMPTY:
        return "%2D"
    escaped = "".join(_hex(char) if _is_unsafe(char) else char for char in segment)
    # git refuses .git in every spelling that some file system equates with it; only ASCII is simple
    if escaped[0] == "." and (
        not escaped.isascii() or escaped[1:4].lower() == "git" or not escaped.strip(".")
    ):
        return f"%2E{escaped[1:]}"
    return escaped


def _is_unsafe(char: str) -> bool:
    return char < " " or char in '%\\:*?"<>|~\x7f' or "\x80" <= char <= "\x9f" or _is_lone(char)


def _is_lone(char: str) -> bool:
    return "\ud800" <= char <= "\udfff"


def _hex(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _unescape(segment: str) -> str:
    if segment == _EMPTY:
        return ""
    if "%" not in segment:
        return segment
    head, *rest = segment.split("%")
    raw = head.encode()
    for part in rest:
        raw += bytes.fromhex(part[:2]) + part[2:].encode()
    return raw.decode("utf-8", "surrogatepass")
