"""Mask secrets in text that is about to be stored or shown.

Pure. A secret has the format of an issuer's tokens, is a private key, or is the password in a URL. It becomes
``[masked github token]``, so a reader still sees what was there. Other passwords look like prose, so they
are not masked.

Most texts contain no secrets. Each rule names what a text must contain before its expression is compiled, so
a short ordinary text costs a few microseconds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


#: No shorter word can be an issuer's token.
_SHORTEST = 16

_BLOCK = (
    r"-----?[ ]?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[ ]?-----?"
    r"(?s:.*?)(?:-----?[ ]?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?[ ]?-----?|\Z)"
)
_PUTTY = r"(?i)(?<=private-lines:)(?s:.*?)(?=private-mac:|\Z)"
_URL = r"(?<=://)(?P<user>[^\s/:@]*):(?!\[masked)[^\s/]+(?=@)"


def storable(text: str, field: str = "text") -> str:
    """Return ``text`` for storage: secrets masked, and invalid Unicode escaped; refuse a NUL character.

    PostgreSQL cannot store one.
    """
    if "\0" in text:
        from dibs.errors import BadInput

        raise BadInput(f"the {field} contains a NUL character", code="TEXT_NUL", field=field)
    return mask(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def mask(text: str) -> str:
    """Return ``text`` with secrets replaced; masking the result again changes nothing."""
    lowered = text.lower()
    longest = max(map(len, lowered.split()), default=0)
    if longest >= _SHORTEST:
        from dibs.core.text.secret_formats import FORMATS

        for each in FORMATS:
            if longest >= each.least and any(mark in lowered for mark in each.marks):
                text = _replace(each.expression, f"[masked {each.kind}]", text)
    if "private" in lowered:
        text = _replace(_BLOCK, "[masked private key]", text)
        text = _replace(_PUTTY, " [masked private key]\n", text)
    if "://" in lowered and "@" in lowered:
        text = _replace(_URL, r"\g<user>:[masked password]", text)
    return text


def _replace(expression: str, replacement: str, text: str) -> str:
    import re

    return re.sub(expression, replacement, text)


def mask_value(value: Any) -> Any:
    """Return a JSON value with secrets masked in its texts."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {
            mask(key) if isinstance(key, str) else key: mask_value(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [mask_value(inner) for inner in value]
    return value
