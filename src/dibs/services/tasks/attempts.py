"""Attempts at a task: how one begins and ends, and whether it is still alive.

An attempt is an agent's claim ``task:ID``, sometimes with claims on the task's artefacts, and lives as long
as that claim. The next command that finds a dead attempt makes its task available again.
"""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import (
    EXCLUSIVE,
    Denied,
    Granted,
    Lost,
    Request,
    check_request,
)
from dibs.core.patterns.pattern import parse
from dibs.core.tasks.names import task_pattern
from dibs.core.tasks.rules import OPEN, Status
from dibs.services.claims.acquire import attempt
from dibs.services.claims.holdings import give_back
from dibs.services.state.own_claims import own_at
from dibs.services.state.presence import expire, lose, role_of
from dibs.services.state.rows import claim_of
from dibs.services.state.task_index import running
from dibs.services.state.tasks import load, note_until
from dibs.services.tasks.texts import TaskWriter, moment, rewritten, unstarted
from dibs.startup.records import Record
from dibs.taskfile.writing import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from dibs.core.claims.agents import Beat, Caller
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.core.tasks.rules import Task
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored


class TakeRequest(Record):
    """What a caller says when it asks for a task."""

    agent: str
    #: Other roles that it acts for.
    roles: tuple[str, ...]
    #: Whether it also claims the artefacts.
    claim: bool
    ttl: float
    reason: str = ""


def pattern_of(store: Store, id_: str) -> Pattern:
    """Return the pattern of a claim on the task."""
    return task_pattern(id_, fold_case=store.fold_case)


def request_for(store: Store, wish: TakeRequest, task: Task) -> Request:
    """Return the claims that an attempt needs: the task, and its artefacts if ``wish`` says so."""
    artefacts = task.artefacts if wish.claim else ()
    patterns: dict[str, Pattern] = {}
    for pattern in (
        pattern_of(store, task.id),
        *(parse(artefact, fold_case=store.fold_case) for artefact in artefacts),
    ):
        patterns.setdefault(pattern.key, pattern)
    return Request(
        wish.agent, tuple(patterns.values()), EXCLUSIVE, wish.ttl, wish.reason, task.id
    )  # fmt: skip


def checked_request(
    store: Store, caller: Caller, beat: Beat, wish: TakeRequest, task: Task
) -> Request:
    """Return the claims that an attempt needs; raise if the caller may not have them."""
    request = request_for(store, wish, task)
    check_request(request, held=beat.claims, human=caller.human)
    return request


def begin(
    store: Store,
    rows: Rows,
    caller: Caller,
    beat: Beat,
    request: Request,
    stored: Stored,
    *,
    quiet: bool,
) -> tuple[Stored, Granted] | Denied:
    """Claim a task for the caller and record that it began; change nothing if something is held."""
    hold = store.config.max_hold
    outcome = attempt(rows, request, beat, max_hold=hold, waiting=None, quiet=quiet)
    if isinstance(outcome, Denied):
        return outcome
    assert isinstance(outcome, Granted)
    return _begun(rows, caller, beat, stored, outcome), outcome


def _tell_left(rows: Rows, agent: str, granted: Granted) -> None:
    """Tell the agent what others left uncommitted in the files of its task."""
    from dibs.services.state.ownership import mail_left, take_over

    new = zip(granted.claims, granted.fresh, strict=True)
    patterns = [rows.pattern(claim.pattern) for claim, fresh in new if fresh]
    mail_left(rows, agent, take_over(rows, agent, [p for p in patterns if not p.scheme]))


def _begun(rows: Rows, caller: Caller, beat: Beat, stored: Stored, granted: Granted) -> Stored:
    now, task = moment(rows.now), stored.task
    _tell_left(rows, caller.id, granted)
    after = task._replace(
        status=Status.IN_PROGRESS, agent=caller.id, assigned=task.assigned or now, started=now
    )
    number = stored.attempt + 1
    return TaskWriter(rows, caller.id, beat.role).move(
        stored,
        "take",
        after,
        Kind.TASK_STARTED,
        f"{caller.id} started {task.id}" + (f", attempt {number}" if number > 1 else ""),
        details={"token": granted.token},
        attempt=number,
        token=granted.claims[0].token,
        holder=caller.id,
        warned=0.0,
        claimed=_claimed_for(rows, caller.id, task.id, granted),
        until=granted.expires[0],
    )


