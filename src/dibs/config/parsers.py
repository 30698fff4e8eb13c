"""How the value of a setting is read: what may be written, for people, and the reader of it."""

from __future__ import annotations

from dibs.core.text.durations import check_span, show_span
from dibs.core.text.names import AGENT_ID_CHARACTERS, closest, quote
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NAME_MAX = 64
FOLDER_DEPTH = 8


def between(low: float, high: float) -> str:
    """Return the words for a span between two limits."""
    return f"a span of {show_span(low)} to {show_span(high)}"


def span(name: str, low: float, high: float) -> tuple[str, Callable[[object], float]]:
    """Read a span of time."""

    def parse(value: object) -> float:
        return check_span(value, low, high, field=name, code=BadInput.code)

    return between(low, high), parse


def choice(*words: str) -> tuple[str, Callable[[object], str]]:
    """Read one of ``words``."""
    allowed = " or ".join(f'"{word}"' for word in words)

    def parse(value: object) -> str:
        if value in words:
            return str(value)
        meant = closest(value, words) if isinstance(value, str) else ""
        hint = f"Did you mean {meant}?" if meant else ""
        raise BadInput(f"It is {allowed}, not {quote(value)}.", hint=hint)

    return allowed, parse


def count(low: int, high: int) -> tuple[str, Callable[[object], int]]:
    """Read a whole number."""
    allowed = f"a whole number from {low} to {high}"

    def parse(value: object) -> int:
        text = str(value)
        # A truth value is an int to Python, but its text has no digits.
        if isinstance(value, int | str) and text.isascii() and text.isdigit():
            number = int(text[:20])
            if low <= number <= high:
                return number
        raise BadInput(f"It is {allowed}, not {quote(value)}.")

    return allowed, parse


def flag() -> tuple[str, Callable[[object], bool]]:
    """Read a truth value."""
    words = {"true": True, "false": False}

    def parse(value: object) -> bool:
        word = str(value).lower() if isinstance(value, bool | str) else ""
        if word in words:
            return words[word]
        raise BadInput(f"It is true or false, not {quote(value)}.")

    return "true or false", parse


def folder(value: object) -> str:
    """Return a folder beneath the repository's top."""
    parts = value.split("/") if isinstance(value, str) and value.isprintable() else []
    if parts and len(parts) <= FOLDER_DEPTH and not {"", ".", "..", ".git"} & set(parts):
        return "/".join(parts)
    raise BadInput(f"It is a folder inside the repository, such as work, not {quote(value)}.")


def _texts(value: object, allowed: str) -> list[str]:
    """Return the texts of a list, or of a text with commas between them."""
    texts = value.split(",") if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return [text.strip() for text in texts if text.strip()]
    raise BadInput(f"It is {allowed}, not {quote(value)}.")


def paths(value: object) -> tuple[str, ...]:
    """Return paths beneath the repository's top."""
    names = _texts(value, "a list of paths inside the repository")
    return tuple(folder(name.rstrip("/")) for name in names)


def patterns(value: object) -> tuple[str, ...]:
    """Return patterns of paths."""
    from dibs.core.patterns.pattern import parse

    texts = _texts(value, "a list of patterns such as build/ and *.log")
    return tuple(parse(text, fold_case=False).text for text in texts)


def words_of(known: tuple[str, ...]) -> tuple[str, Callable[[object], tuple[str, ...]]]:
    """Read some of the ``known`` words."""
    allowed = "a list of " + ", ".join(known)

    def parse(value: object) -> tuple[str, ...]:
        found = tuple(_texts(value, allowed))
        for name in found:
            if name not in known:
                meant = closest(name, known)
                hint = f"Did you mean {meant}?" if meant else ""
                raise BadInput(f"It is {allowed}, not {quote(name)}.", hint=hint)
        return found

    return allowed, parse


def one_line(value: object) -> str:
    """Return a text on one line."""
    if isinstance(value, str) and value.isprintable():
        return value
    raise BadInput(f"It is a text on one line, not {quote(value)}.")


def plain_name(value: object) -> str:
    """Return a plain name."""
    if isinstance(value, str) and len(value) <= NAME_MAX and AGENT_ID_CHARACTERS.issuperset(value):
        return value
    raise BadInput(f"It is a name of letters, digits, . _ and -, not {quote(value)}.")
