"""Copies of files that a shell command may overwrite, made before it runs.

They are compressed files in the clone's local state, so ``git gc`` cannot delete them and no push publishes
them. Only a copy of content that was really overwritten becomes a salvage entry.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from dibs.local.files import write_file
from dibs.services.salvage.files import SavedCopy, SourceFile, save_files
from dibs.services.salvage.private import chunks_of, digest_of, packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.local.repository import Repository

    #: A file's mtime, size, inode, mode, and ctime; None without a file.
    Stat = list[int] | None

#: Time limit for copying, in seconds: a command is waiting.
_PATIENCE = 0.6
#: Limits: size of a file, number of files, and total size.
_LARGEST, _MOST, _MOST_BYTES = 32 << 20, 500, 64 << 20
#: A copy that no recent call needs is deleted after this many seconds.
_UNUSED = 2 * 3600.0


class CommandCopies:
    """The copies of files in one working tree."""

    def __init__(self, root: str, folder: str) -> None:
        self._root = root
        self._folder = os.path.join(folder, "content")

    def add(
        self, stats: Mapping[str, list[int]], known: Mapping[str, Sequence[object]]
    ) -> dict[str, str]:
        """Copy files unless unchanged since the last copy (path to stat and digest); return the digests."""
        found = {
            path: digest
            for path, (before, digest) in known.items()
            if isinstance(digest, str) and before == stats.get(path) and self._has(digest)
        }
        wanted = _within_limits({p: s for p, s in stats.items() if p not in found})
        if wanted:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._forget(set(found.values()))
        until = time.monotonic() + _PATIENCE
        for path in wanted:
            if time.monotonic() > until:
                break  # keep what was copied so far
            with contextlib.suppress(OSError):
                found[path] = self._copy(path, stats[path][3])
        return found

    def _copy(self, path: str, mode: int) -> str:
        from hashlib import sha256

        digest = sha256()
        content = b"".join(packed(chunks_of(os.path.join(self._root, path), mode), digest))
        write_file(self._place(digest.hexdigest()), content)
        return digest.hexdigest()

    def add_committed(self, commit: str, paths: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Copy files from a commit; return the modes and digests of those that it contains."""
        from hashlib import sha256

        from dibs.git.calls import GitCalls

        git = GitCalls(self._root)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        out = git.must("ls-tree", "-z", "--full-tree", "--end-of-options", commit, *paths[:_MOST])
        found: dict[str, tuple[int, str]] = {}
        for row in out.split(b"\0"):
            about, _, path = row.partition(b"\t")
            mode, kind, name = (*os.fsdecode(about).split(), "", "", "")[:3]
            if kind == "blob":
                digest = sha256()
                content = b"".join(packed([git.must("cat-file", "blob", name)], digest))
                write_file(self._place(digest.hexdigest()), content)
                found[os.fsdecode(path)] = (int(mode, 8), digest.hexdigest())
        return found

    def _has(self, digest: str) -> bool:
        """Return whether a copy exists, and mark it as used."""
        try:
            os.utime(self._place(digest))
        except OSError:
            return False
        return True

    def _place(self, digest: str) -> str:
        return os.path.join(self._folder, os.path.basename(digest))

    def _forget(self, used: set[str]) -> None:
        """Delete the copies that no call can need anymore."""
        for name in os.listdir(self._folder):
            place = os.path.join(self._folder, name)
            with contextlib.suppress(OSError):
                if name not in used and time.time() - os.stat(place).st_mtime > _UNUSED:
                    os.unlink(place)

    def unchanged(self, paths: Sequence[str], digests: Mapping[str, str]) -> set[str]:
        """Return the files whose content equals the copy, regardless of timestamps."""
        found = set()
        for path in paths:
            place = os.path.join(self._root, path)
            with contextlib.suppress(OSError, KeyError):
                mode = os.lstat(place).st_mode
                if digest_of(chunks_of(place, mode)) == digests[path]:
                    found.add(path)
        return found

    def save(
        self,
        repository: Repository,
        agent: str,
        files: Mapping[str, tuple[int, str]],
        *,
        at: float,
        about: str,
    ) -> SavedCopy:
        """Save copies (path to mode and digest) as a salvage entry; the last commit's content is skipped."""
        sources = [
            SourceFile(path, mode, self._place(digest), packed=True)
            for path, (mode, digest) in files.items()
            if os.path.exists(self._place(digest))
        ]
        missing = files.keys() - {one.path for one in sources}
        saved = save_files(self._root, repository, agent, sources, at=at, about=about)
        return saved._replace(missing=(*saved.missing, *missing))


def _within_limits(stats: Mapping[str, list[int]]) -> list[str]:
    """Return the files and links within the limits, smallest first."""
    found = []
    left = _MOST_BYTES
    for path, about in sorted(stats.items(), key=lambda one: one[1][1])[:_MOST]:
        size, mode = about[1], about[3]
        if stat.S_ISLNK(mode):
            found.append(path)
        elif stat.S_ISREG(mode) and size <= min(left, _LARGEST):
            left -= size
            found.append(path)
    return found
