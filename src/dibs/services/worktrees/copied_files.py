"""Copy or link ignored files from the main tree to a new worktree, as configured.

Only files that git ignores are copied, none through a symbolic link, and nothing is overwritten.
"""

from __future__ import annotations

import json
import os
import shutil
import stat

from dibs.core.text.names import printable
from dibs.local.files import read_file, regular
from dibs.local.paths import is_beneath
from dibs.services.worktrees.place import is_ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.git.calls import GitCalls

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "*?[]\\!#"})


class Supply:
    """Copies files from the main tree of ``git`` to the worktree ``path``; ``notes`` lists skipped ones."""

    def __init__(self, git: GitCalls, path: str) -> None:
        self._git = git
        self._main = git.tree
        self._path = path
        self.notes: list[str] = []

    def copy(self, names: Sequence[str], *, aloud: bool = True) -> None:
        """Copy files and folders; without ``aloud``, do not note what was skipped."""
        before = len(self.notes)
        for name in names:
            if self._may_bring(name):
                self._copy(name)
        if not aloud:
            del self.notes[before:]

    def link(self, names: Sequence[str]) -> list[str]:
        """Link files and folders, and return the ones that were linked."""
        made = []
        for name in names:
            if self._may_bring(name):
                os.symlink(os.path.join(self._main, name), os.path.join(self._path, name))
                made.append(name)
        return made

    def _may_bring(self, name: str) -> bool:
        """Return whether a path may be copied; if so, create its parent folders."""
        source, target = os.path.join(self._main, name), os.path.join(self._path, name)
        if not os.path.lexists(source):
            return self._skip(name, "it is not in the main tree")
        if os.path.realpath(source) != source:
            return self._skip(name, "it is behind a symbolic link")
        if not is_ignored(self._git, name):
            return self._skip(name, "git does not ignore it")
        if os.path.lexists(target):
            return self._skip(name, "it already exists")
        return self._make_room(name, os.path.dirname(target))

    def _make_room(self, name: str, above: str) -> bool:
        """Create the parent folders of a path, unless a committed link leads out of the worktree."""
        place = above
        while not os.path.lexists(place):
            place = os.path.dirname(place)
        if os.path.realpath(place) != place or not is_beneath(place, self._path):
            return self._skip(name, "its folder is a symbolic link")
        if not os.path.isdir(place):
            return self._skip(name, "its folder is a file")
        os.makedirs(above, exist_ok=True)
        return True

    def _skip(self, name: str, why: str) -> bool:
        self.notes.append(f"skipped {printable(name)}: {why}")
        return False

    def _copy(self, name: str) -> None:
        source, target = os.path.join(self._main, name), os.path.join(self._path, name)
        mode = os.lstat(source).st_mode
        if stat.S_ISDIR(mode):
            os.mkdir(target)
            for inner in sorted(os.listdir(source)):
                if inner != ".git":
                    self._copy(os.path.join(name, inner))
            shutil.copystat(source, target, follow_symlinks=False)
        elif stat.S_ISLNK(mode):
            self._copy_link(name, source, target)
        elif stat.S_ISREG(mode):
            shutil.copy2(source, target, follow_symlinks=False)
        else:
            self._skip(name, "it is not a file")

    def _copy_link(self, name: str, source: str, target: str) -> None:
        """Copy a link inside a folder, if it is relative and stays inside the tree."""
        leads = os.readlink(source)
        if os.path.isabs(leads) or not is_beneath(os.path.realpath(source), self._main):
            self._skip(name, "it is a symbolic link that leads out of the tree")
        else:
            os.symlink(leads, target)


def wired(state: str) -> list[str]:
    """Return the machine-specific agent files that ``dibs init`` wrote in the main tree."""
    try:
        found = json.loads(read_file(os.path.join(state, "wiring", "manifest.json")))["local"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    plain = [os.path.normpath(name) for name in found if isinstance(name, str) and name]
    return [name for name in plain if not os.path.isabs(name) and name.split(os.sep)[0] != ".."]


def hide_links(git: GitCalls, common: str, names: Sequence[str]) -> list[str]:
    """Make git ignore links that folder rules such as ``node_modules/`` do not match.

    Write them to this clone's ``info/exclude``, and return them.
    """
    shown = [name for name in names if not is_ignored(git, name)]
    if shown:
        place = os.path.join(common, "info", "exclude")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "ab", opener=regular) as file:
            lines = ["", "# Links in worktrees, written by Dibs."]
            lines += [f"/{name.translate(_SPECIAL)}" for name in shown]
            file.write(os.fsencode("\n".join(lines) + "\n"))
    return shown
