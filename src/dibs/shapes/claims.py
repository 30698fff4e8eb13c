"""Claims, agents, ledger entries, and errors as JSON."""

from __future__ import annotations

from dibs.core.claims.rules import Denied, Granted, Queued
from dibs.core.text.names import typed_in
from dibs.errors import Fenced, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.core.claims.rules import (
        Ask,
        Claim,
        Conflict,
        Held,
        LeftWork,
        Lost,
        Outcome,
        Wait,
        Waiter,
    )
    from dibs.errors import DibsError
    from dibs.services.claims.agents import AgentView
    from dibs.services.claims.holdings import Renewed
    from dibs.services.claims.views import Overview
    from dibs.services.state.ledger import Summary
    from dibs.services.tasks.lock_queue.view import QueuedFile

    Shape = dict[str, Any]


def claim(value: Claim, expires_at: float | None = None) -> Shape:
    """Shape a claim; ``expires_at`` is in seconds of Unix time on the engine's clock."""
    return {
        "id": value.id, "pattern": value.pattern, "mode": value.mode, "agent": value.agent,
        "token": value.token, "expires_at": expires_at, "since": value.since, "ttl": value.ttl,
        "reason": value.reason, "task": value.task,
    }  # fmt: skip


def held(value: Held) -> Shape:
    """Shape a live claim as a listing shows it."""
    return {
        **claim(value.claim, value.expires_at),
        "expires_in": round(value.expires_in, 3),
        "asked_by": [ask(a) for a in value.asks],
        "while_running": value.while_running,
    }


def waiter(value: Waiter) -> Shape:
    """Shape a live ticket as a listing shows it."""
    ticket = value.ticket
    return {
        "ticket": ticket.number, "place": value.place, "agent": ticket.agent,
        "patterns": list(ticket.patterns), "mode": ticket.mode, "since": ticket.since,
        "gives_up_in": round(value.gives_up_in, 3), "reason": ticket.reason, "task": ticket.task,
    }  # fmt: skip


def queued(value: Waiter) -> Shape:
    """Shape a live ticket with what blocks it."""
    return {**waiter(value), "blocked_by": [conflict(one) for one in value.blocked_by]}


def conflict(value: Conflict) -> Shape:
    """Shape one conflict."""
    return {
        "pattern": value.pattern, "held": value.held, "holder": value.holder, "mode": value.mode,
        "reason": value.reason, "task": value.task, "since": value.since,
        "expires_in": round(value.expires_in, 3), "witness": value.witness,
        "waiting": bool(value.ticket), "while_running": value.while_running,
    }  # fmt: skip


def wait(value: Wait) -> Shape:
    """Shape one edge of a deadlock."""
    return {"agent": value.agent, "waits_for": value.pattern, "holder": value.holder}


def ask(value: Ask) -> Shape:
    """Shape a release request."""
    return {
        "pattern": value.pattern, "holder": value.holder, "asker": value.asker,
        "note": value.note, "at": value.at, "until": value.until, "message": value.id or None,
        "answer": value.answer or None, "answered": value.answered or None,
        "promised": value.promised or None,
    }  # fmt: skip


def lost(value: Lost) -> Shape:
    """Shape a lost claim."""
    return {
        "pattern": value.pattern, "token": value.token, "why": value.why, "at": value.at,
        "by": value.by, "reason": value.reason,
    }  # fmt: skip


def left(value: LeftWork) -> Shape:
    """Shape uncommitted content of another agent in a claimed file."""
    return {
        "path": value.path, "agent": value.agent, "age": round(value.age, 3), "lines": value.lines,
        "salvage": value.salvage or None, "tree": value.root, "view": value.view,
    }  # fmt: skip


