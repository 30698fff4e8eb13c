"""The working tree that files are written to: what is inside it, tracked, ignored, or excluded by Dibs."""

from __future__ import annotations

import os

from dibs.git.calls import GitCalls
from dibs.git.worktrees import present
from dibs.install.entries import blocks
from dibs.install.manifest import replace_file
from dibs.local.files import read_or_empty
from dibs.local.repository import with_own_state
from dibs.services.worktrees.place import is_ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.local.repository import Repository

#: The list of files that git ignores in this clone only, and the marks around our part of it.
_NAME = "info/exclude"
_MARKS = blocks.BlockMarkers(
    "# dibs:begin (files that dibs init made for this machine)", "# dibs:end"
)
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "*?[]\\!#"})


class WorkingTree:
    """One working tree."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._git = GitCalls(repository.root) if repository.common else None
        self._tracked: set[str] | None = None

    def inside(self, path: str) -> str | None:
        """Return the real path, relative to the root; None if it is outside, or in the git directory."""
        root = self.repository.root
        place = os.path.realpath(os.path.join(root, path))
        if not place.startswith(root.rstrip("/") + "/"):
            return None
        found = os.path.relpath(place, root)
        return None if found.partition("/")[0].lower() == ".git" else found

    def is_tracked(self, path: str) -> bool:
        """Return whether the file is in git's index."""
        if self._git is None:
            return False
        if self._tracked is None:
            told = self._git.must("ls-files", "-z", "--full-name", "--", ".")
            self._tracked = set(os.fsdecode(told).split("\0"))
        return path in self._tracked

    def is_ignored(self, path: str) -> bool:
        """Return whether git ignores the file; true without git."""
        return self._git is None or is_ignored(self._git, path)


def is_main(repository: Repository) -> bool:
    """Return whether this is the main working tree of a git repository."""
    return with_own_state(repository).state == repository.state


def others(repository: Repository) -> list[str]:
    """Return the other worktrees of the repository whose folders exist."""
    places = [os.path.realpath(tree.path) for tree in present(GitCalls(repository.root))]
    return [place for place in places if place != repository.root]


def hide(repository: Repository, paths: Iterable[str]) -> None:
    """Add files to the list; entries of other worktrees, which share it, stay."""
    text = _read(repository)
    there = _lines(text)
    wanted = [*there, *(line for line in map(_line, paths) if line not in there)]
    if wanted != there:
        _write(repository, blocks.put(text, "\n".join(wanted), _MARKS, _NAME))


def is_hidden(repository: Repository, path: str) -> bool:
    """Return whether a file is on the list, for any worktree."""
    return _line(path) in _lines(_read(repository))


def unhide(repository: Repository, paths: Iterable[str]) -> None:
    """Remove files from the list, except those that another worktree has."""
    text, trees = _read(repository), others(repository)
    gone = {_line(path) for path in paths if not _is_in(trees, path)}
    rest = [line for line in _lines(text) if line not in gone]
    new = (
        blocks.put(text, "\n".join(rest), _MARKS, _NAME)
        if rest
        else blocks.take(text, _MARKS, _NAME)
    )
    if new != text:
        _write(repository, new)


def _is_in(trees: Iterable[str], path: str) -> bool:
    return any(os.path.lexists(os.path.join(tree, path)) for tree in trees)


def _line(path: str) -> str:
    return f"/{path.translate(_SPECIAL)}"


def _lines(text: str) -> list[str]:
    place = blocks.find(text, _MARKS, _NAME)
    return text[place[0] : place[1]].splitlines()[1:-1] if place else []


def _place(repository: Repository) -> str:
    return os.path.join(repository.common, "info", "exclude")


def _read(repository: Repository) -> str:
    return read_or_empty(_place(repository)).decode("utf-8", "surrogateescape")


def _write(repository: Repository, text: str) -> None:
    if not repository.common:
        return
    place = _place(repository)
    if not text:
        os.unlink(place)
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    mode = os.stat(place).st_mode & 0o777 if os.path.exists(place) else 0o644
    replace_file(repository, place, text.encode("utf-8", "surrogateescape"), mode)
