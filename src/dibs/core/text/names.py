"""Names that people and agents type: check, display, and correct them.

Pure.
"""

from __future__ import annotations

import os

from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

#: How many characters of an invalid value a message shows.
SHOWN = 160

AGENT_ID_MAX = 64
_ALNUM = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
AGENT_ID_CHARACTERS = _ALNUM | frozenset("._-")
#: How many agents may share a name, distinguished by a number.
_MOST_ALIKE = 1_000


def is_agent_id(text: object) -> bool:
    """Return whether ``text`` is a valid agent id."""
    return (
        isinstance(text, str)
        and 0 < len(text) <= AGENT_ID_MAX
        and text[0] in _ALNUM
        and AGENT_ID_CHARACTERS.issuperset(text)
    )


def check_agent_id(text: str) -> str:
    """Return ``text`` if it is a valid agent id, or raise ``BadInput`` (``AGENT_ID``)."""
    if is_agent_id(text):
        return text
    raise BadInput(
        f"{quote(text)} is not a valid agent id",
        code="AGENT_ID",
        field="agent",
        hint=(
            f"use 1 to {AGENT_ID_MAX} letters, digits, dots, underscores, or hyphens, "
            "starting with a letter or a digit"
        ),
    )


BRANCH_MAX = 128
_NOT_IN_A_BRANCH = ("..", "@{", "//", "/.", ".lock", *" ~^:?*[\\")


def distinct(wished: str, taken: Container[str]) -> str:
    """Return the first of ``name``, ``name-2``, ``name-3`` … that is not taken."""
    for number in range(1, _MOST_ALIKE):
        name = wished if number == 1 else f"{wished}-{number}"
        if name not in taken:
            return name
    raise RuntimeError("a thousand agents have the same name")  # pragma: no cover


def is_namesake(name: str, wished: str) -> bool:
    """Return whether ``distinct`` may have made the one name from the other."""
    head, _, number = name.rpartition("-")
    return name == wished or (head == wished and number.isdigit())


def check_branch(name: object) -> str:
    """Return ``name`` if it is a valid branch name, or raise ``BadInput`` (``REF_NAME``)."""
    if (
        isinstance(name, str)
        and name.isprintable()
        and 0 < len(name) <= BRANCH_MAX
        and not name.startswith(("-", "/", ".", "refs/"))
        and not name.endswith(("/", "."))
        and name not in {"HEAD", "@"}
        and not any(part in name for part in _NOT_IN_A_BRANCH)
    ):
        return name
    raise BadInput(f"{quote(name)} is not a valid branch name", code="REF_NAME")


def quote(value: object) -> str:
    """Return ``value`` in quotes, escaped and cut for one line of a terminal."""
    text = value if isinstance(value, str) else repr(value)
    shown = "".join(map(visible, text[:SHOWN]))
    return f"'{shown}…'" if len(text) > SHOWN else f"'{shown}'"


def printable(text: str) -> str:
    """Return ``text`` with control and invisible characters escaped."""
    return text if text.isprintable() else "".join(map(visible, text))


def shown(path: str) -> str:
    """Return a path with bytes that are not UTF-8 escaped, so that any store accepts it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def visible(character: str) -> str:
    """Return ``character``, or its escape if it is not printable."""
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8, as Python represents it
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def cut(text: str, most: int) -> str:
    """Return ``text`` cut to a number of characters, with an ellipsis at the end."""
    return text if len(text) <= most else text[: most - 1] + "…"


def few(names: Sequence[str], most: int = 3) -> str:
    """Return the first names and the number of the others: ``a, b, c and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def closest(word: str, choices: Iterable[str], alike: float = 0.6) -> str:
    """Return the choice that ``word`` was probably meant to be, or an empty text."""
    from difflib import get_close_matches

    found = get_close_matches(word.lower(), list(choices), n=1, cutoff=alike)
    return found[0] if found else ""


def slug(text: str, longest: int = 50) -> str:
    """Return ``text`` as lower-case letters, digits, and hyphens; ``task`` if nothing is left."""
    from unicodedata import normalize

    plain = normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    words = "".join(c if c.isalnum() else " " for c in plain).split()
    short = ""
    for word in words:
        longer = f"{short}-{word}" if short else word
        if len(longer) > longest:
            break
        short = longer
    return short or (words[0][:longest] if words else "task")


def plural(count: int, noun: str) -> str:
    """Return a count and its noun: ``1 entry``, ``2 entries``."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else many}"


def role_word(role: str) -> str:
    """Return a role as one word, as tasks name it: ``code-reviewer`` for ``Code Reviewer``.

    A role that is one word, or that has no letters to use, stays unchanged.
    """
    from unicodedata import normalize

    if is_agent_id(role) or not any(c.isalnum() for c in normalize("NFKD", role) if c.isascii()):
        return role
    return slug(role, AGENT_ID_MAX)


def typed_in(folder: str, pattern: str) -> str:
    """Return a repository-relative pattern as a person in ``folder`` of the repository types it."""
    if not folder or ":" in pattern.partition("/")[0] or pattern.startswith("@"):
        return pattern
    below = pattern.removeprefix(f"{folder}/")
    return below if below and below != pattern else "../" * (folder.count("/") + 1) + pattern
