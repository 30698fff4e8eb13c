"""Take tasks one at a time, and run a command for each until none is available.

Everything after -- is the command. No shell interprets it, and nothing in its arguments is replaced:
it finds the task in its environment, and the text of the task's file on standard input.

  DIBS_AGENT         the agent that holds the task; not set if you hold it as a human
  DIBS_TASK          the task's id, for example for `dibs task show`
  DIBS_TASK_TITLE    its title
  DIBS_TASK_FILE     the path of its file on the board, if there is one
  DIBS_TASK_TOKEN    the token of this attempt, for `dibs task done --token`
  DIBS_TASK_ATTEMPT  the number of this attempt, from 1

If the command exits with 0, the task is done; otherwise it has failed and stays in `error` until
`dibs task retry`. A command that ends its task itself, with `dibs task done`, `fail`, or `release`, has
the last word. What it leaves running is stopped.

Meanwhile Dibs renews the task. If the task is lost (expired, revoked, or cancelled), Dibs stops the
command and takes the next task. SIGINT and SIGTERM are forwarded to the command; then Dibs releases the
task and stops. If dibs work is killed, the task's claim expires and another agent gets the task. Give
each worker its own name (DIBS_AGENT).

Examples:
  dibs work -- ./fix.sh
  dibs work --role tester --wait 10m --timeout 30m -- make test
  dibs work --once --summary -- sh -c 'claude -p "$(cat)"'

With --json, standard output has one object per task that ended, {"task", "outcome", "status", "cause",
"summary", "token", "attempt"}, and at the end {"tasks", "done", "failed"}; the command's own output goes
to standard error. An outcome is done, failed, released, or lost.

exit status: 0 every task that it took is done, or there was none, 1 a task failed, 4 a task was lost, 126 or
127 the command cannot be started (its task was released), 128 + N after signal N
"""

from __future__ import annotations

import os

from dibs.cli.support.parsing import number
from dibs.errors import BadUsage, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

#: Everything after ``--`` belongs to the command.
TAKES_COMMAND = True

#: How long one run of the command may take, in seconds.
_TIMEOUT_MIN, _TIMEOUT_MAX = 1.0, 7 * 86_400.0


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs work``."""
    parser.usage = "dibs work [OPTIONS] -- COMMAND ..."
    add = parser.add_argument
    add(
        "--role", action="append", metavar="ROLE", help="also match tasks for this role; repeatable"
    )
    add("--wait", metavar="SPAN", help="wait at most SPAN for each task (default: do not wait)")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--max", type=number, metavar="N", help="stop after N tasks")
    limit.add_argument(
        "--once", dest="max", action="store_const", const=1, help="stop after one task"
    )
    add("--claim", action="store_true", help="also claim its artefacts, all or nothing")
    add("--ttl", metavar="SPAN", help="expire this long after the last heartbeat (default: 5m)")
    add("--timeout", metavar="SPAN", help="stop the command after SPAN; its task has failed")
    add(
        "--max-failures",
        type=number,
        default=3,
        metavar="N",
        help="stop after N tasks in a row that were not done (default: 3)",
    )
    add(
        "--summary",
        action="store_true",
        help="record the last line of its output as the result, or the last lines of its errors as the cause",
    )


def run(args: Namespace) -> int:
    """Work until no task is available, and return the exit status."""
    if not args.command:
        raise BadUsage("work: no command given", hint="dibs work -- COMMAND")
    if os.name != "posix":
        raise Unavailable("dibs work needs Linux or macOS", code="PLATFORM")
    if os.environ.get("DIBS_SERVER"):
        raise BadUsage(
            "dibs work does not work with DIBS_SERVER: it needs the project on this machine",
            hint="run it on the server's machine, or use dibs task take, dibs run, and dibs task done",
        )
    from dibs.cli.commands.work.loop import WorkLoop
    from dibs.cli.support.hold import hold_times
    from dibs.cli.support.session import Session
    from dibs.core.text.durations import check_span

    if args.timeout is not None:
        args.timeout = check_span(
            args.timeout, _TIMEOUT_MIN, _TIMEOUT_MAX, field="timeout", code="SPAN"
        )
    ttl, timeout = hold_times(args)
    with Session(args, timeout=timeout) as session:
        return WorkLoop(session, args, ttl).run()
