"""The result of a commit as JSON."""

from __future__ import annotations

from dibs.core.text.names import shown
from dibs.services.commits.values import CommitDenied, Committed
from dibs.shapes.claims import claims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dibs.core.claims.coverage import Blocked
    from dibs.services.commits.inherited import Inherited
    from dibs.services.commits.values import File

    Shape = dict[str, Any]


def commit_answer(value: Committed | CommitDenied) -> Shape:
    """Shape the result of a commit."""
    if isinstance(value, CommitDenied):
        return {
            "outcome": "refused", "code": value.code,
            "hook": value.hook or None, "blocked": blocked(value.blocked),
        }  # fmt: skip
    return {
        "outcome": "committed" if value.commit else "trial",
        "commit": value.commit or None,
        "ref": value.ref,
        "files": _files(value.files),
        "unchanged": list(value.unchanged),
        "ignored": list(value.ignored),
        "nobody": _files(value.nobody),
        "nobody_elsewhere": value.elsewhere,
        "others": blocked(value.others),
        "released": claims(value.released),
        "seq": value.seq or None,
        "repeated": value.repeated,
        "late": value.late,
        "excluded": _inherited(value.excluded),
        "included": _inherited(value.included),
    }


def blocked(values: Iterable[Blocked]) -> list[Shape]:
    """Shape the paths that a commit may not include, each with its reason."""
    return [
        {
            "path": shown(item.path), "why": item.why, "holder": item.holder or None,
            "pattern": item.pattern or None, "hint": item.hint,
            "expires_in": round(item.expires_in, 3) if item.holder else None,
            "reason": item.reason or None, "task": item.task or None,
            "commit": item.commit or None, "landed": list(item.landed), "yours": list(item.yours),
            "while_running": item.while_running,
        }
        for item in values
    ]  # fmt: skip


def _inherited(values: Iterable[Inherited]) -> list[Shape]:
    return [
        {
            "path": shown(one.path), "agent": one.agent or None, "lines": one.lines,
            "salvage": one.copy or None,
        }
        for one in values
    ]  # fmt: skip


def _files(values: Iterable[File]) -> list[Shape]:
    return [{"path": shown(file.path), "what": file.what or None} for file in values]
