"""Call a tool in this process, for an agent that prints its calls; short because it is one function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dibs.api.client import Dibs
from dibs.core.text.names import quote
from dibs.errors import BadInput, DibsError
from dibs.mcp.messages import failure, wrong_arguments
from dibs.mcp.registry import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.project.project import Project


def call_tool(
    project: Project,
    caller: Caller,
    name: str,
    arguments: Mapping[str, Any],
    when_sent: Callable[[Callable[[], object]], object],
) -> dict[str, Any]:
    """Return what a tool answers, also if that is an error; it never waits.

    ``when_sent`` receives what to call once the agent has the answer.
    """
    entry = TOOLS.get(name)
    if entry is None:
        known = f"the tools are: {', '.join(TOOLS)}"
        raise BadInput(f"unknown tool {quote(name)}", field="tool", hint=known)
    dibs = Dibs(project, caller)
    dibs.own_process = False
    try:
        asked = entry.takes.model_validate(dict(arguments))
        answer = entry.act(dibs, asked)
    except ValidationError as error:
        return wrong_arguments(entry.name, list(entry.takes.model_fields), error)
    except DibsError as error:
        return failure(error)
    if isinstance(answer, tuple):
        answer, confirm = answer
        if confirm is not None:
            when_sent(confirm)
    found: dict[str, Any] = answer
    return found
