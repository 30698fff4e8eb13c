"""Turn a path or glob as typed into its canonical pattern.

All spellings of a file become one repository-relative path: relative to the current folder, absolute, with
``.`` and ``..``, through symbolic links, or inside another worktree of the same repository. Only names are
read; no file is opened.
"""

# pathlib costs more to import than all of this module does.

from __future__ import annotations

import os
import stat

from dibs.core.patterns.pattern import parse, printable
from dibs.core.patterns.spelling import (
    MAX_TEXT,
    file_path,
    join_scheme,
    split_scheme,
    with_bytes,
)
from dibs.errors import BadInput, DibsError
from dibs.local.repository import STATE_IN_GIT, find, git_dir_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from dibs.core.patterns.pattern import Pattern
    from dibs.local.repository import Repository

#: The settings of a project, at its root.
SETTINGS = "dibs.toml"
_SPECIAL = frozenset("*?[]{}\\")
_ESCAPES = str.maketrans({character: f"\\{character}" for character in _SPECIAL})
#: The most symbolic links in one path, as in Linux.
_MAX_LINKS = 40

#: The longest path of a folder for the user's files, and the longest name in it, in bytes.
MAX_FOLDER, MAX_NAME = 1024, 255

#: A repository inside this one can be claimed as a whole. Its files belong to this project too, unless it is
#: a Dibs project itself.
_FOLDER, _FILE, _ABSENT, _INNER, _OWN = "folder", "file", "absent", "repository", "project"


class PathResolver:
    """Resolve paths in a working tree, from the caller's current folder."""

    __slots__ = ("fold_case", "repository")

    def __init__(self, repository: Repository, *, fold_case: bool = True) -> None:
        self.repository = repository
        self.fold_case = fold_case

    def resolve(self, text: str, *, literal: bool = False) -> Pattern:
        """Return the canonical pattern of ``text``.

        A name with special characters is literal if such a file exists, or with ``literal``. An existing
        folder means everything in it. A named resource stays as it is; ``file:PATH`` is the path.

        Raises:
            BadInput: ``PATH_ESCAPE``, ``PATH_ABSOLUTE``, ``PATH_NOT_DIR``, ``PATH_SUBMODULE``,
                ``PATH_KIND``, ``PATH_ENCODING``, or what ``patterns.parse`` raises.
        """
        raw = not text.isascii() and _has_raw_bytes(text)
        if not text.strip() or "\0" in text or len(text) > MAX_TEXT:
            return parse(text, literal=literal, fold_case=self.fold_case)
        path = text
        if not literal and (":" in text or text[0] == "@"):
            path = file_path(text)
            if path == "./" or (path == text and split_scheme(text)[0]):
                return parse(text, fold_case=self.fold_case)
        walk = _Walk(self.repository, path, text)
        names = walk.start()
        rest = walk.take(names, literal=literal)
        if raw and (rest or walk.kind == _ABSENT):
            walk.refuse(
                "PATH_ENCODING",
                "is not UTF-8, and no file has this name",
                r"check the spelling; \xHH is a raw byte",
            )
        if rest:
            escaped = [name.translate(_ESCAPES) for name in walk.done]
            spelled = _as_path("/".join([*escaped, *rest]))
            return parse(spelled, fold_case=self.fold_case)
        return parse(walk.spelled(), literal=True, fold_case=self.fold_case)


def _as_path(text: str) -> str:
    """Spell a path so that it is not read as a resource, nor as absolute."""
    plain = ":" not in text and text[0] not in "@~\\." and not text.isspace()
    return text if plain else join_scheme("", text)


def _has_raw_bytes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


