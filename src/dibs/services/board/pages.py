"""The generated pages of the board: WORKFLOW_LOG.md, HANDOFFS.md, AGENT_STATUS.md.

They are written under the board's lock. New ledger entries are appended; a page that was edited or deleted
is rebuilt from the ledger and its monthly files. Lines in the page's format that this ledger does not have
come from another clone and are kept. Free text is saved elsewhere.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from hashlib import sha256

from dibs.core.claims.ledger import Kind
from dibs.core.claims.probes import is_probe_entry
from dibs.core.tasks import pages
from dibs.core.tasks.rules import OPEN, Status
from dibs.local.files import read_file, write_file
from dibs.services.state.tasks import several, standing, versions
from dibs.startup.records import Record
from dibs.workdir.disk import FileStamp, mark_of, read, status_of
from dibs.workdir.moves import Meanwhile, write, write_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.services.state.ledger import Ledger
    from dibs.services.state.store import Store
    from dibs.workdir.disk import Folders

PLACE, ASIDE = "collaboration", "collaboration/set-aside"
WORKFLOW, HANDOFFS, STATUS = "WORKFLOW_LOG.md", "HANDOFFS.md", "AGENT_STATUS.md"
#: The format of a line of one page and of a block of the other; both start with the time.
_LINE = re.compile(r"^\*\*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\*\* - .*\n", re.MULTILINE)
_BLOCK = re.compile(
    r"^## \d{4}-\d\d-\d\d \d\d:\d\d - .* → .*\n+\*\*Artefacts:\*\* .*\n"
    r"\*\*Task ID:\*\* .*\n\*\*Status:\*\* .*\n*",
    re.MULTILINE,
)
_GAP = {_LINE: "\n", _BLOCK: "\n\n"}
#: Pages that grow, with their heading and the format of their parts.
_GROWING = {
    WORKFLOW: (pages.WORKFLOW_HEAD, _LINE),
    HANDOFFS: (pages.HANDOFFS_HEAD, _BLOCK),
}
#: Git's conflict markers.
_MARKS = ("<<<<<<<", "=======", ">>>>>>>")
#: The version of a task whose state depends on others.
UNSETTLED = -1
#: Larger than any page; a larger file is not ours.
LIMIT = 1 << 30


class PageState(Record):
    """What this machine knows about its pages: the last entry they contain, and their file stamps."""

    seq: int = 0
    #: The time of that entry.
    at: float = 0.0
    marks: dict[str, FileStamp] = {}  # noqa: RUF012 - never changed, only replaced
    seen: dict[str, float] = {}  # noqa: RUF012


class Pages:
    """The generated pages of one board; ``state`` is the file for what this machine knows about them."""

    def __init__(self, ledger: Ledger, folders: Folders, state: str) -> None:
        self._ledger = ledger
        self._folders = folders
        self._state = state

    def news(self) -> tuple[list[Entry], bool]:
        """Return the ledger entries that the pages lack, and whether they can be appended."""
        memory = recall(self._state)
        entries, whole = self._ledger.after(memory.seq)
        return entries, whole and self._intact(memory)

    def update(
        self, entries: list[Entry], work: Iterable[tuple[str, str, str]], *, anew: bool
    ) -> None:
        """Append ``entries`` to the pages, or rebuild them; ``work`` lists each task's status and agent."""
        memory = PageState() if anew else recall(self._state)
        if anew:
            entries = list(self._ledger.history())
        at = entries[-1].at if entries else memory.at
        if not at:
            return
        shown = [entry for entry in entries if not is_probe_entry(entry)]
        seen = {**memory.seen, **{who: e.at for e in shown if (who := pages.seen_in(e))}}
        flow = [pages.workflow_line(e) for e in shown if pages.is_logged(e.kind)]
        passed = [pages.handoff_block(e) for e in entries if e.kind == Kind.HANDOFF_CREATED]
        marks = {
            WORKFLOW: self._grow(WORKFLOW, flow, memory),
            HANDOFFS: self._grow(HANDOFFS, passed, memory),
            STATUS: self._put(STATUS, pages.status_page(pages.loads(work), seen, at)),
        }
        seq = entries[-1].seq if entries else memory.seq
        remember(self._state, PageState(seq, at, marks, seen))

    def _intact(self, memory: PageState) -> bool:
        """Return whether every page is as it was last written."""
        if not memory.marks:
            return False
        try:
            with self._folders.open(PLACE) as folder:
                return all(_mark(folder, name) == mark for name, mark in memory.marks.items())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _grow(self, name: str, parts: list[str], memory: PageState) -> FileStamp:
        """Append to an intact page; rebuild any other."""
        known = memory.marks.get(name)
        if known is None:
            return self._make(name, parts)
        if not parts:
            return known
        with self._folders.open(PLACE) as folder:
            file = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, dir_fd=folder)
            try:
                self._folders.disk.write(file, name, "".join(parts).encode())
                self._folders.disk.sync(file, name)
                return mark_of(os.fstat(file))
            finally:
                os.close(file)

    def _make(self, name: str, parts: list[str]) -> FileStamp:
        """Rebuild a growing page from the ledger, keeping parts that come from another clone's ledger."""
        head, form = _GROWING[name]
        old = self._content(name)
        ours = frozenset(parts)
        others = [part for part in _parts(old, form) if part not in ours]
        if _has_free_text(old, head, form, parts):
            self._set_aside(name, old)
        merged = sorted([*parts, *others], key=lambda part: part.partition(" - ")[0])
        return self._put(name, head + "".join(merged))

    def _content(self, name: str) -> str:
        try:
            with self._folders.open(PLACE) as folder:
                return read(folder, name, LIMIT)[0].decode("utf-8", "replace")
        except OSError:  # missing, or not a regular file: then writing reports it
            return ""

    def _set_aside(self, name: str, text: str) -> None:
        stem, ending = os.path.splitext(name)
        copy = f"{stem}-{sha256(text.encode()).hexdigest()[:8]}{ending}"
        with self._folders.open(ASIDE, make=True) as folder:
            write_new(self._folders.disk, folder, copy, text)

    def _put(self, name: str, text: str) -> FileStamp:
        """Write a page unless it already has this text."""
        with self._folders.open(PLACE, make=True) as folder:
            mark = _mark(folder, name)
            if mark is not None and self._content(name) == text:
                return mark
            try:
                return write(self._folders.disk, folder, name, text, mark)
            except Meanwhile:  # someone saved it just now; the next cycle rebuilds it
                return FileStamp(0, 0, 0, 0)


