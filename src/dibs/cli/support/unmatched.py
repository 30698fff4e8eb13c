"""Find claims of paths that do not exist.

Loaded only for a pattern whose path does not exist.
"""

from __future__ import annotations

import os
from itertools import islice

from dibs.core.patterns.pattern import matches
from dibs.core.patterns.spelling import file_path, split_scheme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.core.patterns.pattern import Pattern
    from dibs.local.paths import PathResolver

#: How many files are looked at; in a larger folder a glob counts as matching.
_MOST_FILES = 5_000
_SPECIAL = frozenset("*?[]{}\\")


def matches_nothing(tree: PathResolver, text: str, *, literal: bool) -> bool:
    """Return whether a text names paths, and none of them exists."""
    pattern = tree.resolve(text, literal=literal)
    named = pattern.scheme or split_scheme(file_path(text))[0]
    return not named and not _matches_something(tree, pattern)


def _matches_something(tree: PathResolver, pattern: Pattern) -> bool:
    root = tree.repository.root
    if pattern.literal:
        return os.path.lexists(os.path.join(root, pattern.path.rstrip("/")))
    parts = pattern.text.split("/")
    plain = next((at for at, part in enumerate(parts) if not _SPECIAL.isdisjoint(part)), len(parts))
    seen = 0
    for path in islice(_files(root, "/".join(parts[:plain])), _MOST_FILES):
        seen += 1
        if matches(pattern, f"./{path}"):
            return True
    return seen == _MOST_FILES


def _files(root: str, folder: str) -> Iterator[str]:
    """Yield the paths below a folder of the repository, nearest first."""
    waiting = [folder]
    for here in waiting:
        for name in _names(os.path.join(root, here)):
            path = f"{here}/{name}" if here else name
            yield path
            if os.path.isdir(os.path.join(root, path)) and not os.path.islink(
                os.path.join(root, path)
            ):
                waiting.append(path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name != ".git")
    except OSError:
        return []
