"""The lock and activity API of the crew document, below ``/api/coordination``: its routes, names, and forms.

A lock is a claim, and the ledger is the activity log.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from dibs.core.claims.ledger import Kind
from dibs.core.claims.log_filters import parse_since, stored_kinds
from dibs.core.claims.rules import Granted
from dibs.errors import NotFound
from dibs.project.lock_tasks import refuse_queued
from dibs.server.rest.routes import Answer, ApiRoute, Body, Call, Name, NoBody, PathText, Text
from dibs.server.security.authorize import caller_named
from dibs.server.security.identity import TokenScope
from dibs.services.state.ledger import Query

if TYPE_CHECKING:
    from dibs.core.alerts.values import Alert
    from dibs.core.claims.ledger import Entry

#: How many entries the document returns by default, and at most; how many files a summary names.
SHOWN, MOST_SHOWN, MOST_FILES = 50, 1_000, 50
#: The latest time that a date can express, for claims that do not expire.
_LATEST = 253_402_300_799.0


class LockBody(Body, frozen=True, rename="camel"):
    """The arguments of the document's ``LOCK_FILE``."""

    agent_id: Annotated[Name, Meta(description="the agent; its token, or a human's")]
    file_path: Annotated[PathText, Meta(description="a path or a glob")]
    reason: Text = ""


class UnlockQuery(Body, frozen=True, rename="camel"):
    """Whose lock to release."""

    agent_id: Name


class ActivityQuery(Body, frozen=True, rename="camel"):
    """Which entries to return."""

    agent_id: Name = ""
    type: Name = ""
    limit: Annotated[int, Meta(ge=1, le=MOST_SHOWN)] = SHOWN
    since: Annotated[
        Name, Meta(description="a time; then the oldest entry is first, and otherwise the newest")
    ] = ""


def moment(at: float) -> str:
    """Return a time as the document has it."""
    at = min(at, _LATEST)
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def locks(call: Call, _: NoBody) -> Any:
    """Return the live locks."""
    seen = call.project.overview()
    roles = {one.agent.id: one.agent.role for one in seen.agents}
    return [
        {
            "filePath": held.claim.pattern, "agentId": held.claim.agent,
            "agentRole": roles.get(held.claim.agent, "agent"), "reason": held.claim.reason,
            "acquiredAt": moment(held.claim.since), "expiresAt": moment(held.expires_at),
            "projectId": _project(call),
        }
        for held in seen.claims
    ]  # fmt: skip


def lock(call: Call, body: LockBody) -> Any:
    """Acquire a lock; the same agent's own lock is renewed."""
    caller = caller_named(call, body.agent_id, "agentId")
    project = call.project
    refuse_queued(project, body.file_path)
    pattern = project.tree.resolve(body.file_path)
    outcome = project.claims.claim(
        caller, [pattern], reason=body.reason, request_id=call.request_id, shows_left=True
    )
    if isinstance(outcome, Granted):
        (claim,), (expires,) = outcome.claims, outcome.expires
        shape = {
            "ok": True, "filePath": claim.pattern, "agentId": claim.agent,
            "acquiredAt": moment(claim.since), "expiresAt": moment(expires),
        }  # fmt: skip
        return Answer(201, shape)
    first = outcome.conflicts[0] if outcome.conflicts else None
    shape = {"ok": False, "holder": first.holder if first else ""}
    if first is not None:
        shape |= {"filePath": first.held, "reason": first.reason}
        shape["expiresIn"] = round(first.expires_in, 3)
    return Answer(409, shape)


def unlock(call: Call, body: UnlockQuery) -> Any:
    """Release a lock; one that the agent does not hold is not an error in the document."""
    caller = caller_named(call, body.agent_id, "agentId")
    pattern = call.project.tree.resolve(call.path["path"])
    try:
        gone = call.project.holdings.release(caller, [pattern], request_id=call.request_id)
    except NotFound as error:
        if error.code != "NOT_HELD":
            raise
        gone = []
    return {"ok": bool(gone)}


def activity(call: Call, body: ActivityQuery) -> Any:
    """Return entries of the ledger."""
    ledger = call.project.ledger
    after, since = parse_since(body.since, ledger.now() if body.since else 0.0)
    agents = frozenset({body.agent_id} - {""})
    kinds = stored_kinds([body.type], "type") if body.type else frozenset()
    query = Query(agents, kinds, since, after)
    found = ledger.select(query, body.limit, oldest_first=bool(body.since))
    return [_entry(one, _project(call)) for one in found]


def _entry(entry: Entry, project: str) -> dict[str, Any]:
    return {
        "id": entry.seq, "agentId": entry.agent, "agentRole": entry.role,
        "actionType": entry.kind, "summary": entry.summary, "details": entry.details,
        "timestamp": moment(entry.at), "projectId": project,
    }  # fmt: skip


def summary(call: Call, _: NoBody) -> Any:
    """Return counts, and the files that were edited or read last."""
    ledger = call.project.ledger
    counts = ledger.summary()
    touched = ledger.select(Query(kinds=frozenset({Kind.FILE_EDIT, Kind.FILE_READ})), MOST_FILES)
    files = [one.details.get("path") or one.details.get("file") for one in touched]
    return {
        "totalActions": counts.entries, "byAgent": counts.by_agent, "byType": counts.by_kind,
        "recentFiles": list(dict.fromkeys(one for one in files if isinstance(one, str))),
    }  # fmt: skip


def alerts(call: Call, _: NoBody) -> Any:
    """Return the open alerts."""
    return [_alert(one, _project(call)) for one in call.project.alerts.all()]


def _alert(alert: Alert, project: str) -> dict[str, Any]:
    who = {"agentId": alert.agents[0]} if alert.agents else {}
    return {
        "id": int(alert.id[1:]), "type": alert.kind, "severity": alert.severity,
        "message": alert.text, **who, "timestamp": moment(alert.at), "projectId": project,
    }  # fmt: skip


def _project(call: Call) -> str:
    assert call.served is not None
    return call.served.id


ROUTES = (
    ApiRoute(
        "GET", "/locks", "coordination.locks", "List all active locks",
        "=lock_file*", locks, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/locks", "coordination.lock", "Acquire a lock",
        "ok:bool [holder] [filePath:path] [agentId] [acquiredAt] [expiresAt] [reason:text]"
        " [expiresIn:span]",
        lock, LockBody, statuses=(201, 409), keeps_ids=True,
    ),
    ApiRoute(
        "DELETE", "/locks/{path:path}", "coordination.unlock", "Release a lock",
        "ok:bool", unlock, UnlockQuery, keeps_ids=True,
    ),
    ApiRoute(
        "GET", "/activity", "coordination.activity", "List entries of the activity log",
        "=activity*", activity, ActivityQuery, TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/summary", "coordination.summary", "Count the entries of the activity log",
        "totalActions:int byAgent:any byType:any recentFiles:path*", summary, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/alerts", "coordination.alerts", "List the open alerts",
        "=crew_alert*", alerts, scope=TokenScope.READ,
    ),
)  # fmt: skip