class _Walk:
    """Follow the names in one text, from a folder to the file they name."""

    __slots__ = ("done", "kind", "links", "repository", "root", "text", "typed")

    def __init__(self, repository: Repository, text: str, typed: str) -> None:
        self.repository = repository
        self.text = text
        #: The text as the user wrote it, for messages.
        self.typed = typed
        #: The folder that ``done`` is relative to; it changes when the path enters another worktree.
        self.root = repository.root
        self.done: list[str] = []
        self.kind = _FOLDER
        self.links = 0

    def start(self) -> list[str]:
        """Go to the folder where the text starts; return the names to follow from there."""
        text, subdir = self.text, self.repository.subdir
        if text[0] == "/":
            return self._enter(text, "PATH_ABSOLUTE")
        head, slash, _ = text.partition("/")
        if text[0] in "~\\" or ":" in head:
            parse(
                text if "://" in text else head + slash, literal=True
            )  # refuses C:\x, ~user, a URL
        if subdir == ".." or subdir.startswith("../"):
            return self._enter(f"{self.root}/{subdir}/{text}", "PATH_ESCAPE")
        if subdir:
            self.done = subdir.split("/")
        return text.split("/")

    def take(self, names: list[str], *, literal: bool) -> list[str]:
        """Follow ``names`` up to the first glob; return the rest."""
        for index, name in enumerate(names):
            if name in ("", "."):
                continue
            if self.kind == _FILE:
                rule = "uses a file as a folder"
                self.refuse("PATH_NOT_DIR", rule, "check the spelling")
            if self.kind == _OWN:
                self._refuse_inner()
            if name == "..":
                if not self.done:
                    above = f"{os.path.dirname(self.root)}/{'/'.join(names[index + 1 :])}"
                    return self.take(self._enter(above, "PATH_ESCAPE"), literal=literal)
                self.done.pop()
                self.kind = _FOLDER
            elif not self._step(name) and not literal and not _SPECIAL.isdisjoint(name):
                self.done.pop()
                plain = _unescaped(name)
                if plain is None:
                    return names[index:]
                self.kind = _FOLDER
                self._step(plain)
        return []

    def _step(self, name: str) -> bool:
        """Go to ``name``; tell whether it exists."""
        self.done.append(name)
        if self.kind == _ABSENT or name.lower() == ".git":
            self.kind = _ABSENT
            return False
        path = f"{self.root}/{'/'.join(self.done)}"
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError):
            self.kind = _ABSENT
            return False
        if stat.S_ISREG(mode):
            self.kind = _FILE
        elif stat.S_ISDIR(mode):
            if os.access(f"{path}/.git", os.F_OK):
                self._cross(path)
        elif stat.S_ISLNK(mode):
            self._follow(path)
        else:
            rule = "is a pipe, a socket, or a device"
            self.refuse("PATH_KIND", rule, "claim a named resource instead, such as port:8000")
        return True

    def _cross(self, path: str) -> None:
        """Continue in the worktree at ``path`` if it belongs to this repository."""
        try:
            is_repository = find(path, {}).root == path
        except DibsError:
            is_repository = True  # a broken one
        if is_repository and not self._switch(path):
            self.kind = _OWN if is_own_project(path) else _INNER

    def _refuse_inner(self) -> NoReturn:
        rule = "is in another Dibs project inside this one"
        self.refuse("PATH_SUBMODULE", rule, "cd to that repository and claim it there")

    def _switch(self, folder: str) -> str:
        """Go to the top of the worktree that contains ``folder`` if it belongs to this repository."""
        if not self.repository.common:
            return ""
        try:
            found = find(folder, {})
        except DibsError:
            return ""
        if found.common != self.repository.common:
            return ""
        self.root, self.done = found.root, []
        return found.root

    def _follow(self, link: str) -> None:
        self.links += 1
        if self.links > _MAX_LINKS:
            rule = "contains a cycle of symbolic links"
            self.refuse("PATH_ESCAPE", rule, "fix or remove the links")
        target = os.readlink(link)
        self.done.pop()
        names = self._enter(target, "PATH_ESCAPE") if target[0] == "/" else target.split("/")
        self.take(names, literal=True)

    def _enter(self, path: str, code: str) -> list[str]:
        """Go to the top of the tree that contains ``path``; return the names to follow from there."""
        self.kind = _FOLDER
        head, tail = path, list[str]()
        while not os.path.exists(head):
            head, _, name = head.rpartition("/")
            head = head or "/"
            tail.insert(0, name)
        real = os.path.realpath(head)
        if path.endswith("/"):
            tail.append("")
        inside = self.root.rstrip("/") + "/"
        if f"{real}/".startswith(inside):
            self.done = []
            return [*real[len(inside) :].split("/"), *tail]
        folder = real if os.path.isdir(real) else os.path.dirname(real)
        top = self._switch(folder) if code == "PATH_ABSOLUTE" else ""
        if not top:
            where = printable(self.repository.root)
            rule = "is outside the repository"
            self.refuse(code, rule, f"only files in {where} can be claimed")
        return [*real[len(top) + 1 :].split("/"), *tail]

    def spelled(self) -> str:
        """Return the canonical path, if all names were plain."""
        path = "/".join(self.done)
        if not path:
            climbed = ".." in self.text.split("/")
            rule = "is the repository itself"
            self.refuse(
                "PATH_ESCAPE" if climbed else "PATH_EMPTY",
                rule,
                "use ** for the whole repository",
            )
        if self.text.endswith("/") and self.kind == _FILE:
            self.refuse("PATH_NOT_DIR", "is a file, not a folder", "remove the trailing slash")
        if self.kind == _OWN and self.text.endswith("/"):
            self._refuse_inner()
        if self.kind == _FOLDER or self.text.endswith("/"):
            path += "/"
        return _as_path(path)

    def refuse(self, code: str, rule: str, hint: str) -> NoReturn:
        """Raise ``BadInput`` about the text."""
        raise BadInput(f'"{printable(self.typed)}" {rule}', code=code, hint=hint, field="pattern")


def is_own_project(root: str) -> bool:
    """Return whether the repository at ``root`` is a Dibs project: it has settings or a state."""
    if os.path.lexists(f"{root}/{SETTINGS}"):
        return True
    try:
        common = git_dir_at(f"{root}/.git")
    except (DibsError, OSError):
        return False  # the pointer is broken, so no command works there
    return bool(common) and os.path.isdir(f"{common}/{STATE_IN_GIT}")


def _unescaped(name: str) -> str | None:
    r"""Return the literal name that ``name`` means: ``\[id\]`` is ``[id]``; None for a glob."""
    plain, escaped = "", False
    for character in with_bytes(name):
        if escaped or character not in _SPECIAL:
            plain, escaped = plain + character, False
        elif character == "\\":
            escaped = True
        else:
            return None
    return None if escaped else plain


def cannot_hold(path: str, common: str) -> str:
    """Return why a folder cannot contain the user's files, or an empty text if it can."""
    if is_beneath(path, common):
        return "is inside the git directory"
    longest = max(len(os.fsencode(name)) for name in path.split("/"))
    if len(os.fsencode(path)) > MAX_FOLDER or longest > MAX_NAME:
        return "is too long"
    return ""


def is_beneath(path: str, folder: str) -> bool:
    """Return whether a path is ``folder`` or inside it, judging by the names only."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
