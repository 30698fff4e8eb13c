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


def is_diff(text: str) -> bool:
    """Return whether a text contains a unified diff, or the headers of git's."""
    text = f"\n{text}"
    return "\ndiff --git " in text or ("\n--- " in text and "\n+++ " in text)


def diffed(text: str) -> tuple[Touch, ...]:
    """Return the paths in the headers of a unified diff, without the prefixes of git."""
    found: dict[Touch, None] = {}
    before = ""
    for line in text.splitlines():
        if line.startswith("diff --git a/"):
            found[Touch(_unquoted(line.rpartition(" b/")[2]))] = None
        for sign, how in _DIFF_LINES:
            # A removed line that starts with "--" looks like a header, but no "+++" follows it.
            if line.startswith(sign) and (sign != "+++ " or before.startswith("--- ")):
                name = _unquoted(line[len(sign) :])
                if sign == "+++ ":
                    old = _unquoted(before[4:])
                    found |= dict.fromkeys(Touch(p, how) for p in _sides(old, name))
                else:
                    found[Touch(name, how)] = None
        before = line
    return tuple(touch for touch in found if touch.path)


_DIFF_LINES = (
    ("+++ ", How.WRITE), ("rename from ", How.DELETE), ("rename to ", How.WRITE),
    ("copy to ", How.WRITE),
)  # fmt: skip


def _unquoted(text: str) -> str:
    return text.split("\t", maxsplit=1)[0].strip().strip('"')


def _sides(old: str, new: str) -> list[str]:
    """Return the file that both sides name, with and without a prefix such as ``a/`` and ``b/``."""
    names = [name for name in (old, new) if name != "/dev/null"]
    cut = [name.partition("/")[2] for name in names if name[1:2] == "/"]
    return list(dict.fromkeys(cut if len(cut) == len(names) else names))


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
