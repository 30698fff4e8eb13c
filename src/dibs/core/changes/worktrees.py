"""Agents' worktrees: their names and ports, their contents, and what prevents a removal. Pure."""

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
#: After this many seconds without a heartbeat, an agent's worktree counts as abandoned.
SILENCE = 3_600.0
#: How long a worktree waits for an agent that has not started yet, in seconds.
WAITING = 86_400.0


class WorktreeStage(metaclass=TextEnum):
    """The stage of a worktree; after a crash, it shows how far the command got."""

    MAKING = "making"
    SETUP = "setup"
    READY = "ready"
    #: Its folder is moved aside; nothing is deleted yet.
    REMOVING = "removing"
    #: Its work is saved, and it is being deleted.
    DELETING = "deleting"


class WorktreeContent(metaclass=TextEnum):
    """Contents of a worktree that a removal would delete, or that prevent it."""

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


#: Errors after which an agent can work in the shared tree instead. Invalid requests and an unreachable store
#: are not among them.
FALLS_BACK = frozenset({
    "BRANCH_EXISTS", "GIT_FAILED", "GIT_LOCKED", "LIMIT", "PATH_ENCODING", "REF_NAME", "REPO_EXECUTES_CODE",
    "REPO_STATE", "SETUP_FAILED", "STORAGE_FULL", "SYSTEM", "WORKTREE_BUSY", "WORKTREE_EXISTS",
    "WORKTREE_FOLDER", "WORKTREE_LOCKED",
})  # fmt: skip


#: What prevents even a forced removal, and what to do about it.
_STAYS = {
    WorktreeContent.PROCESS: "stop it first",
    WorktreeContent.NESTED: "move the repository elsewhere first",
    WorktreeContent.SUBMODULE: "push or discard its work first",
    WorktreeContent.LOCKED: "unlock it first with git worktree unlock",
}
#: Singular and plural of each kind of contents.
_SAYS = {
    WorktreeContent.STAGED: ("staged file", "staged files"),
    WorktreeContent.CHANGED: ("modified file", "modified files"),
    WorktreeContent.UNTRACKED: ("untracked file", "untracked files"),
    WorktreeContent.CONFLICT: ("unresolved conflict", "unresolved conflicts"),
    WorktreeContent.UNDER_WAY: ("operation in progress", "operations in progress"),
    WorktreeContent.UNMERGED: ("commit on no other branch", "commits on no other branch"),
    WorktreeContent.DETACHED: ("commit on no branch", "commits on no branch"),
    WorktreeContent.STASHED: ("stash", "stashes"),
    WorktreeContent.LARGE: ("large ignored file", "large ignored files"),
    WorktreeContent.PROCESS: ("running process", "running processes"),
    WorktreeContent.NESTED: ("nested git repository", "nested git repositories"),
    WorktreeContent.SUBMODULE: ("submodule with unsaved work", "submodules with unsaved work"),
    WorktreeContent.LOCKED: ("git lock", "git locks"),
}


class Holding(Record):
    """One kind of contents of a worktree: how many, and the names of some."""

    kind: str
    number: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it as text, such as ``2 untracked files: a, b``; the names are not escaped."""
        shown = ", ".join(self.names[:3]) + (", …" if self.number > len(self.names[:3]) else "")
        what = f"{self.number} {_SAYS[self.kind][self.number != 1]}"
        return f"{what}: {shown}" if self.names else what

    @property
    def advice(self) -> str:
        """What to do before even a forced removal, or an empty text if force is enough."""
        return _STAYS.get(self.kind, "")


def in_the_way(held: Iterable[Holding], *, force: bool) -> list[Holding]:
    """Return what prevents a removal."""
    return [holding for holding in held if not force or holding.advice]


def branch_for(agent: str) -> str:
    """Return the branch of an agent."""
    try:
        return check_branch(PREFIX + agent)
    except BadInput as error:
        error.hint = "choose a branch name with --branch"
        raise


def agent_of(branch: str) -> str:
    """Return the agent that a branch is named after, or an empty text."""
    return branch.removeprefix(PREFIX) if branch.startswith(PREFIX) else ""


def free_slot(taken: Collection[int], port: int, ports: int) -> int:
    """Return the smallest unused slot; raise if not enough ports are left."""
    slot = next(number for number in range(len(taken) + 1) if number not in taken)
    if port + (slot + 1) * ports - 1 > LAST_PORT:
        raise BadInput(
            f"no ports left: {len(taken)} worktrees use {ports} ports each, starting at {port}",
            code="LIMIT",
            hint="remove unused worktrees, or set a smaller [worktree] ports in dibs.toml",
        )
    return slot


def variables(
    agent: str, path: str, *, project: str, slot: int, port: int, ports: int
) -> dict[str, str]:
    """Return the environment variables of a worktree."""
    return {
        "DIBS_AGENT": agent,
        "DIBS_WORKTREE": path,
        "DIBS_PORT": str(port + slot * ports),
        "DIBS_PORTS": str(ports),
        "DIBS_CACHE": f"dibs-{project}-{agent}",
    }


def exports(values: Mapping[str, str]) -> str:
    """Return shell code that sets the variables; it unsets PORT, which all agents would share."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([*lines, "unset PORT"])


def is_left_alone(*, now: float, seen: float, ended: bool, made: float, waiting: bool) -> bool:
    """Return whether an agent's worktree is orphaned.

    ``ended`` says that its agent has stopped or its process is dead, ``waiting`` that it has never started.
    """
    if ended or not seen:
        return not waiting or now - made > WAITING
    return now - max(seen, made) > SILENCE
