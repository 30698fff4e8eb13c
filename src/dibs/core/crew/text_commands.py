"""Read text commands from what an agent prints: ``⟦⟦ LOCK_FILE {"filePath": "src/auth.ts"} ⟧⟧``.

Pure. The reader decides at signs, never at the ends of chunks, so that every chunking of a text yields the
same commands. It keeps one command of limited length, and the few that wait for the end of their line.
"""

from __future__ import annotations

import re
from json import JSONDecoder

from dibs.core.crew.quoted_code import CodeTracker
from dibs.core.crew.text_command_fields import COMMANDS, check_fields, check_name
from dibs.core.text.names import quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The most characters of a command, and of what precedes its payload: spaces, the nonce, and the name.
MAX_COMMAND, MAX_HEAD = 65_536, 300
#: Each character starts or continues a run, ends a line, or is plain.
_TEXT = re.compile(r"`+|~+|⟦+|[\r\n]|[^`~⟦\r\n]+")
#: What may follow in each part of a command, apart from signs that ``_Candidate`` handles.
_HEAD = re.compile(r"[A-Za-z0-9_ \t-]+")
_PAYLOAD = re.compile(r"[ \t{}\[\]:,0-9.E+truefalsn-]+")
_STRING = re.compile(r'[^"\\⟧\r\n]+')
#: A line break inside a string is accepted, because models write them.
_JSON = JSONDecoder(strict=False)


class TextCommand(Record):
    """A command with valid fields."""

    name: str
    fields: dict[str, Any]


class CommandError(Record):
    """Text that looks like a command but is not valid, and why, in one line."""

    message: str


def without_commands(text: str) -> str:
    """Return a text in which nothing is a command, for an agent that may repeat it."""
    return re.sub("⟦(?=⟦)", "⟦ ", text)


