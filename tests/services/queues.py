"""The plain queue and the lock-file queue, with the board's way of taking a task."""

from dibs.services.board.tasks import Tasks
from dibs.services.tasks.lock_queue.tasks import LockTasks
from dibs.services.tasks.plain_queue import Queue


class PlainQueue(Queue):
    """The queue of a store whose board is empty."""

    def take(self, caller, **options):
        return Tasks(self._store).take(caller, **options)


class LockedQueue(Queue):
    """The same, for a repository with a lock-file queue."""

    def __init__(self, store, queue):
        super().__init__(store, LockTasks(store, queue))
        self.tasks = Tasks(store, None, self._locks)

    def take(self, caller, **options):
        return self.tasks.take(caller, **options)

    def start(self, caller, name, **options):
        return self.tasks.start(caller, name, **options)

    def done(self, caller, name, **options):
        return self.tasks.done(caller, name, **options)

    def release(self, caller, name, **options):
        return self.tasks.release(caller, name, **options)

    def fail(self, caller, name, **options):
        return self.tasks.fail(caller, name, **options)
