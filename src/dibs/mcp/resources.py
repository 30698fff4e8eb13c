"""What a client may read without calling a tool: briefing, claims and board. Reading notes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from mcp_types import Resource

from dibs.mcp import inputs
from dibs.mcp.tools_claims import status
from dibs.mcp.tools_tasks import task

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.api.client import Dibs


class Page(NamedTuple):
    """One resource."""

    uri: str
    name: str
    text: str
    kind: str
    read: Callable[[Dibs], str]

    def described(self) -> Resource:
        """Return it as a client lists it."""
        return Resource(uri=self.uri, name=self.name, description=self.text, mime_type=self.kind)


def _briefing(dibs: Dibs) -> str:
    delivery = dibs.project.briefings.peek(dibs.caller)
    return delivery.text + delivery.whole


def _claims(dibs: Dibs) -> str:
    return json.dumps(status(dibs, inputs.StatusAsked()), ensure_ascii=False)


def _board(dibs: Dibs) -> str:
    return json.dumps(task(dibs, inputs.TaskAsked(action="list")), ensure_ascii=False)


PAGES = {
    page.uri: page
    for page in (
        Page(
            "dibs://briefing", "briefing", "Where the crew stands, as you would be told it now.",
            "text/plain", _briefing,
        ),
        Page(
            "dibs://claims", "claims", "Who works here, what is claimed, and who waits.",
            "application/json", _claims,
        ),
        Page(
            "dibs://board", "board", "The tasks that are not finished, in the order of taking.",
            "application/json", _board,
        ),
    )
}  # fmt: skip
