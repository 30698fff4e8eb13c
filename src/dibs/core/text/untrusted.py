"""Text of others is data: how it is cleaned, and fenced so that a reader cannot take it for our words.

Pure. What another agent wrote (a reason, a name, a message) is shown only between two tags with a nonce
that no such text holds: ``<data-1f0c9a3e from="abc12345">text</data-1f0c9a3e>``. Whoever writes a text does
not know the nonce, so it cannot write the closing tag. What is no more than a plain word or a plain path goes
without a fence, because no sentence can be made of it.
"""

from __future__ import annotations

import re
import unicodedata

from dibs.core.text.names import printable
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: How much of a text of others is shown where nothing else is said.
LIMIT = 200
NONCE_LENGTH = 8
#: How many candidates for a nonce are tried; the second is needed once in billions of texts.
_TRIES = 100
#: So many combining marks in a row are a letter's; more of them only cover other lines.
_MARKS = 2

#: What shows as nothing or as a blank but is of a class that is shown, and what selects variants: both can
#: carry hidden text.
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
#: What opens or closes a comment, a frame of ours, or a fence: it is taken apart.
_ENDS = re.compile(r"--(?=!?>)|<(?=!-)|<(?=\s*/?\s*data-)", re.IGNORECASE)


class UntrustedText(Record):
    """Text that somebody else wrote: it is shown inside the fence only."""

    text: str
    #: Who wrote it: an agent, ``human``, or a part of Dibs that took it from a file.
    origin: str
    limit: int = LIMIT


class ShownTime(Record):
    """Words that depend on the time alone: an age, a clock, what is left. No digest has them."""

    text: str


Part = str | UntrustedText | ShownTime


class _Shown(dict[int, str | None]):
    """What becomes of each character, found out when it first occurs."""

    def __missing__(self, code: int) -> str | None:
        found = self[code] = _fate(chr(code))
        return found


def _fate(character: str) -> str | None:
    """Return what is shown for ``character``: itself, a blank, a sign that it was broken, nothing."""
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
    """Return ``text`` without what hides, moves or covers text, cut at ``limit`` characters.

    All of it becomes one line; with ``lines`` its line breaks stay.
    """
    # What lies far behind the limit is not looked at: a megabyte costs no more than a page.
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
    """Return ``text`` with no more than two combining marks behind a character."""
    kept, row = [], 0
    for character in text:
        row = row + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if row <= _MARKS:
            kept.append(character)
    return "".join(kept)


def is_plain(text: str) -> bool:
    """Tell whether ``text`` is one short word of letters, digits, dots, underscores and hyphens."""
    return _WORD.fullmatch(text) is not None


def is_plain_path(text: str) -> bool:
    """Tell whether ``text`` is a path or a glob that needs no fence; an address of the web does."""
    return _PATH.fullmatch(text) is not None and "//" not in text


def word(text: str, origin: str, limit: int = 80) -> Part:
    """Return a name for a line: as it is where it is a plain word, else as text of others."""
    return text if is_plain(text) else UntrustedText(text, origin, limit)


def path(text: str, origin: str, limit: int = LIMIT) -> Part:
    """Return a path or a pattern for a line: as it is where it is plain, else as text of others."""
    return text if is_plain_path(text) else UntrustedText(text, origin, limit)


def fenced(text: str, origin: str, nonce: str) -> str:
    """Return cleaned ``text`` between its tags; what looks like an end of anything is taken apart."""
    inside = _ENDS.sub(r"\g<0> ", text)
    whose = _NOT_IN_AN_ORIGIN.sub("_", origin)[:64]
    return f'<data-{nonce} from="{whose}">{inside}</data-{nonce}>'


def nonce_for(texts: Iterable[str], draw: Callable[[], str]) -> str:
    """Return the first of the drawn candidates, 8 hex characters each, that none of the texts has."""
    everything = "\n".join(texts).lower()
    for _ in range(_TRIES):
        nonce = draw()
        if nonce not in everything:
            return nonce
    # Only a text made for the purpose, by somebody who foresees what is drawn, comes to this point.
    raise RuntimeError("no nonce was drawn that the texts do not hold")


# -- on a page of Markdown: shown as it is, taken for no markup of the page

#: What begins emphasis, code, a link, an image, an entity or an escape. A name such as ``a_b`` needs none.
_MARKUP = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def markdown_text(text: str) -> str:
    """Return ``text`` as one line that a reader of Markdown sees as it was written."""
    return _MARKUP.sub(r"\\\g<0>", printable(text)).replace("<", "&lt;")


def markdown_code(text: str) -> str:
    """Return ``text`` on one line as code, such as a path; a backtick in it is shown as a quote."""
    return f"`{printable(text).replace('`', chr(39)) or ' '}`"
