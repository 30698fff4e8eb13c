"""Durations: parse, check, and format them.

Pure. A duration is a number of seconds. As text it is a number of seconds (``90``, ``1.5``) or numbers with
the units ``d``, ``h``, ``m``, ``s``, and ``ms``, each at most once, the larger first: ``1h30m``, ``1.5h``.
"""

from __future__ import annotations

from dibs.core.text.names import quote
from dibs.errors import BadInput

TTL_MIN, TTL_MAX = 5.0, 86_400.0
WAIT_MIN, WAIT_MAX = 0.0, 3_600.0

#: In milliseconds.
_UNITS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_DIGITS = frozenset("0123456789")
#: The digits of a part before and after the decimal point; sums then stay exact.
_WHOLE_DIGITS, _FRACTION_DIGITS = 12, 9
_PICO: int = 1_000 * 10**_FRACTION_DIGITS
_LIMIT = 10.0**_WHOLE_DIGITS
#: A number without a unit below this is seconds; a larger one may have been meant as milliseconds.
_PLAIN = 10_000.0
#: Whole hours up to about a day are seconds, even if the limit is lower; 3600000 is not.
_DAY = 100_000


def parse_span(value: object) -> float:
    """Return the seconds of a number or a text such as ``1h30m``, as the nearest float.

    Raises ``BadInput`` (``SPAN``) for anything else: a negative or infinite number, a boolean, other text.
    """
    if isinstance(value, str):
        picoseconds = _parse_text(value.strip())
        if picoseconds is not None:
            return picoseconds / _PICO
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LIMIT:
        return float(value)
    raise BadInput(
        f"{quote(value)} is not a duration",
        code="SPAN",
        hint="use seconds or units, for example 90, 30s, 5m, 1h30m, or 30000ms",
    )


def _parse_text(text: str) -> int | None:
    if not text:
        return None
    if text[-1] in _DIGITS:
        return _parse_part(text, _UNITS["s"])
    total, start, smallest = 0, 0, 2 * _UNITS["d"]
    while start < len(text):
        at = start
        while at < len(text) and text[at] not in _UNITS:
            at += 1
        name = "ms" if text[at : at + 2] == "ms" else text[at : at + 1]
        unit = _UNITS.get(name, smallest)
        part = _parse_part(text[start:at], unit)
        if part is None or unit >= smallest:
            return None
        total, start, smallest = total + part, at + len(name), unit
    return total


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
        count, whole = divmod(whole, _UNITS[unit] // 1000)
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
    if seconds > high or seconds >= max(_PLAIN, high / 10):
        _refuse_unclear(value, seconds, (low, high), field, code)
    if not low <= seconds <= high:
        raise BadInput(
            f"{field} must be {allowed}, not {quote(value)}",
            code=code,
            hint="for example 90, 30s, 5m, or 1h30m",
            field=field,
        )
    return seconds


def _refuse_unclear(
    value: object, seconds: float, limits: tuple[float, float], field: str, code: str
) -> None:
    """Refuse a large number without a unit, unless it makes sense only as seconds, such as 86400."""
    bare = not isinstance(value, str) or value.strip()[-1] in _DIGITS
    short = seconds / 1000
    hours = seconds % 3600 == 0 and seconds <= max(limits[1], _DAY)
    if bare and not hours and short >= 1 and limits[0] <= short <= limits[1]:
        number = f"{seconds:.12g}"
        raise BadInput(
            f"{field} {number} could mean {number}s ({show_span(seconds)}) or {number}ms"
            f" ({show_span(short)}); write the unit",
            code=code,
            hint=f"for example {number}ms; {field} is from {show_span(limits[0])} to {show_span(limits[1])}",
            field=field,
        )
