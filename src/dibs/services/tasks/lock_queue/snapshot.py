"""The queue at one commit: its tasks and locks, read with two git processes however many there are."""

from __future__ import annotations

from dibs.core.tasks.lock_files import (
    DONE,
    FAILED,
    LISTS,
    LOCKS,
    PENDING,
    LockFile,
    lock_end,
    lock_name,
    parse_lock,
    states_time,
)
from dibs.core.tasks.names import task_of_file
from dibs.core.tasks.queue_order import in_turn, missing, queue_graph
from dibs.git.objects import FILES, TreeEntry
from dibs.startup.records import Record
from dibs.taskfile.document import MAX_BYTES
from dibs.taskfile.queue_file import read_queue_file
from dibs.taskfile.queue_list import read_queue_list, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.core.tasks.graph import Graph
    from dibs.core.tasks.queue_order import OrderedTask, QueueTask
    from dibs.git.calls import GitCalls
    from dibs.taskfile.queue_list import ListedTask

_FOLDERS = (LOCKS, PENDING, DONE, FAILED)
#: Read in place of a file that is too large; it is not YAML.
_TOO_LARGE = b"\0"
#: The size of a link, a folder, or a submodule in the folder of locks.
_UNREADABLE = MAX_BYTES + 1


class Lock(Record):
    """A lock file on the branch."""

    #: The task, as the file's name spells it, and the file's path.
    name: str
    path: str
    file: LockFile
    #: When it expires, in seconds since 1970.
    until: float

    def is_scripts(self, agent: str) -> bool:
        """Return whether a script wrote it in the name of ``agent``."""
        return not self.file.nonce and self.file.agent == agent


class QueueSnapshot(Record):
    """The queue at one commit."""

    commit: str
    #: The files of the queue and their entries in the tree.
    entries: dict[str, TreeEntry]
    tasks: dict[str, QueueTask]
    #: The texts of pending tasks.
    texts: dict[str, bytes]
    locks: dict[str, Lock]
    done: dict[str, str]
    failed: dict[str, str]
    #: The contents of uncommitted files, in a repository without a remote.
    loose: dict[str, bytes] = {}  # noqa: RUF012 - never changed
    #: The files that list several tasks: path, content, and tasks.
    lists: tuple[tuple[str, bytes, list[ListedTask]], ...] = ()

    @property
    def exists(self) -> bool:
        """Whether this is a queue at all: it has tasks, locks, or the folder for locks."""
        return bool(self.tasks or self.locks) or f"{LOCKS}/.gitkeep" in self.entries

    def has(self, name: str) -> bool:
        """Return whether the branch has a task or a lock with this name, finished or not."""
        return any(name in named for named in (self.tasks, self.locks, self.done, self.failed))

    def graph(self, held: Mapping[str, str]) -> Graph:
        """Return the dependency graph; ``held`` maps the tasks in progress to their owners."""
        return queue_graph(list(self.tasks.values()), held, self.done, self.failed)

    def turns(self, graph: Graph) -> list[OrderedTask]:
        """Return the pending tasks in the order in which they are taken."""
        return in_turn(list(self.tasks.values()), graph)


def read_snapshot(
    git: GitCalls, commit: str, now: float, age: float, *, fold_case: bool
) -> QueueSnapshot:
    """Read the queue at ``commit``."""
    sizes = _listed(git, commit)
    wanted = [p for p in sizes if p in LISTS or p.startswith((f"{LOCKS}/", f"{PENDING}/"))]
    contents = read_contents(git, [sizes[p][0].oid for p in wanted if sizes[p][1] <= MAX_BYTES])
    entries = {path: entry for path, (entry, _) in sizes.items()}
    tasks: dict[str, QueueTask] = {}
    texts: dict[str, bytes] = {}
    locks: dict[str, LockFile] = {}
    for path in wanted:
        folder, _, file = path.rpartition("/")
        content = contents.get(entries[path].oid)
        if folder == LOCKS and lock_name(file):
            locks[path] = parse_lock(content or b"")
        elif folder == PENDING and (name := task_of_file(file, fold_case=fold_case)):
            tasks.setdefault(
                name, read_queue_file(_TOO_LARGE if content is None else content, name, file)
            )
            texts.setdefault(name, content or b"")
    found = QueueSnapshot(
        commit, entries, tasks, texts, _with_ends(git, commit, locks, now, age),
        _names(entries, DONE, fold_case=fold_case), _names(entries, FAILED, fold_case=fold_case),
    )  # fmt: skip
    listed = [(p, contents.get(entries[p].oid, b"")) for p in LISTS if p in entries]
    return _with_history(git, with_lists(found, listed))


