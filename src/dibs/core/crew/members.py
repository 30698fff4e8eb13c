"""The agents of a crew, and the crew of one machine.

Pure. A member's runner is a process that owns the agent's processes; number and start time identify it on the
machine and boot that ``realm`` names (see local/processes.py).
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class MemberState(metaclass=TextEnum):
    """What an agent of the crew does; the last three have ended."""

    STARTING = "starting"
    IDLE = "idle"
    WORKING = "working"
    STOPPING = "stopping"
    CRASHED = "crashed"
    STOPPED = "stopped"
    EXITED = "exited"
    FAILED = "failed"


_OVER = frozenset({MemberState.STOPPED, MemberState.EXITED, MemberState.FAILED})


class CrewStatus(Record):
    """Whether the crew of a machine is up, and how many agents it may have."""

    up: bool = False
    paused: bool = False
    limit: int = 0
    by: str = ""
    since: float = 0.0


class Member(Record):
    """An agent that the supervisor runs."""

    agent: str
    role: str
    realm: str
    #: Distinguishes this start of the agent from earlier ones; its processes have it in their environment.
    nonce: str
    state: str = MemberState.STARTING
    parent: str = ""
    #: The runner.
    pid: int = 0
    born: int = 0
    #: When the state changed.
    since: float = 0.0
    #: The working tree; empty until it is known, and the branch, empty in the shared tree.
    tree: str = ""
    branch: str = ""
    #: A task that it is started for; empty for any.
    wanted: str = ""
    #: How often it was started again, when it will be, and why it last ended.
    restarts: int = 0
    restart_at: float = 0.0
    cause: str = ""
    #: Who asked to stop it, why, and whether it is to start again after that.
    stop_by: str = ""
    stop_why: str = ""
    again: bool = False
    #: Tokens that it used, and the share of its context in use (negative: unknown).
    tokens: int = 0
    context: float = -1.0
    #: The task that it works on or delivers; a task that depends on it starts only after the delivery.
    current: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is not started again."""
        return self.state in _OVER

    @property
    def gave_up(self) -> bool:
        """Whether it crashed too often to be started again."""
        return self.state == MemberState.CRASHED and self.restart_at >= NEVER

    def is_on(self, here: str) -> bool:
        """Return whether this machine's supervisor looks after it; ``here`` is the machine's realm.

        After a reboot, its processes are gone and its realm is another one.
        """
        host, boot, space = _parts(self.realm)
        mine = _parts(here)
        return host == mine[0] and (boot != mine[1] or space == mine[2])

    def is_same_boot(self, here: str) -> bool:
        """Return whether its process numbers are valid now."""
        return self.realm == here


def host_of(realm: str) -> str:
    """Return the machine of a realm."""
    return _parts(realm)[0]


def _parts(realm: str) -> tuple[str, str, str]:
    host, _, rest = realm.partition("/")
    boot, _, space = rest.partition("/")
    return host, boot, space


def next_name(role: str, taken: Iterable[str]) -> str:
    """Return a name for a new agent of a role: its role and the next number."""
    numbers = [
        int(name[len(role) + 1 :])
        for name in taken
        if name.startswith(f"{role}-")
        and name[len(role) + 1 :].isascii()
        and name[len(role) + 1 :].isdigit()
    ]
    return f"{role}-{max(numbers, default=0) + 1}"
