"""Find the paths in a patch in the format of ``apply_patch``. Pure.

Such a patch is enclosed in ``*** Begin Patch`` and ``*** End Patch`` and names each file on its own line.
Parsers differ in what they tolerate; this one accepts all of it, because an extra path only means an extra
claim, while a missed path means an unchecked write.
"""

from __future__ import annotations

from dibs.core.toolcalls.values import How, Touch

BEGIN = "*** Begin Patch"

_ADD, _UPDATE, _DELETE, _MOVE = "Add File:", "Update File:", "Delete File:", "Move to:"
_MARK = "***"


def is_patch(text: str) -> bool:
    """Return whether a text contains a patch in this format."""
    return BEGIN in text


def touched(text: str) -> tuple[Touch, ...]:
    """Return the paths of a patch in order; a moved file is deleted and written elsewhere."""
    found: list[Touch] = []
    changing = False
    for line in text.splitlines():
        if changing and line[:1] in {" ", "+", "-", "@"}:
            continue  # a line of the file itself
        word, path = _header(line)
        if not word:
            continue
        if word == _MOVE and found:
            source = found[-1]
            found[-1] = source._replace(how=How.DELETE)
        changing = word in {_UPDATE, _MOVE}
        found.append(Touch(path, How.DELETE if word == _DELETE else How.WRITE))
    return tuple(found)


def _header(line: str) -> tuple[str, str]:
    """Return the action and path of a header line; empty for any other line."""
    text = line.strip()
    if not text.startswith(_MARK):
        return "", ""
    rest = text[len(_MARK) :].lstrip()
    for word in (_ADD, _UPDATE, _DELETE, _MOVE):
        if rest.startswith(word):
            path = rest[len(word) :].strip()
            return (word, path) if path else ("", "")
    return "", ""
