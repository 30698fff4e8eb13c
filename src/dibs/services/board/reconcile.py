"""Reconcile a board: hand edits go into the rows, changed rows go into the files.

A scan reports changed files, the ledger changed rows. For each affected task, its row is compared with all
files that have its name:

- a file that matches the row is recorded; one that shows an earlier state (a switched branch, a killed
  command) is rewritten, unless a person undid an edit
- a file that says something else is a hand edit: the rows accept it, or it is set aside with the reason
- a missing file is restored; a second file is removed only if its text was once the row's

Verdicts and writes wait until all tasks are compared, so there is one transaction and one wait for the disk.
"""

from __future__ import annotations

from dibs.core.tasks.rules import ARCHIVE, OPEN, folder_of
from dibs.services.board.changes import DUPLICATE, BoardChanges, ended_text, key_of, target_of
from dibs.services.board.report import HALF_WRITTEN, BoardReport, asides_of
from dibs.services.state.tasks import digest, several
from dibs.services.state.tasks import pasts as pasts_of
from dibs.startup.records import Record
from dibs.workdir.files import TaskFileCopy, TaskFileTarget
from dibs.workdir.scan import UNFINISHED, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.services.board.authors import Writers
    from dibs.services.board.news import News
    from dibs.services.board.undo import LastCommit
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Past, Stored
    from dibs.workdir.files import Files
    from dibs.workdir.index import Aside
    from dibs.workdir.scan import BoardScan

    Paths = list[tuple[str, str]]

#: Above this number of tasks, the whole index is decoded at once.
MANY = 100
#: How many archived files are read at a time.
PORTION = 1_000
#: The version of a file that cannot be a task.
NOT_A_TASK = -1


class _Happened(Record):
    """What happened to the files and the row of one task."""

    fresh: Paths
    gone: Paths
    row_changed: bool


