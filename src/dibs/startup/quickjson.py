"""A fast-loading replacement for ``json``.

The package ``json`` compiles four regular expressions, which takes half as long as starting Python; its C
parser and encoder do not need them. If an interpreter lacks these functions or has different ones, ``json``
does the work. The results are the same.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json.decoder import JSONDecodeError
    from typing import Any

__all__ = ["dumps", "encoder", "loads", "quoted", "raw_decode"]

_SPACE = " \t\n\r"
_CONSTANTS = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}


class _Rules:
    """The scanner's options: those of ``json.JSONDecoder()``."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = _CONSTANTS.__getitem__


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {value.__class__.__name__} is not JSON serializable")


def _wrong(why: str, text: str, place: int) -> JSONDecodeError:
    from json.decoder import JSONDecodeError

    return JSONDecodeError(why, text, place)


def _quick_decoder() -> Callable[[str, int], tuple[Any, int]]:
    from _json import make_scanner

    scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Rules)  # type: ignore[arg-type]
    if scan('[1,{"a":"b"}]', 0) != ([1, {"a": "b"}], 13):
        raise TypeError("unknown scanner")
    return scan


def _quick_encoder(*, spaced: bool, ascii_only: bool, allow_nan: bool) -> Callable[[Any], str]:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder

    text_of = encode_basestring_ascii if ascii_only else encode_basestring
    marks = (": ", ", ") if spaced else (":", ",")
    parts: Callable[[Any, int], tuple[str, ...]]
    parts = make_encoder(None, _refuse, text_of, None, *marks, False, False, allow_nan)

    def encode(value: Any) -> str:
        return text_of(value) if isinstance(value, str) else "".join(parts(value, 0))

    if encode({"a": [1, "b"]}) != ('{"a": [1, "b"]}' if spaced else '{"a":[1,"b"]}'):
        raise TypeError("unknown encoder")
    return encode


_STRANGE = (ImportError, AttributeError, TypeError, ValueError)

try:
    _scan = _quick_decoder()
    from _json import encode_basestring as quoted
except _STRANGE:
    from json import JSONDecoder as _Decoder
    from json.encoder import encode_basestring as quoted

    _scan = _Decoder().raw_decode


def encoder(
    *, spaced: bool = False, ascii_only: bool = False, allow_nan: bool = True
) -> Callable[[Any], str]:
    """Return a function that encodes values, by default without spaces and without escaping Unicode."""
    try:
        return _quick_encoder(spaced=spaced, ascii_only=ascii_only, allow_nan=allow_nan)
    except _STRANGE:
        from json import JSONEncoder

        marks = (", ", ": ") if spaced else (",", ":")
        return JSONEncoder(
            separators=marks, ensure_ascii=ascii_only, allow_nan=allow_nan, check_circular=False
        ).encode


#: Encode a value like ``json.dumps`` with default options.
dumps = encoder(spaced=True, ascii_only=True)


def raw_decode(text: str, start: int = 0) -> tuple[Any, int]:
    """Return the value at ``start``, and where it ends."""
    try:
        return _scan(text, start)
    except StopIteration as error:
        raise _wrong("Expecting value", text, error.value) from None
    except RecursionError:
        raise _wrong("Too many levels", text, start) from None
    except SystemError:  # the scanner takes its exception from a module that may not be loaded yet
        from json import JSONDecoder

        return JSONDecoder().raw_decode(text, start)


def loads(text: str | bytes | bytearray) -> Any:
    """Return the value of a JSON text; bytes are UTF-8."""
    if not isinstance(text, str):
        text = text.decode("utf-8", "surrogatepass")
    begin = len(text) - len(text.lstrip(_SPACE))
    value, end = raw_decode(text, begin)
    rest = text[end:].lstrip(_SPACE)
    if rest:
        raise _wrong("Extra data", text, len(text) - len(rest))
    return value
