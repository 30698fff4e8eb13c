"""The rules of claims: who holds what, and until when.

Pure: time is the argument ``now``; nothing here reads a clock, a disk, or a socket.

A claim lives until its agent's last heartbeat plus the claim's ttl, and never past its hard deadline. At the
deadline it has expired. A claim that covers uncommitted changes lives on while its process runs, which the
rows detect: ``Rows.is_live`` is the only test. A request conflicts with other agents' overlapping live
claims, unless both are shared, and with every earlier conflicting ticket: that makes the queue fair. The
number of a ticket is its ledger sequence number, so the engine decides the order once. A waiter collects its
grant itself, and until then its ticket blocks later requests. So a dead waiter is never granted anything.
A ticket without a process lapses if its agent does not claim soon after its turn has come.
"""

from __future__ import annotations

from dibs.core.claims.agents import NEVER
from dibs.core.patterns.pattern import is_everything, overlap
from dibs.errors import BadInput, NotAllowed
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.core.patterns.pattern import Pattern

EXCLUSIVE = "exclusive"
SHARED = "shared"
MODES = (EXCLUSIVE, SHARED)

MAX_PATTERNS = 1_000
MAX_CLAIMS_OF_AGENT = 10_000
MAX_CLAIMS = 100_000
MAX_WAITERS = 10_000
MAX_TEXT = 1_000


class Request(Record):
    """What an agent asks for: all of the patterns or none of them."""

    agent: str
    patterns: tuple[Pattern, ...]
    mode: str
    ttl: float
    reason: str = ""
    task: str = ""


class Claim(Record):
    """An agent's hold on one pattern, with its fencing token."""

    id: str
    pattern: str
    mode: str
    agent: str
    token: int
    ttl: float
    since: float
    #: When the claim expires even if it is renewed.
    hard: float = NEVER
    reason: str = ""
    task: str = ""
    #: The working tree in which it was granted, and what was checked out there; empty if unknown. If clones
    #: share the store, the clone's id and a colon come first.
    tree: str = ""
    branch: str = ""

    @property
    def root(self) -> str:
        """The folder of its working tree; empty if unknown."""
        return self.tree if self.tree.startswith("/") else self.tree.partition(":")[2]


class Ticket(Record):
    """A place in the queue."""

    number: int
    agent: str
    patterns: tuple[str, ...]
    mode: str
    ttl: float
    since: float
    #: The waiter's last heartbeat, and how long it lasts.
    seen: float
    lasts: float
    #: When the waiter gives up.
    until: float
    reason: str = ""
    task: str = ""
    #: Whether no process waits; then any call of the agent keeps the ticket alive.
    standing: bool = False
    #: For a standing ticket whose turn has come: when it lapses, and the message that told its agent.
    collect_by: float = 0.0
    message: str = ""


class Conflict(Record):
    """A claim or ticket that blocks a request."""

    pattern: str
    held: str
    holder: str
    mode: str
    reason: str
    task: str
    since: float
    #: Seconds until it expires without another heartbeat.
    expires_in: float
    #: A path that both patterns match.
    witness: str
    #: The ticket's number if an earlier waiter is in the way; 0 for an owner.
    ticket: int = 0
    #: The claim's token if an owner is in the way.
    token: int = 0
    #: Whether it is past its ttl and lasts while its owner's process runs, up to ``expires_in``.
    while_running: bool = False

    @property
    def is_lock_file(self) -> bool:
        """Whether a lock file is in the way, whose owner has no claim in this store."""
        return not self.ticket and not self.token and self.held.startswith("task:")


class Wait(Record):
    """One edge of a deadlock: who waits for whom, and for what."""

    agent: str
    pattern: str
    holder: str


class Lost(Record):
    """A claim that its owner lost without releasing it, and why."""

    pattern: str
    token: int
    #: ``expired``, ``revoked``, ``transferred``, ``terminated`` or ``void``.
    why: str
    at: float
    by: str = ""
    reason: str = ""
    told: bool = False
    #: Whether the owner's machine has saved what it had changed.
    kept: bool = False

    def __str__(self) -> str:
        """Return the message for the former owner."""
        return self.told_at()

    def told_at(self, now: float = 0.0) -> str:
        """Return the message for the former owner, with the time since an expiry if ``now`` is given."""
        why = f": {self.reason}" if self.reason else ""
        return f"your claim on {self.pattern} {self.how(now)}{why}"

    def how(self, now: float = 0.0) -> str:
        """Return what happened to the claim; an expiry noticed later says how long ago it was."""
        if self.why == "transferred":
            return f"was transferred to {self.by}"
        if self.why == "void":
            return "is void"
        if self.by:
            return f"was {self.why} by {self.by}"
        ago = round(now - self.at) if now and self.at and self.why == "expired" else 0
        if ago <= 0:
            return self.why
        from dibs.core.text.durations import show_span

        return f"{self.why} {show_span(ago)} ago"


