"""Write values as lines of YAML, in the documented layout."""

from __future__ import annotations

import re
from time import gmtime

from dibs.taskfile.document import NULLS, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value] | None"

#: Keys whose values are written without quotes.
UNQUOTED = frozenset(
    {"id", "agent", "status", "priority", "mode", "dependencies", "depends_on", "blocked_by"}
)
_WORD = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./-]*").fullmatch
#: What some YAML readers take for a number, a time, or a boolean.
_TAKEN = re.compile(
    r"[0-9.][0-9._]*([eE][-+]?[0-9]+)?|0[xo][0-9a-fA-F_]+|[0-9][0-9TtZz:.+-]*"
    r"|(?i:y|n|yes|no|on|off|true|false|null|\.inf|\.nan)"
).fullmatch
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*").fullmatch
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e"}


def stamp(moment: float) -> str:
    """Return a time as files show it: ``2025-11-23T15:45:00Z``."""
    at = gmtime(moment)
    return (
        f"{at.tm_year:04d}-{at.tm_mon:02d}-{at.tm_mday:02d}"
        f"T{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d}Z"
    )


def scalar(value: str | float | None, *, plain: bool = False) -> str:
    """Return a value on one line; a string has no quotes only if ``plain`` and safe."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str):
        return repr(value)
    kept = isinstance(value, Plain) and _stays_plain(value)
    if kept or (plain and _WORD(value) and not _TAKEN(value)):
        return str(value)
    if value.isprintable() and "\\" not in value and '"' not in value:
        return f'"{value}"'
    return '"' + "".join(map(_escaped, value)) + '"'


def _stays_plain(text: str) -> bool:
    """Return whether a scalar that was plain elsewhere can be plain in a block."""
    return (
        text.isprintable()
        and text not in NULLS
        and (text[0].isalnum() or text[0] in "_/.(+$")
        and text.strip() == text
        and ": " not in text
        and " #" not in text
        and text[-1] != ":"
    )


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known is not None:
        return known
    if "\ud800" <= character <= "\udfff":  # not a character: reading it again would fail
        return "\ufffd"
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if character <= "\uffff" else f"\\U{number:08x}"


def entry(key: str, value: Value, indent: int = 0) -> list[str]:
    """Return the lines of a key and its value."""
    return beside(f"{' ' * indent}{_key(key)}:", value, indent, plain=key in UNQUOTED)


def beside(
    head: str, value: Value, indent: int, *, plain: bool = False, gap: str = " ", note: str = ""
) -> list[str]:
    """Return the lines of a value after ``head``, its key; ``note`` is the first line's comment."""
    if isinstance(value, str):
        if "\n" in value and _fits_block(value):
            margin = " " * (indent + 2)
            mark = "|" if value.endswith("\n") else "|-"
            rows = [f"{margin}{row}" if row else "" for row in value.removesuffix("\n").split("\n")]
            return [f"{head}{gap}{mark}{note}", *rows]
        return [f"{head}{gap}{scalar(value, plain=plain)}{note}"]
    if value is None or isinstance(value, int | float):
        return [f"{head}{gap}{scalar(value)}{note}"]
    if not value:
        return [f"{head}{gap}{'{}' if hasattr(value, 'keys') else '[]'}{note}"]
    return [f"{head}{note}", *below(value, indent + 2, plain=plain)]


def below(value: Sequence[Value] | Mapping[str, Value], indent: int, *, plain: bool) -> list[str]:
    """Return the lines of a non-empty list or mapping."""
    if not isinstance(value, list | tuple):
        return [row for key, inner in _items(value) for row in entry(key, inner, indent)]
    found: list[str] = []
    for item in value:
        if isinstance(item, list | tuple | dict) and item:
            rows = below(item, indent + 2, plain=plain)
            found += [f"{' ' * indent}- {rows[0].lstrip(' ')}", *rows[1:]]
        else:
            found += beside(f"{' ' * indent}-", item, indent, plain=plain)
    return found


def _items(value: Sequence[Value] | Mapping[str, Value]) -> list[tuple[str, Value]]:
    assert not isinstance(value, list | tuple | str)
    return list(value.items())  # type: ignore[union-attr]


def _key(key: str) -> str:
    return key if _KEY(key) and not _TAKEN(key) else scalar(key)


def _fits_block(text: str) -> bool:
    """Return whether a multi-line string reads the same as a literal block."""
    rows = text.removesuffix("\n").split("\n")
    return (
        bool(rows[0] and rows[-1])
        and rows[0][0] != " "
        and all(row.isprintable() and (not row or row.strip(" ")) for row in rows)
    )
