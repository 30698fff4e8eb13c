"""Which paths git ignores: build output and caches, which no agent claims by writing them.

Only claims that name ignored files count for them, so that ``src/**`` does not block ``src/debug.log``. A
claim names ignored files if git would ignore its pattern as a path: ``dist/**``, ``*.log``, or ``.env``.
"""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import How
from dibs.errors import DibsError
from dibs.local.files import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.guard.touched import TouchedPath
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The time limit for git, in seconds.
_PATIENCE = 1.0
#: The most bytes that are read from a file of rules.
_LONGEST = 1 << 16
#: Characters with a meaning in the patterns of ``.gitignore``.
_SPECIAL = "*?[]\\"
_MAGIC = {"GIT_LITERAL_PATHSPECS": "0"}


def with_ignored(repository: Repository, paths: list[TouchedPath]) -> list[TouchedPath]:
    """Return the paths with a mark on those that git ignores; usually without starting git."""
    if not repository.common:
        return paths
    asked: dict[str, list[TouchedPath]] = {}
    for one in paths:
        if one.path and one.how != How.READ and not (one.steering or one.local or one.ignored):
            asked.setdefault(one.elsewhere or repository.root, []).append(one)
    marked: set[TouchedPath] = set()
    for root, some in asked.items():
        found = ignored(root, repository.common, [_name(one) for one in some])
        marked.update(one for one in some if _name(one) in found)
    return [one._replace(ignored=True) if one in marked else one for one in paths]


def ignored(root: str, common: str, names: Sequence[str], *options: str) -> set[str]:
    """Return the paths or patterns, relative to ``root``, that git ignores.

    Git does not ignore a file that it tracks, or a pattern that matches one, without ``--no-index``.
    """
    rules = _Rules(root, common)
    asked = [name for name in names if rules.may_match(name)]
    if not asked:
        return set()
    given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in asked)
    try:
        out = (
            _git(root)
            .run("check-ignore", "-z", "--stdin", *options, given=given, variables=_MAGIC)
            .out
        )
    except (DibsError, OSError):
        return set()
    found = {os.fsdecode(name).removeprefix("./") for name in out.split(b"\0")}
    return found.intersection(asked)


def broad_claims(
    store: Store, repository: Repository, paths: Sequence[TouchedPath]
) -> frozenset[str]:
    """Return the patterns of claims near these ignored paths that do not name ignored files."""

    def step(rows: Rows) -> set[str]:
        return {str(found.record["pattern"]) for one in paths for found in rows.near(one.pattern)}

    texts = {text: as_path(text) for text in store.look(step)}
    named = ignored(repository.root, repository.common, list(texts.values()), "--no-index")
    return frozenset(text for text, name in texts.items() if name not in named)


def listed(root: str, pattern: str, *, most: int, ignored: bool = False) -> list[str] | None:
    """Return the files that match a pattern and are, or are not, ignored; None if this is unknown.

    For more than ``most`` files, return the folders at the top that contain ignored ones; otherwise None.
    """
    specs = (f":(top,glob,icase){pattern}", f":(top,glob,icase){pattern}/**")
    kind = "--ignored" if ignored else "--cached"
    words = ("ls-files", "-z", kind, "--others", "--exclude-standard", "--", *specs)
    try:
        result = _git(root).run(*words, variables=_MAGIC)
    except (DibsError, OSError):
        return None
    names = [os.fsdecode(name) for name in result.out.split(b"\0") if name]
    if ignored and len(names) > most:
        names = [f"{top}{slash}" for top, slash, _ in (name.partition("/") for name in names)]
    found = list(dict.fromkeys(names))
    return None if result.code or len(found) > most else found


def _name(one: TouchedPath) -> str:
    """Return a path as git needs it; a rule for folders does not match the name of a missing one."""
    return f"{one.path}/**" if one.deep and "*" not in one.path else one.path


def as_path(pattern: str) -> str:
    """Return a pattern as a path; for a folder, what is in it."""
    text = pattern.removeprefix("./")
    return f"{text}**" if text.endswith("/") else text


def _git(root: str) -> GitCalls:
    from dibs.git.calls import GitCalls

    return GitCalls(root, timeout=_PATIENCE)


class _Rules:
    """A quick test of which paths may be ignored, without starting git."""

    def __init__(self, root: str, common: str) -> None:
        self._root = root
        self._common = common
        self._read: dict[str, list[tuple[str, str]]] = {}

    def may_match(self, path: str) -> bool:
        """Return whether a rule may match; whether one really does, git decides."""
        parts = [part.lower() for part in path.split("/") if part]
        for file in self._files(path):
            if file not in self._read:
                self._read[file] = list(_ends(file))
            for start, end in self._read[file]:
                if any(part.startswith(start) and part.endswith(end) for part in parts):
                    return True
        return False

    def _files(self, path: str) -> Iterator[str]:
        yield f"{self._common}/info/exclude"
        yield from self._of_user()
        folder = self._root
        for part in path.split("/"):
            yield f"{folder}/.gitignore"
            folder = f"{folder}/{part}"

    def _of_user(self) -> Iterable[str]:
        home = os.path.expanduser("~")
        base = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
        yield f"{base}/git/ignore"
        files = ("/etc/gitconfig", f"{base}/git/config", f"{home}/.gitconfig")
        for file in (*files, f"{self._common}/config"):
            for line in _lines(file):
                key, _, value = line.partition("=")
                if value and key.strip().lower() == "excludesfile":
                    yield os.path.expanduser(value.strip().strip('"'))


def _ends(file: str) -> Iterator[tuple[str, str]]:
    """Yield how names start and end that a rule may match, by its last name that is not ``*``."""
    for line in _lines(file):
        rule = line.strip().lower()
        if not rule or rule[0] in "#!":
            continue
        names = [name for name in rule.split("/") if name.strip("*")]
        name = names[-1] if names else ""
        places = [place for place, sign in enumerate(name) if sign in _SPECIAL]
        if places:
            yield name[: places[0]], name[places[-1] + 1 :]
        else:
            yield name, name


def _lines(file: str) -> list[str]:
    try:
        # Every edit reads these files; a file object would cost more than the read.
        handle = regular(file, os.O_RDONLY)
    except OSError:
        return []
    try:
        return os.fsdecode(os.read(handle, _LONGEST)).splitlines()
    except OSError:
        return []
    finally:
        os.close(handle)
