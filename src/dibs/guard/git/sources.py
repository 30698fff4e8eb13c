"""Where fetched commits come from: another repository, or this one.

A commit from another repository is not this caller's work. A fetch from the repository itself only gives
other names to commits that are already here, so it does not show who made them.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError
from dibs.local.files import regular
from dibs.local.repository import git_dir_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.git.calls import GitCalls

_OBJECT_NAMES = (40, 64)
#: Git's own options whose value is the next word.
_WITH_VALUE = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"})
_FILE = "file://"
#: How git shows the place of a local repository: without these at its end.
_ENDINGS = ("", ".git", "/.git")


def is_object(word: str) -> bool:
    """Return whether a word is an object name, and not something like ``ref:NAME``."""
    return len(word) in _OBJECT_NAMES and set("0123456789abcdef").issuperset(word)


def fetched(git: GitCalls, common: str) -> list[str]:
    """Return the commits that the last fetch got from another repository: they are not this caller's."""
    folder = os.environ.get("GIT_DIR") or os.path.join(git.tree, ".git")
    try:
        with open(
            os.path.join(folder, "FETCH_HEAD"), encoding="utf-8", errors="replace", opener=regular
        ) as file:
            rows = [line.rstrip("\n").split("\t", 2) for line in file]
    except OSError:
        return []
    return [
        row[0]
        for row in rows
        if is_object(row[0]) and not is_same(row[-1].rpartition(" of ")[2], common, git.tree)
    ]


def is_fetch_from_elsewhere(git: GitCalls, common: str, process: int) -> bool:
    """Return whether a process is a ``git fetch`` from another repository."""
    words = _operands(process)
    if next(words, "") != "fetch":
        return False
    named = [word for word in words if not word.startswith("-")]
    remotes = _remotes(git)
    places = [*named, *(url for name, url in remotes if name in named)]
    if not any(name in named for name, _ in remotes):
        places += [url for _, url in remotes]
    given = {name: text for name, text in os.environ.items() if name.startswith("GIT_CONFIG")}
    for place in tuple(places):  # url.*.insteadOf may replace it
        found = git.run("ls-remote", "--get-url", "--end-of-options", place, variables=given)
        places.append(os.fsdecode(found.out).rstrip("\n"))
    return not any(is_same(place, common, git.tree) for place in places)


def is_same(place: str, common: str, tree: str) -> bool:
    """Return whether a place that git can fetch from is this repository, or a file such as a bundle."""
    path = place.removeprefix(_FILE)
    if path in {"", "."} or (path == place and "://" in path):
        return path in {"", "."}
    if path != place and "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    whole = os.path.join(tree, os.path.expanduser(path))
    if os.path.isfile(whole):
        return True
    for ending in _ENDINGS:
        try:
            found = git_dir_at(whole + ending)
        except (DibsError, OSError, ValueError):
            continue
        if found:
            return os.path.realpath(found) == os.path.realpath(common)
    return False


def _operands(process: int) -> Iterator[str]:
    """Yield the words of a git process from its subcommand on."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            words = iter(os.fsdecode(file.read()).split("\0")[1:-1])
    except OSError:
        return
    for word in words:
        if word in _WITH_VALUE:
            next(words, "")
        elif not word.startswith("-"):
            yield word
            break
    yield from words


def _remotes(git: GitCalls) -> Sequence[tuple[str, str]]:
    """Return the names and addresses of the remotes."""
    rows = os.fsdecode(git.run("config", "-z", "--get-regexp", r"^remote\..*\.url$").out).split(
        "\0"
    )
    pairs = (row.partition("\n") for row in rows if row)
    return [(key[len("remote.") : -len(".url")], url) for key, _, url in pairs]
