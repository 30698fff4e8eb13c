"""Who may touch what, and until when: the rules of claims.

Pure: records come in as values, time comes in as ``now``, answers go out as values. Nothing here reads a
clock, a disk or a socket.

Theory of operation. A claim hangs on its agent: it lives until the agent's last sign of life plus the claim's
own ttl, and never past its hard end. At its deadline it is already gone; ``live`` says so and everybody
asks it. A request stands against the live claims of others that overlap it, unless both are shared, and
against every earlier ticket of another agent that it would conflict with: that is what makes the queue
fair. A ticket's number is its place in the ledger, so order is decided once, by the engine. A waiter collects
its grant itself; until it does, its ticket holds back all later rivals. Nobody is ever granted anything
while not looking, so a dead waiter can never end up as a holder.
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
    """What an agent asks for: all of the patterns or none."""

    agent: str
    patterns: tuple[Pattern, ...]
    mode: str
    ttl: float
    reason: str = ""
    task: str = ""


class Claim(Record):
    """An agent's hold on one pattern, and the token that proves it."""

    id: str
    pattern: str
    mode: str
    agent: str
    token: int
    ttl: float
    since: float
    #: The moment at which the claim ends whatever its holder does.
    hard: float = NEVER
    reason: str = ""
    task: str = ""


class Ticket(Record):
    """A place in the queue for patterns that are held."""

    number: int
    agent: str
    patterns: tuple[str, ...]
    mode: str
    ttl: float
    since: float
    #: The waiter's last sign of life, and how long it counts.
    seen: float
    lasts: float
    #: When the waiter gives up.
    until: float
    reason: str = ""
    task: str = ""
    #: Whether no process waits: any call of the agent keeps the ticket alive.
    standing: bool = False
    #: The tokens of claims that were put before a human because of this wait.
    escalated: tuple[int, ...] = ()
    #: Where no process waits: after how long it asks and escalates, and when somebody looks at it next.
    ladder: tuple[float, ...] = ()


class Conflict(Record):
    """One reason why a request cannot be granted now."""

    pattern: str
    held: str
    holder: str
    mode: str
    reason: str
    task: str
    since: float
    #: Seconds until the obstacle goes by itself if its holder gives no further sign of life.
    expires_in: float
    #: A path that both patterns match.
    witness: str
    #: The ticket's number where the obstacle is an earlier waiter; 0 for a holder.
    ticket: int = 0
    #: The token of the claim where the obstacle is a holder.
    token: int = 0


class Wait(Record):
    """One edge of a circle of waiters: who waits for whom, over what."""

    agent: str
    pattern: str
    holder: str


class Lost(Record):
    """A claim that its holder did not give back: what it is told, and why it is fenced."""

    pattern: str
    token: int
    #: ``expired``, ``revoked``, ``transferred``, ``terminated`` or ``void``.
    why: str
    at: float
    by: str = ""
    reason: str = ""
    told: bool = False

    def __str__(self) -> str:
        """Say it to the old holder."""
        if self.why == "transferred":
            how = f"was handed to {self.by}"
        elif self.why == "void":
            how = "is void"
        elif self.by:
            how = f"was {self.why} by {self.by}"
        else:
            how = self.why
        return f"your claim on {self.pattern} {how}" + (f": {self.reason}" if self.reason else "")


class Ask(Record):
    """A holder is asked to give a claim back."""

    pattern: str
    holder: str
    asker: str
    note: str
    at: float
    until: float
    #: The message by which the holder was told.
    id: str = ""
    #: What the holder said: nothing yet, ``later`` or ``no``. A ``yes`` ends the request.
    answer: str = ""
    answered: float = 0.0
    #: When it will give the claim back, where it said so.
    promised: float = 0.0


class Held(Record):
    """A live claim as a reader sees it."""

    claim: Claim
    expires_at: float
    expires_in: float
    asks: tuple[Ask, ...] = ()


class Waiter(Record):
    """A live ticket as a reader sees it."""

    ticket: Ticket
    #: Its place in the order in which tickets were drawn, from 1.
    place: int
    gives_up_in: float


class Granted(Record):
    """The answer to a request that holds."""

    claims: tuple[Claim, ...]
    token: int
    #: The claims' deadlines, in their order.
    expires: tuple[float, ...]
    #: Which of them the holder did not hold before, in their order.
    fresh: tuple[bool, ...]


class Queued(Record):
    """The answer to a request that waits its turn."""

    ticket: Ticket
    conflicts: tuple[Conflict, ...]
    #: How many agents are served before this one.
    ahead: int


