"""The loop of ``dibs work``: take a task, run the command, report, and decide whether to go on."""

from __future__ import annotations

import sys

from dibs.cli.commands.work.attempt import DONE, FAILED, LOST, TaskRun
from dibs.cli.commands.work.signals import EndSignals, WaitEnded
from dibs.cli.support.hold import RunClaims
from dibs.core.text.names import few, plural, printable
from dibs.errors import Fenced, NotFound
from dibs.services.tasks.values import TakenTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from dibs.cli.commands.work.attempt import TaskEnd
    from dibs.cli.support.session import Session

#: The exit status if a task failed.
_SOME_FAILED = 1


class WorkLoop:
    """Takes tasks one at a time until there is a reason to stop."""

    def __init__(self, session: Session, args: Namespace, ttl: float) -> None:
        self._session = session
        self._args = args
        self._ttl = ttl
        self._ends: list[str] = []
        #: How many tasks in a row were not done.
        self._failures = 0
        #: The exit status that a reason to stop demands, or 0.
        self._status = 0

    def run(self) -> int:
        """Work until there is a reason to stop, and return the exit status."""
        self._warn_about_held()
        with EndSignals() as signals:
            while not signals.number and not self._is_over():
                taken = self._take(signals)
                if taken is None:
                    break
                self._say(f"took {taken.stored.id}")
                claims = RunClaims(self._session, self._ttl, taken.granted.claims)
                task = TaskRun(self._session, self._args, taken, claims, self._say)
                self._report(task.run(signals))
                self._status = task.unstarted
        self._report_all()
        if signals.number:
            return 128 + signals.number
        lost = Fenced.exit_status if LOST in self._ends else 0
        return self._status or (_SOME_FAILED if FAILED in self._ends else lost)

    def _warn_about_held(self) -> None:
        """Name tasks that the agent holds already: this loop renews them, but does not run them."""
        held = self._session.project.claims.all(self._session.caller.id)[0]
        patterns = [one.claim.pattern for one in held]
        names = [text.removeprefix("task:") for text in patterns if text.startswith("task:")]
        if names:
            self._say(f"you already hold {few(names)}; release with: dibs task release {names[0]}")

    def _is_over(self) -> bool:
        if self._failures >= self._args.max_failures:
            tasks = plural(self._failures, "task")
            self._say(f"stopped after {tasks} in a row that were not done (--max-failures)")
            self._status = self._status or _SOME_FAILED
            return True
        return bool(self._status) or len(self._ends) == self._args.max

    def _take(self, signals: EndSignals) -> TakenTask | None:
        """Return the next task; None if there is none, or if a signal ended the wait."""
        args, session = self._args, self._session
        try:
            answer = session.project.tasks.take(
                session.caller,
                roles=tuple(args.role or ()),
                claim=args.claim,
                ttl=args.ttl,
                wait=args.wait or 0.0,
                reason=" ".join(args.command)[:200],
                pausing=signals.pausing,
            )
        except WaitEnded:
            return None
        except NotFound as error:
            if error.code != "QUEUE_EMPTY":
                raise
            return None
        return answer if isinstance(answer, TakenTask) else None

    def _report(self, end: TaskEnd) -> None:
        self._ends.append(end.outcome)
        self._failures = 0 if end.outcome == DONE else self._failures + 1
        self._say(f"{end.outcome} {end.task}" + (f": {end.cause}" if end.cause else ""))
        self._print(end._asdict())

    def _report_all(self) -> None:
        counts = {outcome: self._ends.count(outcome) for outcome in dict.fromkeys(self._ends)}
        parts = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        self._say(f"{plural(len(self._ends), 'task')}: {parts}" if parts else "no task available")
        done, failed = counts.get(DONE, 0), counts.get(FAILED, 0)
        self._print({"tasks": len(self._ends), "done": done, "failed": failed})

    def _print(self, shape: dict[str, object]) -> None:
        if self._session.json:
            from dibs.cli.support.session import print_json

            print_json(shape)

    def _say(self, line: str) -> None:
        if not self._session.json:
            print(f"dibs: {printable(line)}", file=sys.stderr, flush=True)
