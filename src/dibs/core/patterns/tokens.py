r"""The parts of patterns: characters, wildcards, classes, and braces.

A pattern is stored as rows, one for each brace alternative. A part of a row is a plain name, None for
``**``, or the tokens of a segment with wildcards: text, 0 for ``*``, None for ``?``, a ``Class``.

A byte of a name that is not UTF-8 is a surrogate, as in the functions of ``os``, and ``\xHH`` in spellings
and keys, so that both can be stored anywhere.
"""

from __future__ import annotations

from dibs.core.patterns.casefold import FEW, Spans, common, fold, fold_spans, without_cases
from dibs.core.text.names import cut, visible
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

MAX_ALTERNATIVES = 256
MAX_SHOWN = 200

_RANGES = (
    *((0x01, 0x1F), (0x7F, 0x9F), (0x61C, 0x61C), (0x200B, 0x200F), (0x2028, 0x202E)),
    *((0x2060, 0x2064), (0x2066, 0x2069), (0xFEFF, 0xFEFF), (0xE0000, 0xE007F)),
)
FORBIDDEN = frozenset[str]().union(*[map(chr, range(low, high + 1)) for low, high in _RANGES])
#: Characters allowed in a name: not NUL, not "/", and only the surrogates that represent bytes.
_NAMEABLE = (("\x01", "."), ("0", "\ud7ff"), ("\udc80", "\udcff"), ("\ue000", "\U0010ffff"))
_OPEN, _COMMA, _CLOSE = 1, 2, 3
_SIGNS = {0: "*", None: "?", _OPEN: "{", _COMMA: ",", _CLOSE: "}"}
_META = {"*": 0, "?": None, "[": None, "{": _OPEN, "}": _CLOSE}
_SPECIAL = frozenset("*?[]{}\\")
_SPECIAL_IN_BRACES = _SPECIAL | {","}
_SPECIAL_IN_CLASS = frozenset("[]\\-!^")


class Class(Record):
    """A character class: its canonical spelling and its characters."""

    text: str
    spans: Spans
    #: The characters that a negated class names.
    named: Spans = ()


#: Text, 0 for ``*``, None for ``?``, or a class; until braces are expanded, also 1, 2, and 3 for them.
Token = str | int | Class | None
Part = str | tuple[Token, ...] | None
Row = tuple[Part, ...]


def printable(text: str) -> str:
    """Return ``text`` escaped and cut to 200 characters, for a message."""
    return cut("".join(map(visible, text[: MAX_SHOWN + 1])), MAX_SHOWN)


def refuse(code: str, text: str, rule: str, hint: str) -> NoReturn:
    raise BadInput(f'"{printable(text)}" {rule}', code=code, hint=hint, field="pattern")


def _syntax(text: str, position: int, what: str) -> NoReturn:
    hint = "put a backslash before a literal special character"
    refuse("GLOB_SYNTAX", text, f"{what} at position {position + 1}", hint)


def tokenised(rest: str, offset: int, text: str, *, folded: bool) -> list[Token]:
    """Read ``rest``, which starts at ``offset`` in ``text``; "/" stays inside the text tokens."""
    tokens: list[Token] = []
    opened: list[int] = []
    run = ""
    at = 0
    while at < len(rest):
        character = rest[at]
        at += 1
        if character == "\\":
            if at == len(rest):
                _syntax(text, offset + at - 1, "ends in a backslash, which escapes nothing,")
            run += rest[at]
            at += 1
            continue
        if character not in _META and not (character == "," and opened):
            run += character
            continue
        if run:
            tokens.append(run)
            run = ""
        if character == "[":
            token, at = _class(rest, at, offset, text, folded=folded)
            tokens.append(token)
        else:
            _note_braces(character, offset + at - 1, opened, text)
            tokens.append(_META.get(character, _COMMA))
    if opened:
        _syntax(text, opened[-1], "has a { without a } after it")
    return [*tokens, run] if run else tokens


def _note_braces(character: str, position: int, opened: list[int], text: str) -> None:
    if character == "{":
        opened.append(position)
    elif character == "}":
        if not opened:
            _syntax(text, position, "has a } without a { before it")
        opened.pop()


def _class(rest: str, at: int, offset: int, text: str, *, folded: bool) -> tuple[Token, int]:
    """Read the class whose ``[`` is before ``at``; return it and its end."""
    start = at - 1
    negated = rest[at : at + 1] in {"!", "^"}
    at += negated
    characters: list[tuple[str, bool]] = []
    while rest[at : at + 1] != "]" or not characters:
        escaped = rest[at : at + 1] == "\\"
        character = rest[at + escaped : at + escaped + 1]
        if not character:
            _syntax(text, offset + start, "has a [ without a ] after it")
        characters.append((character, escaped))
        at += 1 + escaped
    spans: list[tuple[str, str]] = []
    index = 0
    while index < len(characters):
        low = high = characters[index][0]
        if characters[index + 1 : index + 2] == [("-", False)] and index + 2 < len(characters):
            high = characters[index + 2][0]
            index += 2
        if high < low:
            backwards = f"has the reversed range {visible(low)}-{visible(high)} in a class"
            _syntax(text, offset + start, backwards)
        spans.append((low, high))
        index += 1
    token = _class_of(spans, negated=negated, folded=folded)
    if token is None:
        _syntax(text, offset + start, "has an empty character class")
    return token, at + 1


