"""Hold claims while a command runs: claim, run, renew, release.

Everything after -- is the command. No shell interprets it, and it acts as the same agent (DIBS_AGENT).
If a claim is lost (expired, revoked, transferred, or the store is unreachable for too long), Dibs stops
the command and its child processes; with --on-lost warn it only warns. Claims that you already held are kept.

Examples:
  dibs run --claim src/ docs/api.md -- make test
  dibs run --claim port:8000 --wait 2m -- python -m http.server 8000

With --json, a denial is printed as by `dibs claim`; otherwise the last line on standard error is
one object: {"status", "claims", "lost", "released"}.

exit status: that of the command (128 + N if signal N ended it, 127 not found, 126 not executable),
3 denied and not started, 4 a claim was lost
"""

from __future__ import annotations

import os
import sys
from itertools import compress

from dibs.cli.support import HELD
from dibs.core.claims.agents import HUMAN
from dibs.errors import BadUsage, DibsError, Fenced, NotFound, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.support.child import ChildProcess
    from dibs.cli.support.hold import RunClaims
    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim, Lost

#: Everything after ``--`` belongs to the command.
TAKES_COMMAND = True

#: How many seconds a stopped command has to exit.
GRACE = 10.0


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs run``."""
    parser.usage = "dibs run [OPTIONS] [--claim PATTERN ...] -- COMMAND ..."
    parser.add_argument(
        "--claim", nargs="+", action="extend", default=[], metavar="PATTERN", help="what to claim"
    )
    parser.add_argument("--shared", action="store_true", help="share the claim with other readers")
    parser.add_argument(
        "--ttl", metavar="SPAN", help="expire this long after the last heartbeat (default: 5m)"
    )
    parser.add_argument("--wait", metavar="SPAN", help="wait in the queue for at most SPAN")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why (default: the command)")
    parser.add_argument("--task", default="", metavar="TASK", help="the task that the claim is for")
    parser.add_argument(
        "--literal", action="store_true", help="treat the patterns as literal paths"
    )
    parser.add_argument(
        "--on-lost",
        choices=("stop", "warn"),
        default="stop",
        help="what to do if a claim is lost (default: stop)",
    )


def run(args: Namespace) -> int:
    """Claim, run the command, release, and return the command's exit status."""
    if not args.command:
        raise BadUsage("run: no command given", hint="dibs run --claim src/ -- COMMAND")
    if os.name != "posix":
        raise Unavailable("dibs run needs Linux or macOS", code="PLATFORM")
    from dibs.cli.commands.claim import acquire, show
    from dibs.cli.support.hold import hold_times
    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Granted

    ttl, timeout = hold_times(args)
    with Session(args, timeout=timeout) as session:
        if not args.claim:
            return _Run(session, args, ttl, ()).run()
        args.reason = args.reason or " ".join(args.command)[:200]
        answer = acquire(session, args, args.claim, shows_left=False)
        if not isinstance(answer, Granted):
            show(session, answer, args.reason, waited=args.wait)
            return HELD
        return _Run(session, args, ttl, answer.claims, answer.fresh).run()


class _Run:
    """One command and its claims."""

    def __init__(
        self,
        session: Session,
        args: Namespace,
        ttl: float,
        claims: tuple[Claim, ...],
        fresh: tuple[bool, ...] = (),
    ) -> None:
        self._session = session
        self._args = args
        self._ttl = ttl
        self._claims = claims
        self._fresh = fresh
        self._lost: list[Lost] = []

    def run(self) -> int:
        """Run the command to its end, release, and return the exit status."""
        from dibs.cli.support.child import CannotStart
        from dibs.cli.support.hold import RunClaims

        keeper = RunClaims(self._session, self._ttl, self._claims)
        try:
            status = self._watch(keeper)
            self._hear(keeper)  # the command may have run longer than its claim
        except CannotStart as error:
            self._say(str(error))
            status = error.status
        finally:
            released = self._release()
        if self._must_end:
            status = Fenced.exit_status
        self._report(status, released)
        return status

    def _watch(self, keeper: RunClaims) -> int:
        from dibs.cli.support.child import ChildProcess

        if self._hear(keeper):
            return Fenced.exit_status
        sys.stdout.flush()
        caller = self._session.caller
        # Without a name, the command acts for the same human.
        named = {} if caller.role == HUMAN else {"DIBS_AGENT": caller.id}
        with ChildProcess(self._args.command, {**os.environ, **named}) as child:
            status = child.watch(keeper.pause, lambda: self._hear(keeper))
            return self._end(child) if status is None else status

    @property
    def _must_end(self) -> bool:
        return bool(self._lost) and self._args.on_lost == "stop"

    def _end(self, child: ChildProcess) -> int:
        self._say("stopping the command")
        child.end(GRACE)
        return Fenced.exit_status

    def _hear(self, keeper: RunClaims) -> bool:
        """Renew if that is due, print lost claims and release requests, and return whether to stop."""
        keeper.keep()
        for line in keeper.news():
            self._say(line)
        self._lost += keeper.lost
        return self._must_end

    def _release(self) -> list[Claim]:
        """Release only the claims that this run took; if that fails, they expire."""
        released: list[Claim] = []
        project, caller = self._session.project, self._session.caller
        for claim in compress(self._claims, self._fresh):
            pattern = project.pattern(claim.pattern)
            try:
                released += project.holdings.release(caller, [pattern], token=claim.token)
            except (Fenced, NotFound):
                continue  # the command released it, or its loss was reported
            except DibsError as error:
                self._say(f"could not release; the claim will expire: {error.message}")
        return released

    def _report(self, status: int, released: list[Claim]) -> None:
        if not self._session.json:
            return
        from dibs.cli.support.session import print_json
        from dibs.shapes import claims as shapes

        shape = {
            "status": status,
            "claims": shapes.claims(self._claims),
            "lost": [shapes.lost(lost) for lost in self._lost],
            "released": shapes.claims(released),
        }
        print_json(shape, sys.stderr)

    def _say(self, line: str) -> None:
        from dibs.core.text.names import printable

        if not self._session.json:
            print(f"dibs: {printable(line)}", file=sys.stderr, flush=True)
