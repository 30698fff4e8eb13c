"""What a settling does about what it found: hands files in, lets the rows decide, brings files in line.

Files wait here until all were looked at, so that the rows decide about them in one transaction and the disk
is waited for once.
"""

from __future__ import annotations

from dibs.services.board.reconcile_values import BoardReport, by_people, target_of
from dibs.services.state.tasks import digest, load
from dibs.services.tasks.hand_edits import accept
from dibs.services.tasks.values import HandMade
from dibs.startup.records import Record
from dibs.workdir import moves
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.services.state.store import Store
    from dibs.taskfile.reading import TaskFileReading
    from dibs.workdir.files import Files, TaskFileCopy, TaskFileTarget


class Hand(Record):
    """A hand-made file that waits for its verdict, and what the row said."""

    copy: TaskFileCopy
    made: HandMade
    version: int
    #: The row's text, if the file may have been written without knowing it.
    unseen: str = ""


class FileUpdate(Record):
    """A file to be brought in line, and whether that is told as a loss made good."""

    copy: TaskFileCopy | None
    target: TaskFileTarget
    told: bool


class Acts:
    """The acts of one settling."""

    def __init__(
        self, store: Store, files: Files, caller: Caller | None, *, same_life: bool
    ) -> None:
        self._store = store
        self._files = files
        self._caller = caller
        self._same_life = same_life
        self._hands: list[Hand] = []
        self._wanted: list[FileUpdate] = []
        #: Files whose rows others changed before the rows could decide.
        self.overtaken: list[Hand] = []
        self.done = BoardReport()

    def reading(self, copy: TaskFileCopy) -> TaskFileReading:
        """Return what a file says."""
        from dibs.taskfile.reading import read

        if copy.content is None:
            copy = self._files.read(copy.place, copy.name) or copy
        return read(copy.content or b"", copy.name)

    def hand_in(
        self, id_: str, copy: TaskFileCopy, base: int, version: int, unseen: str = ""
    ) -> None:
        """Let a file wait for its verdict; nobody hands it in where a command only shows rows."""
        if self._caller is None:
            self._files.index.behind.add(id_)
            return
        reading = self.reading(copy)
        life = self._files.index.life if base else ""
        made = HandMade(id_, copy.place, copy.name, reading, base, life, version)
        self._hands.append(Hand(copy, made, version, unseen))

    def judge(self) -> None:
        """Let the rows decide about all that was made by hand, in one transaction."""
        if not self._hands or self._caller is None:
            return
        for hand in self._hands:
            self._keep_unseen(hand)
        self._files.disk.reach("accept", "")
        hands, self._hands = self._hands, []
        store, caller, made = self._store, self._caller, [hand.made for hand in hands]
        verdicts = store.apply(lambda rows: accept(store, rows, caller, made))
        for hand, verdict in zip(hands, verdicts, strict=True):
            if verdict.stored is None and not verdict.code:
                self.overtaken.append(hand)
            elif verdict.stored is not None:
                self.done.accepted.append(verdict)
                self._accepted(hand, target_of(verdict.stored))
            elif not hand.version or (self._same_life and hand.made.base == hand.version):
                message = f"{verdict.message}; {verdict.hint}" if verdict.hint else verdict.message
                reason = (verdict.code, message, verdict.line, verdict.field)
                self._files.set_aside(hand.copy, hand.version, *reason)
            else:
                self._make_way(hand.made.id, hand.copy)

    def _keep_unseen(self, hand: Hand) -> None:
        """Keep the words of another hand that a file overrides without knowing them."""
        if hand.unseen and not by_people(hand.unseen) <= by_people(hand.made.reading.text):
            kept = self._files.keep_text(hand.made.file, hand.unseen, digest(hand.unseen))
            self.done.kept.append(kept)

    def _accepted(self, hand: Hand, target: TaskFileTarget) -> None:
        copy = hand.copy
        if (copy.path, copy.digest) == (target.path, target.digest):
            self._files.note(copy, target.version)
        else:
            self.bring(copy, target)

    def bring(
        self, copy: TaskFileCopy | None, target: TaskFileTarget, *, told: bool = False
    ) -> None:
        """Let a file be brought in line, together with the others at the end."""
        self._wanted.append(FileUpdate(copy, target, told))

    def flush(self) -> None:
        """Bring the files in line; one that a hand was at is tried again by the next command."""
        worked = self._files.bring([(want.copy, want.target) for want in self._wanted])
        for want, done in zip(self._wanted, worked, strict=True):
            if not done:
                self._files.index.behind.add(stem(want.target.name))
            elif want.told:
                self.done.restored.append(want.target.path)
        self.done.pulled += sum(worked)
        self._wanted.clear()

    def remove(self, copy: TaskFileCopy) -> None:
        """Remove a second file; if a hand is at it, the next command looks again."""
        try:
            self._files.remove(copy)
        except moves.Meanwhile:
            self._files.index.behind.add(stem(copy.name))

    def _make_way(self, id_: str, copy: TaskFileCopy) -> None:
        """Keep a hand-made text that cannot be joined with what the row says now, and show the row."""
        row = self._store.look(lambda rows: load(rows, id_))
        if row is None:
            return
        try:
            self.done.kept.append(self._files.keep(copy))
        except moves.Meanwhile:
            self._files.index.behind.add(id_)
            return
        self.bring(None, target_of(row))
