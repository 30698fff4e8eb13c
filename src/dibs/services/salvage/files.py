"""Save uncommitted content of single files: before it changes owner, or before a command discards it.

Tracked and untracked files become a commit on top of the last one. Ignored files are stored outside git's
refs and objects. The same content is saved only once.
"""

from __future__ import annotations

import os
import stat
import tempfile

from dibs.errors import DibsError
from dibs.git.refs import value_of
from dibs.git.snapshot import quarantined
from dibs.git.state import read_state
from dibs.git.status import ignored_among
from dibs.git.untrusted import guarded_calls
from dibs.services.salvage.entries import REFS, SUBJECT
from dibs.services.salvage.private import (
    add_private,
    chunks_of,
    digest_of,
    has_private,
    private_entries,
    unpacked,
)
from dibs.services.salvage.save import bring_in, ids, write_commit
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.state import TreeState
    from dibs.local.repository import Repository

#: Limits for content that changes owner: size of a file, and total size.
LARGEST, MOST_BYTES = 128 << 20, 512 << 20


class SourceFile(Record):
    """A file to save."""

    path: str
    #: Its type and permissions; 0 if it was deleted.
    mode: int = 0
    #: The file with its content.
    place: str = ""
    #: Whether that file is compressed.
    packed: bool = False

    def chunks(self) -> Iterator[bytes]:
        """Yield its content."""
        return unpacked(self.place) if self.packed else chunks_of(self.place, self.mode)


class SavedCopy(Record):
    """A copy of uncommitted content, and what is not in it."""

    #: The ID of its entry; empty if there was nothing to save, or nothing could be saved.
    id: str = ""
    #: Whether a ref names it; otherwise it contains only ignored files.
    has_ref: bool = False
    #: Files that could not be copied: too large, or not readable.
    missing: tuple[str, ...] = ()
    #: Its ignored files, which no ref contains.
    ignored: tuple[str, ...] = ()

    def name_of(self, path: str) -> str:
        """Return the name under which one file can be found; empty without a copy of it."""
        if path in self.missing:
            return ""
        return self.id if path in self.ignored else self.name

    @property
    def name(self) -> str:
        """Its full ref, or the ID of an entry without one; both work with ``dibs salvage``."""
        return REFS + self.id if self.has_ref else self.id


def keep(
    root: str, repository: Repository, agent: str, paths: Sequence[str], *, at: float, about: str
) -> str:
    """Save files of a working tree as they are on disk; return the name of the entry, or an empty text."""
    return keep_files(root, repository, agent, paths, at=at, about=about).name


def keep_files(
    root: str, repository: Repository, agent: str, paths: Sequence[str], *, at: float, about: str
) -> SavedCopy:
    """Save files of a working tree as they are on disk; say which ones could not be saved."""
    for _ in range(2):
        found, missing = from_disk(root, paths)
        saved = save_files(root, repository, agent, found, at=at, about=about)
        if not saved.missing:
            break  # otherwise a file may have been deleted meanwhile
    return saved._replace(missing=(*saved.missing, *missing))


def from_disk(root: str, paths: Sequence[str]) -> tuple[list[SourceFile], list[str]]:
    """Return the files that can be saved, and the paths of those that are too large or not readable."""
    found: list[SourceFile] = []
    missing: list[str] = []
    left = MOST_BYTES
    for path in dict.fromkeys(paths):
        place = os.path.join(root, path)
        try:
            about = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            found.append(SourceFile(path))
            continue
        except (OSError, ValueError):
            missing.append(path)
            continue
        if stat.S_ISLNK(about.st_mode):
            found.append(SourceFile(path, about.st_mode, place))
        elif stat.S_ISREG(about.st_mode):
            if about.st_size <= min(left, LARGEST) and os.access(place, os.R_OK):
                left -= about.st_size
                found.append(SourceFile(path, about.st_mode, place))
            else:
                missing.append(path)
    return found, missing


def save_files(
    root: str,
    repository: Repository,
    agent: str,
    files: Sequence[SourceFile],
    *,
    at: float,
    about: str,
) -> SavedCopy:
    """Save files on top of the commit that is checked out in ``root``, unless the same is saved already."""
    if not files or not repository.common:
        return SavedCopy()
    try:
        git = guarded_calls(root, repository)
        state = read_state(git)
        secret = ignored_among(git, [one.path for one in files if one.mode])
        ignored = [one for one in files if one.path in secret]
        public = [one for one in files if one.path not in secret]
        with tempfile.TemporaryDirectory(prefix="dibs-copy-") as scratch:
            return _Saving(git, state, scratch, agent, at, about).save(public, ignored)
    except (DibsError, OSError):
        return SavedCopy(missing=tuple(one.path for one in files if one.mode))


