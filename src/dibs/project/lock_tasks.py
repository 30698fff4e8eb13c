"""Claims and the lock-file queue: a task there is owned through its lock file, not through a claim."""

from __future__ import annotations

from dibs.errors import NotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.rules import Held, Waiter
    from dibs.core.patterns.pattern import Pattern
    from dibs.project.project import Project

_TASK = "task:"


def refuse_queued(project: Project, text: str) -> None:
    """Refuse a claim on a task of the lock-file queue: scripts would not see it."""
    if not text.startswith(_TASK):
        return
    name = text.removeprefix(_TASK)
    if project.queue_lock(name) is not None:
        from dibs.core.text.names import quote

        raise NotAllowed(
            f"task {quote(name)} is in the lock-file queue, where a claim without a lock file does not count",
            field="pattern",
            hint=f"take it with: dibs task start {name}",
        )


def around(project: Project, pattern: Pattern) -> tuple[list[Held], list[Waiter]]:
    """Return who holds and who waits for what overlaps a pattern, including the owner of a lock file."""
    holders, waiters = project.claims.overlapping(pattern)
    if pattern.scheme == "task" and pattern.literal and not holders:
        holders = _locked(project, pattern)
    return holders, waiters


def _locked(project: Project, pattern: Pattern) -> list[Held]:
    from dibs.core.claims.rules import EXCLUSIVE, Claim, Held
    from dibs.core.tasks.names import name_of

    file = project.queue_lock(name_of(pattern))
    if file is None or not file.holder:
        return []
    span, since = file.expires_in, file.since
    claim = Claim(
        "lock", pattern.text, EXCLUSIVE, file.holder, 0, span, since, since + span, file.reason
    )
    return [Held(claim, project.ledger.now() + span, span)]
