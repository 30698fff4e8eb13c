"""The changes of one reconciliation: hand edits for the rows to judge, and files to write.

Both wait until all tasks are compared, so that there is one transaction and one wait for the disk.
"""

from __future__ import annotations

from dibs.core.tasks.rules import Status
from dibs.services.board.report import BoardReport
from dibs.services.state.tasks import digest, load, several
from dibs.services.tasks.values import EditedFile
from dibs.startup.records import Record
from dibs.taskfile.writing import edit, stamp
from dibs.workdir import moves
from dibs.workdir.batch import FileJob
from dibs.workdir.files import TaskFileTarget
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.services.board.authors import Writers
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Past, Stored
    from dibs.taskfile.reading import TaskFileReading
    from dibs.workdir.files import Files, TaskFileCopy

#: Error code of a second file of the same task.
DUPLICATE = "TASK_DUPLICATE"
#: Keys that commands write into a task's file.
_WRITTEN = frozenset(
    {"id", "status", "agent", "assigned_to", "result", "error", "reason"}
    | {f"{moment}_at" for moment in ("created", "assigned", "started", "completed")}
    | {"created_by"}
)


class HandEdit(Record):
    """A hand edit that waits for its verdict."""

    copy: TaskFileCopy
    made: EditedFile
    #: The row's text, if the file may have been written without knowing it.
    unseen: str = ""


