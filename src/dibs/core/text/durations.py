"""Durations: parse, check, and format them.

Pure. A duration is a number of seconds. As text it is a number of seconds (``90``, ``1.5``) or numbers with
the units ``d``, ``h``, ``m``, ``s``, each at most once, the larger first: ``1h30m``, ``1.5h``.
"""

from __future__ import annotations

from dibs.core.text.names import quote
from dibs.errors import BadInput

TTL_MIN, TTL_MAX = 5.0, 86_400.0
WAIT_MIN, WAIT_MAX = 0.0, 3_600.0

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DIGITS = frozenset("0123456789")
#: The digits of a part before and after the decimal point; sums then stay exact.
_WHOLE_DIGITS, _FRACTION_DIGITS = 12, 9
_NANO: int = 10**_FRACTION_DIGITS
_LIMIT = 10.0**_WHOLE_DIGITS


def parse_span(value: object) -> float:
    """Return the seconds of a number or a text such as ``1h30m``, as the nearest float.

    Raises ``BadInput`` (``SPAN``) for anything else: a negative or infinite number, a boolean, other text.
    """
    if isinstance(value, str):
        nanoseconds = _parse_text(value.strip())
        if nanoseconds is not None:
            return nanoseconds / _NANO
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LIMIT:
        return float(value)
    raise BadInput(
        f"{quote(value)} is not a duration",
        code="SPAN",
        hint="use seconds or units, for example 90, 30s, 5m, or 1h30m",
    )


def _parse_text(text: str) -> int | None:
    if not text:
        return None
    if text[-1] in _DIGITS:
        return _parse_part(text, 1)
    total, start, smallest = 0, 0, 2 * _UNITS["d"]
    for index, character in enumerate(text):
        unit = _UNITS.get(character)
        if unit is None:
            continue
        part = _parse_part(text[start:index], unit)
        if part is None or unit >= smallest:
            return None
        total, start, smallest = total + part, index + 1, unit
    return total if start == len(text) else None


def _parse_part(text: str, unit: int) -> int | None:
    whole, point, fraction = text.partition(".")
    if not (
        0 < len(whole) <= _WHOLE_DIGITS
        and len(fraction) <= _FRACTION_DIGITS
        and bool(point) == bool(fraction)
        and _DIGITS.issuperset(whole + fraction)
    ):
        return None
    return int(whole + fraction.ljust(_FRACTION_DIGITS, "0")) * unit


def show_span(seconds: float) -> str:
    """Return a finite duration as text, to the millisecond: ``270`` is ``4m30s``.

    ``parse_span`` reads the text back to the same number, for whole milliseconds from zero on.
    """
    milliseconds = round(abs(seconds) * 1000)
    sign = "-" if seconds < 0 and milliseconds else ""
    whole, rest = divmod(milliseconds, 1000)
    parts = []
    for unit in ("d", "h", "m"):
        count, whole = divmod(whole, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    if rest:
        parts.append(f"{whole}.{rest:03d}".rstrip("0") + "s")
    elif whole or not parts:
        parts.append(f"{whole}s")
    return sign + "".join(parts)


def show_expiry(left: str, *, while_running: bool) -> str:
    """Return when another agent's claim expires; ``left`` is the time until then."""
    if while_running:
        return "does not expire while its process runs"
    return f"expires in {left} unless renewed"


def check_ttl(value: object) -> float:
    """Return a claim's ttl in seconds, else raise ``BadInput`` (``TTL_RANGE``)."""
    return check_span(value, TTL_MIN, TTL_MAX, field="ttl", code="TTL_RANGE")


def check_wait(value: object) -> float:
    """Return how long a call may wait, in seconds, else raise ``BadInput`` (``WAIT_RANGE``)."""
    return check_span(value, WAIT_MIN, WAIT_MAX, field="wait", code="WAIT_RANGE")


def check_span(value: object, low: float, high: float, *, field: str, code: str) -> float:
    """Return the duration in seconds if it is from ``low`` to ``high``."""
    allowed = f"from {show_span(low)} to {show_span(high)}"
    try:
        seconds = parse_span(value)
    except BadInput as error:
        raise BadInput(
            f"{field} must be a duration {allowed}, not {quote(value)}",
            code=code,
            hint=error.hint,
            field=field,
        ) from None
    if not low <= seconds <= high:
        raise BadInput(
            f"{field} must be {allowed}, not {quote(value)}",
            code=code,
            hint="for example 90, 30s, 5m, or 1h30m",
            field=field,
        )
    return seconds
