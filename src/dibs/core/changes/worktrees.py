"""Worktrees of agents: their names and ports, what they can hold, and what that means for a removal.

Pure.
"""

from __future__ import annotations

import shlex

from dibs.core.text.names import check_branch
from dibs.errors import BadInput
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

PREFIX = "agent/"
LAST_PORT = 65_535
#: How long an agent may be silent before its worktree counts as left alone, in seconds.
SILENCE = 3_600.0
#: How long a worktree waits for an agent that has not begun yet.
WAITING = 86_400.0


class WorktreeStage(metaclass=TextEnum):
    """How far a worktree is; a command that dies leaves the one that it was in."""

    MAKING = "making"
    SETUP = "setup"
    READY = "ready"
    #: Its folder is moved aside; nothing is deleted yet.
    REMOVING = "removing"
    #: All that it held is safe, and it is being deleted.
    DELETING = "deleting"


class WorktreeContent(metaclass=TextEnum):
    """What a worktree can hold that a removal would take away, or that is in its way."""

    STAGED = "staged"
    CHANGED = "changed"
    UNTRACKED = "untracked"
    CONFLICT = "conflict"
    UNDER_WAY = "under way"
    UNMERGED = "unmerged"
    DETACHED = "detached"
    STASHED = "stashed"
    LARGE = "large"
    PROCESS = "process"
    NESTED = "nested"
    SUBMODULE = "submodule"
    LOCKED = "locked"


#: What even a forced removal leaves alone, and what to do about it.
_STAYS = {
    WorktreeContent.PROCESS: "end it first",
    WorktreeContent.NESTED: "move that repository elsewhere first",
    WorktreeContent.SUBMODULE: "push or discard what is in it first",
    WorktreeContent.LOCKED: "git worktree unlock lets it go",
}
_SAYS = {
    WorktreeContent.STAGED: "staged",
    WorktreeContent.CHANGED: "changed and not committed",
    WorktreeContent.UNTRACKED: "new and never committed",
    WorktreeContent.CONFLICT: "in conflict",
    WorktreeContent.UNDER_WAY: "under way",
    WorktreeContent.UNMERGED: "commits that no other branch has",
    WorktreeContent.DETACHED: "commits that no branch has",
    WorktreeContent.STASHED: "stashed",
    WorktreeContent.LARGE: "ignored, and too large to be kept without a word",
    WorktreeContent.PROCESS: "at work in it",
    WorktreeContent.NESTED: "a repository of its own",
    WorktreeContent.SUBMODULE: "a submodule with work of its own",
    WorktreeContent.LOCKED: "locked",
}


class Holding(Record):
    """One kind of thing that a worktree holds, with some of them by name."""

    kind: str
    number: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it for people, without control of what the names may hold."""
        shown = ", ".join(self.names[:3]) + (", …" if self.number > len(self.names[:3]) else "")
        says = _SAYS[self.kind]
        what = f"{self.number} {says.replace('commits', 'commit') if self.number == 1 else says}"
        return f"{what}: {shown}" if self.names else what

    @property
    def advice(self) -> str:
        """What must be done first even for a forced removal; empty where force is enough."""
        return _STAYS.get(self.kind, "")


def in_the_way(held: Iterable[Holding], *, force: bool) -> list[Holding]:
    """Return what forbids a removal."""
    return [holding for holding in held if not force or holding.advice]


def branch_for(agent: str) -> str:
    """Return the branch of an agent."""
    try:
        return check_branch(PREFIX + agent)
    except BadInput as error:
        error.hint = "name one with --branch"
        raise


def agent_of(branch: str) -> str:
    """Return the agent that a branch is named for, empty if for none."""
    return branch.removeprefix(PREFIX) if branch.startswith(PREFIX) else ""


def free_slot(taken: Collection[int], port: int, ports: int) -> int:
    """Return the smallest slot that is free; refuse where no ports are left for it."""
    slot = next(number for number in range(len(taken) + 1) if number not in taken)
    if port + (slot + 1) * ports - 1 > LAST_PORT:
        raise BadInput(
            f"no ports are left: {len(taken)} worktrees have {ports} each from {port} on",
            code="LIMIT",
            hint="remove worktrees that nobody needs, or set a smaller [worktree] ports",
        )
    return slot


def variables(
    agent: str, path: str, *, project: str, slot: int, port: int, ports: int
) -> dict[str, str]:
    """Return what the environment of a worktree's agent says."""
    return {
        "DIBS_AGENT": agent,
        "DIBS_WORKTREE": path,
        "DIBS_PORT": str(port + slot * ports),
        "DIBS_PORTS": str(ports),
        "DIBS_CACHE": f"dibs-{project}-{agent}",
    }


def exports(values: Mapping[str, str]) -> str:
    """Return lines that a shell takes in; a PORT from elsewhere would be the same for all agents."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([*lines, "unset PORT"])


def is_left_alone(*, now: float, seen: float, ended: bool, made: float, waiting: bool) -> bool:
    """Tell whether nobody works in a worktree any more.

    ``waiting`` is one that was made for an agent which had not begun, and has not since.
    """
    if ended or not seen:
        return not waiting or now - made > WAITING
    return now - max(seen, made) > SILENCE
