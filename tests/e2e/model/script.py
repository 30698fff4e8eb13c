"""What a model will say, written down before: one step for each answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

#: How long a step waits for another agent; a test that comes here has failed.
PATIENCE = 120.0


class Late(Exception):
    """What a step waited for did not come."""


@dataclass
class _Step:
    #: Not said before this is set: so one agent waits for another at a known place.
    when: threading.Event | None = field(default=None, kw_only=True)
    #: Set when the step is come to, before it waits.
    reached: threading.Event | None = field(default=None, kw_only=True)

    def come_to(self) -> None:
        """Let others know, and wait for them."""
        if self.reached:
            self.reached.set()
        if self.when and not self.when.wait(PATIENCE):
            raise Late(repr(self))


@dataclass
class Say(_Step):
    """The model says something, and ends its turn."""

    text: str = "finished"


@dataclass
class Call(_Step):
    """The model calls a tool."""

    tool: str
    input: Any
    #: OpenAI: the tool takes text, not JSON.
    custom: bool = False
    #: OpenAI: the server of a tool that is no built-in one.
    namespace: str = ""


@dataclass
class Script:
    """The steps of the agent, and of each of its subagents by a word that their task begins with."""

    steps: list[Call | Say]
    subagents: dict[str, list[Call | Say]] = field(default_factory=dict)

    def step(self, opening: str, number: int) -> Call | Say:
        """Return step ``number`` of whoever was given ``opening`` to do."""
        for word, steps in self.subagents.items():
            if word in opening:
                return steps[number] if number < len(steps) else Say()
        return self.steps[number] if number < len(self.steps) else Say()
