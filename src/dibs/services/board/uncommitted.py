"""Find the board's files that differ from the last commit, grouped by task.

Only what the rows say is committed: a file that is not a task, or an edit that the board has not accepted, is
its author's.
"""

from __future__ import annotations

import os
import stat

from dibs.core.tasks.rules import ARCHIVE, ASSIGNED, DONE, INBOX
from dibs.core.text.names import AGENT_ID_CHARACTERS
from dibs.git.status import changed
from dibs.local.files import read_or_empty
from dibs.services.state.tasks import digest
from dibs.startup.records import Record
from dibs.workdir.scan import ENDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from dibs.git.calls import GitCalls
    from dibs.git.status import PathStatus

    #: Returns the path on the board and the digest of each task's file, by id.
    Shown = Callable[[Collection[str]], Mapping[str, tuple[str, str]]]

#: Folders of task files, of the pages that Dibs writes, and of logs.
_TASKS = frozenset({INBOX, ASSIGNED, DONE, ARCHIVE})
_PAGES = frozenset({"collaboration", "schemas", ".gitattributes"})
_LOGS = "logs"
#: How many characters of a work log are searched for its task.
_LOG_HEAD = 2048


class BoardChange(Record):
    """The content of one commit."""

    #: The task, empty for the board's own pages.
    id: str
    #: The task's status in the last commit and on disk, empty if there is none.
    before: str
    after: str
    #: Paths from the top of the tree, each with mode and object, empty for a deleted file.
    entries: tuple[tuple[str, str], ...]


def changes(
    git: GitCalls, folder: str, ids: Sequence[str] | None = None, shown: Shown | None = None
) -> list[BoardChange]:
    """Return what to commit: tasks in order of their ids, then the pages.

    With ``shown``, files that differ from what it returns are left out.
    """
    groups: dict[str, list[PathStatus]] = {}
    logs: list[PathStatus] = []
    for change in differing(git, folder):
        inner = change.path.removeprefix(f"{folder}/")
        if inner.startswith(f"{_LOGS}/"):
            logs.append(change)
        else:
            groups.setdefault(_owner(inner) or "", []).append(change)
    for change in logs:
        task = _task_of_log(os.path.join(git.tree, change.path))
        groups.setdefault(task if task in groups else "", []).append(change)
    wanted = set(groups) if ids is None else set(groups).intersection(ids)
    groups = {owner: groups[owner] for owner in wanted}
    if shown is not None and wanted:
        right = shown(wanted)
        groups = {owner: _accepted(git, folder, groups[owner], owner, right) for owner in groups}
    return _compared(git, groups) if wanted else []


def _accepted(
    git: GitCalls,
    folder: str,
    group: list[PathStatus],
    owner: str,
    shown: Mapping[str, tuple[str, str]],
) -> list[PathStatus]:
    """Return the changes of a task that the board has accepted; none if its own file differs from its row."""
    if not owner:
        return group
    path, right = shown.get(owner, ("", ""))
    own = f"{folder}/{path}"
    if not path or digest(_content(os.path.join(git.tree, own))) != right:
        return []
    # Another file is a second one, unless it was deleted or is a log.
    return [
        change
        for change in group
        if change.path == own
        or not change.path.endswith(ENDINGS)
        or not os.path.lexists(os.path.join(git.tree, change.path))
    ]


def _compared(git: GitCalls, groups: dict[str, list[PathStatus]]) -> list[BoardChange]:
    listed = [change for group in groups.values() for change in group]
    old = {c.path: f"{c.head_mode} {c.head_oid}" for c in listed if not c.new}
    new = _on_disk(git, [change.path for change in listed])
    texts = _texts(git, {change.head_oid for change in listed if not change.new})
    found = []
    for owner in sorted(groups, key=lambda owner: (not owner, owner)):
        entries = [(path, new.get(path, "")) for path in sorted(c.path for c in groups[owner])]
        entries = [(path, entry) for path, entry in entries if entry != old.get(path, "")]
        if not entries:
            continue
        files = [(path, entry) for path, entry in entries if path.endswith(ENDINGS)]
        before = [texts[old[path].split()[1]] for path, _ in files if path in old]
        after = [_content(os.path.join(git.tree, path)) for path, entry in files if entry]
        steps = (_status(before), _status(after)) if owner else ("", "")
        found.append(BoardChange(owner, *steps, tuple(entries)))
    return found


def differing(git: GitCalls, folder: str) -> Iterator[PathStatus]:
    """Yield what differs under ``folder`` from the last commit or the index, except ignored files."""
    for change in changed(git, folder):
        path = change.path
        if change.unmerged or not path.isprintable() or path.startswith('"'):
            continue
        inner = path.removeprefix(f"{folder}/")
        if inner.startswith(f"{_LOGS}/") or _owner(inner) is not None:
            yield change


def _owner(inner: str) -> str | None:
    """Return the task of a file, an empty string for a page of the board, None for other files."""
    top, _, rest = inner.partition("/")
    name = inner.rpartition("/")[2]
    if top in _PAGES:
        return None if name.endswith(".tmp") else ""
    stem, ending = os.path.splitext(name)
    if top in _TASKS and rest and ending in ENDINGS and AGENT_ID_CHARACTERS.issuperset(stem):
        return None if stem.startswith(".") else stem
    return None


def _task_of_log(path: str) -> str:
    mark = "**Task ID:** "
    for line in _content(path)[:_LOG_HEAD].splitlines():
        if line.startswith(mark):
            return line.removeprefix(mark).strip()
    return ""


def _on_disk(git: GitCalls, paths: list[str]) -> dict[str, str]:
    """Write existing files as git objects; return mode and object of each."""
    modes = {}
    for path in paths:
        try:
            mode = os.lstat(os.path.join(git.tree, path)).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode):
            modes[path] = "100755" if mode & stat.S_IXUSR else "100644"
    if not modes:
        return {}
    given = b"".join(os.fsencode(path) + b"\n" for path in modes)
    oids = git.must("hash-object", "-w", "--stdin-paths", given=given).decode().split()
    return {path: f"{mode} {oid}" for (path, mode), oid in zip(modes.items(), oids, strict=True)}


def _texts(git: GitCalls, oids: set[str]) -> dict[str, str]:
    """Return the contents of objects, using one process."""
    if not oids:
        return {}
    asked = sorted(oids)
    out = git.must("cat-file", "--batch", given="".join(f"{oid}\n" for oid in asked).encode())
    texts, at = {}, 0
    for oid in asked:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[2])
        texts[oid] = out[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + 1 + size + 1
    return texts


def _content(path: str) -> str:
    return read_or_empty(path).decode("utf-8", "replace")


def _status(texts: list[str]) -> str:
    """Return the status in a task's text, which is all that a commit message needs."""
    for text in texts:
        for line in text.splitlines():
            key, mark, value = line.partition(":")
            if mark and key == "status":
                return value.split("#")[0].strip().strip("'\"") or "new"
    return "new" if texts else ""
