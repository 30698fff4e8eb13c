"""The prompts for an agent of the crew: its task, a reminder, and replies to its text commands.

Pure. Text from the board is data for the template; placeholders in it are not replaced again.
"""

from __future__ import annotations

from dibs.core.crew.text_commands import without_commands
from dibs.core.text.untrusted import clean
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: The longest part of a task's file in a prompt.
_LONGEST = 50_000

TEMPLATE = """\
You are {agent}, a {role} in a crew of coding agents that share this repository. Work on this task only:

{title} ({task})

{text}

Rules:
- Dibs claims each file when you first edit it. If Dibs blocks an edit, another agent holds that file: work
  on something else, or wait.
- Commit with `dibs commit -m "MESSAGE"`. It commits only your own files.
- When the task is finished, run `dibs task done {task} --summary "WHAT YOU DID"`. If you cannot finish it,
  run `dibs task fail {task} --message "WHY"`. Without one of these, the task counts as failed.
- If you cannot run commands, print this on a line of its own instead, without the backquotes:
  `{open} DIBS {{"tool": "task", "action": "done", "id": "{task}", "text": "WHAT YOU DID"}} ⟧⟧`
  Use "action": "fail" and the reason if you cannot finish it.
"""

_REMINDER = """\
Your turn ended, but the task {task} is still in progress. If it is finished, run
`dibs task done {task} --summary "WHAT YOU DID"`, or print
`{open} DIBS {{"tool": "task", "action": "done", "id": "{task}"}} ⟧⟧`.
If you cannot finish it, run `dibs task fail {task} --message "WHY"`. Otherwise continue now. Without a
result, this attempt counts as failed.
"""


class PromptFacts(Record):
    """The values of a prompt's placeholders."""

    agent: str
    role: str
    task: str
    title: str = ""
    #: The task's file.
    text: str = ""
    #: The nonce that text commands need; empty for none.
    nonce: str = ""


def task_prompt(template: str, facts: PromptFacts) -> str:
    """Return the prompt for a task."""
    values = facts._asdict() | {
        "open": _open(facts),
        "text": without_commands(clean(facts.text, _LONGEST, lines=True)),
    }
    return _filled(template or TEMPLATE, values)


def reminder(facts: PromptFacts) -> str:
    """Return the question to an agent that ended its turn without a result."""
    return _filled(_REMINDER, facts._asdict() | {"open": _open(facts)})


def with_replies(replies: Iterable[str], text: str) -> str:
    """Return a prompt that begins with the replies to an agent's text commands."""
    return "\n".join([*replies, "", text] if (replies := list(replies)) else [text])


def _open(facts: PromptFacts) -> str:
    return f"⟦⟦{facts.nonce}"


def _filled(template: str, values: dict[str, str]) -> str:
    """Replace ``{name}`` for known names, and ``{{`` and ``}}`` by braces, in one pass."""
    import re

    def value(match: re.Match[str]) -> str:
        found = match[0]
        if found in {"{{", "}}"}:
            return found[0]
        return values.get(found[1:-1], found)

    return re.sub(r"\{\{|\}\}|\{[a-z]+\}", value, template)
