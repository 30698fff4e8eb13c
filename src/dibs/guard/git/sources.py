"""Where fetched commits come from: another repository, or this one.

A commit from another repository is not this caller's work. A fetch from the repository itself only gives
other names to commits that are already here, so it does not show who made them.
"""

from __future__ import annotations

import os

from dibs.git.incoming import is_same
from dibs.local.files import read_or_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.git.calls import GitCalls

#: Git's own options whose value is the next word.
_WITH_VALUE = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"})


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


def _operands(process: int) -> Iterator[str]:
    """Yield the words of a git process from its subcommand on."""
    words = iter(os.fsdecode(read_or_empty(f"/proc/{process}/cmdline")).split("\0")[1:-1])
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