def outcome(value: Outcome, *, human: bool = False, steps: Sequence[str] = ()) -> Shape:
    """Shape the answer to a claim, with next ``steps``, or the usual ones for a ``human`` or an agent."""
    if isinstance(value, Granted):
        claims = [claim(c, at) for c, at in zip(value.claims, value.expires, strict=True)]
        inherited = {"inherited": [left(one) for one in value.left]} if value.left else {}
        return _answer("granted", token=value.token, claims=claims, **inherited)
    conflicts = [conflict(c) for c in value.conflicts]
    if isinstance(value, Queued):
        place = {"ticket": value.ticket.number, "ahead": value.ahead}
        return _answer("queued", conflicts=conflicts, next=next_steps(value, human=human), **place)
    steps = steps or next_steps(value, human=human)
    cycle = [wait(w) for w in value.cycle]
    refused = {
        "decision": value.decision, "by": value.by, "reason": value.reason,
    }  # fmt: skip
    return _answer(
        "denied", conflicts=conflicts, next=list(steps), why=value.why,
        cycle=cycle, refused=refused if value.decision else None,
    )  # fmt: skip


def _answer(word: str, **fields: Any) -> Shape:
    answer: Shape = {"outcome": word, "token": None, "claims": [], "conflicts": [], "next": []}
    answer.update(fields)
    return answer


def next_steps(value: Queued | Denied, *, human: bool = False, folder: str = "") -> list[str]:
    """Return what a person or an agent can do after a denial, the best option first.

    The commands work in ``folder`` of the repository.
    """
    asked = _typed(dict.fromkeys(c.pattern for c in value.conflicts), folder)
    if isinstance(value, Denied) and value.why in {"deadlock", "refused"}:
        return _final_steps(value)
    if isinstance(value, Queued):
        same = _typed(value.ticket.patterns, folder)
        shared = " --shared" if value.ticket.mode == "shared" else ""
        steps = [f"run this again when it is your turn: dibs claim {same}{shared}"]
    else:
        steps = [f"wait in the queue: dibs claim {asked} --wait 5m"]
    held = [c for c in value.conflicts if not c.ticket]
    if held:
        # Waiting helps only if the claim can expire.
        first = 0 if any(c.while_running for c in held) else len(steps)
        steps.insert(first, f"request a release: dibs ask {asked}")
        steps += (
            _human_steps(held, folder) if human else [f"let a human decide: dibs escalate {asked}"]
        )
    if not human:
        steps.append("work on something else: `dibs status` shows what is claimed")
    return steps


def task_steps(value: Denied, task: str, *, human: bool = False) -> list[str]:
    """Return what to do after ``dibs task start TASK`` was denied; a lock file's owner cannot be asked."""
    held = [c for c in value.conflicts if c.pattern == f"task:{task}"]
    if not held:
        return next_steps(value, human=human)  # a claim on one of its files is in the way
    steps = [f"see when it is available: dibs task show {_quoted(task)}"]
    owners = [c for c in held if not c.ticket and not c.is_lock_file]
    if owners:
        steps.append(f"request a release: dibs ask {_typed([owners[0].held], '')}")
        steps += _human_steps(owners, "") if human else []
    return [*steps, "take another task: dibs task take --wait 5m"]


def _human_steps(held: Sequence[Conflict], folder: str) -> list[str]:
    patterns = list(dict.fromkeys(conflict.held for conflict in held))
    return [
        f"take it from {held[0].holder}: dibs revoke {_typed([pattern], folder)} --reason WHY"
        for pattern in patterns[:1]
    ]


def _final_steps(value: Denied) -> list[str]:
    """Return the next steps when waiting does not help."""
    if value.why == "deadlock":
        return [
            "release a claim that the other agents in the cycle wait for: `dibs status --mine`",
            "work on something else: `dibs status` shows what is claimed",
        ]
    return [
        f"do not ask again; read the decision: dibs decide show {value.decision}",
        "work on something else: `dibs status` shows what is claimed",
    ]


def _typed(patterns: Iterable[str], folder: str) -> str:
    """Return patterns as a person in ``folder`` types them."""
    return " ".join(_quoted(typed_in(folder, pattern)) for pattern in patterns)


def _quoted(text: str) -> str:
    plain = all(c.isalnum() or c in "._/-:@+=," for c in text)
    return text if plain else "'" + text.replace("'", "'\\''") + "'"