class Ask(Record):
    """A release request."""

    pattern: str
    holder: str
    asker: str
    note: str
    at: float
    until: float
    #: The message that notified the owner.
    id: str = ""
    #: The reply: empty, ``later``, or ``no``. A ``yes`` ends the request.
    answer: str = ""
    answered: float = 0.0
    #: When the owner promised to release the claim.
    promised: float = 0.0


class Held(Record):
    """A live claim as listings show it."""

    claim: Claim
    expires_at: float
    expires_in: float
    asks: tuple[Ask, ...] = ()
    #: Whether it is past its ttl and lasts while its owner's process runs, up to ``expires_in``.
    while_running: bool = False


class Waiter(Record):
    """A live ticket as listings show it."""

    ticket: Ticket
    #: Its position among all tickets, from 1.
    place: int
    #: Seconds until the ticket expires without another heartbeat.
    gives_up_in: float
    #: The claims and earlier tickets in its way, if they were looked up; see ``core.claims.blocking``.
    blocked_by: tuple[Conflict, ...] = ()

    def waits_for(self, now: float) -> float:
        """Return for how long it waits: a process renews its ticket until it gives up."""
        return self.gives_up_in if self.ticket.standing else self.ticket.until - now


def view_command(copy: str, path: str = "", root: str = "") -> str:
    """Return the command that shows a saved copy, or else what is uncommitted, from any folder.

    ``root`` is the working tree that contains it, if that is another one than the reader's.
    """
    from shlex import quote

    if copy and not copy.startswith("refs/"):
        return f"dibs salvage show {copy}" + (f" --repo {quote(root)}" if root else "")
    git = f"git -C {quote(root)}" if root else "git"
    what = f"show {copy}" if copy else "diff HEAD"
    return f"{git} {what}" + (f" -- {from_top(path)}" if path else "")


def from_top(path: str) -> str:
    """Return git's word for a path of the repository, whatever the current folder is."""
    from shlex import quote

    # Git reads some characters after ":/" as more flags; another colon ends the flags.
    return quote((":/" if path[:1].isalnum() or path[:1] == "." else ":/:") + path)


class LeftWork(Record):
    """Uncommitted content of another agent in a file that was claimed."""

    path: str
    agent: str
    #: Its age in seconds.
    age: float
    #: How many lines it changes; 0 if unknown.
    lines: int
    #: The name of a saved copy; empty if none could be made.
    salvage: str
    #: The working tree that contains it, and whether it is another one than the reader's.
    root: str
    elsewhere: bool = False

    @property
    def view(self) -> str:
        """The command that shows it."""
        from dibs.core.text.untrusted import is_plain_path

        path, root = (text if is_plain_path(text) else "" for text in (self.path, self.root))
        return view_command(self.salvage, path, root if self.elsewhere else "")

    @property
    def about(self) -> str:
        """Its size and age, and the command that shows it."""
        from dibs.core.text.durations import show_span

        lines = f"{self.lines} line{'' if self.lines == 1 else 's'}, " if self.lines else ""
        copy = "" if self.salvage else "no copy could be saved; "
        return f"{lines}{show_span(max(1, round(self.age)))} ago; {copy}to see them: {self.view}"


class Granted(Record):
    """The answer to a granted request."""

    claims: tuple[Claim, ...]
    token: int
    #: The claims' deadlines, in their order.
    expires: tuple[float, ...]
    #: Which of them are new, in their order.
    fresh: tuple[bool, ...]
    #: What other agents left uncommitted in the new claims.
    left: tuple[LeftWork, ...] = ()


class Queued(Record):
    """The answer to a queued request."""

    ticket: Ticket
    conflicts: tuple[Conflict, ...]
    #: How many waiters are ahead.
    ahead: int


class Denied(Record):
    """The answer to a request that is neither granted nor queued."""

    conflicts: tuple[Conflict, ...]
    #: ``held``, ``timeout``, ``deadlock``, or ``refused``.
    why: str = "held"
    cycle: tuple[Wait, ...] = ()
    #: If a human refused it: the decision, who decided, and why.
    decision: str = ""
    by: str = ""
    reason: str = ""


Outcome = Granted | Queued | Denied


#: The last heartbeat of an agent whose process is dead: none of its claims is live.
GONE = -1.0


def deadline(claim: Claim, seen: float) -> float:
    """Return when ``claim`` expires, given its owner's last heartbeat."""
    if seen == GONE:
        return claim.since
    return min(max(seen, claim.since) + claim.ttl, claim.hard)


