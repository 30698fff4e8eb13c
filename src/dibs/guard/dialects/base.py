"""What the dialects share: reading fields that may be missing or wrong, and what a failure looks like."""

from __future__ import annotations

from dibs.core.toolcalls import Heard, Moment, Said
from dibs.errors import BadInput
from dibs.guard.dialects.tools import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Words of an agent that we keep are no longer than this.
WORD_MAX = 200
#: What a hook ends with to refuse; any other number but 0 lets the tool run in most agents.
REFUSED = 2


def bad(message: str) -> BadInput:
    """Return what is raised for a payload that nobody can judge."""
    return BadInput(message, code="HOOK_PAYLOAD")


def text(payload: Mapping[str, Any], *names: str) -> str:
    """Return the first of some fields that holds text; what is no text counts as not there."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def word(payload: Mapping[str, Any], *names: str) -> str:
    """Return a short field, such as an id."""
    return text(payload, *names)[:WORD_MAX]


def called(
    heard: Heard, payload: Mapping[str, Any], tool: str, arguments: object, call: str = ""
) -> Heard:
    """Return what was heard with the tool, what it touches, and what a shell would run.

    Only a call that is still to come must be understood; of one that is over, what can be is.
    """
    before = heard.moment == Moment.BEFORE
    if not tool and before:
        raise bad("the call names no tool")
    try:
        touches, command = target(tool, arguments, text(payload, "mcp_server_name"))
    except BadInput:
        if before:
            raise
        touches, command = (), ""
    return heard._replace(
        tool=tool[:WORD_MAX], call=call[:WORD_MAX], touches=touches, command=command
    )


def failed(line: str, heard: Heard | None) -> Said:
    """Refuse by the exit status; where nothing waits to be refused, say it and go on.

    At the end of a turn a refusal would keep the agent going for ever, and a prompt would be lost.
    """
    asked = heard is None or heard.moment == Moment.BEFORE
    return Said(stderr=line, status=REFUSED if asked else 0)
