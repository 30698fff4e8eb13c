"""The plain queue, with the board's way of taking a task."""

from dibs.services.board.tasks import Tasks
from dibs.services.tasks.plain_queue import Queue


class PlainQueue(Queue):
    """The queue of a store whose board is empty."""

    def take(self, caller, **options):
        return Tasks(self._store).take(caller, **options)
