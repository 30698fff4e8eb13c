"""The table of text commands: their fields, the types of these, and their limits.

Pure. ``docs/reference/text-commands.md`` lists the same commands and fields.
"""

from __future__ import annotations

from dibs.core.text.names import closest, quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: The most characters of a text, a name or id, and a path.
MAX_CONTENT, MAX_NAME, MAX_PATH = 50_000, 200, 500
#: The most items of an array.
MAX_ITEMS = 500
#: The most characters of each kind of string.
STRINGS = {"text": MAX_CONTENT, "name": MAX_NAME, "path": MAX_PATH}
#: Calls an MCP tool, whose arguments are its other fields.
CALL_TOOL = "DIBS"

#: The fields of each command with their kinds; an exclamation mark means that it is required.
_TABLE = {
    "LOCK_FILE": "filePath:path! reason:text",
    "UNLOCK_FILE": "filePath:path!",
    "COMMIT": "message:text! files:paths inherited:flag",
    "DELEGATE": "to:name! task:text! context:text",
    "CREATE_AGENT": "role:name! task:text taskId:name",
    "TERMINATE_AGENT": "agentId:name! reason:text",
    CALL_TOOL: "tool:name!",
}


class CommandField(Record):
    """A field of a text command."""

    name: str
    #: A key of ``STRINGS``, ``paths``, or ``flag``.
    kind: str
    required: bool


def _fields(line: str) -> tuple[CommandField, ...]:
    found = []
    for word in line.split():
        name, _, kind = word.partition(":")
        found.append(CommandField(name, kind.rstrip("!"), kind.endswith("!")))
    return tuple(found)


#: The fields of each command.
COMMANDS = {name: _fields(line) for name, line in _TABLE.items()}


def check_name(word: str) -> str:
    """Return the command that a word names; refuse an unknown one."""
    if word in COMMANDS:
        return word
    meant = closest(word, [known.lower() for known in COMMANDS]).upper()
    raise BadInput(
        f"unknown command {quote(word)}" + (f" (did you mean {meant}?)" if meant else "")
    )


def check_fields(name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a command without those that are null; refuse an invalid one."""
    fields = COMMANDS[name]
    names = [field.name for field in fields]
    more = {k: value for k, value in payload.items() if k not in names and value is not None}
    if more and name != CALL_TOOL:  # a tool checks its own arguments
        unknown = next(iter(more))
        meant = closest(unknown, names)
        rest = f"did you mean {meant}?" if meant else f"fields: {', '.join(names)}"
        raise BadInput(f"{name}: unknown field {quote(unknown)} ({rest})", field=unknown)
    found = {}
    for field in fields:
        value = payload.get(field.name)
        if value is not None:
            found[field.name] = _value(field.kind, value, f"{name}: {field.name}")
        elif field.required:
            raise BadInput(f"{name}: the field {field.name} is missing", field=field.name)
        if field.required and isinstance(value, str) and not value.strip():
            raise BadInput(f"{name}: {field.name} is empty", field=field.name)
    return {**found, **more}


def _value(kind: str, value: Any, where: str) -> Any:
    if kind in STRINGS:
        return _string(STRINGS[kind], value, where)
    if kind == "flag":
        if not isinstance(value, bool):
            raise BadInput(f"{where} must be true or false, not {quote(value)}")
        return value
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise BadInput(f"{where} must be an array of at most {MAX_ITEMS} items")
    return [_string(MAX_PATH, item, f"{where}[{place}]") for place, item in enumerate(value)]


def _string(most: int, value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{where} must be a string")
    if len(value) > most:
        raise BadInput(f"{where} has {len(value)} characters (the limit is {most})")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadInput(f"{where} contains half of a surrogate pair, which is not a character")
    return value
