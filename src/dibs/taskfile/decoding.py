"""From the bytes of a file to its text: UTF-8, line feeds, printable characters, within limits."""

from __future__ import annotations

import re

from dibs.taskfile.document import MAX_BYTES, MAX_LINE, NotYaml, Remark

#: Whatever YAML forbids, and the line ends and marks that readers of YAML disagree about.
_FORBIDDEN = re.compile(
    "[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_NAMES = {
    "\r": "a carriage return (save the file with Unix line ends, or run `dibs task fmt`)",
    "\0": "a NUL",
    "\f": "a form feed",
    "\ufeff": "a byte order mark (save the file without it, or run `dibs task fmt`)",
    "\x1b": 'an escape character (write it as "\\e" in double quotes)',
}


def decode(content: bytes, most: int = MAX_BYTES) -> str:
    """Return the text of a file of ``most`` bytes; raise ``NotYaml`` (``LIMIT``, ``YAML_SYNTAX``)."""
    if len(content) > most:
        message = f"the file has more than the {most} bytes that are allowed"
        raise NotYaml(Remark(code="LIMIT", message=message, line=0))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _syntax("the file is UTF-16; save it as UTF-8, or run `dibs task fmt`", 1, 1)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        message = f"the byte 0x{content[error.start]:02x} is no UTF-8; save the file as UTF-8"
        raise _syntax(message, *position(before, len(before))) from None
    if not text.replace("\n", "").isprintable():
        found = _FORBIDDEN.search(text)
        if found is not None:
            said = _NAMES.get(found[0], f"the character U+{ord(found[0]):04X}")
            raise _syntax(f"{said} is not allowed in YAML", *position(text, found.start()))
    if len(text) > MAX_LINE:
        _check_lines(text)
    return text


def position(text: str, index: int) -> tuple[int, int]:
    """Return line and column of a character, both counted from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _check_lines(text: str) -> None:
    for number, row in enumerate(text.split("\n"), start=1):
        if len(row) > MAX_LINE:
            message = f"a line of {len(row)} characters; {MAX_LINE} are allowed"
            raise NotYaml(Remark(code="LIMIT", message=message, line=number))


def _syntax(message: str, line: int, column: int) -> NotYaml:
    return NotYaml(Remark(code="YAML_SYNTAX", message=f"{message} (column {column})", line=line))
