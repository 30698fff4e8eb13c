"""What the tools take: one model for each, strict, so that a wrong call is told what is wrong with it.

The descriptions are read by a model that decides what to write; they say what it cannot guess.
"""

# Pydantic reads these annotations when the classes are made.

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

#: As many paths as one call may name, and as many letters as a text may have before the rules look at it.
MOST_PATHS, MOST_TEXT = 200, 16_000

Path = Annotated[str, Field(min_length=1, max_length=4_096)]
Paths = Annotated[list[Path], Field(max_length=MOST_PATHS)]
Text = Annotated[str, Field(max_length=MOST_TEXT)]
Name = Annotated[str, Field(max_length=200)]

_PATHS = "Paths, folders (src/) or globs (src/**), absolute or relative to the working directory."


class Asked(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Asked):
    """No arguments."""


class ClaimAsked(Asked):
    """What ``claim`` takes."""

    paths: Annotated[Paths, Field(min_length=1, description=_PATHS)]
    reason: Annotated[Text, Field(description="What you will do with them; others see it.")] = ""
    shared: Annotated[
        bool, Field(description="True to read along with others: nobody may write meanwhile.")
    ] = False


class WaitAsked(ClaimAsked):
    """What ``wait`` takes."""

    seconds: Annotated[
        float, Field(ge=0, le=3_600, description="Give up after so many seconds.")
    ] = 25.0


class ReleaseAsked(Asked):
    """What ``release`` takes."""

    paths: Annotated[
        Paths, Field(description=_PATHS + " Leave it out together with all=true.")
    ] = []
    all: Annotated[bool, Field(description="True to give back everything that you hold.")] = False
    token: Annotated[
        int, Field(ge=0, description="The token of your grant: refuse to release any other.")
    ] = 0


class StatusAsked(Asked):
    """What ``status`` takes."""

    paths: Annotated[Paths, Field(description=_PATHS + " Only what concerns these.")] = []
    mine: Annotated[bool, Field(description="True for only what you hold and wait for.")] = False


class AskAsked(Asked):
    """What ``ask`` takes."""

    paths: Annotated[Paths, Field(min_length=1, description=_PATHS)]
    note: Annotated[Text, Field(description="Why; the other agent sees it.")] = ""
    within: Annotated[Name, Field(description="How soon, such as 10m.")] = "5m"
    answer: Annotated[
        Literal["", "yes", "later", "no"],
        Field(description="Only to answer whoever asks YOU for these paths; yes gives them back."),
    ] = ""


class CommitAsked(Asked):
    """What ``commit`` takes."""

    message: Annotated[Text, Field(min_length=1, description="The commit message.")]
    paths: Annotated[Paths, Field(description="Only these of your files; all if left out.")] = []
    release: Annotated[bool, Field(description="True to give back what is committed.")] = False
    task: Annotated[Name, Field(description="The task that it belongs to.")] = ""


class TaskAsked(Asked):
    """What ``task`` takes."""

    action: Annotated[
        Literal["list", "take", "start", "done", "fail", "release", "new"],
        Field(
            description="list: the board. take: the next task for you. start: the task of this id."
            " done, fail, release: end the one that you hold. new: make a task."
        ),
    ]
    id: Annotated[Name, Field(description="The task; for start, done, fail and release.")] = ""
    text: Annotated[
        Text,
        Field(description="done: what you did. fail: what went wrong. new: the task's title."),
    ] = ""
    paths: Annotated[
        Paths, Field(description="done: what you made or changed. new: what it is about.")
    ] = []
    agent: Annotated[Name, Field(description="new: for which agent or role; anybody if empty.")] = (
        ""
    )
    roles: Annotated[
        Annotated[list[Name], Field(max_length=20)],
        Field(description="take, start: also tasks that are for these roles."),
    ] = []


class SayAsked(Asked):
    """What ``say`` takes."""

    text: Annotated[Text, Field(min_length=1, description="What to say.")]
    to: Annotated[
        Name, Field(description="An agent, a role, a group, all, or human; not with reply_to.")
    ] = ""
    reply_to: Annotated[Name, Field(description="The message that you answer, such as m41.")] = ""
    priority: Literal["urgent", "high", "normal", "low"] = "normal"
    wants_ack: Annotated[bool, Field(description="True to be told when it is acknowledged.")] = (
        False
    )


class DecideAsked(Asked):
    """What ``decide`` takes."""

    title: Annotated[
        Annotated[str, Field(max_length=1_000)],
        Field(description="What is decided, on one line; empty to look at the decision id."),
    ] = ""
    rationale: Annotated[Text, Field(description="Why.")] = ""
    category: Literal[
        "style", "architecture", "tool_access", "dependency", "testing", "general"
    ] = "general"
    confirm: Annotated[
        bool, Field(description="True if somebody has to say yes first; then do not act on it yet.")
    ] = False
    by: Annotated[
        Name, Field(description="Who confirms it: human, lead, agent:ID or role:NAME.")
    ] = "human"
    id: Annotated[Name, Field(description="A decision to look at, such as d12.")] = ""


class BriefAsked(Asked):
    """What ``brief`` takes."""

    full: Annotated[
        bool, Field(description="True to be told everything again, after you forgot it.")
    ] = False
