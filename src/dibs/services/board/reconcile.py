"""One settling of a board: what changed by hand goes into the rows, what changed in the rows into the files.

For each task that something happened to, its row and all files with its name are looked at together:

- a file that shows the row as it is, is noted; one that shows an earlier state (a branch was switched, a
  command was killed) is brought in line, unless a hand took an edit back
- a file that says something else was made by hand: it is taken into the rows, or set aside with the reason
- a task without a file gets it back; a second file with its name is removed only if its text was the row's
"""

from __future__ import annotations

from dibs.core.tasks.rules import ARCHIVE, folder_of
from dibs.services.board.reconcile_acts import Acts
from dibs.services.board.reconcile_files import DUPLICATE, hold_back, key_of, standing_aside
from dibs.services.board.reconcile_values import (
    HALF_WRITTEN,
    BoardReport,
    asides_of,
    ended_text,
    target_of,
)
from dibs.services.state.tasks import digest, several
from dibs.services.state.tasks import pasts as pasts_of
from dibs.startup.records import Record
from dibs.workdir.files import TaskFileCopy, TaskFileTarget
from dibs.workdir.scan import UNFINISHED, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from dibs.core.claims.agents import Caller
    from dibs.services.board.news import News
    from dibs.services.board.reconcile_undo import Commit
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Past, Stored
    from dibs.workdir.files import Files
    from dibs.workdir.scan import BoardScan

#: From how many tasks on the whole index is decoded at once.
MANY = 100
#: How many files of the archive are read and noted at a time.
PORTION = 1_000
#: The version of what cannot be a task's file at all.
NOT_A_TASK = -1


class _Happened(Record):
    """What happened to the files and the row of one task."""

    fresh: list[tuple[str, str]]
    gone: list[tuple[str, str]]
    row_changed: bool