def with_lists(found: QueueSnapshot, files: Iterable[tuple[str, bytes]]) -> QueueSnapshot:
    """Add the tasks of files that list several; one that is done is in ``tasks/done`` too, or checked."""
    lists = []
    tasks, texts, done = dict(found.tasks), dict(found.texts), dict(found.done)
    for path, content in files:
        items = read_queue_list(content, path)
        lists.append((path, content, items))
        for item in items:
            name = item.task.name
            if item.done:
                done.setdefault(name, path.rpartition("/")[2])
            elif name not in tasks and name not in done and name not in found.failed:
                tasks[name], texts[name] = item.task, text_of(content, item)
    return found._replace(tasks=tasks, texts=texts, done=done, lists=tuple(lists))


def _with_ends(
    git: GitCalls, commit: str, locks: Mapping[str, LockFile], now: float, age: float
) -> dict[str, Lock]:
    """Return the locks by task, each with its end; ``.lock`` counts before ``.txt``."""
    times = _committed(git, commit, [p for p, lock in locks.items() if not states_time(lock, now)])
    found: dict[str, Lock] = {}
    for path, lock in locks.items():
        name = lock_name(path.rpartition("/")[2])
        found.setdefault(
            name, Lock(name, path, lock, lock_end(lock, now, age, times.get(path, 0.0)))
        )
    return found


def _names(entries: Iterable[str], folder: str, *, fold_case: bool) -> dict[str, str]:
    files = (path[len(folder) + 1 :] for path in entries if path.startswith(f"{folder}/"))
    return {
        name: f for f in files if "/" not in f and (name := task_of_file(f, fold_case=fold_case))
    }


def _listed(git: GitCalls, commit: str) -> dict[str, tuple[TreeEntry, int]]:
    """Return the regular files in the queue's folders, with their sizes; links are not followed.

    In the folder of locks everything counts: a script that finds a link or a folder there skips the task.
    """
    inside = (f"{folder}/" for folder in _FOLDERS)
    out = git.must(
        "ls-tree", "-z", "-l", "--full-tree", "--end-of-options", commit, *inside, *LISTS
    )
    found = {}
    for row in out.split(b"\0")[:-1]:
        about, _, name = row.partition(b"\t")
        mode, _, oid, size = about.decode().split()
        path = name.decode("utf-8", "surrogateescape")
        if mode in FILES or path.startswith(f"{LOCKS}/"):
            found[path] = (TreeEntry(mode, oid), int(size) if mode in FILES else _UNREADABLE)
    return found


def read_contents(git: GitCalls, oids: list[str]) -> dict[str, bytes]:
    """Return the contents of blobs."""
    given = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
    out = git.must("cat-file", "--batch", given=given) if given else b""
    found, at = {}, 0
    while at < len(out):
        end = out.index(b"\n", at)
        oid, _, size = out[at:end].decode().partition(" ")
        if size == "missing":
            at = end + 1
            continue
        length = int(size.rpartition(" ")[2])
        found[oid] = out[end + 1 : end + 1 + length]
        at = end + 2 + length
    return found


def _committed(git: GitCalls, commit: str, paths: list[str]) -> dict[str, float]:
    """Return when files were last committed, as far as the history says."""
    if not paths:
        return {}
    out = git.run(
        "log", "--format=%x00%ct%x00", "--name-only", "--no-renames", "-z",
        "--end-of-options", commit, "--", *paths,
    ).out.decode("utf-8", "surrogateescape")  # fmt: skip
    times: dict[str, float] = {}
    moment = 0.0
    for word in out.split("\0"):
        text = word.strip("\n")
        if text.isdigit() and "/" not in text:
            moment = float(text)
        elif text:
            times.setdefault(text, moment)
    return times


def _with_history(git: GitCalls, found: QueueSnapshot) -> QueueSnapshot:
    """Add the tasks that others depend on and whose files were removed from the queue: they are done."""
    held = {name: lock.file.agent for name, lock in found.locks.items()}
    unknown = missing(list(found.tasks.values()), found.graph(held))
    files = [f"{PENDING}/{name}{end}" for name in unknown for end in (".yml", ".yaml")]
    if not files:
        return found
    out = git.run(
        "log", "--format=", "--name-only", "--no-renames", "-z", "--diff-filter=D",
        "--end-of-options", found.commit, "--", *files,
    ).out  # fmt: skip
    removed = {path.decode("utf-8", "surrogateescape").strip("\n") for path in out.split(b"\0")}
    gone = {n: "" for n in unknown if removed & {f"{PENDING}/{n}.yml", f"{PENDING}/{n}.yaml"}}
    return found._replace(done={**found.done, **gone})
