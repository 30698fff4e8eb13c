"""The plain queue with its one way to take a task, which is that of the board."""

from dibs.services.tasks.plain_queue import Queue
from dibs.services.tasks.service import Tasks


class PlainQueue(Queue):
    """The queue of a store whose board is empty."""

    def take(self, caller, **options):
        return Tasks(self._store).take(caller, **options)