def _mark(folder: int, name: str) -> FileStamp | None:
    status = status_of(folder, name)
    return None if status is None else mark_of(status)


def _parts(text: str, form: re.Pattern[str]) -> list[str]:
    """Return the parts of a page that have its format."""
    return [found[0].rstrip("\n") + _GAP[form] for found in form.finditer(text)]


def _has_free_text(text: str, head: str, form: re.Pattern[str], parts: list[str]) -> bool:
    """Return whether a page contains text besides its heading and its parts.

    Conflict markers do not count, nor does a part that a crash cut short.
    """
    rest = form.sub("", text.replace(head.strip(), "", 1))
    return any(
        line.strip()
        and not line.startswith(_MARKS)
        and not any(f"\n{part}".find(f"\n{line}") >= 0 for part in parts)
        for line in rest.splitlines()
    )


def recall(path: str) -> PageState:
    """Return what is known about the pages; nothing if the file is missing or damaged."""
    try:
        record: dict[str, Any] = json.loads(read_file(path))
        marks = {name: FileStamp(*mark) for name, mark in record["marks"].items()}
        return PageState(int(record["seq"]), float(record["at"]), marks, dict(record["seen"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return PageState()


def remember(path: str, memory: PageState) -> None:
    """Save what is known about the pages."""
    write_file(path, json.dumps(memory._asdict()))


class Roster:
    """The state and the agent of each task that is not archived, updated from changed tasks only.

    ``head`` is the number of the last change that it includes.
    """

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self._path = path
        self.head = -1
        self._known: dict[str, tuple[int, str, str]] = {}

    def refresh(self) -> bool:
        """Read what changed since the last save; tell whether anything did."""
        head = self._store.look(standing)[0]
        if self.head < 0:
            self._load()
        if head == self.head:
            return False
        there = self._store.look(versions)
        known = {id_: seen for id_, seen in self._known.items() if there.get(id_) == seen[0]}
        new = [id_ for id_ in there if id_ not in known]
        rows = self._store.look(lambda rows: several(rows, new))
        for id_, row in rows.items():
            task, version, state = row.task, row.version, row.task.status
            if state in OPEN and task.dependencies:
                # Whether it waits changes without a new version, so it is read every time.
                version, state = UNSETTLED, state if row.ready or row.aside else Status.BLOCKED
            known[id_] = (version, state, row.holder or task.agent)
        self.head, self._known = head, known
        return True

    def work(self) -> list[tuple[str, str, str]]:
        """Return id, state, and agent of each task; one that waits for others is blocked."""
        return [(id_, status, who) for id_, (_, status, who) in self._known.items()]

    def in_progress(self) -> list[str]:
        """Return the tasks in progress, with a claim or by hand."""
        return [id_ for id_, known in self._known.items() if known[1] == Status.IN_PROGRESS]

    def save(self) -> None:
        """Save it for the next process, which would otherwise read every task."""
        with suppress(OSError):
            write_file(self._path, json.dumps([self.head, self._known]))

    def _load(self) -> None:
        try:
            head, known = json.loads(read_file(self._path))
            self._known = {id_: (int(v), str(s), str(w)) for id_, (v, s, w) in known.items()}
            self.head = int(head)
        except (OSError, ValueError, TypeError, AttributeError):
            self.head, self._known = -1, {}