class _Candidate:
    """What follows two brackets, until it is a whole command or cannot become one."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        #: The name, once it is known that a payload follows.
        self.name = ""
        self._part = _HEAD
        self._escaped = False
        #: How many closing brackets were read in a row, and whether the string being read contains two.
        self._brackets = 0
        self._ends_inside = False
        self.closed = False

    @property
    def text(self) -> str:
        """What was read; nothing if it is too long."""
        return "".join(self._parts)

    @property
    def in_head(self) -> bool:
        """Whether no payload has begun."""
        return self._part is _HEAD

    @property
    def too_long(self) -> bool:
        """Whether it is longer than a command may be."""
        return self._size > (MAX_HEAD if self.in_head else MAX_COMMAND)

    def take(self, text: str, at: int) -> str:
        """Return the characters from ``at`` that belong to it; none if the next one cannot."""
        sign = text[at]
        plain = None if self._escaped or self._brackets else self._part.match(text, at)
        if plain is not None:
            return self._keep(plain[0])
        follows = self._in_string if self._part is _STRING else self._outside
        return self._keep(sign) if follows(sign) else ""

    def _in_string(self, sign: str) -> bool:
        """Take a sign inside a string; return whether it can follow."""
        if sign in "\r\n" and self._ends_inside:
            return False  # the string's quotation mark is missing
        if self._escaped:
            self._escaped = False
        elif sign == "\\":
            self._escaped = True
        elif sign == '"':
            self._part = _PAYLOAD
        self._brackets = self._brackets + 1 if sign == "⟧" else 0
        self._ends_inside |= self._brackets > 1
        if self._part is _PAYLOAD:
            self._ends_inside = False
        return True

    def _outside(self, sign: str) -> bool:
        """Take a sign outside strings; return whether it can follow."""
        if sign == "⟧":
            self._brackets += 1
            self.closed = self._brackets > 1
        elif self._brackets:
            return False
        elif sign == "{" and self.in_head:
            self._part = _PAYLOAD
        elif sign == '"' and not self.in_head:
            self._part = _STRING
        return sign in '⟧{"\r\n' and not (sign == '"' and self.in_head)

    def _keep(self, text: str) -> str:
        self._size += len(text)
        if self._size > MAX_COMMAND:
            self._parts.clear()
        else:
            self._parts.append(text)
        return text


class CommandReader:
    """Finds the commands in an agent's output, which arrives in chunks.

    With a ``nonce``, a word of ASCII letters and digits, only commands that begin with it count, so that a
    file that the agent quotes cannot contain one.
    """

    def __init__(self, nonce: str = "") -> None:
        self._nonce = nonce
        self._begin()

    def _begin(self) -> None:
        self._page = CodeTracker()
        self._command: _Candidate | None = None
        #: The run of backticks, tildes, or brackets that is being read.
        self._run, self._run_length = "", 0

    def feed(self, text: str) -> list[TextCommand | CommandError]:
        """Read a chunk; return the commands and errors that it completes."""
        at = 0
        while at < len(text):
            if self._command is not None:
                at += self._read_on(self._command, text, at)
                continue
            token = _TEXT.match(text, at)
            assert token is not None
            sign = token[0][0]
            if self._run not in {"", sign}:
                self._end_run()
                if self._command is not None:
                    continue
            at = token.end()
            if sign in "`~⟦":
                self._run, self._run_length = sign, self._run_length + len(token[0])
            elif sign in "\r\n":
                self._page.end_line()
            else:
                self._page.plain(token[0])
        found, self._page.found = self._page.found, []
        return found

    def close(self) -> list[TextCommand | CommandError]:
        """End the text; return the remaining commands and errors. The reader can then read another text."""
        self._end_run()
        if self._command is not None and not self._command.too_long:
            self._report(self._command, "is not closed")
        self._page.end_line()
        found = self._page.found
        self._begin()
        return found

    def _end_run(self) -> None:
        sign, length = self._run, self._run_length
        self._run, self._run_length = "", 0
        if sign == "⟦":
            self._page.plain(sign)
            if length == len("⟦⟦") and not self._page.in_block:
                self._command = _Candidate()
        elif sign:
            self._page.run(sign, length)

    def _read_on(self, command: _Candidate, text: str, at: int) -> int:
        """Read on in a command; return how many characters belong to it."""
        if text[at] in "\r\n" and self._page.may_open_block:
            self._command = None
            return 0
        in_head, was_too_long = command.in_head, command.too_long
        taken = command.take(text, at)
        if taken in {"\r", "\n"}:
            self._page.end_line()
        else:
            self._page.plain(taken)
        if in_head and not command.in_head:
            command.name = self._name(command) or ""
        if in_head and (command.too_long or not (command.in_head or command.name)):
            self._command = None  # other text in brackets
        elif not taken or command.closed:
            self._command = None
            if not command.too_long:
                self._report(command, "" if command.closed else "is malformed")
        elif command.too_long and not was_too_long:
            message = f"{command.name} is longer than {MAX_COMMAND} characters"
            self._page.add(CommandError(message))
        return len(taken)

    def _name(self, command: _Candidate) -> str | None:
        """Return a command's name as it is written; None if this is other text in brackets."""
        words = command.text.partition("{")[0].replace("⟧", "").split()
        if self._nonce:
            if words[:1] != [self._nonce]:
                return None
            words = words[1:]
        known = bool(words) and words[0] in COMMANDS
        alone = len(words) == 1 and (command.closed or not command.in_head)
        return " ".join(words) if known or alone else None

    def _report(self, command: _Candidate, problem: str) -> None:
        """Add a command that has ended, or the ``problem`` with it."""
        name = self._name(command)
        if name is None:
            return
        word, _, more = name.partition(" ")
        try:
            known = check_name(word)
            if more or (problem and command.in_head):
                problem = problem or "is malformed"
                raise BadInput(f"{word} {problem}: its fields must be a JSON object")  # noqa: TRY301
            payload = {} if command.in_head else _payload(word, command.text, problem)
            self._page.add(TextCommand(known, check_fields(known, payload)))
        except BadInput as error:
            self._page.add(CommandError(error.message))


def _payload(name: str, text: str, problem: str) -> dict[str, Any]:
    """Return the JSON object of a command; ``text`` ends with the command, or where a ``problem`` is."""
    start = text.index("{")
    try:
        value, end = _JSON.raw_decode(text, start)
    except RecursionError:
        raise BadInput(f"{name}: the JSON is nested too deeply") from None
    except ValueError as error:  # also a number with too many digits
        if problem == "is not closed":
            raise BadInput(f"{name} {problem}: the text ends before ⟧⟧") from None
        at = getattr(error, "pos", start)
        near = f" near {quote(text[at : at + 20])}" if text[at:].strip("⟧") else ""
        what = getattr(error, "msg", "invalid number")
        message = f"{name}: malformed JSON at character {at - start + 1}{near}: {what}"
        raise BadInput(message) from None
    if problem or text[end:].strip() != "⟧⟧":
        raise BadInput(f"{name} {problem or 'is malformed'}: expected ⟧⟧ after the JSON object")
    return dict(value)