class BoardChanges:
    """The verdicts and the file writes of one reconciliation."""

    def __init__(
        self,
        store: Store,
        files: Files,
        caller: Caller | None,
        *,
        same_life: bool,
        writers: Writers = lambda *_: {},
    ) -> None:
        self._store = store
        self._files = files
        self._index = files.index
        self._caller = caller
        self._same_life = same_life
        self._writers = writers
        self._edits: list[HandEdit] = []
        self._jobs: list[FileJob] = []
        #: Edits whose rows changed before they could be judged.
        self.overtaken: list[HandEdit] = []
        self.report = BoardReport()

    def reading(self, copy: TaskFileCopy) -> TaskFileReading:
        """Return the parsed content of a file."""
        from dibs.taskfile.reading import read

        if copy.content is None:
            copy = self._files.read(copy.place, copy.name) or copy
        return read(copy.content or b"", copy.name)

    def hand_in(
        self,
        id_: str,
        copy: TaskFileCopy,
        base: int,
        version: int,
        unseen: str = "",
        *,
        text: str = "",
        lags: bool = False,
    ) -> None:
        """Queue a file for its verdict; a command that only shows rows leaves it to the next command.

        ``text`` is the current text of an unchanged file that lags behind its row.
        """
        if self._caller is None:
            self._index.behind.add(id_)
            return
        life = self._index.life if base else ""
        current = copy._replace(content=text.encode("utf-8", "surrogateescape")) if text else copy
        reading = self.reading(current)
        made = EditedFile(id_, copy.place, copy.name, reading, base, life, version, copy.digest)
        self._edits.append(HandEdit(copy, made._replace(lags=lags), unseen))

    def rename(self, row: Stored, copy: TaskFileCopy) -> Stored | None:
        """Cancel a task whose unchanged file has another name now, and hand it in under that name.

        Return the cancelled row; None if the task cannot be renamed.
        """
        caller, new = self._caller, stem(copy.name)
        if caller is None:
            return None
        from dibs.services.tasks.hand_edits import withdraw

        gone = self._store.apply(lambda rows: withdraw(rows, caller, row, new))
        if gone is not None:
            self.hand_in(new, copy, 0, 0, text=edit(row.text, {"id": new}))
        return gone

    def conclude(self) -> None:
        """Write files, judge hand edits, and write what results."""
        self.write()
        self.judge()
        self.write()

    def judge(self) -> None:
        """Let the rows judge all hand edits in one transaction."""
        store, caller = self._store, self._caller
        edits, self._edits = self._edits, []
        if not edits or caller is None:
            return
        for one in list(edits):
            if one.unseen and not _by_people(one.unseen) <= _by_people(one.made.reading.text):
                # It overwrites someone else's text without having seen it; only a command that writes
                # can save that text.
                if self._files.reads:
                    edits.remove(one)
                    continue
                kept = self._files.keep_text(one.made.file, one.unseen, digest(one.unseen))
                self.report.kept.append(kept)
        from dibs.services.tasks.hand_edits import accept

        self._files.disk.reach("accept", "")
        made = self._with_authors([one.made for one in edits])
        verdicts = store.apply(lambda rows: accept(store, rows, caller, made))
        for one, verdict in zip(edits, verdicts, strict=True):
            if verdict.stored is not None:
                self.report.accepted.append(verdict)
                self._accepted(one.copy, target_of(verdict.stored))
            elif not verdict.code:
                self.overtaken.append(one)
            elif not one.made.seen or (self._same_life and one.made.base == one.made.seen):
                message = f"{verdict.message}; {verdict.hint}" if verdict.hint else verdict.message
                reason = (verdict.code, message, verdict.line, verdict.field)
                self._files.set_aside(one.copy, one.made.seen, *reason)
            else:
                self._replace_with_row(one.made.id, one.copy)

    def _with_authors(self, edits: list[EditedFile]) -> list[EditedFile]:
        from dibs.services.board.authors import authors

        folders = self._files.folders
        paths = [f"{folders.folder}/{made.place}/{made.file}" for made in edits]
        known = authors(folders.base, paths, self._writers)
        found = [known[path] for path in paths]
        return [
            made._replace(by=author.name, committed=author.committed)
            for made, author in zip(edits, found, strict=True)
        ]

    def bring(
        self, copy: TaskFileCopy | None, target: TaskFileTarget, *, restored: bool = False
    ) -> None:
        """Queue a file to be written; ``restored`` reports it as restored."""
        self._jobs.append(FileJob(copy, target, restored=restored))

    def _accepted(self, copy: TaskFileCopy, target: TaskFileTarget) -> None:
        if (copy.path, copy.digest) == (target.path, target.digest):
            self._files.note(copy, target.version)
        else:
            self.bring(copy, target)
            if self._files.reads:
                self._files.note(copy, target.version)

    def _replace_with_row(self, id_: str, copy: TaskFileCopy) -> None:
        """Save a hand edit that cannot be merged with the row, and write the row's file."""
        row = self._store.look(lambda rows: load(rows, id_))
        if row is None or self._files.reads:
            return
        try:
            self.report.kept.append(self._files.keep(copy))
        except moves.Meanwhile:
            self._index.behind.add(id_)
            return
        self.bring(None, target_of(row))

    def hold_back(self, keys: Iterable[str], here: Container[str]) -> None:
        """Make tasks unavailable while their files are set aside, and end that when they are valid again.

        It ends only for tasks whose files changed ``here``: this machine does not see files that are set
        aside on another one.
        """
        caller, reasons = self._caller, {}
        for path, aside in self._index.asides.items():
            if aside.code != DUPLICATE:
                where = f"{path}:{aside.line}" if aside.line else path
                reasons[key_of(path)] = f"its file {where} is set aside ({aside.code})"
        found = self._store.look(lambda rows: several(rows, keys))
        changed = {
            key: reasons.get(key, "")
            for key, row in found.items()
            if row.aside != reasons.get(key, "") and (key in reasons or key in here)
        }
        if changed and caller is not None:
            from dibs.services.tasks.hand_edits import hold_back

            self._store.apply(lambda rows: hold_back(rows, caller, changed))

    def write(self) -> None:
        """Write the files; the next command retries those that someone is editing."""
        jobs, self._jobs = self._jobs, []
        if self._files.reads:
            for job in jobs:
                if job.restored:
                    self.report.missing.append(job.target.path)  # the next scan finds it again
                else:
                    self._index.behind.add(stem(job.target.name))
            return
        self._files.write(jobs)
        for job in jobs:
            if not job.ok:
                self._index.behind.add(stem(job.target.name))
            elif job.restored:
                self.report.restored.append(job.target.path)
        self.report.pulled += sum(job.ok for job in jobs)

    def remove(self, copy: TaskFileCopy) -> None:
        """Remove a duplicate file; if someone is editing it, leave it to the next command."""
        if self._files.reads:
            self._index.behind.add(stem(copy.name))
            return
        try:
            self._files.remove(copy)
        except moves.Meanwhile:
            self._index.behind.add(stem(copy.name))


def target_of(stored: Stored) -> TaskFileTarget:
    """Return the path and the text that a task's file must have."""
    return TaskFileTarget(
        stored.place, stored.file, stored.text, digest(stored.text), stored.version
    )


def ended_text(text: str, past: Past, *, older: bool) -> str:
    """Return a task's text for the archive; an ``older`` text gets a note about the missing end."""
    changes: dict[str, Any] = {"status": Status.ARCHIVE}
    if older:
        changes["agent"] = past.agent or None
        changes["completed_at"] = stamp(past.completed)
        if past.status == Status.DONE:
            said = "done; the final text is in the archive on another machine"
            changes["result"] = {"summary": said, "completed_at": stamp(past.completed)}
    return edit(text, changes)


def _by_people(text: str) -> set[str]:
    """Return the lines of a task's text that people wrote."""
    found, theirs = set(), True
    for line in text.split("\n"):
        if line[:1] not in {"", " ", "-", "#"}:
            theirs = line.partition(":")[0] not in _WRITTEN
        if theirs and line:
            found.add(line)
    return found


def key_of(path: str) -> str:
    """Return the key of the task that a file belongs to; ``path`` is relative to the board."""
    return stem(path.rpartition("/")[2]).lower()
