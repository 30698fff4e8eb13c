"""Read patterns: refuse invalid ones, and give the others one canonical spelling."""

from __future__ import annotations

from dibs.core.patterns.tokens import (
    FORBIDDEN,
    Class,
    Part,
    Row,
    Token,
    expanded,
    refuse,
    rendered,
    rendered_part,
    row_key,
    tokenised,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match
    from typing import NoReturn

MAX_LITERAL, MAX_GLOB, MAX_NAME, MAX_DEPTH = 4096, 1024, 255, 64
MAX_WILDCARDS = 16
#: The longest spelling of the longest path, with each byte as ``\\xHH``.
MAX_TEXT = 4 * MAX_LITERAL + 8
#: The scheme of a path, in any case.
FILE = "file:"
_HIGH, _LOW = frozenset("89abcdefABCDEF"), frozenset("0123456789abcdefABCDEF")
_HINT_ALL = "write ** for the whole repository"


class SpelledPattern(Record):
    """The result of ``read``."""

    text: str
    key: str
    scheme: str
    rows: tuple[Row, ...]


def file_path(text: str, *, literal: bool = False) -> str:
    """Return the path that ``file:PATH`` or the URL ``file:///PATH`` names, any other text unchanged.

    ``file:PATH`` is ``./PATH``, percent signs included. In a URL, ``%5B`` is the character, never special;
    with ``literal``, it is not escaped. A URL with another host stays, and is then refused as absolute.
    """
    if text[: len(FILE)].lower() != FILE:
        return text
    rest = text[len(FILE) :]
    if not rest.startswith("//"):
        return rest if rest.startswith(("/", "./")) else f"./{rest}"
    host, slash, path = rest[2:].partition("/")
    if not slash or host.lower() not in {"", "localhost"}:
        return text
    from re import sub
    from urllib.parse import unquote

    def decoded(escapes: Match[str]) -> str:
        plain = unquote(escapes[0], errors="surrogateescape")
        return plain if literal else rendered([plain])

    return "/" + sub("(%[0-9A-Fa-f]{2})+", decoded, path)


def split_scheme(text: str) -> tuple[str, str]:
    """Split a text into its scheme, empty for a path, and the rest."""
    if text.startswith("./"):
        return "", text[2:]
    if text.startswith("@"):
        return "@", text[1:]
    name, colon, rest = text.partition(":")
    plain = name.replace("-", "").replace("_", "")
    if not colon or len(name) == 1 or not name[:1].isalpha() or rest.startswith("//"):
        return "", text
    return (name, rest) if plain.isascii() and plain.isalnum() and plain.islower() else ("", text)


def join_scheme(scheme: str, rest: str) -> str:
    """Return the text that ``split_scheme`` splits into ``scheme`` and ``rest``."""
    if scheme:
        return f"@{rest}" if scheme == "@" else f"{scheme}:{rest}"
    plain = split_scheme(rest) == ("", rest) == ("", file_path(rest))
    return rest if plain and not _is_absolute(rest) and not rest.isspace() else f"./{rest}"


def _is_absolute(text: str) -> bool:
    if text.startswith(("/", "~", "\\\\")):
        return True
    name, _, rest = text.partition(":")
    if not (name.isascii() and name[:1].isalpha() and rest):
        return False
    if len(name) == 1:
        return rest[0] in "/\\"
    return rest.startswith("//") and all(c.isalnum() or c in "+.-_" for c in name)


def read(text: str, *, literal: bool, folded: bool) -> SpelledPattern:
    """Read a pattern, or raise ``BadInput``."""
    clean = _cleaned(text, literal=literal)
    size = len(clean)
    if not literal:
        clean = file_path(clean)
    forced = clean.startswith("./")
    if not forced and _is_absolute(clean):
        _refuse_absolute(text)
    scheme, rest = split_scheme(clean)
    tokens: list[Token] = [rest]
    if not literal:
        tokens = tokenised(rest, size - len(rest), text, folded=folded)
    _check_size(tokens, text)
    alternatives = expanded(tokens, text)
    if not scheme and not forced:
        for alternative in alternatives:
            _check_alternative(alternative, text, braces=alternative is not tokens)
    rows: dict[str, Row] = {}
    keys: set[str] = set()
    for alternative in alternatives:
        row = _row(alternative, text)
        _check_row(row, scheme, text)
        spelled = "/".join(map(rendered_part, row))
        keys.add(key := row_key(row, scheme, folded=folded))
        # The key does not distinguish letters such as ß.
        rows.setdefault(key if spelled.isascii() else spelled, row)
    if len(rows) > 1:
        spelled = ("./" if forced else "") + rendered(tokens)
        canonical = join_scheme(scheme, spelled) if scheme else spelled
        key = ",".join([key.replace(",", "\\,") for key in sorted(keys)])
        return SpelledPattern(canonical, f"{{{key}}}", scheme, tuple(rows.values()))
    (row,) = rows.values()
    subtree = row[-1] is None and len(row) > 1 and _is_subtree(alternatives[0])
    spelled = "/".join(map(rendered_part, row[:-1] if subtree else row)) + "/" * subtree
    return SpelledPattern(join_scheme(scheme, spelled), key, scheme, (row,))


def _cleaned(text: str, *, literal: bool) -> str:
    if len(text) > MAX_TEXT:
        _refuse_long(text, f"is longer than {MAX_LITERAL} bytes, the limit for a path")
    if "\0" in text:
        refuse("PATH_NUL", text, "contains a NUL byte", "remove it")
    if not literal and "\\x" in text:
        text = with_bytes(text)
    text = _settled(text, text)
    if not text.strip() or text in {".", "./"}:
        refuse("PATH_EMPTY", text, "is empty; a pattern names at least one file", _HINT_ALL)
    return text


def with_bytes(text: str) -> str:
    r"""Replace each ``\xHH`` from 80 to ff with the surrogate for that byte."""
    pieces = []
    at = 0
    while at < len(text):
        size = 2 if text[at] == "\\" else 1
        piece = text[at : at + size]
        high, low = text[at + 2 : at + 3], text[at + 3 : at + 4]
        if piece == "\\x" and high in _HIGH and low in _LOW:
            piece, size = chr(0xDC00 + int(high + low, 16)), 4
        pieces.append(piece)
        at += size
    return "".join(pieces)


def _settled(text: str, whole: str) -> str:
    """Return ``text`` in NFC, with bytes that form UTF-8 as characters."""
    if not text.isascii():
        from unicodedata import normalize

        try:
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            rule = "contains half of a surrogate pair; a name is UTF-8 or raw bytes"
            refuse("PATH_ENCODING", whole, rule, r"write a raw byte as \xHH, from \x80 to \xff")
        text = normalize("NFC", text)
    if not FORBIDDEN.isdisjoint(text):
        rule = "contains a control or invisible character, which is not allowed"
        refuse("PATH_CONTROL", whole, rule, "rename the file, or write ? for that character")
    return text


def _refuse_absolute(text: str) -> NoReturn:
    rule = "is absolute; a pattern is relative to the root of the repository"
    refuse("PATH_ABSOLUTE", text, rule, "leave out the root, or start with ./ for a name like this")


def _refuse_long(text: str, rule: str) -> NoReturn:
    refuse("PATH_TOO_LONG", text, rule, "claim the folder above it")


def _check_alternative(tokens: list[Token], text: str, *, braces: bool) -> None:
    if tokens and isinstance(tokens[0], str) and tokens[0].startswith("/"):
        _refuse_absolute(text)
    if not braces:
        return
    spelled = rendered(tokens)
    if _is_absolute(spelled):
        _refuse_absolute(text)
    if split_scheme(spelled)[0]:
        rule = "mixes a resource with paths in its alternatives"
        refuse("GLOB_SYNTAX", text, rule, "write task:{1,2}, or start with ./ for file names")


def _check_size(tokens: list[Token], text: str) -> None:
    written = "".join([token for token in tokens if isinstance(token, str)])
    size = len(written.encode("utf-8", "surrogateescape"))
    if all(isinstance(token, str) for token in tokens):
        if size > MAX_LITERAL:
            _refuse_long(text, f"is longer than {MAX_LITERAL} bytes, the limit for a path")
        return
    size += sum(
        len(t.text) if isinstance(t, Class) else 1 for t in tokens if not isinstance(t, str)
    )
    if size > MAX_GLOB:
        _refuse_long(text, f"is longer than {MAX_GLOB} bytes, the limit for a glob")


def _row(tokens: list[Token], text: str) -> Row:
    """Split into segments, without empty ones."""
    parts: list[Part] = []
    climbed = False
    for segment in _segments(tokens):
        part = _part(segment, text)
        if part in ("", "."):
            continue
        if part == "..":
            climbed = True
            if not parts or not isinstance(parts.pop(), str):
                rule = "leaves the repository, or has .. after a wildcard"
                refuse("PATH_ESCAPE", text, rule, "write the path from the root, without ..")
        elif isinstance(part, str) and not part.strip("."):
            rule = "has a segment of only dots"
            refuse("PATH_ESCAPE", text, rule, "write the path from the root, without dots")
        elif part is not None or not parts or parts[-1] is not None:
            parts.append(part)
    if not parts:
        code, rule = (
            ("PATH_ESCAPE", "resolves to nothing") if climbed else ("PATH_EMPTY", "is empty")
        )
        refuse(code, text, f"{rule}; a pattern names at least one file", _HINT_ALL)
    if _is_subtree(tokens) and parts[-1] is not None:
        parts.append(None)
    return tuple(parts)


def _is_subtree(tokens: list[Token]) -> bool:
    return isinstance(tokens[-1], str) and tokens[-1].endswith("/")


def _segments(tokens: list[Token]) -> list[list[Token]]:
    segments: list[list[Token]] = [[]]
    for token in tokens:
        if isinstance(token, str):
            first, *others = token.split("/")
            segments[-1].append(first)
            segments += [[name] for name in others]
        else:
            segments[-1].append(token)
    return segments


def _part(segment: list[Token], text: str) -> Part:
    if len(segment) == 1 and isinstance(segment[0], str):
        return _settled(segment[0], text)
    tokens: list[Token] = []
    for token in segment:
        if isinstance(token, str) and tokens and isinstance(tokens[-1], str):
            tokens[-1] += token
        elif token != "":
            tokens.append(token)
    if tokens == [0, 0]:
        return None
    kept: list[Token] = []
    for token in tokens:
        if token != 0 or kept[-1:] != [0]:
            kept.append(_settled(token, text) if isinstance(token, str) else token)
    if not kept:
        return ""
    return kept[0] if len(kept) == 1 and isinstance(kept[0], str) else tuple(kept)


def _check_row(row: Row, scheme: str, text: str) -> None:
    wildcards = 0
    for part in row:
        if isinstance(part, str):
            if len(part.encode("utf-8", "surrogateescape")) > MAX_NAME:
                _refuse_long(text, f"has a name longer than {MAX_NAME} bytes")
            name = part.lower()
            if not scheme and name in {".git", "git~1"}:
                rule = "belongs to git and cannot be claimed"
                refuse("PATH_RESERVED", text, rule, "claim @git/index to reserve git's index")
        else:
            wildcards += 1 if part is None else sum(not isinstance(token, str) for token in part)
    if wildcards > MAX_WILDCARDS:
        rule = f"has more than {MAX_WILDCARDS} wildcards"
        refuse("GLOB_TOO_COMPLEX", text, rule, "use a simpler pattern, or the folder above")
    if len(row) > MAX_DEPTH:
        _refuse_long(text, f"has more than {MAX_DEPTH} segments")
