"""A disk that fails at a chosen step, as a crash would."""

import os
import signal

from dibs.workdir.disk import Disk


class Crash(BaseException):
    """The process is dead: none of its code runs anymore."""


class CrashingDisk(Disk):
    """Stops before step number ``at``; without one it only counts."""

    def __init__(self, at=None, *, kill=False):
        self.at = at
        self.kill = kill
        self.steps = []

    def reach(self, step, name):
        if self.at is not None and len(self.steps) >= self.at:
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Crash(step)
        self.steps.append(step)
