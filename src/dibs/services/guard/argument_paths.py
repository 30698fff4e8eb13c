"""Find the files that an unknown tool's arguments name: only the working tree shows which texts are paths."""

from __future__ import annotations

import os

from dibs.core.patterns.overlap import matches
from dibs.core.toolcalls.path_candidates import candidate_paths, is_pathlike
from dibs.core.toolcalls.values import How, Touch
from dibs.services.guard.touched import touched
from dibs.services.state.rows import claim_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.toolcalls.values import HookEvent
    from dibs.local.repository import Repository
    from dibs.services.guard.touched import TouchedPath
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The most texts that are tried, and the most folders. The check after the call covers the rest.
_MOST, _MOST_FOLDERS = 500, 4
_GLOB = frozenset("*?[{")


def named_paths(repository: Repository, heard: HookEvent, *, fold_case: bool) -> list[TouchedPath]:
    """Return the paths that the keys of an unknown tool's arguments name.

    A relative path may start at the agent's folder or at the root. A folder counts as a path only for a tool
    that changes it and names nothing in it; other tools only search there.
    """
    root, cwd = repository.root, heard.cwd or repository.root
    touches = [
        touch._replace(path=_nearest(touch.path, cwd, root)) if touch.how != How.READ else touch
        for touch in heard.touches
    ]
    found = touched(repository, touches, cwd, fold_case=fold_case)
    certain = [one for one in found if one.how != How.MAYBE or not one.deep]
    inner = any(one.path and one.how != How.READ for one in certain)
    return [one for one in certain if one.path or one.how == How.READ or not inner]


def mentioned_paths(
    repository: Repository, heard: HookEvent, *, fold_case: bool
) -> list[TouchedPath]:
    """Return the paths that other texts in the arguments mean; they are checked, not claimed."""
    cwd = heard.cwd or repository.root
    texts = [path for text in heard.mentions[:_MOST] for path in candidate_paths(_plain(text, cwd))]
    folders = dict.fromkeys((cwd, repository.root))
    for text in texts:
        place = os.path.join(cwd, text)
        if len(folders) < _MOST_FOLDERS and os.path.isdir(place):
            folders[place] = None
    literal: list[Touch] = []
    globs: list[Touch] = []
    for text in texts:
        for path in _places(text, list(folders)):
            is_glob = not _GLOB.isdisjoint(text) and not os.path.lexists(path)
            (globs if is_glob else literal).append(Touch(path, How.MAYBE))
    found = touched(repository, literal, cwd, fold_case=fold_case)
    found = [one for one in found if not one.deep]
    if globs:
        found += touched(repository, globs, cwd, fold_case=fold_case, literal=False)
    return [one for one in found if one.path]


def is_held_by_other(store: Store, agent: str, paths: Iterable[TouchedPath]) -> bool:
    """Return whether another agent holds one of these files."""
    some = [one for one in paths if one.pattern.literal]

    def step(rows: Rows) -> bool:
        return any(
            matches(rows.pattern(claim_of(found).pattern), f"./{one.path}")
            for one in some
            for found in rows.near(one.pattern)
            if found.agent != agent and not found.ticket
        )

    return bool(some) and store.look(step)


def _nearest(path: str, cwd: str, root: str) -> str:
    """Return where a path is: servers resolve a relative one from the root as often as from the folder."""
    path = _plain(path, cwd)
    if os.path.isabs(path) or cwd == root or os.path.lexists(os.path.join(cwd, path)):
        return path
    from_root = os.path.join(root, path)
    return from_root if os.path.lexists(from_root) else path


def _plain(path: str, cwd: str) -> str:
    """Return a path with known variables expanded, and without a test or a symbol after it."""
    path = os.path.expanduser(os.path.expandvars(path))
    if path.startswith("$") and "/" in path:  # ${workspaceFolder}/src/a.py
        path = path.partition("/")[2]
    there = "::" not in path or os.path.lexists(os.path.join(cwd, path))
    return path if there else path.partition("::")[0]


def _places(text: str, folders: list[str]) -> Iterator[str]:
    """Yield the places that a text names: what exists, or what looks like a path."""
    paths = list(
        dict.fromkeys(os.path.join(folder, os.path.expanduser(text)) for folder in folders)
    )
    there = [path for path in paths if os.path.lexists(path)]
    if there:
        yield from there
    elif is_pathlike(text):
        # A text such as "owner/name" is not a path here, but a new file in an existing folder is.
        yield from [path for path in paths if _may_be(path, text)]


def _may_be(path: str, text: str) -> bool:
    return bool(os.path.splitext(text)[1]) or os.path.isdir(os.path.dirname(path))
