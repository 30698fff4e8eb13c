"""Detect changes of the files that guard agents, and keep their old content, which a human can restore.

Around each shell command that may write, the files are compared with the last look. A change during a command
is reported and stays in the record, with a copy of the old content, until a human restores or accepts it. Any
other change is a person's own work.
"""

from __future__ import annotations

import os
import stat

from dibs.core.toolcalls.wiring import WIRING, WIRING_FOLDERS, guard_part
from dibs.local.files import read_file, tree_name, write_file
from dibs.local.loose_objects import unlogged_branches
from dibs.local.repository import shared_state
from dibs.local.wiring_files import home_guarded
from dibs.startup import quickjson
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.local.repository import Repository

_FOLDER = "wiring-seen"
_SAMPLE = ".sample"
#: The largest file that is read, and the most files of one folder.
_LARGEST, _MOST = 1 << 20, 100
#: The start of a folder's description. A folder's or file's description has two words; one is the mode.
FOLDER, _TWO = f"{stat.S_IFDIR:o}", 2
#: The description of a missing file, and the start of a symbolic link's description, whose second line
#: describes the file at its end.
MISSING, LINK = "", "link to "
#: Part of the path of a branch's file.
BRANCHES = "/refs/heads/"


class WiringChange(Record):
    """A change of a file during an agent's command."""

    path: str
    agent: str
    at: float
    #: The descriptions before and after the command: a digest with the mode.
    before: str
    after: str
    #: The copy of the old content; empty if there was no file.
    copy: str = ""
    #: The folder that contained the file, without symbolic links; empty if there was no file.
    folder: str = ""

    @property
    def what(self) -> str:
        """What happened to the file."""
        if self.after == MISSING:
            return "removed"
        if BRANCHES in self.path:
            return "written without git"
        return "added" if self.before == MISSING else "changed"


