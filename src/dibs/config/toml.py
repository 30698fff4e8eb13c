"""Parse ``dibs.toml`` into settings and their line numbers.

Importing the parser takes longer than a claim may take, so ``cache`` stores the result.
"""

from __future__ import annotations

from dibs.config.cache import NAME, SIZE_MAX, FileSettings
from dibs.core.text.names import closest, quote
from dibs.errors import Misconfigured
from dibs.local.files import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from dibs.config.cache import Written


def read(path: str, known: Mapping[tuple[str, str], str]) -> FileSettings:
    """Parse the file. ``known`` maps section and key to a field's name; any other key is a warning."""
    try:
        with open(path, "rb", opener=regular) as file:
            content = file.read(SIZE_MAX)
    except OSError as error:
        raise Misconfigured(f"cannot read {NAME}: {error.strerror}") from error
    return parsed(content, known)


def parsed(content: bytes, known: Mapping[tuple[str, str], str]) -> FileSettings:
    """Parse the content of the file."""
    text = _text(content)
    lines = _lines(text)
    written: Written = {}
    unknown: list[str] = []
    for section, key, value in _leaves(_parse(text), {section for section, _ in known}, lines):
        places = ((section, key), (section, ""), ("", section), (key, ""))
        line = next((lines[place] for place in places if place in lines), 1)
        name = known.get((section, key))
        if name == "handlers_on":
            unknown += _unknown_in_tables(value, lines)
        if name is not None:
            written[name] = (value, line)
        elif isinstance(value, dict) and not section:
            unknown.append(_unknown_section(key, line, known))
        else:
            unknown.append(_unknown_key(section, key, line, known))
    return FileSettings(written, tuple(unknown))


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Misconfigured(f"{NAME}:{line}: not UTF-8 text") from None


def _parse(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what, line = fault(error, text)
        raise Misconfigured(f"{NAME}:{line}: invalid TOML: {what}") from None


def fault(error: ValueError | RecursionError, text: str) -> tuple[str, int]:
    """Return tomllib's error message and its line."""
    if isinstance(error, RecursionError):  # which names no line
        deepest = max(text.splitlines(), key=lambda line: line.count("[") + line.count("{"))
        return "a value is nested too deeply", text.splitlines().index(deepest) + 1
    what, _, where = str(error).partition(" (at ")
    number = where.removeprefix("line ").partition(",")[0]
    return what, int(number) if number.isdigit() else text.count("\n") + 1


def _leaves(
    document: dict[str, Any], sections: set[str], lines: Mapping[tuple[str, str], int]
) -> Iterator[tuple[str, str, Any]]:
    for key, value in document.items():
        if key in sections and key:
            if not isinstance(value, dict):
                line = lines.get((key, "")) or lines.get(("", key)) or 1
                raise Misconfigured(f"{NAME}:{line}: {key} is a section; write [{key}]")
            for inner, setting in value.items():
                yield key, inner, setting
        else:
            yield "", key, value


def _unknown_section(key: str, line: int, known: Iterable[tuple[str, str]]) -> str:
    sections = {section for section, _ in known if section}
    meant = closest(key, sections)
    hint = f"did you mean [{meant}]?" if meant else _one_of("section", sections)
    return f"{NAME}:{line}: ignored the unknown section [{_bare(key)}] ({hint})"


def _unknown_key(section: str, key: str, line: int, known: Mapping[tuple[str, str], str]) -> str:
    where = f"in [{section}]" if section else "at the top"
    elsewhere = [place for place, name in known if name == key and place != section]
    siblings = {name for place, name in known if place == section}
    meant = closest(key, siblings)
    if elsewhere:
        hint = f"it belongs {f'in [{elsewhere[0]}]' if elsewhere[0] else 'at the top'}"
    else:
        hint = f"did you mean '{meant}'?" if meant else _one_of("key", siblings)
    return f"{NAME}:{line}: ignored the unknown key {_bare(key)} {where} ({hint})"


def _unknown_in_tables(tables: object, lines: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield a warning for each key in ``[[on]]`` that is unknown."""
    from dibs.config.event_commands import KEYS

    for table in tables if isinstance(tables, list) else ():
        for key in table if isinstance(table, dict) else ():
            if key not in KEYS:
                meant = closest(key, KEYS)
                hint = f"did you mean '{meant}'?" if meant else _one_of("key", set(KEYS))
                line = lines.get(("on", key), lines.get(("on", ""), 1))
                yield f"{NAME}:{line}: ignored the unknown key {_bare(key)} in [[on]] ({hint})"


def _bare(key: str) -> str:
    return quote(key)[1:-1]


def _one_of(what: str, names: set[str]) -> str:
    return f"valid {what}s: {', '.join(sorted(names))}"


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Return the line of each key and, under an empty key, of each section."""
    found: dict[tuple[str, str], int] = {}
    section, inside = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if inside:
            inside = "" if inside in line else inside
            continue
        bare = line.strip()
        if bare.startswith("["):
            section = _unquoted(bare.strip("[").partition("]")[0])
            found.setdefault((section, ""), number)
            continue
        key, equals, value = bare.partition("=")
        if not equals or bare.startswith("#"):
            continue
        place, dot, name = _unquoted(key).rpartition(".")
        found.setdefault((place or section, name) if dot else (section, name), number)
        inside = next((q for q in ('"""', "'''") if value.count(q) == 1), "")
    return found


def _unquoted(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
