"""Tasks for tests: the task services, and what the board and the orchestrator do with rows only."""

from dibs.services.board.tasks import Tasks
from dibs.services.state import tasks as rows
from dibs.services.tasks import hand_edits, handoffs, texts, upkeep


class RowTasks(Tasks):
    """Tasks without files, unless a board is given."""

    def head(self):
        return self._store.look(rows.standing)[0]

    def versions(self):
        return self._store.look(rows.versions)

    def stored(self, ids):
        return self._store.look(lambda found: rows.several(found, list(ids)))

    def past(self, id_):
        return self._store.look(lambda found: rows.past(found, id_))

    def accept(self, caller, made):
        return self._store.apply(lambda found: hand_edits.accept(self._store, found, caller, made))

    def hold_back(self, caller, reasons):
        self._store.apply(lambda found: hand_edits.hold_back(found, caller, reasons))

    def sweep(self):
        return self._store.apply(lambda found: upkeep.sweep(self._store, found))

    def assign(self, caller, *, skip=()):
        return self._store.apply(lambda found: upkeep.assign(found, caller, skip=skip))

    def wait_for_follow_up(self, id_, handoff):
        """Let a done task wait for its follow-up, as if it could not be created."""

        def step(found):
            row = rows.need(found, id_)
            new = texts.rewritten(row, row.task._replace(handoff=handoff))
            rows.put(found, new, row)

        self._store.apply(step)

    def hand_off(self, caller):
        return self._store.apply(lambda found: handoffs.hand_off(found, caller))

    def stuck(self, caller):
        return self._store.apply(lambda found: upkeep.stuck(self._store, found, caller))

    def archive(self, caller):
        return self._store.apply(lambda found: upkeep.archive(self._store, found, caller))
