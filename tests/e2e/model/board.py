"""The script of a crew's model, which takes each task from the prompt.

An agent that stays between tasks continues its conversation, so the prompts and the tool results in it say
which step is next. Nothing else is remembered: a retry gets the same response.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.e2e.model.script import Call, Say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.e2e.model.script import Steps
    from tests.e2e.model.server import Asked

#: How the crew's prompts name a task: a new one, and one whose turn ended without a result.
_PROMPTS = re.compile(
    r"You are (?P<agent>\S+),.*?Work on this task only:\s+(?P<title>[^\n]+) \((?P<task>\S+)\)\n"
    r"|the task (?P<again>\S+) is still in progress",
    re.DOTALL,
)


class BoardScript:
    """The steps for each prompt: ``new`` gets the agent, the title, and the task, and ``again`` the task."""

    def __init__(
        self, new: Callable[[str, str, str], Steps], again: Callable[[str], Steps]
    ) -> None:
        self._new, self._again = new, again

    def next(self, asked: Asked) -> Call | Say:
        """Return the response to a request."""
        number = len(asked.results)
        steps: Steps = []
        for turn in self._turns(asked.texts):
            calls = [step for step in turn if isinstance(step, Call)]
            if number < len(calls):
                return calls[number]
            number -= len(calls)
            steps = turn
        return next((step for step in steps if isinstance(step, Say)), Say())

    def _turns(self, texts: Iterable[str]) -> list[Steps]:
        """Return the steps for each prompt in a conversation, in order."""
        found: dict[tuple[str, ...], Steps] = {}
        for text in texts:
            for match in _PROMPTS.finditer(text):
                agent, title, task, again = match.groups()
                if again:
                    found.setdefault(("again", again), self._again(again))
                else:
                    found.setdefault(("new", task), self._new(agent, title, task))
        return list(found.values())