class _Saving:
    """Saves files of one working tree; new objects stay in ``scratch`` until they are complete."""

    def __init__(
        self, git: GitCalls, state: TreeState, scratch: str, agent: str, at: float, about: str
    ) -> None:
        self._git, self._state, self._scratch = git, state, scratch
        self._agent, self._at, self._subject = agent, at, f"{SUBJECT}{about}"
        objects = os.path.join(scratch, "objects")
        os.mkdir(objects)
        self._there = quarantined(state.git_dir, objects)

    def save(self, public: Sequence[SourceFile], ignored: Sequence[SourceFile]) -> SavedCopy:
        """Save both kinds of files under one ID; return the entry that has the same files, if one does."""
        head, tree = self._state.head, self._tree(public) if public else ""
        if tree and head and value_of(self._git, f"{head}^{{tree}}") == tree:
            tree = ""
        found = {one.path: (one.mode, digest_of(one.chunks())) for one in ignored}
        if not tree and not found:
            return SavedCopy()
        same = self._with_tree(tree) if tree else None
        if found:
            alike = self._with_ignored(found)
            same = alike if same is None else same & alike
        if same:
            return SavedCopy(min(same), bool(tree), ignored=tuple(found))
        id_ = self._commit(tree) if tree else ""
        id_ = self._add_ignored(ignored, id_) if ignored else id_
        return SavedCopy(id_, bool(tree), ignored=tuple(found))

    def _tree(self, files: Sequence[SourceFile]) -> str:
        """Return the tree of the last commit with these files changed."""
        head = self._state.head
        names = self._objects([one for one in files if one.mode])
        zeros = "0" * len(next(filter(None, (head, *names.values())), "0" * 40))
        rows = [(one.path, "0", zeros) for one in files if not one.mode]
        rows += [(one.path, _mode(one.mode), names[one.path]) for one in files if one.mode]
        given = b"".join(
            f"{mode} {name}\t".encode() + os.fsencode(path) + b"\0" for path, mode, name in rows
        )
        own = {**self._there, "GIT_INDEX_FILE": os.path.join(self._scratch, "index")}
        if head:
            self._git.must("read-tree", "--end-of-options", head, variables=own)
        self._git.must("update-index", "-z", "--index-info", given=given, variables=own)
        return self._git.must("write-tree", variables=own).decode().strip()

    def _objects(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Store the content of files without conversion; return the object names."""
        places = {one.path: self._plain(one, number) for number, one in enumerate(files)}
        words = ("-c", "core.compression=1", "hash-object", "-w", "--no-filters")
        # Git reads one path per line here, so a path with a newline needs its own call.
        lined = [path for path, place in places.items() if "\n" not in place]
        given = b"".join(os.fsencode(places[path]) + b"\n" for path in lined)
        output = b""
        if lined:
            output = self._git.must(*words, "--stdin-paths", given=given, variables=self._there)
        found = dict(zip(lined, output.decode().split(), strict=True))
        for path in places.keys() - found.keys():
            output = self._git.must(*words, "--", places[path], variables=self._there)
            found[path] = output.decode().strip()
        return found

    def _plain(self, one: SourceFile, number: int) -> str:
        """Return a regular file with the content of a file or link."""
        if not one.packed and stat.S_ISREG(one.mode):
            return one.place
        place = os.path.join(self._scratch, f"content-{number}")
        with open(place, "wb") as file:
            file.writelines(one.chunks())
        return place

    def _commit(self, tree: str) -> str:
        head = self._state.head
        commit = write_commit(self._git, tree, [head] if head else [], self._subject, self._there)
        return bring_in(
            self._git, commit, self._state.common, self._there,
            agent=self._agent, at=self._at, subject=self._subject,
        ).id  # fmt: skip

    def _add_ignored(self, files: Sequence[SourceFile], id_: str) -> str:
        """Save ignored files under an ID, or under the next unused one."""
        common = self._state.common
        wanted = [id_] if id_ else ids(self._agent, self._at)
        for name in wanted:
            if has_private(common, name) or (not id_ and value_of(self._git, REFS + name)):
                continue
            contents = {one.path: (one.mode, one.chunks()) for one in files}
            if add_private(common, name, contents, at=self._at, subject=self._subject):
                return name
        raise OSError("every ID is in use")

    def _with_tree(self, tree: str) -> set[str]:
        """Return the IDs of the entries with this tree."""
        out = self._git.must("for-each-ref", "--format=%(tree) %(refname)", REFS)
        rows = (os.fsdecode(line).partition(" ") for line in out.splitlines())
        return {ref.removeprefix(REFS) for found, _, ref in rows if found == tree}

    def _with_ignored(self, files: Mapping[str, tuple[int, str]]) -> set[str]:
        """Return the IDs of the entries with exactly these ignored files."""
        return {
            entry.id
            for entry in private_entries(self._state.common)
            if {one.path: (one.mode, one.digest) for one in entry.files} == files
        }


def _mode(mode: int) -> str:
    """Return a file's mode as git writes it."""
    return "120000" if stat.S_ISLNK(mode) else "100755" if mode & 0o100 else "100644"
