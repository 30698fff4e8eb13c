"""A command that Dibs runs for its caller: start, watch, signal, and stop it as one process group.

The command gets its own process group, so that it can be stopped with everything it started. On a terminal,
that group moves to the foreground, as in a shell, so that Ctrl-C and Ctrl-Z reach it directly.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

from dibs.local.signals import SignalPipe, not_ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType, TracebackType

NOT_EXECUTABLE, NOT_FOUND = 126, 127
#: Signals that are forwarded to the command.
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_STDIN = 0
_POLL = 0.05


class CannotStart(Exception):
    """The command could not be started; ``status`` is what a shell would exit with."""

    def __init__(self, command: str, error: OSError) -> None:
        super().__init__(f"cannot run {command}: {error.strerror or error}")
        missing = isinstance(error, FileNotFoundError)
        self.status = NOT_FOUND if missing else NOT_EXECUTABLE


class ChildProcess:
    """A running command; a context manager that restores signals and the terminal at the end."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        streams: tuple[int | None, int | None, int | None] = (None, None, None),
    ) -> None:
        """Start the command; ``streams`` are its standard streams, None for those of this process."""
        #: The signals that were forwarded to the command.
        self.forwarded: list[int] = []
        self._pending: list[int] = []
        self._streams = streams
        self._process: subprocess.Popen[bytes] | None = None
        self._terminal = _Terminal()
        self._signals = SignalPipe()
        # Ignored signals stay ignored, for the command, too: it may run under nohup.
        self._handlers = {n: signal.signal(n, self._forward) for n in not_ignored(FORWARDED)}
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _ignore)
        try:
            self._start(command, environ)
        except BaseException:
            self._give_back()
            raise

    def _start(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                env=environ,
                process_group=0,
                stdin=self._streams[0],
                stdout=self._streams[1],
                stderr=self._streams[2],
            )
        except OSError as error:
            raise CannotStart(command[0], error) from error
        except ValueError as error:  # a NUL in an argument
            raise CannotStart(command[0], OSError(0, str(error))) from error
        self._terminal.lend(self._process.pid)
        for number in self._pending:
            self.signal(number)

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.end(grace=1.0)
        self._give_back()

    def wait(self, timeout: float) -> int | None:
        """Wait at most ``timeout`` seconds; return the exit status once the command has ended.

        The status of a command killed by signal N is 128 + N. Returns early when the command's state changes.
        """
        status = self._look()
        if status is None:
            self._signals.wait(timeout)
            status = self._look()
        return status

    def watch(self, pause: Callable[[], float], must_end: Callable[[], bool]) -> int | None:
        """Wait for the command, and call ``must_end`` after each ``pause``.

        Return its exit status, or None if it must end. The caller ends it.
        """
        while (status := self.wait(pause())) is None:
            if self.stopped:
                self.stop_with_it()
                if must_end():
                    break
                self.go_on()
            elif must_end():
                break
        return status

    @property
    def ended_by(self) -> int:
        """The signal that ended the command, or 0."""
        return max(0, -(self._running.returncode or 0))

    @property
    def stopped(self) -> bool:
        """Whether the command was stopped, for example with Ctrl-Z."""
        return self._terminal.wanted_back

    def stop_with_it(self) -> None:
        """Stop this process and its pipeline as well, like a shell job; return when continued."""
        self._terminal.take_back()
        os.killpg(os.getpgrp(), signal.SIGTSTP)

    def go_on(self) -> None:
        """Continue a stopped command, in the foreground if this process is there."""
        self._terminal.lend(self._running.pid)
        self.signal(signal.SIGCONT)

    def end(self, grace: float, interrupt: float = 0.0) -> None:
        """Terminate the whole group, and kill it after ``grace`` seconds.

        With ``interrupt``, interrupt it first, and wait as many seconds for it.
        """
        for number, patience in ((signal.SIGINT, interrupt), (signal.SIGTERM, grace)):
            if not patience or not self._group_lives():
                continue
            self.signal(number)
            self.signal(signal.SIGCONT)
            give_up = time.monotonic() + patience
            while self._group_lives() and time.monotonic() < give_up:
                self.wait(_POLL)
        if self._group_lives():
            self.signal(signal.SIGKILL)
        while self.wait(_POLL) is None:
            pass

    def signal(self, number: int) -> None:
        """Send a signal to the command's process group."""
        with suppress(ProcessLookupError, PermissionError):  # macOS: only a zombie is left
            os.killpg(self._running.pid, number)

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _group_lives(self) -> bool:
        if self._look() is not None:
            with suppress(ChildProcessError):  # the first process of a container inherits orphans
                while os.waitpid(-self._running.pid, os.WNOHANG)[0]:
                    pass
        try:
            os.killpg(self._running.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _look(self) -> int | None:
        process = self._running
        if process.returncode is None:
            pid, state = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return None
            if os.WIFSTOPPED(state):
                self._terminal.on_stop(process.pid)
                return None
            process.returncode = os.waitstatus_to_exitcode(state)
        code = process.returncode
        return code if code >= 0 else 128 - code

    def _forward(self, number: int, _: FrameType | None) -> None:
        self.forwarded.append(number)
        if self._process is None:
            self._pending.append(number)
        else:
            self.signal(number)

    def _give_back(self) -> None:
        self._terminal.take_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._signals.close()


class _Terminal:
    """The terminal on standard input, if this process is in its foreground."""

    def __init__(self) -> None:
        self._lent = False
        self.wanted_back = False

    def lend(self, group: int) -> None:
        """Move ``group`` to the foreground."""
        self.wanted_back = False
        if _in_front():
            self._lent = self._put_in_front(group)
            # It may have been stopped for reading in the background.
            os.killpg(group, signal.SIGCONT)

    def on_stop(self, group: int) -> None:
        """Record a stop; move a command that stopped in the background to the foreground."""
        if self._lent:
            self.wanted_back = True
        else:
            self.lend(group)

    def take_back(self) -> None:
        """Return to the foreground."""
        if self._lent:
            self._put_in_front(os.getpgrp())
            self._lent = False

    def _put_in_front(self, group: int) -> bool:
        # A background process is stopped for trying this, unless it ignores the signal.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            os.tcsetpgrp(_STDIN, group)
        except OSError:
            return False
        else:
            return True
        finally:
            signal.signal(signal.SIGTTOU, before)


def _in_front() -> bool:
    try:
        return os.tcgetpgrp(_STDIN) == os.getpgrp()
    except OSError:
        return False


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: the byte on the wakeup pipe is enough."""
