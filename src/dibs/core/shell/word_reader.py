"""Read the words of a shell command; quotes, variables, and substitutions become marks. Pure.

``words.py`` defines the marks and expands them.
"""

from __future__ import annotations

from dibs.core.shell.words import END, HOLE, MASK, QUOTED, RUN, RUN_QUOTED, VAR

BREAKS = frozenset(" \t\r\n;&|()<>")
#: Characters that are special to the shell unless quoted.
_MASKED = frozenset("*?[]{},~")
_PLAIN_ENDS = BREAKS | frozenset("'\"\\$`")
_QUOTED_ENDS = frozenset('"\\$`')
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
#: The text of a short substitution is kept, so that ``$(pwd)`` can be known.
_SHORT = 400
#: A longer arithmetic expression is not read.
_LONG = 4000


class WordReader:
    """Reads words from one text; ``nested`` and ``inner`` handle the commands inside them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        #: Whether all of the text was understood.
        self.whole = True

    def nested(self) -> None:
        """Read the commands of a subshell, up to its closing parenthesis."""
        raise NotImplementedError

    def inner(self, text: str, *, quoted: bool) -> None:
        """Read the commands in a nested text; if it is ``quoted``, only command substitutions."""
        raise NotImplementedError

    def run_within(self, body: str) -> None:
        """Read the commands in a text that does not matter otherwise, such as a here-document."""
        if "$(" in body or "`" in body:
            self.inner(body, quoted=True)

    def word(self) -> str:
        """Read a word that starts here."""
        text, end = self.text, len(self.text)
        parts: list[str] = []
        while self.at < end:
            c = text[self.at]
            if c in BREAKS:
                break
            if c == "'":
                parts.append(_masked(self._until("'", self.at + 1)))
            elif c == '"':
                self.at += 1
                parts.append(self.quoted('"'))
            elif c == "\\":
                following = text[self.at + 1 : self.at + 2]
                parts.append("" if following == "\n" else _masked(following))
                self.at += 2
            elif c in "$`":
                parts.append(self._dollar(VAR) if c == "$" else self._backticks(RUN))
            else:
                begin = self.at
                while self.at < end and text[self.at] not in _PLAIN_ENDS:
                    self.at += 1
                parts.append(text[begin : self.at])
        return "".join(parts)

    def quoted(self, closer: str) -> str:
        """Read text in double quotes, or without a ``closer`` a here-document."""
        text, end = self.text, len(self.text)
        parts: list[str] = []
        while self.at < end:
            c = text[self.at]
            if c == closer:
                self.at += 1
                return "".join(parts)
            if c == "\\":
                following = text[self.at + 1 : self.at + 2]
                kept = "" if following == "\n" else c + following
                parts.append(_masked(following if following in _QUOTED_ENDS else kept))
                self.at += 2
            elif c in "$`":
                parts.append(self._dollar(QUOTED) if c == "$" else self._backticks(RUN_QUOTED))
            else:
                begin = self.at
                while self.at < end and text[self.at] not in _QUOTED_ENDS:
                    self.at += 1
                if begin == self.at:
                    self.at += 1  # a quotation mark in a here-document
                parts.append(_masked(text[begin : self.at]))
        self.whole = self.whole and not closer
        return "".join(parts)

    def _dollar(self, mark: str) -> str:
        """Read an expansion that starts with a dollar sign."""
        text, begin = self.text, self.at + 1
        following = text[begin : begin + 1]
        if text.startswith("((", begin):
            self.skip_arithmetic(begin + 2)
            return HOLE
        if following == "(":
            self.at = begin + 1
            self.nested()
            inside = text[begin + 1 : min(self.at - 1, begin + _SHORT)]
            run = RUN if mark == VAR else RUN_QUOTED
            return run + (inside if self.at - begin < _SHORT and END not in inside else "") + END
        if following == "{":
            inside = self._until("}", begin + 1)
            self.run_within(inside)
            return mark + inside + END
        if following in {"'", '"'} and mark == VAR:
            self.at = begin + 1
            return self.quoted('"') if following == '"' else _masked(self._escaped(begin + 1))
        return self._name(mark, begin)

    def _name(self, mark: str, begin: int) -> str:
        """Read the name of a variable after its dollar sign."""
        text, stop = self.text, begin
        while stop < len(text) and text[stop] in _NAME:
            stop += 1
            if text[begin].isdigit():
                break
        if stop == begin:
            sign = text[begin : begin + 1]
            special = sign in {"@", "*", "?", "#", "$", "!", "-"}
            self.at = begin + special
            if sign in {"@", "*"}:
                return mark + "@" + END
            return HOLE if special else "$"
        self.at = stop
        return mark + text[begin:stop] + END

    def _escaped(self, begin: int) -> str:
        """Read ``$'…'``; escapes other than those of single letters stay unchanged."""
        at = begin
        while at < len(self.text) and self.text[at] != "'":
            at += 2 if self.text[at] == "\\" else 1
        self.at = at + 1
        return self.text[begin:at].replace("\\'", "'").replace("\\n", "\n").replace("\\t", "\t")

    def _backticks(self, mark: str) -> str:
        """Read a command between backticks."""
        at = self.at + 1
        while at < len(self.text) and self.text[at] != "`":
            at += 2 if self.text[at] == "\\" else 1
        inside = self.text[self.at + 1 : at]
        self.at = at + 1
        self.inner(inside.replace("\\`", "`").replace("\\\\", "\\"), quoted=False)
        return mark + (inside if len(inside) < _SHORT and END not in inside else "") + END

    def skip_arithmetic(self, begin: int) -> None:
        """Skip ``((…))``, whose content starts at ``begin``."""
        level, at = 2, begin
        while level and at < len(self.text):
            level += {"(": 1, ")": -1}.get(self.text[at], 0)
            at += 1
        if level or at - begin > _LONG:
            self.whole = False
        else:
            self.run_within(self.text[begin:at])
        self.at = at

    def _until(self, closer: str, begin: int) -> str:
        """Return the text up to ``closer``, and skip it."""
        found = self.text.find(closer, begin)
        self.whole = self.whole and found >= 0
        stop = found if found >= 0 else len(self.text)
        self.at = stop + 1
        return self.text[begin:stop]


def _masked(text: str) -> str:
    """Return ``text`` as a fully quoted word."""
    if _MASKED.isdisjoint(text):
        return text
    return "".join(MASK + c if c in _MASKED else c for c in text)
