"""Check arguments of the Python API; short because the whole API shares it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dibs.errors import BadInput


def check_string(value: object, field: str) -> str:
    """Return ``value`` if it is a string."""
    if isinstance(value, str):
        return value
    raise _wrong(value, field, "a string")


def check_strings(values: object, field: str) -> tuple[str, ...]:
    """Return ``values`` if they are strings; a single string is refused, or its letters would be used."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise _wrong(values, field, "a list of strings")
    return tuple(check_string(value, field) for value in values)


def check_mapping(value: object, field: str) -> None:
    """Raise unless ``value`` is a mapping."""
    if not isinstance(value, Mapping):
        raise _wrong(value, field, "a mapping")


def check_count(value: object, field: str) -> int:
    """Return ``value`` if it is a non-negative integer."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise _wrong(value, field, "a whole number from 0 on")


def _wrong(value: object, field: str, wanted: str) -> BadInput:
    given = value if isinstance(value, int) else type(value).__name__
    return BadInput(f"{field} must be {wanted}, not {given}", field=field)
