"""Detect git settings that run programs, with which even ``git status`` may write files.

The files are searched for names of settings, without starting git: the check precedes every command.
"""

from __future__ import annotations

import os

from dibs.core.shell.words import from_top
from dibs.errors import DibsError
from dibs.local.files import regular
from dibs.local.repository import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.local.repository import Repository

#: Settings by which git commands that only read run a program: the last part of their names.
_RUNS = frozenset({
    "fsmonitor", "external", "textconv", "command", "clean", "process", "sshcommand", "gitproxy",
    "uploadpack", "alternaterefscommand", "pager", "vcs", "program", "helper", "askpass",
})  # fmt: skip
#: Of these, what people often have in their own files, and what is harmless there.
_USUAL = frozenset({"pager", "program", "sshcommand", "helper", "askpass"})
#: The hook that commands run which only read.
_HOOK = "post-index-change"
_OFF = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})
#: The most bytes of a file, and the most included files.
_LONGEST, _MOST = 1 << 18, 20


def is_elsewhere(repository: Repository, cwd: str, places: Iterable[str | None]) -> bool:
    """Return whether a folder is unknown, or in another repository, which has its own settings."""
    root = repository.root
    for place in places:
        if place is None:
            return True
        folder = os.path.join(cwd or root, from_top(place, root))
        try:
            if folder != root and find(folder, {}).common != repository.common:
                return True
        except (DibsError, OSError):
            return True
    return False


def git_runs_programs(repository: Repository) -> bool:
    """Return whether a setting of the repository or of the user makes git run programs."""
    if not repository.common:
        return False
    home = os.path.expanduser("~")
    base = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    if os.access(f"{repository.common}/hooks/{_HOOK}", os.X_OK):
        return True
    files = [(name, True) for name in _own_files(repository.common)]
    files += [
        (name, False) for name in ("/etc/gitconfig", f"{base}/git/config", f"{home}/.gitconfig")
    ]
    left = _MOST
    while files:
        name, own = files.pop()
        for section, key, value in _settings(name):
            if section.startswith("include") and key == "path":
                left -= 1
                if left < 0:
                    return True
                folder = os.path.dirname(name)
                files.append((os.path.join(folder, os.path.expanduser(value)), own))
            elif key == "hookspath":
                folder = os.path.join(repository.root, os.path.expanduser(value))
                if os.access(f"{folder}/{_HOOK}", os.X_OK):
                    return True
            elif key in _RUNS and _counts(section, key, value, own=own):
                return True
    return False


def _own_files(common: str) -> Iterator[str]:
    """Yield the files with settings of a repository and of its worktrees."""
    yield f"{common}/config"
    yield f"{common}/config.worktree"
    try:
        names = os.listdir(f"{common}/worktrees")
    except OSError:
        return
    yield from (f"{common}/worktrees/{name}/config.worktree" for name in names)


def _counts(section: str, key: str, value: str, *, own: bool) -> bool:
    """Return whether a setting runs a program that is not known to be harmless."""
    if value.casefold() in _OFF or section.startswith(("alias", "tar")):
        return False
    if section.startswith("filter") and value.startswith("git-lfs "):
        return False
    return own or key not in _USUAL


def _settings(file: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key, and value of each line that has them; names in lower case."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape", opener=regular) as opened:
            text = opened.read(_LONGEST)
    except (OSError, ValueError):
        return
    section = ""
    for line in text.splitlines():
        rest = line.strip()
        if rest.startswith("["):
            header, _, rest = rest[1:].partition("]")
            section = header.lower()
        key, sign, value = rest.partition("=")
        if sign:
            yield section, key.strip().lower(), value.strip().strip('"')
