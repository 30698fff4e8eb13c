"""Checks of values that a program passes in; short because all of the Python API shares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dibs.errors import BadInput


def check_string(value: object, field: str) -> str:
    """Return ``value`` if it is a string."""
    if isinstance(value, str):
        return value
    raise _wrong(value, field, "a string")


def check_strings(values: object, field: str) -> tuple[str, ...]:
    """Return ``values`` if they are strings; of one string alone the letters would be taken."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise _wrong(values, field, "a list of strings")
    return tuple(check_string(value, field) for value in values)


def check_mapping(value: object, field: str) -> None:
    """Raise unless ``value`` gives values by name."""
    if not isinstance(value, Mapping):
        raise _wrong(value, field, "a mapping")


def check_count(value: object, field: str) -> int:
    """Return ``value`` if it is a whole number that counts something."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise _wrong(value, field, "a whole number from 0 on")


def _wrong(value: object, field: str, wanted: str) -> BadInput:
    given = value if isinstance(value, int) else type(value).__name__
    return BadInput(f"{field} must be {wanted}, not {given}", field=field)
