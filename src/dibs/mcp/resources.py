"""Resources that a client can read without calling a tool; reading has no side effects."""

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
        """Return the resource as a client lists it."""
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
            "dibs://briefing", "briefing", "The current state of the crew.",
            "text/plain", _briefing,
        ),
        Page(
            "dibs://claims", "claims", "Agents, claims, and the queue.",
            "application/json", _claims,
        ),
        Page(
            "dibs://board", "board", "Unfinished tasks, in the order in which they are taken.",
            "application/json", _board,
        ),
    )
}  # fmt: skip
