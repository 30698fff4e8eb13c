"""The row keys of claims, and the key ranges that contain every overlapping claim.

A literal is stored under its key, a glob under the folder that contains all its matches and the extension
that they share. Two patterns overlap only if one folder contains the other or they are the same, so a few
key ranges contain every candidate.

Keys fold case in full (``ß`` as ``ss``). Names that match in either form of ``overlap`` have the same
key, and so do common prefixes, suffixes, and substrings, so the ranges find a superset for both forms.
"""

from __future__ import annotations

from itertools import takewhile

from dibs.core.patterns.tokens import part_key, token_key
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from dibs.core.patterns.pattern import Pattern
    from dibs.core.patterns.tokens import Row

    Key = TypeVar("Key", str, list[str])


class Range(Record):
    """The keys that start with ``prefix`` and contain ``containing``."""

    prefix: str
    containing: str = ""


def entry_prefix(pattern: Pattern) -> str:
    """Return the key prefix for a claim on ``pattern``; a part unique to the claim follows it."""
    if pattern.literal:
        return f"at/{pattern.key}//"
    return f"in/{_directory(pattern)[0]}//{tail_of(pattern)}//"


def ranges(pattern: Pattern) -> list[tuple[str, str]]:
    """Return disjoint key ranges that contain every overlapping pattern.

    They are plain pairs: every claim creates several, and a named tuple costs ten times as much.
    """
    if pattern.literal:
        key = pattern.key
        found = [(f"at/{key}//", ""), (f"in/{key}//", "")]
        found += [(f"in/{above}//", "") for above in _ancestors(key, pattern)]
        return found
    (directory, depth), tail = _directory(pattern), tail_of(pattern)
    within = f"{directory}/" if directory else ""
    tails = ("",) if tail == "*" else (f"{tail}//", "*//")
    return [
        (f"at/{within}", _required(pattern, depth)),
        *((f"in/{within}", t and f"//{t}") for t in tails),
        *((f"in/{above}//{t}", "") for above in _ancestors(directory, pattern) for t in tails),
    ]


def _ancestors(key: str, pattern: Pattern) -> list[str]:
    """Return the folders above ``key``; those of a resource end with its scheme."""
    above = []
    end = key.rfind("/")
    while end > 0:
        above.append(key[:end])
        end = key.rfind("/", 0, end)
    if key and not pattern.scheme:
        above.append("")
    return above


def _directory(pattern: Pattern) -> tuple[str, int]:
    """Return the key of the deepest folder that contains or is every match, and its depth."""
    common: list[str] | None = None
    for row in pattern.rows:
        plain = takewhile(lambda part: isinstance(part, str), row)
        names = [part_key(part, folded=pattern.folded) for part in plain]
        common = names if common is None else shared_start(common, names)
    names = common or []
    directory = "/".join(names)
    if pattern.scheme:
        directory = "/".join([f":{pattern.scheme}", *names])
    elif directory.startswith(":"):
        directory = f"\\{directory}"
    return directory, len(names)


def tail_of(pattern: Pattern) -> str:
    """Return the extension that all matches share, or ``*``."""
    tails = set()
    for row in pattern.rows:
        last = row[-1]
        text = last[-1] if isinstance(last, tuple) else last
        if not isinstance(text, str) or "." not in text:
            return "*"
        tails.add(token_key("." + text.rpartition(".")[2], folded=pattern.folded))
    return tails.pop() if len(tails) == 1 else "*"


def _required(pattern: Pattern, depth: int) -> str:
    """Return a text that the key of every matching literal contains after its first ``depth`` names."""
    runs = [_runs(row[depth:], folded=pattern.folded) for row in pattern.rows]
    in_all = runs[0].intersection(*runs[1:])
    if not in_all:
        longest = [max(sorted(of_row), key=len, default="") for of_row in runs]
        return shared_start(min(longest), max(longest))
    # An extension narrows little, because many files have it.
    return max(sorted(in_all), key=lambda run: (run[0] != ".", len(run)))


def shared_start(a: Key, b: Key) -> Key:
    """Return the common prefix. A prefix of the least and the greatest of a set is one of all."""
    same = [x == y for x, y in zip(a, b, strict=False)]
    return a[: same.index(False) if False in same else len(same)]


def _runs(row: Row, *, folded: bool) -> set[str]:
    """Return the texts between wildcards as they are in keys: "/" after a name, two after the last."""
    runs = [""]
    for index, part in enumerate(row, 1):
        for token in part if isinstance(part, tuple) else (part,):
            if isinstance(token, str):
                runs[-1] += token_key(token, folded=folded)
            else:
                runs.append("")
        if part is not None:
            runs[-1] += "/" if index < len(row) else "//"
    return {run for run in runs if run.strip("/")}
