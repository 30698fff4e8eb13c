"""Parse the contract, and return it as JSON Schema."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from dibs.shapes.contract import ANSWERS, VALUES

_FIELD = re.compile(r"(\[?)(\w+)(?::(\w+))?([*?]*)(?:<(\w+))?\]?")
_TYPES: dict[str, dict[str, Any]] = {
    "any": {},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    **{name: {"type": "number"} for name in ("number", "time", "span")},
    **{name: {"type": "string"} for name in ("string", "text", "word", "path", "file")},
}


class ShapeField(NamedTuple):
    """One field of a value or an answer."""

    name: str
    type: str
    many: bool
    null: bool
    optional: bool
    #: The key of the author; empty for the author of the whole value.
    author: str

    @property
    def shown(self) -> str:
        """The field as the reference shows it."""
        kind = "" if self.type == "string" else self.type
        kind = f"[{kind or 'string'}…]" if self.many else kind
        return f"{self.name}{f': {kind}' if kind else ''}{' or null' if self.null else ''}"


@cache
def fields(text: str) -> tuple[ShapeField, ...]:
    """Return the fields in a line of the contract."""
    found: list[ShapeField] = []
    for token in text.split():
        if token.startswith("@"):
            continue
        if token.startswith("+"):
            found += fields(VALUES[token[1:]])
            continue
        match = _FIELD.fullmatch(token)
        assert match is not None, token
        optional, name, kind, marks, author = match.groups()
        found.append(
            ShapeField(
                name, kind or "string", "*" in marks, "?" in marks, bool(optional), author or ""
            )
        )
    return tuple(found)


def author_key(text: str) -> str:
    """Return the key of a value's author, empty if it has none."""
    first = text.split(maxsplit=1)[0]
    return first[1:] if first.startswith("@") else ""


def schema(text: str, place: str = "#/$defs") -> dict[str, Any]:
    """Return the JSON Schema of a line of the contract; references point to ``place``."""
    if text.startswith("="):
        (only,) = fields(f"answer:{text[1:]}")
        return _typed(only, place)
    known = fields(text)
    return {
        "type": "object",
        "properties": {field.name: _typed(field, place) for field in known},
        "required": list(dict.fromkeys(field.name for field in known if not field.optional)),
    }


def _typed(field: ShapeField, place: str) -> dict[str, Any]:
    found = _TYPES.get(field.type) or ({} if field.type == "any" else _ref(field.type, place))
    if field.many:
        found = {"type": "array", "items": found}
    return {"anyOf": [found, {"type": "null"}]} if field.null else found


def _ref(name: str, place: str) -> dict[str, Any]:
    assert name in VALUES, name
    return {"$ref": f"{place}/{name}"}


def with_values(text: str) -> dict[str, Any]:
    """Return the JSON Schema of a line of the contract, including the values it references."""
    needed: dict[str, Any] = {}
    waiting = [text]
    while waiting:
        for field in fields(waiting.pop()):
            if field.type in VALUES and field.type not in needed:
                line = VALUES[field.type]
                needed[field.type] = schema(line)
                waiting.append(line)
    return {**schema(text), **({"$defs": needed} if needed else {})}


def document() -> dict[str, Any]:
    """Return the JSON Schema of all values, and of each command's answer under ``answers``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Dibs",
        "$defs": {name: schema(line) for name, line in VALUES.items()},
        "answers": {name: schema(line) for name, line in ANSWERS.items()},
    }
