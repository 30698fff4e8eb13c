"""Parsers for settings: each comes with a description of the allowed values."""

from __future__ import annotations

from dibs.core.text.durations import check_span, show_span
from dibs.core.text.names import AGENT_ID_CHARACTERS, closest, quote
from dibs.core.text.urls import EMBEDDED
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NAME_MAX = 64
FOLDER_DEPTH = 8


def between(low: float, high: float) -> str:
    """Describe a duration between two limits."""
    return f"a duration from {show_span(low)} to {show_span(high)}"


def span(name: str, low: float, high: float) -> tuple[str, Callable[[object], float]]:
    """Parse a duration."""

    def parse(value: object) -> float:
        return check_span(value, low, high, field=name, code=BadInput.code)

    return between(low, high), parse


def choice(*words: str) -> tuple[str, Callable[[object], str]]:
    """Parse one of ``words``."""
    *some, last = (f'"{word}"' for word in words)
    allowed = f"{', '.join(some)}{',' if len(some) > 1 else ''} or {last}"

    def parse(value: object) -> str:
        if value in words:
            return str(value)
        meant = closest(value, words) if isinstance(value, str) else ""
        hint = f"did you mean '{meant}'?" if meant else ""
        raise BadInput(f"must be {allowed}, not {quote(value)}", hint=hint)

    return allowed, parse


def count(low: int, high: int) -> tuple[str, Callable[[object], int]]:
    """Parse a whole number."""
    allowed = f"a whole number from {low} to {high}"

    def parse(value: object) -> int:
        text = str(value)
        # True is an int in Python, but its text has no digits.
        if isinstance(value, int | str) and text.isascii() and text.isdigit():
            number = int(text[:20])
            if low <= number <= high:
                return number
        raise BadInput(f"must be {allowed}, not {quote(value)}")

    return allowed, parse


def flag() -> tuple[str, Callable[[object], bool]]:
    """Parse true or false."""
    words = {"true": True, "false": False}

    def parse(value: object) -> bool:
        word = str(value).lower() if isinstance(value, bool | str) else ""
        if word in words:
            return words[word]
        raise BadInput(f"must be true or false, not {quote(value)}")

    return "true or false", parse


def folder(value: object) -> str:
    """Parse a folder relative to the repository root."""
    parts = value.split("/") if isinstance(value, str) and value.isprintable() else []
    if parts and len(parts) <= FOLDER_DEPTH and not {"", ".", "..", ".git"} & set(parts):
        return "/".join(parts)
    raise BadInput(f"must be a folder inside the repository, such as work, not {quote(value)}")


def _texts(value: object, allowed: str) -> list[str]:
    """Parse a list of strings, or one string with commas."""
    texts = value.split(",") if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return [text.strip() for text in texts if text.strip()]
    raise BadInput(f"must be {allowed}, not {quote(value)}")


def paths(value: object) -> tuple[str, ...]:
    """Parse paths relative to the repository root."""
    from dibs.core.patterns.spelling import file_path

    names = _texts(value, "a list of paths inside the repository")
    return tuple(folder(file_path(name).removeprefix("./").rstrip("/")) for name in names)


def patterns(value: object) -> tuple[str, ...]:
    """Parse path patterns."""
    from dibs.core.patterns.pattern import parse

    texts = _texts(value, "a list of patterns such as build/ and *.log")
    return tuple(parse(text, fold_case=False).text for text in texts)


def words_of(known: tuple[str, ...]) -> tuple[str, Callable[[object], tuple[str, ...]]]:
    """Parse a list of ``known`` words."""
    allowed = "a list of " + ", ".join(known)

    def parse(value: object) -> tuple[str, ...]:
        found = tuple(_texts(value, allowed))
        for name in found:
            if name not in known:
                meant = closest(name, known)
                hint = f"did you mean '{meant}'?" if meant else ""
                raise BadInput(f"must be {allowed}, not {quote(name)}", hint=hint)
        return found

    return allowed, parse


def engine_url(value: object) -> str:
    """Parse an engine's URL; ``sqlite`` is another name for the default."""
    url = one_line(value)
    return "" if url == EMBEDDED else url


def one_line(value: object) -> str:
    """Parse a single line of text."""
    if isinstance(value, str) and value.isprintable():
        return value
    raise BadInput("must be a single line of text")  # it may be a URL with a password


def plain_name(value: object) -> str:
    """Parse a name made of letters, digits, dots, underscores, and hyphens."""
    if isinstance(value, str) and len(value) <= NAME_MAX and AGENT_ID_CHARACTERS.issuperset(value):
        return value
    raise BadInput(f"must be letters, digits, dots, underscores, or hyphens, not {quote(value)}")