def renewed(value: Renewed) -> Shape:
    """Shape the answer to a renewal."""
    return {
        "outcome": "fenced" if value.lost else "granted",
        "claims": [claim(c, at) for c, at in zip(value.claims, value.expires, strict=True)],
        "lost": [lost(item) for item in value.lost],
        "asks": [ask(a) for a in value.asks],
    }


def holders(path: str, held_by: Iterable[Held], waiters: Iterable[Waiter]) -> Shape:
    """Shape who holds and who waits for one path."""
    return {
        "path": path, "holders": [held(one) for one in held_by],
        "waiters": [waiter(one) for one in waiters],
    }  # fmt: skip


def who(found: Mapping[str, tuple[list[Held], list[Waiter]]]) -> Shape:
    """Shape who holds and who waits for each path."""
    return {"paths": [holders(path, *around) for path, around in found.items()]}


def released(values: Sequence[Claim], changed: Sequence[LeftWork]) -> Shape:
    """Shape the answer to a release, with the changes that are still uncommitted."""
    more = {"left": [left(one) for one in changed]} if changed else {}
    return {"released": claims(values), **more}


def shown_agent(
    value: AgentView, held_by: Iterable[Held], queue: Iterable[Waiter], gone: Iterable[Lost]
) -> Shape:
    """Shape one agent, its claims, and the claims that it lost."""
    return {
        "agent": agent(value), "claims": [held(one) for one in held_by],
        "queue": [waiter(one) for one in queue], "lost": [lost(one) for one in gone],
    }  # fmt: skip


def agent(value: AgentView) -> Shape:
    """Shape an agent as a listing shows it."""
    a = value.agent
    return {
        "id": a.id, "name": a.name, "role": a.role, "parent": a.parent or None, "host": a.host,
        "pid": a.pid or None, "started": a.started, "last_seen": value.last_seen,
        "silent_for": round(value.silent_for, 3), "status": a.status, "model": a.model,
        "task": a.task, "context": a.context if a.context >= 0 else None,
        "claims": value.claims, "guarded": value.guarded or None, "ended": a.ended,
    }  # fmt: skip


def overview(value: Overview) -> Shape:
    """Shape agents, claims, and the queue."""
    waits = value.undecided
    return {
        "now": value.now,
        "seq": value.seq,
        "claims": [held(one) for one in value.claims],
        "queue": [queued(one) for one in value.queue],
        "agents": [agent(one) for one in value.agents],
        "decisions": {
            "pending": len(waits),
            "oldest_for": round(value.now - waits[0], 3) if waits else None,
        },
    }


def task(value: QueuedFile) -> Shape:
    """Shape a task of the lock-file queue."""
    return {
        "id": value.name, "file": value.file, "state": value.state, "holder": value.holder or None,
        "reason": value.reason, "since": value.since or None,
        "expires_in": round(value.expires_in, 3) if value.holder else None,
        "why": list(value.why), "title": value.title, "priority": value.priority or None,
    }  # fmt: skip


def entry(value: Entry) -> Shape:
    """Shape a ledger entry."""
    return value._asdict()


def summary(value: Summary) -> Shape:
    """Shape the ledger's counts."""
    return value._asdict()


def error(value: DibsError, request_id: str = "") -> Shape:
    """Shape an error.

    Where a caller must tell outcomes apart, it also has the word for it: ``fenced`` or ``unknown``.
    """
    envelope: Shape = {
        "error": {
            "code": value.code, "message": value.message, "field": value.field or None,
            "hint": value.hint or None, "retryable": value.retryable,
            "request_id": request_id or None,
        }
    }  # fmt: skip
    if isinstance(value, (Fenced, Unknown)):
        word = "fenced" if isinstance(value, Fenced) else "unknown"
        return {**_answer(word, next=[value.hint] if value.hint else []), **envelope}
    return envelope


def claims(values: Sequence[Claim]) -> list[Shape]:
    """Shape claims that have ended."""
    return [claim(value) for value in values]
