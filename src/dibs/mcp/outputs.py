"""What the tools give back: one model for each, flat where it can be, with what to do next.

Text that another agent wrote stands between the tags of a fence; ``note`` says so where there is any.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Told(BaseModel):
    """The answer of a tool."""

    model_config = ConfigDict(extra="forbid")

    agent: Annotated[str, Field(description="Who you are here.")]
    next: Annotated[list[str], Field(description="What you can do now, the best first.")] = []
    note: Annotated[str, Field(description="How text of others is marked in this answer.")] = ""


class Grant(BaseModel):
    """A claim that you hold."""

    path: str
    mode: str
    token: int
    expires_in_s: float


class Obstacle(BaseModel):
    """What stands in the way of a claim."""

    path: str
    holder: str
    held: str
    mode: str
    reason: str
    task: str
    retry_after_s: Annotated[float, Field(description="Then it ends, if its holder stays silent.")]
    witness: Annotated[str, Field(description="A path that both claims match.")]
    waits: Annotated[bool, Field(description="True if it only waits before you.")]


class ClaimTold(Told):
    """What ``claim`` and ``wait`` give back."""

    granted: bool
    claims: list[Grant] = []
    conflicts: list[Obstacle] = []
    holder: str | None = None
    reason: str | None = None
    retry_after_s: float | None = None
    why: Annotated[str, Field(description="held, timeout, deadlock or refused")] = ""


class ReleaseTold(Told):
    """What ``release`` gives back."""

    released: list[str]


class Held(BaseModel):
    """A live claim of anybody."""

    path: str
    mode: str
    holder: str
    reason: str
    task: str
    expires_in_s: float
    asked_by: list[str] = []


class Waits(BaseModel):
    """Somebody who waits."""

    agent: str
    paths: list[str]
    place: int


class Worker(BaseModel):
    """An agent that works here."""

    agent: str
    role: str
    status: str
    task: str
    silent_for_s: float
    claims: int


class StatusTold(Told):
    """What ``status`` gives back."""

    claims: list[Held]
    queue: list[Waits]
    agents: list[Worker]
    left_out: Annotated[int, Field(description="How many rows are not shown: name paths.")] = 0


class Request(BaseModel):
    """A request that somebody gives a claim back."""

    path: str
    holder: str
    asker: str
    answer: str
    within_s: float


class AskTold(Told):
    """What ``ask`` gives back."""

    requests: list[Request]


class Blocked(BaseModel):
    """A path that may not be in a commit."""

    path: str
    why: str
    holder: str
    reason: str
    hint: str


class CommitTold(Told):
    """What ``commit`` gives back."""

    committed: bool
    commit: str = ""
    branch: str = ""
    files: list[str] = []
    blocked: list[Blocked] = []
    unclaimed: Annotated[
        list[str], Field(description="Changed nearby and nobody's, so not in the commit.")
    ] = []
    released: list[str] = []
    left_out: int = 0


class Job(BaseModel):
    """A task of the board."""

    id: str
    title: str
    state: str
    file: str
    priority: str
    holder: str
    paths: list[str] = []
    token: int = 0
    text: Annotated[str, Field(description="What its file says, of the one that you have.")] = ""


class TaskTold(Told):
    """What ``task`` gives back."""

    ok: Annotated[bool, Field(description="False if there is no task for you now.")]
    action: str
    task: Job | None = None
    tasks: list[Job] = []
    left_out: int = 0


class SayTold(Told):
    """What ``say`` gives back."""

    message: Annotated[str, Field(description="The id of the message.")]
    readers: list[str]


class DecideTold(Told):
    """What ``decide`` gives back."""

    id: str
    outcome: Annotated[str, Field(description="recorded, pending, confirmed, rejected or settled")]
    title: str
    rationale: str
    decided_by: str
    reason: str
    who_may: str


class BriefTold(Told):
    """What ``brief`` gives back."""

    changed: bool
    text: str
    mail: list[str]
    left_out: int = 0