class Denied(Record):
    """The answer to a request that is not granted, and holds no place in the queue."""

    conflicts: tuple[Conflict, ...]
    #: ``held``, ``timeout``, ``deadlock`` or ``refused``.
    why: str = "held"
    cycle: tuple[Wait, ...] = ()
    #: Where a human refused it: the decision, who decided, and why.
    decision: str = ""
    by: str = ""
    reason: str = ""


Outcome = Granted | Queued | Denied


#: The last sign of life of an agent whose process is gone: nothing of it is live.
GONE = -1.0


def deadline(claim: Claim, seen: float) -> float:
    """Return the moment at which ``claim`` is gone, given its holder's last sign of life."""
    if seen == GONE:
        return claim.since
    return min(max(seen, claim.since) + claim.ttl, claim.hard)


def live(claim: Claim, seen: float, now: float) -> bool:
    """Tell whether ``claim`` still holds. At its deadline it is already gone."""
    return now < deadline(claim, seen)


def ticket_deadline(ticket: Ticket, agent_seen: float) -> float:
    """Return the moment at which ``ticket`` is skipped unless its waiter shows up."""
    if agent_seen == GONE:
        return ticket.since
    seen = max(ticket.seen, agent_seen) if ticket.standing else ticket.seen
    return min(seen + ticket.lasts, ticket.until)


def compatible(one: str, other: str) -> bool:
    """Tell whether claims of these modes may overlap."""
    return one == SHARED and other == SHARED


def obstacle(
    request: Request, asked: Pattern, held: Pattern, claim: Claim, seen: float, now: float
) -> Conflict | None:
    """Return how another agent's ``claim`` stands in the way of ``asked``, if it does."""
    if compatible(request.mode, claim.mode):
        return None
    witness = overlap(asked, held)
    left = deadline(claim, seen) - now
    if witness is None or left <= 0:
        return None
    return Conflict(
        asked.text, claim.pattern, claim.agent, claim.mode, claim.reason, claim.task,
        claim.since, left, witness, token=claim.token,
    )  # fmt: skip


def queued_before(
    request: Request, asked: Pattern, waiting: Pattern, ticket: Ticket, own: int, left: float
) -> Conflict | None:
    """Return how another agent's ``ticket`` stands before ``asked``, if it does.

    ``own`` is the number of the requester's ticket, 0 if it has none: then every ticket is earlier.
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
    """Return the circle that closes if ``agent`` waits so, else nothing.

    ``waits_of`` gives what an agent waits for already. Each agent is looked at once.
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


def check_request(request: Request, *, held: int, human: bool, allow_broad: bool) -> None:
    """Refuse a request that is beyond the limits, before anything is looked up."""
    if request.mode not in MODES:
        message = f"{request.mode!r} is no mode of a claim: use exclusive or shared"
        raise BadInput(message[:200], code="MODE", field="mode")
    if not request.patterns:
        raise BadInput("name at least one path or pattern", code="PATH_EMPTY", field="pattern")
    if len(request.patterns) > MAX_PATTERNS:
        message = f"{len(request.patterns)} patterns in one claim: at most {MAX_PATTERNS}"
        raise BadInput(message, code="LIMIT", field="pattern", hint="claim a folder or a glob")
    if held + len(request.patterns) > MAX_CLAIMS_OF_AGENT:
        message = f"{request.agent} holds {held} claims: at most {MAX_CLAIMS_OF_AGENT}"
        raise BadInput(message, code="LIMIT", hint="release some, or claim a folder or a glob")
    if request.mode == EXCLUSIVE and not human and not allow_broad:
        for pattern in request.patterns:
            if not pattern.literal and is_everything(pattern):
                raise NotAllowed(
                    f"{pattern.text} would claim the whole repository",
                    code="GLOB_TOO_BROAD",
                    hint="claim the folders you work in, or set claims.broad = allow",
                )


def fold_duplicates(patterns: Sequence[Pattern]) -> tuple[Pattern, ...]:
    """Return the patterns without those that name the same thing twice, in order."""
    if len(patterns) == 1:
        return tuple(patterns)
    first: dict[str, Pattern] = {}
    for pattern in patterns:
        first.setdefault(pattern.key, pattern)
    return tuple(first.values())


def check_text(text: str, field: str, limit: int = MAX_TEXT) -> str:
    """Return a reason or note with its secrets masked; refuse one that is too long."""
    from dibs.core.text.secrets import storable

    if len(text) > limit:
        message = f"the {field} has {len(text)} characters: at most {limit}"
        raise BadInput(message, code="LIMIT", field=field)
    return storable(text)