class WiringRecord:
    """The record of one working tree."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = os.path.join(shared_state(repository), _FOLDER)
        self._file = os.path.join(self._folder, f"{tree_name(repository.root)}.json")

    def look(self) -> None:
        """Remember the files as they are, before a command runs."""
        self._compare()

    def changed(self, agent: str, now: float) -> list[WiringChange]:
        """Return what changed since the last look, and keep it in the record."""
        found = self._compare()
        if not found:
            return []
        changes = [WiringChange(path, agent, now, *rest) for path, rest in found.items()]
        kept = {one.path: one for one in self.pending()}
        for one in changes:
            old = kept.get(one.path)
            kept[one.path] = one if old is None else old._replace(after=one.after, agent=agent)
        self._save(changes=[list(one) for one in kept.values() if one.before != one.after])
        return changes

    def pending(self) -> list[WiringChange]:
        """Return the changes during commands that are still there."""
        now = {path: self._described(path, about) for path, about in self._stats().items()}
        found = [WiringChange(*row) for row in self._load()["changes"]]
        return [one for one in found if now.get(one.path, MISSING) == one.after]

    def copy_of(self, change: WiringChange) -> bytes | None:
        """Return the old content of a changed file; None if there is none."""
        if not change.copy:
            return None
        try:
            return read_file(os.path.join(self._folder, "content", change.copy))
        except OSError:
            return None

    def settle(self) -> None:
        """Accept the files as they are now."""
        self._compare()
        self._save(changes=[])

    # -- the files

    def paths(self) -> Iterator[str]:
        """Yield the absolute paths of the files and folders; those in listed folders, too."""
        root, common = self._repository.root, self._repository.common
        places = [f"{root}/{name}" for name in (*WIRING_FOLDERS, *WIRING)]
        if common:
            places += [f"{common}/hooks/", f"{shared_state(self._repository)}/hooks/"]
            yield from (
                f"{common}/{name}" for name in ("config", "config.worktree", "info/attributes")
            )
            yield from unlogged_branches(common)
            if os.path.isfile(f"{root}/.git"):
                yield f"{root}/.git"
        for place in (*places, *home_guarded()):
            yield place.rstrip("/")
            if place.endswith("/"):
                yield from _files_in(place)

    def _stats(self) -> dict[str, list[int]]:
        found = {}
        for path in self.paths():
            try:
                found[path] = _numbers(os.lstat(path))
                if stat.S_ISLNK(found[path][3]):  # people link settings to a folder of their own
                    found[path] += _numbers(os.stat(path))
            except OSError:
                continue
        return found

    def _compare(self) -> dict[str, tuple[str, ...]]:
        """Update the record; return the changes by path: before, after, the old copy, and its folder."""
        kept = self._load()
        seen, stats = kept["seen"], self._stats()
        if not seen:
            self._save(seen={path: self._noted(path, about) for path, about in stats.items()})
            return {}
        moved = {p: about for p, about in stats.items() if p not in seen or seen[p][0] != about}
        gone = [path for path in seen if path not in stats]
        if not moved and not gone:
            return {}
        noted = {path: self._noted(path, about) for path, about in moved.items()}
        found = {path: (seen[path][1], MISSING, *seen[path][2:]) for path in gone}
        for path, (_, after, *_rest) in noted.items():
            before, *rest = seen[path][1:] if path in seen else (MISSING, "", "")
            if before != after and not _only_gains_rights(before, after):
                found[path] = (before, after, *rest)
        # The files in a folder that was replaced by a symbolic link belong to someone else.
        found = {
            p: r for p, r in found.items() if r[0] != MISSING or os.path.dirname(p) not in found
        }
        self._save(seen={**{p: row for p, row in seen.items() if p in stats}, **noted})
        return found

    def _noted(self, path: str, about: list[int]) -> list[Any]:
        """Return a row for a file: its stat, its description, its copy, and its folder."""
        described = self._described(path, about)
        copy = ""
        content = _content(path, about)
        if content is not None:
            copy = _digest(content)
            place = os.path.join(self._folder, "content", copy)
            if not os.path.exists(place):
                os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
                write_file(place, content)
        return [about, described, copy, os.path.realpath(os.path.dirname(path))]

    def _described(self, path: str, about: list[int]) -> str:
        """Return a description that changes with the file's guarding part."""
        kind, mode = stat.S_IFMT(about[3]), stat.S_IMODE(about[-2])
        link = f"{LINK}{os.readlink(path)}" if kind == stat.S_IFLNK else ""
        content = _content(path, about)
        if content is None:
            return link or f"{kind:o} {mode:o}"
        file = f"{mode:o} {_digest(guard_part(path, content))}"
        return f"{link}\n{file}" if link else file

    # -- the record

    def _load(self) -> dict[str, Any]:
        try:
            kept = quickjson.loads(read_file(self._file))
            if isinstance(kept["seen"], dict) and isinstance(kept["changes"], list):
                return dict(kept)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return {"seen": {}, "changes": []}

    def _save(self, **parts: Any) -> None:
        kept = {**self._load(), **parts}
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        write_file(self._file, quickjson.dumps(kept))


def _files_in(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            names = sorted(one.name for one in found if not one.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names[:_MOST]:
        if not name.endswith((_SAMPLE, ".lock")):
            yield f"{folder}{name}"


def _numbers(about: os.stat_result) -> list[int]:
    return [about.st_mtime_ns, about.st_size, about.st_ino, about.st_mode, about.st_ctime_ns]


def _content(path: str, about: list[int]) -> bytes | None:
    """Return the content of a small plain file; None for anything else, or if it cannot be read."""
    if not stat.S_ISREG(about[-2]) or about[-4] > _LARGEST:
        return None
    try:
        return read_file(path, _LARGEST)
    except OSError:
        return None


def _only_gains_rights(before: str, after: str) -> bool:
    """Return whether two descriptions differ only in their modes, and the owner has lost no right."""
    words, now = before.split(), after.split()
    at = 1 if words and words[0] == FOLDER else 0
    if len(words) != _TWO or len(now) != _TWO or words[1 - at] != now[1 - at]:
        return False
    lost = int(words[at], 8) & ~int(now[at], 8)
    return not lost & stat.S_IRWXU


def _digest(content: bytes) -> str:
    from dibs.git.hook_scripts import sha256_of

    return sha256_of(content)
