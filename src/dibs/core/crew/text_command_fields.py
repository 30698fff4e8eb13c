"""The table of text commands: their fields, the types of these, and their limits.

Pure. ``docs/reference/text-commands.md`` lists the same commands and fields.
"""

from __future__ import annotations

from dibs.core.tasks.rules import PRIORITIES
from dibs.core.text.names import closest, quote
from dibs.errors import BadInput
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: The most characters of a text, a name or id, and a path.
MAX_CONTENT, MAX_NAME, MAX_PATH = 50_000, 200, 500
#: The most items of an array, members of a group, and dependencies of a task.
MAX_ITEMS, MAX_MEMBERS, MAX_NEEDS = 500, 100, 100

#: The most characters of each kind of string; the items of each kind of array, and how many it may have.
STRINGS = {"text": MAX_CONTENT, "name": MAX_NAME, "path": MAX_PATH}
ARRAYS = {
    "paths": ("path", MAX_ITEMS),
    "members": ("name", MAX_MEMBERS),
    "needs": ("name", MAX_NEEDS),
    "tasks": ("task", MAX_ITEMS),
}
_WHOLE = 100
CHOICES = {"result": ("done", "failed"), "priority": PRIORITIES}

_TASK = "taskId:name! role:name title:name description:text dependsOn:needs files:paths priority:priority"
_MOVE = "taskId:name! reason:text"
_MEMBERS = "members:members roles:members"
#: The fields of each command with their kinds; an exclamation mark means that it is required.
_TABLE = {
    "LOCK_FILE": "filePath:path! reason:text",
    "UNLOCK_FILE": "filePath:path!",
    "COMMIT": "message:text! files:paths inherited:flag",
    "DELEGATE": "to:name! task:text! context:text anyway:flag",
    "CANCEL_DELEGATION": "delegationId:name agentId:name reason:text",
    "CREATE_AGENT": "role:name! task:text taskId:name",
    "TERMINATE_AGENT": "agentId:name! reason:text",
    "AGENT_MESSAGE": "to:name! content:text!",
    "BROADCAST": "content:text!",
    "CREATE_GROUP": f"name:name! {_MEMBERS}",
    "ADD_TO_GROUP": f"group:name! {_MEMBERS}",
    "REMOVE_FROM_GROUP": f"group:name! {_MEMBERS}",
    "GROUP_MESSAGE": "group:name! content:text!",
    "LIST_GROUPS": "",
    "DECISION": "title:name! rationale:text needsConfirmation:flag",
    "PROGRESS": "summary:text percent:percent status:name",
    "COMPLETE_TASK": "taskId:name summary:text status:result output:text",
    "DECLARE_TASKS": "tasks:tasks!",
    "ADD_TASK": _TASK,
    "TASK_STATUS": "taskId:name",
    "RETRY_TASK": _MOVE,
    "REOPEN_TASK": _MOVE,
    "CANCEL_TASK": _MOVE,
    "REASSIGN_TASK": "taskId:name! agentId:name! reason:text",
    "QUERY_CREW": "",
    "ACTIVITY": "actionType:name summary:text details:object",
}
#: Other names of the same commands.
ALIASES = {
    "DIRECT_MESSAGE": "AGENT_MESSAGE",
    "QUERY_GROUPS": "LIST_GROUPS",
    "QUERY_TASKS": "TASK_STATUS",
    "ASSIGN_TASK": "REASSIGN_TASK",
    "QUERY_PEERS": "QUERY_CREW",
}


class CommandField(Record):
    """A field of a text command."""

    name: str
    #: A key of ``STRINGS``, ``ARRAYS``, or ``CHOICES``; ``flag``, ``percent``, or ``object``.
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
_TASK_FIELDS = _fields(_TASK)


def check_name(word: str) -> str:
    """Return the command that a word names; refuse an unknown one."""
    name = ALIASES.get(word, word)
    if name in COMMANDS:
        return name
    meant = closest(word, [known.lower() for known in (*COMMANDS, *ALIASES)]).upper()
    raise BadInput(
        f"unknown command {quote(word)}" + (f" (did you mean {meant}?)" if meant else "")
    )


def check_fields(name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a command without those that are null; refuse an invalid one."""
    return _checked(COMMANDS[name], payload, f"{name}: ")


def _checked(
    fields: tuple[CommandField, ...], payload: Mapping[str, Any], where: str
) -> dict[str, Any]:
    names = [field.name for field in fields]
    for name in payload:
        if name not in names:
            meant = closest(name, names)
            rest = f"did you mean {meant}?" if meant else f"fields: {', '.join(names) or 'none'}"
            raise BadInput(f"{where}unknown field {quote(name)} ({rest})", field=name)
    found = {}
    for field in fields:
        value = payload.get(field.name)
        if value is not None:
            found[field.name] = _value(field.kind, value, f"{where}{field.name}")
        elif field.required:
            raise BadInput(f"{where}the field {field.name} is missing", field=field.name)
        if field.required and isinstance(value, str) and not value.strip():
            raise BadInput(f"{where}{field.name} is empty", field=field.name)
    return found


def _value(kind: str, value: Any, where: str) -> Any:
    """Return a value of a field if it has the right type and length; ``where`` names the field."""
    if kind in STRINGS:
        return _string(STRINGS[kind], value, where)
    if kind in ARRAYS:
        of, most = ARRAYS[kind]
        if not isinstance(value, list) or len(value) > most:
            raise BadInput(f"{where} must be an array of at most {most} items")
        return [_value(of, item, f"{where}[{place}]") for place, item in enumerate(value)]
    problem = _problem(kind, value)
    if problem:
        raise BadInput(f"{where} must be {problem}, not {quote(value)}")
    return _checked(_TASK_FIELDS, value, f"{where}: ") if kind == "task" else value


def _problem(kind: str, value: Any) -> str:
    """Return what a value must be; nothing if it is."""
    if kind in CHOICES:
        return "" if value in CHOICES[kind] else f"one of {', '.join(CHOICES[kind])}"
    if kind == "flag":
        return "" if isinstance(value, bool) else "true or false"
    if kind == "percent":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if number and 0 <= value <= _WHOLE else f"a number from 0 to {_WHOLE}"
    return "" if isinstance(value, dict) else "a JSON object"


def _string(most: int, value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{where} must be a string")
    if len(value) > most:
        raise BadInput(f"{where} has {len(value)} characters (the limit is {most})")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise BadInput(f"{where} contains half of a surrogate pair, which is not a character")
    return value
