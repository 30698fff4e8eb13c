"""One task of ``dibs work``: run the command for it, and end the task as the command's end says."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import ExitStack, suppress

from dibs.cli.commands.work.output import CopiedOutput
from dibs.cli.support.child import NOT_EXECUTABLE, NOT_FOUND, CannotStart, ChildProcess
from dibs.core.claims.agents import HUMAN
from dibs.core.tasks.rules import Status
from dibs.core.text.durations import show_span
from dibs.core.text.names import cut, printable
from dibs.errors import Fenced, NotAllowed, NotFound
from dibs.services.tasks.values import QUEUE
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from dibs.cli.commands.work.signals import EndSignals
    from dibs.cli.support.hold import RunClaims
    from dibs.cli.support.session import Session
    from dibs.services.tasks.values import TakenTask

#: How many seconds a command has to exit after an interrupt, and then after SIGTERM.
INTERRUPT, GRACE = 3.0, 10.0
#: How a task can end.
DONE, FAILED, RELEASED, LOST = "done", "failed", "released", "lost"
#: The exit status of a command that was interrupted, as from Ctrl-C in its terminal.
_INTERRUPTED = 128 + signal.SIGINT
_MEANINGS = {NOT_EXECUTABLE: " (not executable)", NOT_FOUND: " (command not found)"}
#: The longest message of a failed task.
_LONGEST = 1_000


class TaskEnd(Record):
    """How a task ended."""

    task: str
    outcome: str
    #: The command's exit status, 4 if the task was lost, None if the command did not start.
    status: int | None
    #: Why the task is not done, or who ended it.
    cause: str
    summary: str
    token: int
    attempt: int


class TaskRun:
    """The run of the command for one task that was taken."""

    def __init__(
        self,
        session: Session,
        args: Namespace,
        taken: TakenTask,
        claims: RunClaims,
        say: Callable[[str], None],
    ) -> None:
        self._session, self._args, self._taken, self._claims = session, args, taken, claims
        self._say = say
        self._id, self._token = taken.stored.id, taken.granted.claims[0].token
        self._lost = ""
        self._give_up = time.monotonic() + (args.timeout or float("inf"))
        self._status: int | None = None
        self._cause = ""
        self._out: list[str] = []
        self._err: list[str] = []
        #: What a shell would exit with if the command cannot be started; else 0.
        self.unstarted = 0

    def run(self, signals: EndSignals) -> TaskEnd:
        """Run the command, end the task, and return how it ended."""
        try:
            if not signals.number and not self._must_end():
                self._attend(signals)
        except CannotStart as error:
            self.unstarted, self._cause = error.status, str(error)
            return self._finish(RELEASED)
        self._must_end()  # the command may have run longer than its claim
        if self._lost:
            self._status = Fenced.exit_status
            with suppress(Fenced, NotFound, NotAllowed):
                self._release()
            return self._end(LOST, self._lost)
        if not self._is_held():
            return self._ended_by_command()
        if signals.number:
            self._cause = f"interrupted by {_signal_name(signals.number)}"
            return self._finish(RELEASED)
        return self._finish(FAILED if self._cause else DONE)

    # -- the command

    def _attend(self, signals: EndSignals) -> None:
        """Run the command to its end, and note why it did not succeed."""
        import tempfile

        sys.stdout.flush()
        with ExitStack() as stack:
            text = stack.enter_context(tempfile.TemporaryFile())
            text.write(self._taken.stored.text.encode("utf-8", "surrogatepass"))
            text.seek(0)
            targets = (2 if self._session.json else 1, 2)
            copies = [CopiedOutput(target) for target in targets] if self._args.summary else []
            out, err = [stack.enter_context(one).handle for one in copies] or targets
            child = stack.enter_context(
                ChildProcess(self._args.command, self._environ(), (text.fileno(), out, err))
            )
            for one in copies:
                one.close()
            if signals.number:  # it arrived before the command could get it
                child.signal(signals.number)
            status = child.watch(self._pause, self._must_end)
            self._judge(child, status)
        signals.note(*child.forwarded, signal.SIGINT if status == _INTERRUPTED else 0)
        if copies:
            self._out, self._err = copies[0].lines(), copies[1].lines()

    def _judge(self, child: ChildProcess, status: int | None) -> None:
        """Stop what still runs, and set the cause unless the command succeeded."""
        if status is None:
            self._say("stopping the command")
            child.end(GRACE, INTERRUPT)
        else:
            child.end(GRACE)
        self._status = child.wait(0)
        if status is None:
            self._cause = f"timed out after {show_span(self._args.timeout or 0)}"
        elif child.ended_by:
            self._cause = f"killed by signal {child.ended_by} ({_signal_name(child.ended_by)})"
        elif status:
            self._cause = f"exit status {status}{_MEANINGS.get(status, '')}"

    def _environ(self) -> dict[str, str]:
        stored = self._taken.stored
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DIBS_TASK")}
        if self._session.caller.role != HUMAN:  # without a name, it acts for the same human
            kept["DIBS_AGENT"] = self._session.caller.id
        if stored.place != QUEUE:
            board = os.path.abspath(self._session.project.board.path)
            kept["DIBS_TASK_FILE"] = os.path.join(board, stored.place, stored.file)
        return {
            **kept,
            "DIBS_TASK": self._id,
            "DIBS_TASK_TITLE": printable(stored.task.title),
            "DIBS_TASK_TOKEN": str(self._token),
            "DIBS_TASK_ATTEMPT": str(self._attempt),
        }

    @property
    def _attempt(self) -> int:
        return self._taken.stored.attempt or 1  # the queue does not count them

    def _pause(self) -> float:
        return max(0.0, min(self._claims.pause(), self._give_up - time.monotonic()))

    def _must_end(self) -> bool:
        """Renew if that is due, print news, and return whether the command must end."""
        self._claims.keep()
        for line in self._claims.news():
            self._say(line)
        if self._claims.lost:
            self._lost = self._lost or f"claim {self._claims.lost[0].why}"
        return bool(self._lost) or time.monotonic() >= self._give_up

    # -- the task

    def _is_held(self) -> bool:
        """Return whether this attempt still runs, because the command did not end it."""
        held = self._session.project.claims.all(self._session.caller.id)[0]
        first = self._taken.granted.claims[0].pattern
        return any(h.claim.pattern == first and h.claim.token == self._token for h in held)

    def _ended_by_command(self) -> TaskEnd:
        state = self._state()
        finished = {Status.DONE: DONE, Status.ARCHIVE: DONE}
        outcome = {**finished, Status.ERROR: FAILED}.get(state, RELEASED)
        return self._end(outcome, f"the command ended it; it is {state or 'gone'}")

    def _state(self) -> str:
        try:
            return self._session.project.tasks.show(None, self._id).state
        except NotFound:
            return ""

    def _finish(self, outcome: str) -> TaskEnd:
        """Move the task to where its end belongs, unless it was lost at the last moment."""
        try:
            if outcome == DONE:
                self._done()
            elif outcome == FAILED:
                self._fail()
            else:
                self._release()
        except Fenced as error:
            self._status = Fenced.exit_status
            return self._end(LOST, error.message)
        return self._end(outcome, self._cause)

    def _done(self) -> None:
        tasks, summary = self._session.project.tasks, "".join(self._out[-1:])
        tasks.done(self._session.caller, self._id, token=self._token, summary=summary)

    def _fail(self) -> None:
        said = ": ".join([self._cause, *self._err[-1:]])
        self._cause = cut(said, _LONGEST)
        self._session.project.tasks.fail(
            self._session.caller,
            self._id,
            message=self._cause,
            token=self._token,
            trace="\n".join(self._err),
        )

    def _release(self) -> None:
        self._session.project.tasks.release(self._session.caller, self._id, token=self._token)

    def _end(self, outcome: str, cause: str) -> TaskEnd:
        summary = "".join(self._out[-1:]) if outcome == DONE else ""
        return TaskEnd(
            self._id, outcome, self._status, cause, summary, self._token, self._attempt
        )  # fmt: skip


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"  # a real-time signal
