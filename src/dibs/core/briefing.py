"""A briefing as values: lines in sections, what of them is stable, and how they become text.

Pure. A line is made of parts: our own words, text of others (which is fenced), and words that depend on
the time alone. The digest is taken over what is stable: time alone never changes it.
"""

from __future__ import annotations

import re
from hashlib import blake2s

from dibs.core.fence import Foreign, Moment, Part, clean, fenced
from dibs.core.values import Record
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: No budget is smaller: the frame, what the fence means and one vital line need this much.
MIN_BUDGET = 200
#: No larger one can be asked for: nobody reads more at once.
MAX_BUDGET = 100_000
FULL, DELTA = "full", "delta"
OPENING, CLOSING = "<!-- CREW_UPDATE", "CREW_UPDATE -->"


def check_budget(tokens: int) -> int:
    """Return how many tokens a briefing may have; refuse too few and too many."""
    if not MIN_BUDGET <= tokens <= MAX_BUDGET:
        message = f"a briefing has {MIN_BUDGET} to {MAX_BUDGET} tokens, not {tokens}"
        raise BadInput(message, code="LIMIT", field="tokens")
    return tokens


class Line(Record):
    """One line of a briefing."""

    #: What it is about, in plain words that are shown when it is gone; unique in a briefing.
    key: str
    parts: tuple[Part, ...]
    #: Whether it comes before everything else; so do vital messages.
    must: bool = False
    #: The id of the message that it carries.
    mail: str = ""
    #: What is said in its place where there is no room for it; our own words only.
    bare: str = ""
    #: The message on the same page that says all of it: it is not said twice, and counts as told.
    said_by: str = ""


class Section(Record):
    """Lines under one title."""

    title: str
    lines: tuple[Line, ...]
    #: Whether it is no part of the digest: mail and activity are told once, not held against the last time.
    volatile: bool = False
    #: Which sections get room first where there is little; the order of the text is another matter.
    rank: int = 5


class Rendered(Record):
    """A briefing as text."""

    text: str
    #: The ids of the messages that are in it.
    mail: tuple[str, ...]
    #: How many lines found no room.
    left: int
    mode: str
    #: What its reader knows after it: the items of stable lines that it was told, now or before.
    told: dict[str, str]


def stable(line: Line) -> str:
    """Return what of a line does not depend on the time."""
    found = []
    for part in line.parts:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, Foreign):
            found.append(f"\x01{part.origin}\x02{part.text}\x03")
    return "".join(found)


def _hash(text: str, size: int) -> str:
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def items(sections: Iterable[Section]) -> dict[str, str]:
    """Return a short hash of each stable line, by its key."""
    return {
        line.key: _hash(f"{section.title}\n{stable(line)}", 4)
        for section in sections
        if not section.volatile
        for line in section.lines
    }


def digest(sections: Iterable[Section]) -> str:
    """Return what stands for all that is stable in the sections, in whatever order."""
    found = items(sections)
    return _hash("\n".join(f"{key}\t{found[key]}" for key in sorted(found)), 16)


def foreign_texts(sections: Iterable[Section]) -> list[str]:
    """Return all texts of others, for ``nonce_for``."""
    return [
        part.text
        for section in sections
        for line in section.lines
        for part in line.parts
        if isinstance(part, Foreign)
    ]


#: The letters of a word, a capital only at its beginning; and blanks that go with the word after them.
_LETTERS = re.compile(r"[A-Za-z][a-z]+")
_BLANKS = re.compile(r" (?=[A-Za-z])")


def tokens(text: str) -> int:
    """Return how many tokens a model's tokenizer makes of ``text`` at most, for the text of briefings.

    Tokenizers that merge pairs of bytes never make more tokens than bytes: so much is counted for all that is
    not ASCII. Digits and signs count one each (some tokenizers never merge digits), a word one for each two
    letters: even words that no tokenizer knows are made of known pairs. English has about twice the letters
    in a token, so this is about twice the truth for prose, and near it for ids and paths.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    pairs = sum([len(word) // 2 for word in _LETTERS.findall(text)])
    return size - pairs - len(_BLANKS.findall(text))


def show(parts: Sequence[Part], nonce: str, limit: int = 1_000_000) -> str:
    """Return the text of a line's parts; no text of others gets more than ``limit`` characters."""
    found = []
    for part in parts:
        if isinstance(part, Foreign):
            text = clean(part.text, min(part.limit, limit))
            found.append(fenced(text, part.origin, nonce))
        else:
            found.append(part.text if isinstance(part, Moment) else part)
    return "".join(found)


def render(
    sections: Sequence[Section],
    *,
    nonce: str,
    budget: int,
    number: int,
    known: dict[str, str] | None = None,
) -> Rendered:
    """Return the briefing ``number`` as text of at most ``budget`` tokens.

    ``known`` is what the reader was told before (``Rendered.told``); with it only what changed is told,
    where that is shorter. Without it everything is.
    """
    from dibs.core.layout import lay_out

    return lay_out(sections, items(sections), nonce, max(budget, MIN_BUDGET), number, known)
