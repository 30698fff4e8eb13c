"""Add tables to TOML between two marks, and remove them; every other byte stays."""

from __future__ import annotations

import json
import tomllib

from dibs.config.toml import fault
from dibs.errors import BadInput
from dibs.install.entries import blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MARKS = blocks.BlockMarkers(
    "# dibs:begin (by dibs init; dibs init --uninstall takes it out)", "# dibs:end"
)


def put(text: str, path: Sequence[str], values: Mapping[str, Any], name: str) -> str:
    """Return a text with a table at its end; a user's table with the same name stays."""
    bare = take(text, name)
    if lookup(parse(bare, name), path) is not None:
        return bare
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    new = blocks.put(text, "\n".join([f"[{'.'.join(path)}]", *rows]), MARKS, name)
    try:
        there = lookup(tomllib.loads(new), path)
    except tomllib.TOMLDecodeError:
        there = None
    if there != values:
        raise BadInput(
            f"{name}: cannot add a table to {'.'.join(path[:-1])}, because it is not written as tables",
            code="SETTINGS_INVALID",
            field=name,
            hint=f"write it as [{'.'.join(path[:-1])}.NAME] tables; nothing was changed",
        )
    return new


def take(text: str, name: str) -> str:
    """Return a text without our tables."""
    return blocks.take(text, MARKS, name)


def parse(text: str, name: str) -> dict[str, Any]:
    """Parse a text; an error names the line."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what, line = fault(error, text)
        raise BadInput(
            f"{name}:{line}: invalid TOML: {what}",
            code="SETTINGS_INVALID",
            field=name,
            hint="fix that line or move the file; nothing was changed",
        ) from None


def lookup(document: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at a path of names; None if there is none."""
    found: Any = document
    for key in path:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found
