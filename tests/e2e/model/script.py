"""A model's script: one step for each response."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.model.server import Asked

#: How long a step waits for another agent before the test fails.
PATIENCE = 90.0


class Late(Exception):
    """A step waited in vain."""


@dataclass
class _Step:
    #: Called when the step is first reached: everything before it is done.
    look: Callable[[], object] | None = field(default=None, kw_only=True)
    #: The step waits until this is true, so that one agent waits for another at a fixed step.
    when: Callable[[], bool] | None = field(default=None, kw_only=True)
    #: How long it waits.
    patience: float = field(default=PATIENCE, kw_only=True)
    #: Its name in tests.
    label: str = field(default="", kw_only=True)

    def come_to(self) -> None:
        """Run the check, and wait for the condition."""
        if self.look:
            look, self.look = self.look, None
            look()
        until = time.monotonic() + self.patience
        while self.when and not self.when():
            if time.monotonic() > until:
                raise Late(self.label)
            time.sleep(0.2)


@dataclass
class Say(_Step):
    """The model responds with text and ends its turn."""

    text: str = "finished"


@dataclass
class Call(_Step):
    """The model calls a tool."""

    tool: str
    input: Any
    #: OpenAI: the tool takes text, not JSON.
    custom: bool = False
    #: OpenAI: the MCP server of the tool, if it is not built in.
    namespace: str = ""
    #: The calls in the same message; they are also the next steps, so that each has its result.
    also: tuple[Call, ...] = ()

    @property
    def message(self) -> tuple[Call, ...]:
        """All calls of its message."""
        return (self, *self.also)


Steps = list[Call | Say]


def together(*calls: Call) -> list[Call]:
    """Return the steps of a message with several calls."""
    calls[0].also = calls[1:]
    return list(calls)


@dataclass
class Script:
    """The steps of the agent, and of its subagents by a word in their task."""

    steps: Steps
    subagents: dict[str, Steps] = field(default_factory=dict)
    #: The tool results of earlier turns in a resumed session, known at the first request; 0 in a new one.
    earlier: int | None = 0

    def of(self, opening: str) -> str:
        """Return the word of the subagent whose task is ``opening``; empty for the agent itself."""
        return next((word for word in self.subagents if word in opening), "")

    def next(self, asked: Asked) -> Call | Say:
        """Return the response to a request."""
        if self.earlier is None:
            self.earlier = len(asked.results)
        word = self.of(asked.opening)
        return self.step(word, len(asked.results) - (0 if word else self.earlier))

    def step(self, word: str, number: int) -> Call | Say:
        """Return step ``number`` of the agent, or of a subagent."""
        steps = self.subagents[word] if word else self.steps
        return steps[number] if number < len(steps) else Say()

    def number(self, label: str, word: str = "") -> int:
        """Return the number of the step ``label``."""
        steps = self.subagents[word] if word else self.steps
        at = next(number for number, step in enumerate(steps) if step.label == label)
        return at if word else at + (self.earlier or 0)