def _claimed_for(rows: Rows, agent: str, id_: str, granted: Granted) -> tuple[str, ...]:
    """Return the artefacts whose claims end with this attempt, or with another one by the same agent."""
    artefacts = list(zip(granted.claims[1:], granted.fresh[1:], strict=True))
    if all(new for _, new in artefacts):
        return tuple(claim.pattern for claim, _ in artefacts)
    others = _needed_elsewhere(rows, agent, id_)
    return tuple(
        claim.pattern
        for claim, new in artefacts
        if new or rows.pattern(claim.pattern).key in others
    )


def _needed_elsewhere(rows: Rows, agent: str, id_: str) -> set[str]:
    """Return what the agent's other running attempts have claimed."""
    found: set[str] = set()
    for _, other, holder in running(rows):
        row = load(rows, other) if holder == agent and other != id_ else None
        if row is not None:
            found.update(rows.pattern(text).key for text in row.claimed)
    return found


def continue_attempt(
    store: Store, rows: Rows, caller: Caller, beat: Beat, wish: TakeRequest, stored: Stored
) -> Granted | Denied:
    """Claim a task in progress: renew the caller's own attempt, deny it to other agents."""
    request = checked_request(store, caller, beat, wish, stored.task)
    hold = store.config.max_hold
    outcome = attempt(rows, request, beat, max_hold=hold, waiting=None)
    if isinstance(outcome, Granted) and any(outcome.fresh):
        _tell_left(rows, caller.id, outcome)
        fresh = zip(outcome.claims[1:], outcome.fresh[1:], strict=True)
        claimed = dict.fromkeys((*stored.claimed, *(c.pattern for c, new in fresh if new)))
        new = stored._replace(
            token=outcome.claims[0].token,
            holder=caller.id,
            claimed=tuple(claimed),
            until=outcome.expires[0],
        )
        said = f"{caller.id} continues {stored.id}"
        TaskWriter(rows, caller.id, beat.role).write(stored, new, Kind.TASK_STARTED, said)
    assert isinstance(outcome, Granted | Denied)
    return outcome


def no_attempt(**changes: Any) -> dict[str, Any]:
    """Return the fields of a row without a running attempt."""
    return {"token": 0, "holder": "", "claimed": (), "until": 0.0, "warned": 0.0, **changes}


def return_claims(store: Store, rows: Rows, agent: str, beat: Beat, stored: Stored) -> None:
    """Release what the attempt's agent holds for it."""
    mine = dict(_claims_for(store, rows, agent, stored))
    give_back(rows, agent, rows.beat(agent) or beat, list(mine.items()))


def revoke_claims(store: Store, rows: Rows, stored: Stored, by: str, why: str) -> None:
    """Revoke the claims of an attempt; its agent is notified and fenced."""
    for key, claim in list(_claims_for(store, rows, stored.holder, stored)):
        lose(rows, key, claim, Lost(claim.pattern, claim.token, "revoked", rows.now, by, why))
        rows.emit(
            by, role_of(rows, by), Kind.LOCK_REVOKED,
            f"{by} revoked {claim.agent}'s claim on {claim.pattern}: {why}",
            pattern=claim.pattern, holder=claim.agent, token=claim.token, reason=why,
        )  # fmt: skip


def _claims_for(
    store: Store, rows: Rows, agent: str, stored: Stored
) -> Iterator[tuple[str, Claim]]:
    """Yield the claims, with their keys, that an agent holds only for this attempt."""
    others = _needed_elsewhere(rows, agent, stored.id) if stored.claimed else set()
    artefacts = [rows.pattern(text) for text in stored.claimed]
    only = [pattern for pattern in artefacts if pattern.key not in others]
    for pattern in (pattern_of(store, stored.id), *only):
        for key, claim in own_at(rows, agent, pattern):
            if rows.pattern(claim.pattern).key == pattern.key:
                yield key, claim


# -- whether an attempt is alive


def claims_on(store: Store, rows: Rows, id_: str) -> list[tuple[str, Claim, float]]:
    """Return the claims on exactly this task, with their keys and the seconds until each expires."""
    pattern = pattern_of(store, id_)
    found = []
    for row in rows.near(pattern):
        if not row.ticket and rows.pattern(row.record["pattern"]).key == pattern.key:
            claim = claim_of(row)
            found.append((row.key, claim, rows.deadline(claim) - rows.now))
    return found


