"""Read a clone's branches without git, and record which of their updates the git hooks have allowed."""

# On the path of hooks: import only built-in modules.

from __future__ import annotations

import os
import time

from dibs.local.files import append_file, read_file, read_or_empty, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.local.repository import Repository

_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
_LINK = b"ref:"
#: How many symbolic refs may lead to a branch.
_DEEPEST = 5
_ALLOWED = "allowed-updates"
#: Above this size in bytes, only the newer half of the record stays.
_LARGE = 64 * 1024
#: How git's log of a remote-tracking branch describes a fetch.
_FETCHES = ("fetch", "pull", "clone")


def checked_branches(repository: Repository) -> dict[str, str]:
    """Return the branches and their commits if git hooks check their updates; otherwise nothing."""
    common, state = repository.common, repository.state
    hooks = (f"{folder}/hooks/reference-transaction" for folder in (common, state))
    return branch_tips(common) if any(map(os.path.exists, hooks)) else {}


def branch_tips(common: str) -> dict[str, str]:
    """Return the commit of each branch by full name; nothing with the reftable format."""
    found, links = dict[str, str](), dict[str, str]()
    for line in read_or_empty(f"{common}/packed-refs").split(b"\n"):
        oid, _, name = line.partition(b" ")
        if name.startswith(_HEADS.encode()):
            found[os.fsdecode(name)] = oid.decode("ascii", "replace")
    for ref, path in _files(common, _HEADS):
        text = read_or_empty(path).strip()
        found[ref] = text.decode("ascii", "replace")
        if text.startswith(_LINK):
            links[ref] = os.fsdecode(text[len(_LINK) :].strip())
    for ref in links:
        target = ref
        for _ in range(_DEEPEST):
            target = links.get(target, target)
        found[ref] = "" if target in links else found.get(target, "")
    return {ref: oid for ref, oid in found.items() if oid}


def written_remotes(common: str, since: float) -> list[str]:
    """Return the remote-tracking branches that something else than a fetch wrote since a time."""
    found = []
    for ref, path in _files(common, _REMOTES):
        try:
            if os.stat(path).st_mtime < since:
                continue
        except OSError:
            continue
        message = read_or_empty(f"{common}/logs/{ref}").rstrip(b"\n").rpartition(b"\t")[2]
        if not message.decode("utf-8", "replace").startswith(_FETCHES):
            found.append(ref)
    return found


def _files(common: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the refs with a file of their own, and these files."""
    top = f"{common}/{prefix}"
    for folder, _, names in os.walk(top):
        for name in names:
            if not name.endswith(".lock"):
                path = os.path.join(folder, name)
                yield prefix + path[len(top) :], path


# -- updates that the hooks have allowed


def note_allowed(repository: Repository, agent: str, *, tip: str = "", parent: str = "") -> None:
    """Record who may put the commit ``tip``, or one on top of ``parent``, on a branch."""
    row = f"{time.time():.6f} {agent} {tip or '-'} {parent or '-'}\n"
    path = os.path.join(repository.state, _ALLOWED)
    try:
        if append_file(path, row.encode()) > _LARGE:
            rows = read_file(path)
            write_file(path, rows[rows.index(b"\n", len(rows) // 2) + 1 :])
    except (OSError, ValueError):
        return  # then another agent's command may be blamed for the update


def allowed_to_others(
    repository: Repository, agent: str, since: float
) -> tuple[set[str], set[str]]:
    """Return the commits that others may put on a branch, and the parents of such commits."""
    tips, parents = set[str](), set[str]()
    for line in (
        read_or_empty(os.path.join(repository.state, _ALLOWED))
        .decode("utf-8", "replace")
        .split("\n")
    ):
        at, who, *named = (*line.split(" "), "", "", "")[:4]
        if at >= f"{since:.6f}" and who not in {"", agent}:
            tips.add(named[0])
            parents.add(named[1])
    return tips - {"", "-"}, parents - {"", "-"}
