"""The JSON Schema of a task file as Dibs writes it; published as ``work/schemas/task.schema.json``.

It describes the strict form. The reader accepts more, which docs/reference/task-files.md lists.
"""

from __future__ import annotations

import json

from dibs.core.tasks.rules import ID_MAX, PRIORITIES, Status
from dibs.core.text.names import AGENT_ID_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_MOMENT = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
}
_ID = {"type": "string", "pattern": rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{ID_MAX - 1}}}$"}
_IDS = {"type": "array", "items": _ID, "uniqueItems": True}
_AGENT = {"type": "string", "pattern": rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{AGENT_ID_MAX - 1}}}$"}
_NOBODY = {"anyOf": [_AGENT, {"const": ""}]}
_COUNT = {"type": "integer", "minimum": 0}

_CONTEXT = {
    "type": "object",
    "properties": {"repo": _TEXT, "branch": _TEXT, "notes": _TEXTS, "dependencies": _IDS},
}
_RESULT = {
    "type": "object",
    "required": ["summary", "artefacts"],
    "properties": {
        "summary": _TEXT,
        "artefacts": _TEXTS,
        "next_agent": _NOBODY,
        "next_task_title": _TEXT,
        "next_artefacts": _TEXTS,
        "next_task_notes": _TEXTS,
        "completed_at": _MOMENT,
        "metrics": {"type": "object"},
    },
}
_ERROR = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "message": _TEXT,
        "timestamp": _MOMENT,
        "agent": _NOBODY,
        "retry_count": _COUNT,
        "stacktrace": _TEXT,
    },
}


def _needs(status: str, block: str) -> dict[str, Any]:
    """Return the rule that tasks with this status have a block."""
    return {
        "if": {"properties": {"status": {"const": status}}, "required": ["status"]},
        "then": {"required": [block]},
    }


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Task",
    "description": "One task on the board. Other keys are kept as they are.",
    "type": "object",
    "required": ["id", "status"],
    "properties": {
        "id": {**_ID, "description": "The file name without its ending."},
        "agent": {**_NOBODY, "description": "The assigned agent or role; empty for anyone."},
        "status": {"enum": list(Status)},
        "title": _TEXT,
        "priority": {"enum": list(PRIORITIES)},
        "mode": _TEXT,
        "artefacts": {**_TEXTS, "description": "Paths and globs, relative to the repository."},
        "context": _CONTEXT,
        "dependencies": _IDS,
        "reason": {**_TEXT, "description": "Why it is blocked or cancelled."},
        "retry_count": _COUNT,
        "created_at": _MOMENT,
        "created_by": _TEXT,
        "assigned_at": _MOMENT,
        "started_at": _MOMENT,
        "completed_at": _MOMENT,
        "result": _RESULT,
        "error": _ERROR,
    },
    "allOf": [_needs(Status.DONE, "result"), _needs(Status.ERROR, "error")],
}


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"
