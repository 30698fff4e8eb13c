"""The lock-file queue, with the board's way of taking a task."""

from dibs.services.board.tasks import Tasks
from dibs.services.tasks.lock_queue.tasks import LockTasks


class LockedQueue(Tasks):
    """The tasks of a repository with a lock-file queue and no board."""

    def __init__(self, store, queue):
        super().__init__(store, None, LockTasks(store, queue))

    def all(self):
        """Return the tasks of the queue."""
        return self.queued()
