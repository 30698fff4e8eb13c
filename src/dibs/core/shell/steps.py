"""What a shell command is read into: its steps, and the marks that its words carry. Pure.

A word keeps what is quoted apart from what is not: in it ``MASK`` stands before a character that the shell
takes as it is, and ``VAR``, ``QUOTED`` and ``RUN`` begin what is put in later, which ``END`` ends. A ``HOLE``
is what nobody knows.
"""

from __future__ import annotations

from dibs.startup.records import TextEnum

MASK, VAR, QUOTED, RUN, END, HOLE = "\x00", "\x01", "\x02", "\x03", "\x04", "\x05"
#: What the shell would take for more than a character where it is not quoted.
_MASKED = frozenset("*?[]{},~")


class StepKind(metaclass=TextEnum):
    """What a step is."""

    COMMAND = "command"
    LOOP = "loop"
    #: A subshell: what it sets and where it goes ends with it.
    OPEN = "open"
    CLOSE = "close"


class ShellStep:
    """One step; ``words`` of a loop are its variable and then its values."""

    __slots__ = ("kind", "piped", "redirects", "stdin", "words")

    def __init__(self, kind: str, words: list[str], redirects: list[tuple[str, str]]) -> None:
        self.kind = kind
        self.words = words
        self.redirects = redirects
        #: What a here-document gives it, as it is written; None where it has none.
        self.stdin: str | None = None
        #: Whether it reads what the command before it writes.
        self.piped = False


def masked(text: str) -> str:
    """Return ``text`` as a word in which all is quoted."""
    if _MASKED.isdisjoint(text):
        return text
    return "".join(MASK + c if c in _MASKED else c for c in text)
