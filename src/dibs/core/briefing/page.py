"""A briefing as values: lines in sections, their digest, and the cost of their text.

Pure. A line consists of parts: our own text, untrusted text (which is fenced), and text that depends only on
the time. The digest covers the stable parts, so time alone never changes it.
"""

from __future__ import annotations

import re
from hashlib import blake2s

from dibs.core.text.untrusted import Part, ShownTime, UntrustedText, clean, fenced
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The smallest budget: enough for the frame, the legend, and one vital line.
MIN_BUDGET = 200
MAX_BUDGET = 100_000


def check_budget(tokens: int) -> int:
    """Return a token budget for a briefing; refuse one out of range."""
    if not MIN_BUDGET <= tokens <= MAX_BUDGET:
        message = f"{tokens} tokens is out of range (use {MIN_BUDGET} to {MAX_BUDGET})"
        raise BadInput(message, code="LIMIT", field="tokens")
    return tokens


class Line(Record):
    """One line of a briefing."""

    #: A unique name in plain words, shown when the line disappears.
    key: str
    parts: tuple[Part, ...]
    #: Whether it comes before everything else, as vital messages do.
    must: bool = False
    #: The id of the message it carries.
    mail: str = ""
    #: A short replacement if the line does not fit; contains no untrusted text.
    bare: str = ""
    #: A message on the same page that says the same: then the line is omitted and counts as shown.
    said_by: str = ""


class Section(Record):
    """Lines under one title."""

    title: str
    lines: tuple[Line, ...]
    #: Whether the digest skips it: messages and activity are shown once, not compared with the last time.
    volatile: bool = False
    #: Sections with a lower rank get space first; the list decides the order on the page.
    rank: int = 5


def _stable(line: Line) -> str:
    """Return the parts of a line that do not depend on the time."""
    found = []
    for part in line.parts:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, UntrustedText):
            found.append(f"\x01{part.origin}\x02{part.text}\x03")
    return "".join(found)


def _hash(text: str, size: int) -> str:
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def items(sections: Iterable[Section]) -> dict[str, str]:
    """Return a short hash of each stable line, by its key."""
    return {
        line.key: _hash(f"{section.title}\n{_stable(line)}", 4)
        for section in sections
        if not section.volatile
        for line in section.lines
    }


def digest(sections: Iterable[Section]) -> str:
    """Return a hash of all stable lines of the sections, in any order."""
    found = items(sections)
    return _hash("\n".join(f"{key}\t{found[key]}" for key in sorted(found)), 16)


def foreign_texts(sections: Iterable[Section]) -> list[str]:
    """Return all untrusted texts, for ``nonce_for``."""
    return [
        part.text
        for section in sections
        for line in section.lines
        for part in line.parts
        if isinstance(part, UntrustedText)
    ]


#: Pairs of letters that are always one token; the first letter may be a capital.
_PAIRS = re.compile(
    "[aA][bcdfgiklmnprstuvy]|[bB][aelorsy]|[cC][aehiklort]|[dD][aeiosy]|[eE][abcdefglmnprstvwxy]"
    "|[fF][aeilortu]|[gG][aeinors]|[hH][aeiou]|[iI][bcdefglmnorstv]|[kK][einst]|[lL][adeilosuy]"
    "|[mM][adeimops]|[nN][acdefgilostuy]|[oO][abcdefgklmnoprstuvw]|[pP][aeloprtuy]|[qQ]u"
    "|[rR][acdegimnorstuvy]|[sS][acehikoprstuw]|[tT][acehilorstuwy]|[uU][celmnprst]|[vV][aei]"
    "|[wW][aehinors]|[xX]t|[yY][eos]"
)
#: Words common in briefings that are one token together with the blank before them.
_WORDS = re.compile(
    " (?:Agent|Code|Lead|Project|Review|Task|Technical|Test|Writer|agent|ago|and|answer|asks|board|branch"
    "|brief|claim|claims|code|commit|conflict|core|data|decide|decision|decisions|developer|done|exclusive"
    "|file|files|for|from|gives|held|holds|human|idle|into|lead|left|lock|message|module|more|nobody|not"
    "|orders|others|pending|place|priority|project|reason|release|request|role|running|services|shared|shows"
    "|since|started|status|task|tasks|test|tests|that|the|this|token|until|with|within|words|work|writer|yes"
    "|you|your)(?![A-Za-z])"
)
#: Blanks that belong to the token of the next word.
_BLANKS = re.compile(r" (?=[A-Za-z])")


def tokens(text: str) -> int:
    """Return an upper bound of the tokens in ``text``.

    No tokenizer makes more tokens than bytes, so non-ASCII text counts its bytes. Each other character counts
    one; so do pairs of letters that all tokenizers merge, and common words. For whole pages, this is 1.4 to 2
    times the count of seven real tokenizers.
    """
    rest, known = _WORDS.subn("", text)
    size = len(rest) if rest.isascii() else len(rest.encode("utf-8", "surrogatepass"))
    return known + size - len(_PAIRS.findall(rest)) - len(_BLANKS.findall(rest))


def show(parts: Sequence[Part], nonce: str, limit: int = 1_000_000) -> str:
    """Return the text of a line's parts, each untrusted text cut at ``limit`` characters.

    Without a ``nonce`` nothing is fenced: the reader is a person.
    """
    found = []
    for part in parts:
        if isinstance(part, UntrustedText):
            text = clean(part.text, min(part.limit, limit))
            found.append(fenced(text, part.origin, nonce) if nonce else text)
        else:
            found.append(part.text if isinstance(part, ShownTime) else part)
    return "".join(found)
