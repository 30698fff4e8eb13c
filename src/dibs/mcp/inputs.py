"""The arguments of the tools: one strict model for each, so that a wrong call gets a precise error.

A language model reads the descriptions; they say what it cannot guess.
"""

# Pydantic evaluates these annotations when it creates the classes.

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dibs.core.text.durations import WAIT_MAX, WAIT_MIN, check_span

#: Limits per call: paths, and characters of a text.
MOST_PATHS, MOST_TEXT = 200, 16_000

Path = Annotated[str, Field(min_length=1, max_length=4_096)]
Paths = Annotated[list[Path], Field(max_length=MOST_PATHS)]
Text = Annotated[str, Field(max_length=MOST_TEXT)]
Name = Annotated[str, Field(max_length=200)]

_PATHS = "Paths, folders (src/), or globs (src/**), absolute or relative to the working directory."


def _seconds(value: object) -> float:
    return check_span(value, WAIT_MIN, WAIT_MAX, field="seconds", code="WAIT_RANGE")


Seconds = Annotated[
    float,
    BeforeValidator(
        _seconds, json_schema_input_type=Annotated[float, Field(ge=WAIT_MIN, le=WAIT_MAX)] | str
    ),
]


class Asked(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Asked):
    """No arguments."""


class ClaimAsked(Asked):
    """The arguments of ``claim``."""

    paths: Annotated[Paths, Field(min_length=1, description=_PATHS)]
    reason: Annotated[
        Text, Field(description="What you will do with them; other agents see it.")
    ] = ""
    shared: Annotated[
        bool,
        Field(description="True to only read: other readers may share it, and no one may write."),
    ] = False


class WaitAsked(ClaimAsked):
    """The arguments of ``wait``."""

    seconds: Annotated[
        Seconds,
        Field(description="The longest time to wait: seconds, or text such as 500ms or 2m."),
    ] = 25.0


class ReleaseAsked(Asked):
    """The arguments of ``release``."""

    paths: Annotated[Paths, Field(description=_PATHS + " Omit it with all=true.")] = []
    all: Annotated[bool, Field(description="True to release everything that you hold.")] = False
    token: Annotated[int, Field(ge=0, description="Release only the claim with this token.")] = 0


class StatusAsked(Asked):
    """The arguments of ``status``."""

    paths: Annotated[
        Paths, Field(description=_PATHS + " Show only claims that overlap these.")
    ] = []
    mine: Annotated[bool, Field(description="True to show only what you hold or wait for.")] = False


class AskAsked(Asked):
    """The arguments of ``ask``."""

    paths: Annotated[Paths, Field(min_length=1, description=_PATHS)]
    note: Annotated[Text, Field(description="Why; the owner sees it.")] = ""
    within: Annotated[Name, Field(description="How soon you need it, such as 10m.")] = "5m"
    answer: Annotated[
        Literal["", "yes", "later", "no"],
        Field(
            description="Only to reply to a request that YOU received for these paths; yes releases them."
        ),
    ] = ""


class CommitAsked(Asked):
    """The arguments of ``commit``."""

    message: Annotated[Text, Field(min_length=1, description="The commit message.")]
    paths: Annotated[
        Paths, Field(description="Commit only these of your files; all if omitted.")
    ] = []
    release: Annotated[bool, Field(description="True to release the committed files.")] = False
    task: Annotated[Name, Field(description="The task this commit belongs to.")] = ""
    inherited: Annotated[
        bool,
        Field(
            description="True to also commit other agents' lines that are in no commit; names their authors."
        ),
    ] = False
    anyway: Annotated[
        bool,
        Field(description="True to undo what others committed since you read the file."),
    ] = False


class TaskAsked(Asked):
    """The arguments of ``task``."""

    action: Annotated[
        Literal["list", "take", "start", "done", "fail", "release", "new", "delegate"],
        Field(
            description="list: show the board. take: take the next task for you. start: take the task with"
            " this id. done, fail, release: end the task you hold. new: create a task. delegate: create"
            " one for another agent and notify it; similar lists work that may be the same."
        ),
    ]
    id: Annotated[Name, Field(description="The task id; for start, done, fail, and release.")] = ""
    text: Annotated[
        Text,
        Field(description="done: what you did. fail: what went wrong. new, delegate: its title."),
    ] = ""
    paths: Annotated[
        Paths,
        Field(description="done: files you created or changed. new, delegate: files it is about."),
    ] = []
    agent: Annotated[
        Name, Field(description="new, delegate: the agent or role; with new, anyone if empty.")
    ] = ""
    strict: Annotated[
        bool, Field(description="delegate: True to send nothing if similar work is active.")
    ] = False
    roles: Annotated[
        Annotated[list[Name], Field(max_length=20)],
        Field(description="take, start: also consider tasks for these roles."),
    ] = []


class SayAsked(Asked):
    """The arguments of ``say``."""

    text: Annotated[Text, Field(min_length=1, description="The message.")]
    to: Annotated[
        Name, Field(description="An agent, a role, a group, all, or human; not with reply_to.")
    ] = ""
    reply_to: Annotated[Name, Field(description="The message you reply to, such as m41.")] = ""


class DecideAsked(Asked):
    """The arguments of ``decide``."""

    title: Annotated[
        Annotated[str, Field(max_length=1_000)],
        Field(description="The decision, on one line; empty to show the decision with this id."),
    ] = ""
    rationale: Annotated[Text, Field(description="Why.")] = ""
    confirm: Annotated[
        bool,
        Field(description="True if someone must confirm it first; do not act on it until then."),
    ] = False
    by: Annotated[
        Name, Field(description="Who confirms it: human, lead, agent:ID, or role:NAME.")
    ] = "human"
    id: Annotated[Name, Field(description="The decision to show, such as d12.")] = ""


class BriefAsked(Asked):
    """The arguments of ``brief``."""

    full: Annotated[
        bool,
        Field(description="True to get everything again, for example after context compaction."),
    ] = False
