"""Find the paths in a patch: in the format of ``apply_patch``, or a unified diff. Pure.

The first is enclosed in ``*** Begin Patch`` and ``*** End Patch`` and names each file on its own line.
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


def diffed(text: str, strip: int = -1) -> tuple[Touch, ...]:
    """Return the paths in the headers of a unified diff.

    The first ``strip`` folders of a name do not count; if negative, the prefixes of git do not.
    """
    found: dict[Touch, None] = {}
    before = ""
    for line in text.splitlines():
        if line.startswith("diff --git a/") and strip in {-1, 1}:  # also a binary file, or a mode
            found[Touch(_unquoted(line.rpartition(" b/")[2]))] = None
        # A removed line that starts with "--" looks like a header, but no "+++" follows it.
        if line.startswith("+++ ") and before.startswith("--- "):
            found |= dict.fromkeys(map(Touch, _sides(before[4:], line[4:], strip)))
        for sign, how in _RENAMES:
            if line.startswith(sign):
                found[Touch(_unquoted(line[len(sign) :]), how)] = None
        before = line
    return tuple(touch for touch in found if touch.path)


_RENAMES = (("rename from ", How.DELETE), ("rename to ", How.WRITE), ("copy to ", How.WRITE))
#: The prefixes of git: a and b, or what the sides are (commit, index, object, working tree).
_PREFIXES = frozenset("abciow12")


def _unquoted(text: str) -> str:
    return text.split("\t", maxsplit=1)[0].strip().strip('"')


def _sides(old: str, new: str, strip: int) -> list[str]:
    """Return the names of a file on both sides of a diff."""
    names = [name for name in map(_unquoted, (old, new)) if name != "/dev/null"]
    if strip < 0:
        letters = [name[0] for name in names if name[1:2] == "/"]
        strip = int(len(set(letters)) == len(names) and _PREFIXES.issuperset(letters))
    return ["/".join(name.split("/")[strip:]) for name in names]


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