class Reconcile:
    """One reconciliation, under the board's lock; without a ``caller`` it only writes files of rows."""

    def __init__(
        self,
        store: Store,
        files: Files,
        caller: Caller | None,
        news: News,
        seen: int = 0,
        writers: Writers = lambda *_: {},
    ) -> None:
        """Prepare it; ``seen`` is when this machine last looked at the files, in ns."""
        #: Whether nothing is known about the files, so that any of them may be archived.
        self._anew = files.index.head < 0
        self._store = store
        self._files = files
        self._index = files.index
        self._caller = caller
        self._news = news
        self._seen = seen
        self._commit: LastCommit | None = None
        #: Whether the numbers in the index are from this life; others mean nothing.
        self._same_life = files.index.life == news.life
        self._places: dict[str, list[str]] | None = None
        self._pasts: dict[str, Past] = {}
        #: The versions of files that were set aside and are no longer there.
        self._left: dict[str, int] = {}
        self._changes = BoardChanges(
            store, files, caller, same_life=self._same_life, writers=writers
        )

    def run(self, sight: BoardScan) -> BoardReport:
        """Reconcile what a scan found, and the tasks whose rows changed."""
        index = self._index
        moved = self._changed()
        fresh = _by_id((seen.place, seen.name) for seen in sight.fresh)
        gone = _by_id(sight.gone)
        ids = {key: stem(paths[0][1]) for key, paths in (*fresh.items(), *gone.items())} | moved
        here = {*fresh, *gone, *map(key_of, index.asides)}
        self._review(fresh, ids)
        held = False
        if ids:
            rows = self._rows(ids, moved)
            self._rename(fresh, gone, ids, rows)
            held = any(row.aside for row in rows.values())
            with self._files.folders.kept_open():
                for number, key in enumerate(sorted(ids)):
                    self._files.folders.report("reading task files", number, len(ids))
                    happened = _Happened(fresh.get(key, []), gone.get(key, []), key in moved)
                    self._compare(ids[key], rows.get(key), happened)
            self._changes.conclude()
            self._compare_again()
        for odd in sight.odd:
            copy = TaskFileCopy(odd.place, odd.name, odd.mark, "")
            self._files.set_aside(copy, NOT_A_TASK, odd.code, odd.message)
        odd_ones = _by_id((odd.place, odd.name) for odd in sight.odd)
        if odd_ones or (ids and (held or index.asides)):
            self._changes.hold_back({*ids, *odd_ones}, here)
        self._changes.report.aside = asides_of(index)
        return self._changes.report

    def adopt_archive(self) -> None:
        """Add the archived files to the rows after the store that archived them was lost."""
        found = self._files.archived()
        for start in range(0, len(found), PORTION):
            some = {stem(name): (place, name) for place, name in found[start : start + PORTION]}
            rows, pasts = self._look_up(some)
            for id_, path in some.items():
                row, copy = rows.get(id_), self._files.read(*path)
                if copy is not None and row is None and id_ not in pasts:
                    self._changes.hand_in(id_, copy, 0, 0)
                elif copy is not None and row is not None and self._index.life:
                    # Another machine still had it open; this machine's archive shows how it ended.
                    self._changes.hand_in(id_, copy, self._index.head, row.version, row.text)
            self._changes.judge()
        self._changes.write()

    def project(self) -> None:
        """Write the files of changed rows; leave new hand edits of these files to the next command."""
        keys = self._changed()
        rows = self._rows(keys, keys)
        for key in sorted(keys.keys() - _set_aside(self._index.asides, rows)):
            self._compare(keys[key], rows.get(key), _Happened([], [], row_changed=True))
        self._changes.write()

    # -- what to compare

    def _changed(self) -> dict[str, str]:
        """Return the tasks whose rows changed, or whose files could not be written before."""
        behind: set[str] = set()
        if not self._files.reads:
            behind, self._index.behind = self._index.behind, behind
        return {id_.lower(): id_ for id_ in (*self._news.ids, *behind)}

    def _review(self, fresh: dict[str, Paths], ids: dict[str, str]) -> None:
        """Drop the reasons of deleted files; check a file again if anything happened to its task."""
        asides = self._index.asides
        for path, aside in list(asides.items()):
            place, _, name = path.rpartition("/")
            key = stem(name).lower()
            if not self._files.is_there(place, name):
                del asides[path]
                if aside.version > 0:
                    self._left[key] = aside.version
                    ids.setdefault(key, stem(name))  # it was the task's own file, which must exist
            elif key in ids and aside.version != NOT_A_TASK:
                paths = fresh.setdefault(key, [])
                if (place, name) not in paths:
                    paths.append((place, name))

    def _rows(self, ids: dict[str, str], in_news: Container[str]) -> dict[str, Stored]:
        """Return the rows of these tasks; those in ``in_news`` are already in the news."""
        found = self._news.rows
        if asked := [id_ for key, id_ in ids.items() if key not in in_news]:
            found = {**found, **self._store.look(lambda rows: several(rows, asked))}
        rows = {id_.lower(): row for id_, row in found.items()}
        others = [id_ for key, id_ in ids.items() if key not in rows]
        self._pasts = self._store.look(lambda rows: pasts_of(rows, others)) if others else {}
        if len(ids) > MANY:
            places: dict[str, list[str]] = {}
            for place, folder in self._index.folders.items():
                for name in folder.all():
                    places.setdefault(name.lower(), []).append(place)
            self._places = places
        return rows

    def _look_up(self, ids: Iterable[str]) -> tuple[dict[str, Stored], dict[str, Past]]:
        return self._store.look(lambda rows: (several(rows, ids), pasts_of(rows, ids)))

    def _known(self, id_: str, row: Stored | None) -> Paths:
        names = dict.fromkeys((*([row.file] if row else []), f"{id_}.yaml", f"{id_}.yml"))
        if self._places is None:
            return [(place, name) for name in names for place in self._index.find(name)]
        return [(place, name) for name in names for place in self._places.get(name.lower(), ())]

    def _rename(
        self,
        fresh: dict[str, Paths],
        gone: dict[str, Paths],
        ids: dict[str, str],
        rows: dict[str, Stored],
    ) -> None:
        """Rename tasks that nobody has begun and whose unchanged files have other names now."""
        strangers = [key for key in fresh if key not in rows and ids[key] not in self._pasts]
        if self._caller is None or not strangers:
            return
        named: dict[str, str] = {}
        for key, ((place, name), *_) in gone.items():
            row, entry = rows.get(key), self._index.folder(place).get(name)
            begun = row is None or row.attempt or row.task.status not in OPEN
            if not begun and entry is not None and key not in fresh:
                named[entry.digest] = key
        for key in strangers if named else ():
            copy = self._files.read(*fresh[key][0])
            old = named.pop(copy.digest, "") if copy is not None else ""
            if copy is not None and old and (row := self._changes.rename(rows[old], copy)):
                rows[old] = row
                del ids[key]

    # -- comparing

    def _compare(self, id_: str, row: Stored | None, happened: _Happened) -> None:
        """Compare the files of one task with its row."""
        index, known = self._index, self._known(id_, row)
        noted = [(place, e) for place, n in known if (e := index.folder(place).get(n))]
        base = max((entry.version for _, entry in noted), default=0)
        before = [index.asides.get(f"{place}/{name}") for place, name in happened.fresh]
        left = self._left.get(id_.lower(), 0)
        base = base or max((aside.version for aside in before if aside), default=left)
        read = [self._files.read(place, name) for place, name in happened.fresh]
        copies = [c if c.base or not base else c._replace(base=base) for c in read if c is not None]
        if any(self._is_half_written(copy, row) for copy in copies):
            return
        paths = {copy.path for copy in copies}
        for place, name in known:
            copy = None if (place, name) in happened.gone else self._files.known(place, name)
            if copy is not None and copy.path not in paths:
                copies.append(copy)
        for place, name in happened.gone if not self._files.reads else ():
            index.drop(place, name)
        if row is not None:
            restored = (row.place, row.file) in happened.gone and not happened.row_changed
            if not copies and (happened.gone or self._anew):
                copies = [c._replace(base=base) for c in self._files.in_archive(row.file)[:1]]
            moved = {entry.digest for place, entry in noted if place == row.place}
            moved |= {digest(row.text)} if left else set()  # it was set aside elsewhere
            self._with_row(row, copies, moved, restored=restored)
        elif copies:
            self._without_row(id_, copies)

    def _is_half_written(self, copy: TaskFileCopy, row: Stored | None) -> bool:
        """Return whether a file lacks its final newline; it waits for a while, then it is set aside."""
        if copy.content is None or copy.content.endswith(b"\n"):
            return False
        if row is not None and copy.digest == digest(row.text):
            return False
        if self._files.now - copy.mark.mtime / 1e9 < UNFINISHED:
            self._index.folder(copy.place).mtime = 0  # list it again next time
        else:
            line = copy.content.count(b"\n") + 1
            version = row.version if row else 0
            self._files.set_aside(copy, version, "TASK_PARTIAL", HALF_WRITTEN, line)
        return True

    def _with_row(
        self, row: Stored, copies: list[TaskFileCopy], moved: set[str], *, restored: bool
    ) -> None:
        """Compare files with a row; a file whose digest is in ``moved`` was in its place before."""
        target = target_of(row)
        had = {target.digest, *row.earlier}
        copy = self._only(row, copies, had, target.path)
        if copy is None:
            self._changes.bring(None, target, restored=restored)
            return
        # The file was last seen showing the current row.
        shown = self._same_life and copy.base == row.version
        in_place, same = copy.path == target.path, copy.digest == target.digest
        if copy.place.startswith(ARCHIVE) or (
            copy.digest not in had and not self._is_older(row, copy)
        ):
            unseen = "" if shown else row.text
            lags = shown and bool(moved) and target.digest not in moved
            base = copy.base or row.version
            self._changes.hand_in(row.id, copy, base, row.version, unseen, lags=lags)
        elif not in_place and shown and copy.digest in moved:
            # A read may have accepted the file without completing it, so the row's text is the current one.
            self._changes.hand_in(row.id, copy, row.version, row.version, text=row.text)
        elif in_place and same:
            self._files.note(copy, row.version)
        elif shown and copy.place == row.place and self._is_undone(row, copy):
            self._changes.hand_in(row.id, copy, row.version, row.version, row.text)
        else:
            self._changes.bring(copy, target)

    def _only(
        self, row: Stored, copies: list[TaskFileCopy], had: set[str], right: str
    ) -> TaskFileCopy | None:
        """Return the one file of a task that counts; remove the others or set them aside."""
        home = next((c for c in copies if c.path == right), None)
        edited = [c for c in copies if c.digest not in had]
        if home is None:
            home = edited[0] if len(edited) == 1 else None if edited else next(iter(copies), None)
        for copy in copies:
            if copy is home:
                continue
            if copy.digest in had:
                self._changes.remove(copy)
            else:
                self._files.set_aside(copy, row.version, DUPLICATE, _twice(row.id, row.place))
        return home

    def _is_older(self, row: Stored, copy: TaskFileCopy) -> bool:
        """Return whether a file is as the board wrote it and older than the row.

        A file that is newer than the row comes from writes that the store has lost.
        """
        if not copy.written:
            return False
        if self._same_life:
            return copy.base < row.version
        return self._index.life == row.survived and copy.base <= row.outlived

    def _is_undone(self, row: Stored, copy: TaskFileCopy) -> bool:
        if self._caller is None or copy.content is None or copy.written:
            return False
        from dibs.services.board.undo import LastCommit, is_undone

        folders = self._files.folders
        self._commit = self._commit or LastCommit(folders.base, folders.folder, self._seen)
        return is_undone(row, self._changes.reading(copy).task) and not self._commit.brought(
            copy.path
        )

    def _without_row(self, id_: str, copies: list[TaskFileCopy]) -> None:
        past = self._pasts.get(id_)
        if past is not None:
            copies = [copy for copy in copies if not self._archive(past, copy)]
        if len(copies) > 1:
            copies.sort(key=lambda copy: (not self._fits(copy), copy.path))
        for copy in copies[1:]:
            self._files.set_aside(copy, 0, DUPLICATE, _twice(id_, copies[0].place))
        for copy in copies[:1]:
            self._changes.hand_in(id_, copy, copy.base, 0)

    def _fits(self, copy: TaskFileCopy) -> bool:
        """Return whether a file is readable and in the folder of its status."""
        task = self._changes.reading(copy).task
        return task is not None and folder_of(task.status, task.agent) == copy.place

    def _archive(self, past: Past, copy: TaskFileCopy) -> bool:
        """Move the file of an archived task to its month; tell whether that was all it was."""
        if copy.content is None:
            copy = self._files.read(copy.place, copy.name) or copy
        reading = self._changes.reading(copy)
        if reading.task is None:
            return False  # damaged by hand
        text = ended_text(reading.text, past, older=False)
        known = past.digest in {digest(text), copy.digest}
        if not known and not copy.written:
            return False
        there = self._files.read(past.place, past.file)
        if there is None:
            # The file does not show the end: this machine missed it.
            text = text if known else ended_text(text, past, older=True)
            target = TaskFileTarget(past.place, past.file, text, digest(text), past.version)
            self._changes.bring(copy, target)
        elif there.digest in {past.digest, copy.digest}:
            self._changes.remove(copy)
        else:
            return False
        return True

    def _compare_again(self) -> None:
        """Compare files whose rows changed meanwhile once more; leave the rest to the next command."""
        edits, self._changes.overtaken = self._changes.overtaken, []
        if not edits:
            return
        rows, self._pasts = self._look_up([edit.made.id for edit in edits])
        for late in edits:
            again = _Happened([(late.copy.place, late.copy.name)], [], row_changed=True)
            self._compare(late.made.id, rows.get(late.made.id), again)
        self._changes.conclude()
        self._index.behind.update(late.made.id for late in self._changes.overtaken)


def _set_aside(asides: Mapping[str, Aside], rows: Mapping[str, Stored]) -> set[str]:
    """Return the tasks whose own file is set aside; they need no second one while the row is unchanged."""
    return {
        key
        for path, aside in asides.items()
        if (key := key_of(path)) in rows
        and rows[key].version == aside.version
        and aside.code != DUPLICATE
    }


def _twice(id_: str, place: str) -> str:
    return f"task {id_} is also in {place}; Dibs uses that file"


def _by_id(paths: Iterable[tuple[str, str]]) -> dict[str, Paths]:
    found: dict[str, Paths] = {}
    for place, name in paths:
        found.setdefault(stem(name).lower(), []).append((place, name))
    return found
