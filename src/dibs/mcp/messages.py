"""Tool results: values, fenced text from other agents, next steps, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.core.claims.rules import Denied
from dibs.core.text.durations import show_expiry, show_span
from dibs.core.text.untrusted import clean, has_own_words
from dibs.shapes.contract import VALUES
from dibs.shapes.quoting import LIMIT, Quoting
from dibs.shapes.schema import author_key, fields

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pydantic import ValidationError

    from dibs.api.client import Dibs
    from dibs.core.claims.rules import Queued
    from dibs.errors import DibsError

#: How many rows a list may have; each one costs tokens.
ROWS = 50
#: How many characters of an unknown argument's name to show.
_FIELD = 80


def tell(
    dibs: Dibs, line: str, shape: dict[str, Any], steps: Sequence[str] = (), *, own: bool = False
) -> dict[str, Any]:
    """Return a tool's result: a shape of the contract, the caller, and next steps.

    Lists are cut to ``ROWS``. Other agents' text is fenced; with ``own``, the caller wrote it.
    """
    left = 0
    for key, value in shape.items():
        if isinstance(value, list) and len(value) > ROWS:
            left += len(value) - ROWS
            shape[key] = value[:ROWS]
    quoted = Quoting(None, [str(shape)])
    told = shape if own else _fenced(line, shape, quoted, "")
    answer = {"agent": dibs.caller.id, **told, "next": list(steps), "note": quoted.note}
    return {**answer, "left_out": left} if left else answer


def _fenced(line: str, shape: dict[str, Any], quoted: Quoting, author: str) -> dict[str, Any]:
    """Return a shape with each of its author's texts fenced."""
    kept = dict(shape)
    for field in fields(line):
        value = shape.get(field.name)
        if value:
            origin = shape.get(field.author, "") or author or "dibs"
            kept[field.name] = (
                [_quoted(field.type, one, quoted, origin) for one in value]
                if field.many
                else _quoted(field.type, value, quoted, origin)
            )
    return kept


def _quoted(kind: str, value: Any, quoted: Quoting, author: str) -> Any:
    if kind in VALUES:
        line = VALUES[kind]
        return _fenced(line, value, quoted, value.get(author_key(line)) or author)
    if kind == "any":
        return _quoted_any(value, quoted, author)
    ways = {
        "text": quoted.__call__, "word": quoted.word, "path": quoted.path, "file": quoted.file,
    }  # fmt: skip
    return ways[kind](value, author) if kind in ways else value


def _quoted_any(value: Any, quoted: Quoting, author: str) -> Any:
    """Return a value that has no shape, with each text fenced unless it is plain."""
    if isinstance(value, dict):
        return {key: _quoted_any(item, quoted, author) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_quoted_any(item, quoted, author) for item in value]
    return quoted.path(value, author) if isinstance(value, str) else value


def refused_next(value: Denied | Queued) -> list[str]:
    """Return what an agent can do after a denied claim, the best option first."""
    if isinstance(value, Denied) and value.why == "deadlock":
        return [
            "Do not wait: release something that another agent in the cycle waits for, then try again.",
            "Work on something else: status shows who holds what.",
        ]
    if isinstance(value, Denied) and value.why == "refused":
        return [
            f"Do not try again: {value.by} refused it ({value.decision}).",
            "Work on something else: status shows what is unclaimed.",
        ]
    first = min(value.conflicts, key=lambda c: c.expires_in, default=None)
    left = show_span(round(first.expires_in if first else 0.0))
    expiry = show_expiry(left, while_running=first is not None and first.while_running)
    ask = ["Call ask to send its owner a release request."]
    held = any(not conflict.ticket for conflict in value.conflicts)
    return [
        "Do not edit these files now.",
        "Work on something else and come back, or call wait with the same paths.",
        *(ask if held else []),
        f"The earliest of these claims {expiry}.",
    ]


def failure(error: DibsError) -> dict[str, Any]:
    """Return an error as JSON; text that other agents may have written is fenced."""
    from dibs.shapes import claims

    quoted = Quoting(None, [error.message, error.hint])
    own = has_own_words(error)
    message = clean(error.message, LIMIT) if own else quoted(error.message, "dibs")
    envelope = claims.error(error)["error"]
    hint = clean(error.hint, LIMIT) if error.hint else None
    answer: dict[str, Any] = {"error": {**envelope, "message": message, "hint": hint}}
    return {**answer, "note": quoted.note} if quoted.note else answer


def wrong_arguments(tool: str, known: Sequence[str], error: ValidationError) -> dict[str, Any]:
    """Return an error for invalid arguments: the first wrong field, and the known ones."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = clean(".".join(map(str, first["loc"])), _FIELD) or "arguments"
    envelope = {
        "code": "BAD_INPUT", "message": f"{tool}: {first['msg']}: {field}", "field": field,
        "hint": f"{tool} takes: {', '.join(known)}", "retryable": False, "request_id": None,
    }  # fmt: skip
    return {"error": envelope}
