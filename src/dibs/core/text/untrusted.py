"""Clean and fence text from other agents, so that a model cannot mistake it for instructions.

Pure. A reason, a name, or a message from another agent is shown only between two tags with a nonce that the
text does not contain: ``<data-1f0c9a3e from="abc12345">text</data-1f0c9a3e>``. The writer does not know the
nonce, so it cannot write the closing tag. A plain word or path needs no fence.
"""

from __future__ import annotations

import re
import unicodedata

from dibs.core.text.names import printable
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.errors import DibsError

#: The default number of characters shown.
LIMIT = 200
#: How many candidates for a nonce are tried; the second is almost never needed.
_TRIES = 100
#: The combining marks allowed in a row; more of them only cover other lines.
_MARKS = 2

#: Characters that look empty although their class is visible, and variation selectors: both can hide text.
_HIDDEN = frozenset(
    chr(code)
    for low, high in (
        *((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800)),
        *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0x1D159, 0x1D159)),
        *((0xE0100, 0xE01EF),),
    )
    for code in range(low, high + 1)
)
_BROKEN = "\ufffd"
_WORD = re.compile(r"[A-Za-z0-9._-]{1,32}")
_PATH = re.compile(r"[A-Za-z0-9._/*?\[\]{}@+~:,-]{1,120}")
_NOT_IN_AN_ORIGIN = re.compile(r"[^A-Za-z0-9._@:-]")
#: What opens or closes a comment, a frame, or a fence: it is broken up.
_ENDS = re.compile(r"--(?=!?>)|<(?=!-)|<(?=\s*/?\s*data-)", re.IGNORECASE)


#: Errors that contain only the caller's own words and agent names.
_OWN_WORDS = frozenset({
    "NOT_HELD", "NOT_YOU", "NO_TASK", "NO_AGENT", "QUEUE_EMPTY", "NOTHING_CHANGED", "NO_ADDRESSEE",
    "NO_MESSAGE", "NO_DECISION", "RATE_LIMITED", "BOX_FULL", "UNAVAILABLE", "STORE_BUSY", "INTERNAL",
    "GLOB_TOO_BROAD",
})  # fmt: skip


class UntrustedText(Record):
    """Text from another agent, which is shown only inside a fence."""

    text: str
    #: Who wrote it: an agent, ``human``, or the part of Dibs that read it from a file.
    origin: str
    limit: int = LIMIT


class ShownTime(Record):
    """Text that depends only on the time: an age, a clock. Digests leave it out."""

    text: str


Part = str | UntrustedText | ShownTime


class _Shown(dict[int, str | None]):
    """A cache of the replacement for each character."""

    def __missing__(self, code: int) -> str | None:
        found = self[code] = _fate(chr(code))
        return found


def _fate(character: str) -> str | None:
    """Return the replacement for ``character``: itself, a blank, a replacement character, or nothing."""
    if character in "\t\n\r\v\f\x85":
        return "\n" if character in "\n\x85" else " "
    kind = unicodedata.category(character)
    if kind in {"Zl", "Zp"}:
        return "\n"
    if kind == "Zs":
        return " "
    if kind == "Cs":
        return _BROKEN
    return None if kind[0] == "C" or character in _HIDDEN else character


_TABLE = _Shown()


def clean(text: str, limit: int = LIMIT, *, lines: bool = False) -> str:
    """Return ``text`` without characters that hide, move, or cover text, cut to ``limit`` characters.

    All of it becomes one line; with ``lines`` its line breaks stay.
    """
    # Text far beyond the limit is not processed, so a megabyte costs no more than a page.
    window = text[: 4 * limit + 256]
    was_cut = len(window) < len(text)
    if not (window.isascii() and window.isprintable()):
        window = window.replace("\r\n", "\n").replace("\r", "\n").translate(_TABLE)
        if not window.isascii():
            window = _few_marks(window)
    if lines:
        shown = "\n".join(" ".join(line.split(" ")).rstrip() for line in window.split("\n")).strip()
    else:
        shown = " ".join(window.split())
    if len(shown) > limit or was_cut:
        return shown[: max(0, limit - 1)].rstrip() + "…"
    return shown


def _few_marks(text: str) -> str:
    """Return ``text`` with at most two combining marks after a character."""
    kept, row = [], 0
    for character in text:
        row = row + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if row <= _MARKS:
            kept.append(character)
    return "".join(kept)


def is_plain(text: str) -> bool:
    """Return whether ``text`` is one short word of letters, digits, dots, underscores, and hyphens."""
    return _WORD.fullmatch(text) is not None


def is_plain_path(text: str) -> bool:
    """Return whether ``text`` is a path or a glob that needs no fence; a web address does."""
    return _PATH.fullmatch(text) is not None and "//" not in text


def word(text: str, origin: str, limit: int = 80) -> Part:
    """Return a plain word as it is, and any other name as untrusted text."""
    return text if is_plain(text) else UntrustedText(text, origin, limit)


def path(text: str, origin: str, limit: int = LIMIT) -> Part:
    """Return a plain path or pattern as it is, and any other as untrusted text."""
    return text if is_plain_path(text) else UntrustedText(text, origin, limit)


def fenced(text: str, origin: str, nonce: str) -> str:
    """Return cleaned ``text`` between its tags; anything that looks like an end tag is broken up."""
    inside = _ENDS.sub(r"\g<0> ", text)
    whose = _NOT_IN_AN_ORIGIN.sub("_", origin)[:64]
    return f'<data-{nonce} from="{whose}">{inside}</data-{nonce}>'


def nonce_for(texts: Iterable[str], draw: Callable[[], str]) -> str:
    """Return the first candidate of 8 hex characters that none of the texts contains."""
    everything = "\n".join(texts).lower()
    for _ in range(_TRIES):
        nonce = draw()
        if nonce not in everything:
            return nonce
    # Reached only by a text that predicts the random numbers.
    raise RuntimeError("no nonce was drawn that the texts do not hold")


def has_own_words(error: DibsError) -> bool:
    """Return whether an error's message has only words of the caller and of Dibs, and agent names."""
    own = isinstance(error, BadInput) and not error.code.startswith(("TASK", "DECIDED"))
    return own or error.code in _OWN_WORDS


# -- in Markdown: shown literally

#: Starts of emphasis, code, links, images, entities, and escapes. A name such as ``a_b`` needs no escape.
_MARKUP = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def markdown_text(text: str) -> str:
    """Return ``text`` as one line of Markdown that renders literally."""
    return _MARKUP.sub(r"\\\g<0>", printable(text)).replace("<", "&lt;")


def markdown_code(text: str) -> str:
    """Return ``text`` as inline code; a backtick becomes a quote."""
    return f"`{printable(text).replace('`', chr(39)) or ' '}`"