def live(claim: Claim, seen: float, now: float) -> bool:
    """Return whether ``claim`` has not expired. At its deadline it has."""
    return now < deadline(claim, seen)


def ticket_deadline(ticket: Ticket, agent_seen: float) -> float:
    """Return when ``ticket`` expires without another heartbeat."""
    if agent_seen == GONE:
        return ticket.since
    seen = max(ticket.seen, agent_seen) if ticket.standing else ticket.seen
    return min(seen + ticket.lasts, ticket.until, ticket.collect_by or NEVER)


def compatible(one: str, other: str) -> bool:
    """Return whether claims of these modes may overlap."""
    return one == SHARED and other == SHARED


def clash(request: Request, asked: Pattern, held: Pattern, claim: Claim) -> str | None:
    """Return a path for which ``asked`` conflicts with another agent's ``claim`` while that is live."""
    return None if compatible(request.mode, claim.mode) else overlap(asked, held)


def obstacle(
    asked: Pattern, claim: Claim, witness: str, left: float, *, while_running: bool = False
) -> Conflict:
    """Return the conflict of ``asked`` with another agent's ``claim``, which expires in ``left`` seconds."""
    return Conflict(
        asked.text, claim.pattern, claim.agent, claim.mode, claim.reason, claim.task,
        claim.since, left, witness, token=claim.token, while_running=while_running,
    )  # fmt: skip


def queued_before(
    request: Request, asked: Pattern, waiting: Pattern, ticket: Ticket, own: int, left: float
) -> Conflict | None:
    """Return the conflict between ``asked`` and another agent's earlier ``ticket``, if any.

    ``own`` is the number of the requester's ticket; 0 if it has none, then every ticket is earlier.
    """
    if compatible(request.mode, ticket.mode) or left <= 0 or (own and own < ticket.number):
        return None
    witness = overlap(asked, waiting)
    if witness is None:
        return None
    return Conflict(
        asked.text, waiting.text, ticket.agent, ticket.mode, ticket.reason, ticket.task,
        ticket.since, left, witness, ticket.number,
    )  # fmt: skip


def find_cycle(
    agent: str, waits: Iterable[Wait], waits_of: Callable[[str], Iterable[Wait]]
) -> tuple[Wait, ...]:
    """Return the deadlock that ``waits`` of ``agent`` would create, or nothing.

    ``waits_of`` returns what an agent already waits for. Each agent is visited once.
    """
    visited: set[str] = set()
    stack: list[tuple[Wait, ...]] = [(wait,) for wait in waits]
    while stack:
        path = stack.pop()
        holder = path[-1].holder
        if holder == agent:
            return path
        if holder not in visited:
            visited.add(holder)
            stack.extend((*path, step) for step in waits_of(holder))
    return ()


def check_request(request: Request, *, held: int, human: bool) -> None:
    """Refuse a request that exceeds a limit, before anything is looked up."""
    if request.mode not in MODES:
        message = f"unknown mode {request.mode!r} (use exclusive or shared)"
        raise BadInput(message[:200], code="MODE", field="mode")
    if not request.patterns:
        raise BadInput("name at least one path or pattern", code="PATH_EMPTY", field="pattern")
    if len(request.patterns) > MAX_PATTERNS:
        message = f"{len(request.patterns)} patterns in one claim (the limit is {MAX_PATTERNS})"
        raise BadInput(
            message, code="LIMIT", field="pattern", hint="claim a folder, or quote the glob"
        )
    if held + len(request.patterns) > MAX_CLAIMS_OF_AGENT:
        message = f"{request.agent} holds {held} claims (the limit is {MAX_CLAIMS_OF_AGENT})"
        raise BadInput(message, code="LIMIT", hint="release some, or claim a folder or a glob")
    if request.mode == EXCLUSIVE and not human:
        for pattern in request.patterns:
            if not pattern.literal and is_everything(pattern):
                raise NotAllowed(
                    f"{pattern.text} would claim the whole repository",
                    code="GLOB_TOO_BROAD",
                    hint="claim the folders you work in",
                )


def fold_duplicates(patterns: Sequence[Pattern]) -> tuple[Pattern, ...]:
    """Return the patterns without duplicates, in order."""
    if len(patterns) == 1:
        return tuple(patterns)
    first: dict[str, Pattern] = {}
    for pattern in patterns:
        first.setdefault(pattern.key, pattern)
    return tuple(first.values())


def check_text(text: str, field: str, limit: int = MAX_TEXT) -> str:
    """Return a reason or note with secrets masked; refuse one that is too long."""
    from dibs.core.text.secrets import storable

    if len(text) > limit:
        message = f"the {field} has {len(text)} characters (the limit is {limit})"
        raise BadInput(message, code="LIMIT", field=field)
    return storable(text, field)