def _class_of(spans: list[tuple[str, str]], *, negated: bool, folded: bool) -> Token:
    """Return the class, its only character, or None if it is empty."""
    merged = _merged(spans)
    kept = common(_complement(merged) if negated else merged, _NAMEABLE)
    if negated and folded:
        kept = without_cases(kept)
    if not kept:
        return None
    if len(kept) == 1 and kept[0][0] == kept[0][1]:
        return kept[0][0]
    if negated:
        return Class(_class_text(merged, negated=True), kept, merged)
    return Class(_class_text(kept, negated=False), kept)


def _merged(spans: list[tuple[str, str]]) -> Spans:
    merged: list[tuple[str, str]] = []
    for low, high in sorted(spans):
        if merged and ord(low) <= ord(merged[-1][1]) + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(spans: Spans) -> Spans:
    edges = [0, *(edge for low, high in spans for edge in (ord(low), ord(high) + 1)), 0x110000]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((chr(low), chr(high - 1)) for low, high in pairs if low < high)


def _class_text(spans: Spans, *, negated: bool) -> str:
    text = "[!" if negated else "["
    for low, high in spans:
        text += _escaped(low, _SPECIAL_IN_CLASS)
        if low < high:
            text += "-" * (ord(high) > ord(low) + 1) + _escaped(high, _SPECIAL_IN_CLASS)
    return text + "]"


def _escaped(text: str, special: frozenset[str] = _SPECIAL) -> str:
    if text.isascii() and special.isdisjoint(text):
        return text
    return "".join(
        f"\\{c}" if c in special else visible(c) if "\udc80" <= c <= "\udcff" else c for c in text
    )


def expanded(tokens: list[Token], text: str) -> list[list[Token]]:
    """Expand the braces."""
    if _OPEN not in tokens:
        return [tokens]
    rows: list[list[Token]] = [[]]
    options: list[list[Token]] = []
    outer: list[tuple[list[list[Token]], list[list[Token]]]] = []
    for token in tokens:
        if token == _OPEN:
            outer.append((rows, options))
            rows, options = [[]], []
        elif token == _COMMA:
            options += rows
            rows = [[]]
        elif token == _CLOSE:
            inner = options + rows
            rows, options = outer.pop()
            if len(rows) * len(inner) > MAX_ALTERNATIVES:
                rule = f"has more than {MAX_ALTERNATIVES} brace alternatives"
                refuse("GLOB_TOO_COMPLEX", text, rule, "use * instead, or several patterns")
            rows = [row + option for row in rows for option in inner]
        else:
            for row in rows:
                row.append(token)
    return rows


def rendered(tokens: list[Token]) -> str:
    """Spell tokens; a literal comma inside braces is escaped."""
    depth = 0
    text = ""
    for token in tokens:
        depth += (token == _OPEN) - (token == _CLOSE)
        if isinstance(token, str):
            text += _escaped(token, _SPECIAL_IN_BRACES if depth else _SPECIAL)
        else:
            text += token.text if isinstance(token, Class) else _SIGNS[token]
    return text


def rendered_part(part: Part) -> str:
    return "**" if part is None else rendered([part] if isinstance(part, str) else list(part))


def row_key(row: Row, scheme: str, *, folded: bool) -> str:
    """Return the key that all spellings of ``row`` share.

    Case is folded in full (``ß`` as ``ss``), so names that are equal in either way of folding have one key.
    A resource starts with a colon; a path that does has a backslash before it.
    """
    key = "/".join([part_key(part, folded=folded) for part in row])
    if scheme:
        return f":{scheme}/{key}"
    return f"\\{key}" if key.startswith(":") else key


def part_key(part: Part, *, folded: bool) -> str:
    """Return the key of one part of a row."""
    if part is None:
        return "**"
    return "".join(
        [token_key(token, folded=folded) for token in ([part] if isinstance(part, str) else part)]
    )


def token_key(token: Token, *, folded: bool) -> str:
    """Return the key of one token; equal text has the same key everywhere."""
    if isinstance(token, str):
        return _escaped(fold(token, full=True) if folded else token)
    if not isinstance(token, Class):
        return _SIGNS[token]
    if folded and token.named:
        return _class_text(fold_spans(token.named), negated=True)
    width = sum(ord(high) - ord(low) + 1 for low, high in token.spans)
    if not folded or width > FEW:
        return token.text
    return _class_text(fold_spans(token.spans), negated=False)