class Reconcile:
    """One settling; the caller holds the board's lock."""

    def __init__(
        self,
        store: Store,
        files: Files,
        caller: Caller | None,
        news: News,
        last_commit: Callable[[], Commit] | None = None,
    ) -> None:
        #: Whether nothing is known of the files, so that any of them may have been archived.
        self._anew = files.index.head < 0
        self._store = store
        self._files = files
        self._caller = caller
        self._news = news
        self._last_commit = last_commit
        self._commit: Commit | None = None
        #: Whether the numbers in the index are of this life: those of another say nothing.
        self._same_life = files.index.life == news.life
        self._acts = Acts(store, files, caller, same_life=self._same_life)
        self._places: dict[str, list[str]] | None = None
        self._pasts: dict[str, Past] = {}
        #: Whether a task was held back for its file.
        self._held = False

    def run(self, sight: BoardScan) -> BoardReport:
        """Settle what a look found, and the tasks whose rows changed."""
        index = self._files.index
        moved = {id_.lower(): id_ for id_ in (*self._news.ids, *index.behind)}
        index.behind.clear()
        fresh = _by_id((seen.place, seen.name) for seen in sight.fresh)
        gone = _by_id(sight.gone)
        ids = {key: stem(paths[0][1]) for key, paths in (*fresh.items(), *gone.items())} | moved
        here = {*fresh, *gone, *map(key_of, index.asides)}
        self._review(fresh, ids)
        if ids:
            rows = self._rows(ids, moved)
            self._held = any(row.aside for row in rows.values())
            with self._files.folders.kept_open():
                for key in sorted(ids):
                    happened = _Happened(fresh.get(key, []), gone.get(key, []), key in moved)
                    self._one(ids[key], rows.get(key), happened)
            self._acts.flush()
            self._acts.judge()
            self._acts.flush()
            self._compare_again()
        for odd in sight.odd:
            copy = TaskFileCopy(odd.place, odd.name, odd.mark, "")
            self._files.set_aside(copy, NOT_A_TASK, odd.code, odd.message)
        odd_ones = _by_id((odd.place, odd.name) for odd in sight.odd)
        if self._caller is not None and (odd_ones or (ids and (self._held or index.asides))):
            hold_back(self._store, self._caller, index.asides, {*ids, *odd_ones}, here)
        self._acts.done.aside = asides_of(index)
        return self._acts.done

    def adopt_archive(self) -> None:
        """Let the rows know the files of the archive: the store that archived them is lost."""
        index, found = self._files.index, self._files.archived()
        for start in range(0, len(found), PORTION):
            some = {stem(name): (place, name) for place, name in found[start : start + PORTION]}
            rows, pasts = self._look_up(some)
            for id_ in (id_ for id_ in some if id_ not in pasts or id_ in rows):
                row, copy = rows.get(id_), self._files.read(*some[id_])
                if copy is None:
                    continue
                if row is None:
                    self._acts.hand_in(id_, copy, 0, 0)
                elif index.life:
                    # Another machine had it still open; what this one archived is how it ended.
                    self._acts.hand_in(id_, copy, index.head, row.version, row.text)
            self._acts.judge()
        self._acts.flush()

    def project(self) -> None:
        """Show rows that changed; what a hand did to these files meanwhile is left to the next settling."""
        index = self._files.index
        keys = {id_.lower(): id_ for id_ in (*self._news.ids, *index.behind)}
        index.behind.clear()
        rows = self._rows(keys, keys)
        for key in sorted(keys.keys() - standing_aside(index.asides, rows)):
            self._one(keys[key], rows.get(key), _Happened([], [], row_changed=True))
        self._acts.flush()

    # -- what is looked at

    def _review(self, fresh: dict[str, list[tuple[str, str]]], ids: dict[str, str]) -> None:
        """Forget reasons whose file is gone; judge a file again when anything happened to its task."""
        asides = self._files.index.asides
        for path, aside in list(asides.items()):
            place, _, name = path.rpartition("/")
            key = stem(name).lower()
            if not self._files.is_there(place, name):
                del asides[path]
                if aside.version > 0:
                    ids.setdefault(key, stem(name))  # it was the file of a task, which needs one
            elif key in ids and aside.version != NOT_A_TASK:
                paths = fresh.setdefault(key, [])
                if (place, name) not in paths:
                    paths.append((place, name))

    def _rows(self, ids: dict[str, str], told: Container[str]) -> dict[str, Stored]:
        """Return the rows of the tasks that are looked at, and note which of the others are archived.

        The news has the rows of ``told``.
        """
        found = self._news.rows
        if asked := [id_ for key, id_ in ids.items() if key not in told]:
            found = {**found, **self._store.look(lambda rows: several(rows, asked))}
        rows = {id_.lower(): row for id_, row in found.items()}
        others = [id_ for key, id_ in ids.items() if key not in rows]
        self._pasts = self._store.look(lambda rows: pasts_of(rows, others)) if others else {}
        if len(ids) > MANY:
            places: dict[str, list[str]] = {}
            for place, folder in self._files.index.folders.items():
                for name in folder.all():
                    places.setdefault(name.lower(), []).append(place)
            self._places = places
        return rows

    def _look_up(self, ids: Iterable[str]) -> tuple[dict[str, Stored], dict[str, Past]]:
        return self._store.look(lambda rows: (several(rows, ids), pasts_of(rows, ids)))

    def _known(self, id_: str, row: Stored | None) -> list[tuple[str, str]]:
        names = dict.fromkeys((*([row.file] if row else []), f"{id_}.yaml", f"{id_}.yml"))
        if self._places is None:
            return [(place, name) for name in names for place in self._files.index.find(name)]
        return [(place, name) for name in names for place in self._places.get(name.lower(), ())]

    def _one(self, id_: str, row: Stored | None, happened: _Happened) -> None:
        """Settle one task."""
        index, known = self._files.index, self._known(id_, row)
        base = max((e.version for p, n in known if (e := index.folder(p).get(n))), default=0)
        before = [index.asides.get(f"{place}/{name}") for place, name in happened.fresh]
        base = base or max((aside.version for aside in before if aside), default=0)
        copies = []
        for place, name in happened.fresh:
            copy = self._files.read(place, name)
            if copy is not None:
                copies.append(copy if copy.base or not base else copy._replace(base=base))
        if any(self._unfinished(copy, row) for copy in copies):
            return
        read = {copy.path for copy in copies}
        for place, name in known:
            copy = None if (place, name) in happened.gone else self._files.known(place, name)
            if copy is not None and copy.path not in read:
                copies.append(copy)
        was_at = next((place for place, _ in known), "")
        for place, name in happened.gone:
            index.drop(place, name)
        if row is not None:
            told = bool(happened.gone) and not happened.row_changed
            if not copies and (happened.gone or self._anew):
                copies = [c._replace(base=base) for c in self._files.in_archive(row.file)[:1]]
            self._with_row(row, copies, was_at, told=told)
        elif copies:
            self._without_row(id_, copies)

    def _compare_again(self) -> None:
        """Compare files once more whose rows others changed in between; then leave it to the next command."""
        hands, self._acts.overtaken = self._acts.overtaken, []
        if not hands:
            return
        ids = [hand.made.id for hand in hands]
        rows, self._pasts = self._look_up(ids)
        for hand in hands:
            again = _Happened([(hand.copy.place, hand.copy.name)], [], row_changed=True)
            self._one(hand.made.id, rows.get(hand.made.id), again)
        self._acts.flush()
        self._acts.judge()
        self._acts.flush()
        self._files.index.behind.update(hand.made.id for hand in self._acts.overtaken)

    def _unfinished(self, copy: TaskFileCopy, row: Stored | None) -> bool:
        """Tell whether a file looks half written: without a line end it waits, then it stands aside."""
        if copy.content is None or copy.content.endswith(b"\n"):
            return False
        if row is not None and copy.digest == digest(row.text):
            return False
        if self._files.now - copy.mark.mtime / 1e9 < UNFINISHED:
            self._files.index.folder(copy.place).mtime = 0  # to be listed again next time
        else:
            version = row.version if row else 0
            line = copy.content.count(b"\n") + 1
            self._files.set_aside(copy, version, "TASK_PARTIAL", HALF_WRITTEN, line)
        return True

    # -- judging

    def _with_row(
        self, row: Stored, copies: list[TaskFileCopy], was_at: str, *, told: bool
    ) -> None:
        target = target_of(row)
        had = {target.digest, *row.earlier}
        copy = self._only(row, copies, had, target.path)
        if copy is None:
            self._acts.bring(None, target, told=told)
        elif copy.place.startswith(ARCHIVE) or (
            copy.digest not in had and not self._is_older(row, copy)
        ):
            self._by_hand(row, copy)
        elif copy.path != target.path and self._moved_by_hand(row, copy, was_at):
            self._acts.hand_in(row.id, copy, row.version, row.version)
        elif copy.path == target.path and copy.digest == target.digest:
            self._files.note(copy, row.version)
        elif self._taken_back(row, copy):
            self._acts.hand_in(row.id, copy, row.version, row.version, row.text)
        else:
            self._acts.bring(copy, target)

    def _only(
        self, row: Stored, copies: list[TaskFileCopy], had: set[str], right: str
    ) -> TaskFileCopy | None:
        """Return the one file that counts of those with the task's name; the others go or stand aside."""
        home = next((c for c in copies if c.path == right), None)
        edited = [c for c in copies if c.digest not in had]
        if home is None:
            home = edited[0] if len(edited) == 1 else None if edited else next(iter(copies), None)
        for copy in copies:
            if copy is home:
                continue
            if copy.digest in had:
                self._acts.remove(copy)
            else:
                message = f"task {row.id} lies in {row.place} as well; that file counts"
                self._files.set_aside(copy, row.version, code=DUPLICATE, message=message)
        return home

    def _is_older(self, row: Stored, copy: TaskFileCopy) -> bool:
        """Tell whether a file is as the board wrote it, and the row knows of something newer.

        A file that shows more than the row comes from writes that the store has lost.
        """
        if not copy.written:
            return False
        if self._same_life:
            return copy.base < row.version
        return self._files.index.life == row.survived and copy.base <= row.outlived

    def _moved_by_hand(self, row: Stored, copy: TaskFileCopy, was_at: str) -> bool:
        """Tell a move by hand from one of ours that was broken off: the file was where the row has it."""
        return was_at == row.place and self._shown(row, copy) and copy.digest == digest(row.text)

    def _shown(self, row: Stored, copy: TaskFileCopy) -> bool:
        """Tell whether a file was last seen as it shows the row that there is."""
        return self._same_life and copy.base == row.version

    def _taken_back(self, row: Stored, copy: TaskFileCopy) -> bool:
        """Tell whether a hand took an edit back, where the file had shown the row as it is."""
        if self._last_commit is None or copy.content is None:
            return False
        if not self._shown(row, copy) or copy.place != row.place:
            return False
        from dibs.services.board.reconcile_undo import takes_back

        self._commit = self._commit or self._last_commit()
        return takes_back(row, self._acts.reading(copy).task) and not self._commit.brought(
            copy.path
        )

    def _by_hand(self, row: Stored, copy: TaskFileCopy) -> None:
        """Hand an edit in; one of an older text is joined with the row there, if it can be read at all."""
        unseen = "" if self._shown(row, copy) else row.text
        self._acts.hand_in(row.id, copy, copy.base or row.version, row.version, unseen)

    def _without_row(self, id_: str, copies: list[TaskFileCopy]) -> None:
        past = self._pasts.get(id_)
        if past is not None:
            copies = [copy for copy in copies if not self._archived(past, copy)]
        if len(copies) > 1:
            copies.sort(key=lambda copy: (not self._fits(copy), copy.path))
        for copy in copies[1:]:
            message = f"task {id_} lies in {copies[0].place} as well; that file counts"
            self._files.set_aside(copy, 0, code=DUPLICATE, message=message)
        for copy in copies[:1]:
            self._acts.hand_in(id_, copy, copy.base, 0)

    def _fits(self, copy: TaskFileCopy) -> bool:
        """Tell whether a file can be read and lies where its status belongs."""
        task = self._acts.reading(copy).task
        return task is not None and folder_of(task.status, task.agent) == copy.place

    def _archived(self, past: Past, copy: TaskFileCopy) -> bool:
        """Bring the file of an archived task to its month; tell whether it was just that."""
        if copy.content is None:
            copy = self._files.read(copy.place, copy.name) or copy
        reading = self._acts.reading(copy)
        if reading.task is None:
            return False  # spoiled by hand
        text = ended_text(reading.text, past, older=False)
        known = past.digest in {digest(text), copy.digest}
        if not known and not copy.written:
            return False
        there = self._files.read(past.place, past.file)
        if there is None:
            # A file that does not say the end: this machine slept through it.
            text = text if known else ended_text(text, past, older=True)
            target = TaskFileTarget(past.place, past.file, text, digest(text), past.version)
            self._acts.bring(copy, target)
        elif there.digest in {past.digest, copy.digest}:
            self._acts.remove(copy)
        else:
            return False
        return True


def _by_id(paths: Iterable[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for place, name in paths:
        found.setdefault(stem(name).lower(), []).append((place, name))
    return found
