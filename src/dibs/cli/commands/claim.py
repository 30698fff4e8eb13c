"""Claim paths, globs, or named resources, all or nothing.

Examples:
  dibs claim src/auth.py --reason "fix login"
  dibs claim 'src/**' docs/api.md --wait 2m
  dibs claim --shared 'schema/*.sql'
  dibs claim port:8000 task:42

A pattern that matches no file is granted, with a warning; --new says that you will create it.

exit status: 0 granted, 3 denied or queued
"""

from __future__ import annotations

import os

from dibs.cli.support import HELD
from dibs.cli.support.parsing import LITERAL, REQUEST_ID, VERBOSE, arg
from dibs.core.claims.rules import EXCLUSIVE, SHARED, Granted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import Any

    from dibs.cli.support.session import Session
    from dibs.cli.support.waiting import WaitLine
    from dibs.core.claims.rules import Outcome


#: As many paths as nobody types: the shell expanded a glob.
MANY_PATHS = 100

OPTIONS = (
    arg("pattern", nargs="+", metavar="PATTERN", help="path, glob, dir/, or name:x"),
    arg("--shared", action="store_true", help="share the claim with other readers"),
    arg("--ttl", metavar="SPAN", help="expire this long after your last heartbeat (default: 5m)"),
    arg("--wait", metavar="SPAN", help="wait in the queue for at most SPAN"),
    arg("--queue", action="store_true", help="join the queue and return at once"),
    arg("--reason", default="", metavar="TEXT", help="why; other agents see it"),
    arg("--task", default="", metavar="TASK", help="the task that the claim is for"),
    arg("--new", action="store_true", help="do not warn if no file matches"),
    LITERAL,
    REQUEST_ID,
    VERBOSE,
)


def act(session: Session, args: Namespace) -> int:
    """Claim, print the answer, and return its exit status."""
    for text in args.pattern:
        if text.startswith("task:"):
            from dibs.project.lock_tasks import refuse_queued

            refuse_queued(session.project, text)
    answer = acquire(session, args, args.pattern, queue=args.queue, request_id=args.request_id)
    granted = isinstance(answer, Granted)
    warnings = _warnings(session, args) if granted and not args.new else []
    show(session, answer, args.reason, warnings, waited=args.wait)
    return 0 if granted else HELD


def _warnings(session: Session, args: Namespace) -> list[str]:
    """Return warnings about patterns that match no file; a path that exists costs one look."""
    tree, texts = session.project.tree, args.pattern
    here = os.path.join(tree.repository.root, tree.repository.subdir)
    found = []
    if len(texts) >= MANY_PATHS:
        found.append(f"{len(texts)} paths: quote a glob to keep the shell from expanding it")
    unseen = [text for text in texts if not os.path.lexists(os.path.join(here, text))]
    if unseen:
        from dibs.cli.support.unmatched import matches_nothing

        found += [
            f"no file matches {text} (use --new if you will create it)"
            for text in unseen
            if matches_nothing(tree, text, literal=args.literal)
        ]
    return found


def acquire(
    session: Session,
    args: Namespace,
    texts: list[str],
    *,
    queue: bool = False,
    request_id: str = "",
    shows_left: bool = True,
) -> Outcome:
    """Claim the patterns with the options of ``dibs claim``, and wait if they say so."""
    wait = args.wait or 0.0

    def ask(watching: WaitLine | None = None) -> Outcome:
        return session.project.claims.claim(
            session.caller,
            session.patterns(texts, literal=args.literal),
            mode=SHARED if args.shared else EXCLUSIVE,
            ttl=args.ttl,
            wait=wait,
            queue=queue,
            reason=args.reason,
            task=args.task,
            request_id=request_id,
            watching=watching,
            shows_left=shows_left,
        )

    if not os.environ.get("DIBS_AGENT"):
        return _in_line(session, ask) if wait else ask()
    from dibs.cli.support.namesakes import Namesakes, is_named

    named = Namesakes(session) if is_named(session, args) and not args.shared else None
    if named is not None:
        named.refuse(session.patterns(texts, literal=args.literal), "claim")
    answer = _in_line(session, ask) if wait else ask()
    if named is not None and isinstance(answer, Granted):
        named.record(answer.claims)
    return answer


def _in_line(session: Session, ask: Callable[[WaitLine], Outcome]) -> Outcome:
    """Wait, and show the position in the queue."""
    from dibs.cli.support.waiting import WaitLine
    from dibs.local.signals import leaving_on_end

    with leaving_on_end(), WaitLine(session.caller, silent=session.json) as line:
        return ask(line)


def show(
    session: Session,
    answer: Outcome,
    reason: str = "",
    warnings: list[str] | None = None,
    *,
    waited: str | float | None = None,
    steps: Sequence[str] = (),
) -> None:
    """Print the answer to a claim made for ``reason``, and warnings on standard error.

    ``steps`` replace the next steps.
    """
    if not steps and not isinstance(answer, Granted):
        from dibs.shapes.claims import next_steps

        folder = session.project.place.repository.subdir
        steps = next_steps(answer, human=session.caller.human, folder=folder)

    def shape() -> object:
        from dibs.shapes import claims

        shaped = claims.outcome(answer, human=session.caller.human)
        if steps:
            shaped["next"] = list(steps)
        return shaped if warnings is None else {**shaped, "warnings": warnings}

    def text() -> None:
        from dibs.cli.support.outcomes import show_outcome, show_warnings

        more: dict[str, Any] = {"verbose": session.verbose, "waited": waited, "steps": steps}
        show_outcome(answer, session.now(), session.caller, reason, **more)
        if warnings:
            show_warnings(warnings)

    session.show(shape, text)