def live_claim(store: Store, rows: Rows, id_: str) -> Claim | None:
    """Return the live claim on a task, or None."""
    return next((claim for _, claim, left in claims_on(store, rows, id_) if left > 0), None)


def return_dead_tasks(store: Store, rows: Rows, *, every_attempt: bool) -> list[Stored]:
    """Return tasks of dead attempts to the board; return their new rows.

    Unless ``every_attempt`` is set, skip attempts that cannot have expired yet.
    """
    ids = []
    for until, id_, _ in running(rows):
        if not every_attempt and until > rows.now:
            break
        ids.append(id_)
    back = [return_if_dead(store, rows, id_) for id_ in ids]
    return [stored for stored in back if stored is not None]


def return_if_dead(store: Store, rows: Rows, id_: str) -> Stored | None:
    """Return one task to the board if its attempt is dead; None if it is alive."""
    stored = load(rows, id_)
    if stored is None or not stored.token:
        return None
    claim = live_claim(store, rows, stored.id)
    if claim is not None:
        if claim.agent != stored.holder:
            _adopt(rows, stored, claim)
        elif stored.until <= rows.now:
            note_until(rows, stored, rows.deadline(claim))
        return None
    for key, gone, _ in claims_on(store, rows, stored.id):
        expire(rows, key, gone)
    return lose_attempt(store, rows, stored, "stopped renewing its claim")


def _adopt(rows: Rows, stored: Stored, claim: Claim) -> None:
    """Follow a claim that was transferred to another agent, which continues the attempt."""
    after = stored.task._replace(agent=claim.agent)
    writer = TaskWriter(rows, claim.agent, role_of(rows, claim.agent))
    said = f"{stored.holder} transferred {stored.id} to {claim.agent}"
    new = rewritten(stored, after)._replace(token=claim.token, holder=claim.agent)
    writer.write(stored, new, Kind.TASK_REASSIGNED, said)


def lose_attempt(store: Store, rows: Rows, stored: Stored, why: str) -> Stored:
    """Return a task whose attempt failed to the board; after too many failures, set it to ``error``."""
    agent = stored.holder or stored.task.agent
    failures = stored.failures + 1
    writer = TaskWriter(rows, agent, role_of(rows, agent))
    if failures - stored.forgiven >= store.config.board_attempts:
        message = f"{agent} {why}; {failures - stored.forgiven} attempts failed"
        return fail_with(writer, stored, message, verb="lose")
    details = {"holder": agent, "failures": failures}
    return return_task(
        writer, stored, "lose", f"{agent} {why}", details, **no_attempt(failures=failures)
    )


def return_task(
    writer: TaskWriter,
    stored: Stored,
    verb: str,
    why: str,
    details: Mapping[str, object] | None = None,
    **changes: Any,
) -> Stored:
    """Return a task to the agent that it names, else to the inbox, and record why."""
    after = unstarted(stored.task, changes.get("asked", stored.asked), writer.rows.now)
    said = f"{stored.id} is available again: {why}"
    return writer.move(stored, verb, after, Kind.TASK_RETURNED, said, details=details, **changes)


def fail_with(
    writer: TaskWriter, stored: Stored, message: str, *, verb: str, trace: str = ""
) -> Stored:
    """Set a task to ``error``, with a block that says why and how often it was retried."""
    agent = stored.holder or stored.task.agent or writer.agent
    retries = max(stored.failures, stored.task.retries)
    after = stored.task._replace(status=Status.ERROR, agent=agent, error=message, retries=retries)
    block = {
        "message": message,
        "timestamp": stamp(writer.rows.now),
        "agent": agent,
        "retry_count": retries,
    }
    return writer.move(
        stored,
        verb,
        after,
        Kind.TASK_FAILED,
        f"{stored.id} failed: {message}",
        blocks={"error": {**block, "stacktrace": trace} if trace else block},
        details={"message": message, "failures": stored.failures + 1},
        **no_attempt(failures=stored.failures + 1),
        attempt=stored.attempt + (stored.task.status in OPEN),
    )
