"""Tell code from other text in Markdown that arrives in chunks, so that commands in code are not carried out.

Pure. As in CommonMark, a code block begins and ends with a line of backticks or tildes, and a code span on
one line is between two runs of backticks of the same length. Whether a run has a partner is known at the end
of the line; items after it wait for that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: How many runs and items of a line may wait for the line's end; after more of them, the rest counts as code.
MAX_HELD = 64
#: The indentation and the length of the shortest fence of a code block.
_MAX_INDENT, _MIN_FENCE = 3, 3


class CodeTracker:
    """The code around the current place in a text, and the items that are not in code."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        #: The spaces at the start of the line; negative after anything else.
        self._indent = 0
        #: The run at the start of the line that may be a fence, and the fence of the open code block.
        self._lead: tuple[str, int] | None = None
        self._block: tuple[str, int] | None = None
        #: The lengths of backtick runs without a partner on this line, and the items after the first of them.
        self._held: list[Any] = []
        self._rest_is_code = False

    @property
    def in_block(self) -> bool:
        """Whether this line is certainly in a code block, or opens one with tildes."""
        return self._block is not None or self._opens_with("~")

    @property
    def may_open_block(self) -> bool:
        """Whether a code block begins if the line ends here."""
        return self._block is None and self._lead is not None

    def _opens_with(self, sign: str) -> bool:
        return self._lead is not None and self._lead[0] == sign

    def add(self, item: object) -> None:
        """Add an item at the current place; it is found unless it turns out to be in code."""
        if self._held:
            self._hold(item)
        elif not self._rest_is_code:
            self.found.append(item)

    def plain(self, text: str) -> None:
        """Read characters other than runs and line ends."""
        if self._indent >= 0:
            spaces = self._indent + len(text)
            self._indent = -1 if text.strip(" ") or spaces > _MAX_INDENT else spaces
        if self._block is not None and text.strip(" \t"):
            self._lead = None

    def run(self, sign: str, length: int) -> None:
        """Read a whole run of backticks or tildes."""
        starts, self._indent = self._indent >= 0, -1
        fence = self._block or (sign, _MIN_FENCE)
        if starts and sign == fence[0] and length >= fence[1]:
            self._lead = sign, length
        elif self._block is not None or (sign == "`" and self._opens_with("`")):
            self._lead = None  # other backticks follow on the line, so that it is not a fence
        if sign == "`" and not self.in_block:
            if self._held[:1] == [length]:
                self._held.clear()
            elif not self._rest_is_code:
                self._hold(length)

    def _hold(self, item: object) -> None:
        self._held.append(item)
        if len(self._held) > MAX_HELD:
            self._held.clear()
            self._rest_is_code = True

    def end_line(self) -> None:
        """Read the end of a line."""
        if self._block is not None:
            self._block = None if self._lead is not None else self._block
        elif self._lead is not None:
            self._block = self._lead
        else:
            self.found += _outside_spans(self._held)
        self._indent, self._lead, self._held, self._rest_is_code = 0, None, [], False


def _outside_spans(line: list[Any]) -> list[Any]:
    """Return the items of a line that are not between two runs of the same length."""
    found, rest = [], list(line)
    while rest:
        first = rest.pop(0)
        if not isinstance(first, int):
            found.append(first)
        elif first in rest:
            del rest[: rest.index(first) + 1]
    return found
