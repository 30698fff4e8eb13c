"""Typed access to the rows of claims, tickets, and agents.

A ``Rows`` is one transaction's view and contains no rules. The keys are listed in
services/state/keys.py; other kinds of rows have their own modules in this package.
"""

from __future__ import annotations

from dibs.core.claims.agents import Agent, Beat
from dibs.core.claims.ledger import Event
from dibs.core.claims.rules import GONE, Ask, Claim, Lost, Ticket, deadline
from dibs.core.patterns.filing import Range, entry_prefix, ranges
from dibs.core.patterns.pattern import parse
from dibs.core.text.names import cut
from dibs.errors import Unavailable
from dibs.services.state.facts import OutsideFacts, outlives_ttl
from dibs.services.state.keys import AGENT, ASK, AT, BEAT, IN, LEFT, LOST, UNREAD, WAIT
from dibs.startup.quickjson import encoder, quoted, raw_decode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

    from dibs.core.claims.ledger import Entry
    from dibs.core.patterns.pattern import Pattern
    from dibs.engines.base import Txn

_plain, _escaped = encoder(), encoder(ascii_only=True)

#: The maximum length of a ledger entry's summary.
MAX_SUMMARY = 300

#: All rows stored by pattern: claims, and the patterns of tickets.
FILED = (AT, IN)


def encode(value: Any) -> str:
    """Return a record as it is stored; what is not UTF-8, such as a path, is escaped."""
    text = _plain(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _escaped(value)
    return text


def decode(text: str, start: int = 0) -> Any:
    """Return the value of a stored record, without surrounding spaces, or of its part at ``start``."""
    try:
        return raw_decode(text, start)[0]
    except ValueError:
        raise unreadable("", f"it is not JSON: {text[:60]!r}") from None


#: What a person can do about damaged rows.
REMEDY = "a human restores a backup, or starts a new store: dibs init --new-store"


def unreadable(key: str, why: str) -> Unavailable:
    """Return the error for a damaged row; nothing is granted while one may be a claim."""
    row = f"the row {key[:200]!r}" if key else "a row"
    return Unavailable(
        f"cannot read {row} of the store: {why}",
        code="STORE_DAMAGED",
        hint=f"`dibs engine check` lists damaged rows; {REMEDY}",
    )


class FiledRow(Record):
    """A row stored by pattern: a claim, or one pattern of a ticket."""

    key: str
    agent: str
    record: dict[str, Any]

    @property
    def ticket(self) -> int:
        """The ticket's number, or 0 for a claim."""
        number: int = self.record.get("ticket", 0)
        return number


def claim_of(found: FiledRow) -> Claim:
    """Return the claim in a row."""
    return claim_at(found.key, found.record)


def claim_at(key: str, r: dict[str, Any]) -> Claim:
    """Return the claim stored under ``key``; one with impossible values must not count as expired."""
    try:
        claim = Claim(
            key[key.rfind("/") + 1 :], r["pattern"], r["mode"], r["agent"], r["token"],
            r["ttl"], r["since"], r["hard"], r["reason"], r["task"], r.get("tree", ""), r.get("branch", ""),
        )  # fmt: skip
        if claim.ttl > 0 and claim.since >= 0 and claim.hard > 0 and claim.token >= 0:
            return claim
    except (KeyError, TypeError):
        pass
    raise unreadable(key, "it is not a claim")


def filed_record(key: str, value: str) -> dict[str, Any]:
    """Return the record of a row stored by pattern: a claim, or a pattern of a ticket."""
    record = decode(value)
    if type(record) is dict and ("token" in record or "ticket" in record) and value.isascii():
        return record
    from dibs.services.state.damage import why_damaged

    why = why_damaged(key, value)
    if why:
        raise unreadable(key, why)
    found: dict[str, Any] = record
    return found


class Rows:
    """Typed reads and writes of the rows of one transaction."""

    __slots__ = (
        "_beats", "_changed", "_fold", "_is_gone", "_patterns", "_shared", "facts", "newest", "notices",
        "now", "posted", "tree", "turns", "txn",
    )  # fmt: skip

    def __init__(
        self,
        txn: Txn,
        *,
        fold_case: bool,
        facts: OutsideFacts | None = None,
        tree: str = "",
        shared: str = "",
    ) -> None:
        self.txn = txn
        #: The caller's working tree; empty if it has none.
        self.tree = tree
        #: The state folder of this clone, if other clones use the same store.
        self._shared = shared
        self.now = txn.now
        self._fold = fold_case
        self._beats: dict[str, Beat | None] = {}
        self._changed: set[str] = set()
        #: What is known about this machine's processes and working trees, and what this step asks.
        self.facts = facts or OutsideFacts()
        #: The agents that were checked, and whether their processes have ended.
        self._is_gone = dict.fromkeys(self.facts.present, False)
        self._patterns: dict[str, Pattern] = {}
        #: The sequence number of this step's last event, or 0.
        self.newest = 0
        #: Notices to owners and requesters, sent at the end of this step; see services/state/mailbox.py.
        self.notices: dict[tuple[str, str, str, str], list[str]] = {}
        #: Whether a waiter's turn may have come; the store checks it at the end of this step.
        self.turns = False
        #: The event with which messages were last posted, and how many.
        self.posted = (0, 0)

    @property
    def fold_case(self) -> bool:
        """Whether names that differ only in case are the same."""
        return self._fold

    def tree_name(self, root: str) -> str:
        """Return a working tree as claims name it: with the clone's id if clones share the store.

        Two clones, such as in two containers, can have the same path.
        """
        if not self._shared or not root:
            return root
        from dibs.local.repository import clone_id

        return f"{clone_id(self._shared)}:{root}"

    def emit(self, agent: str, role: str, kind: str, summary: str, /, **details: Any) -> int:
        """Append to the ledger and return the entry's number."""
        self.newest = self.txn.emit(Event(agent, role, kind, cut(summary, MAX_SUMMARY), details))
        return self.newest

    def events(
        self,
        after: int = 0,
        *,
        newest_first: bool = False,
        agents: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> Iterator[Entry]:
        """Yield the entries after a number, of some agents or kinds; all if none are named."""
        return self.txn.events(after, newest_first=newest_first, agents=agents, kinds=kinds)

    def flush(self) -> None:
        """Write what is written once per step, however often it changed."""
        if self.notices:
            from dibs.services.state.mailbox import write_notices

            write_notices(self)
        for agent in self._changed:
            beat = self._beats[agent]
            if beat is not None:
                self.txn.put(f"{BEAT}{agent}", beat_record(beat))

    def pattern(self, text: str) -> Pattern:
        """Parse a stored pattern, which is canonical."""
        known = self._patterns.get(text)
        if known is None:
            known = self._patterns[text] = parse(text, fold_case=self._fold)
        return known

    # -- rows stored by pattern

    def near(self, pattern: Pattern) -> Iterator[FiledRow]:
        """Yield every row whose pattern might overlap ``pattern``."""
        for key, value in self.txn.scan(*ranges(pattern)):
            mark = key.rindex("//") + 2
            yield FiledRow(key, key[mark : key.index("/", mark)], filed_record(key, value))

    def claims_under(self, prefix: str) -> list[tuple[str, Claim]]:
        """Return one agent's claims on one pattern, with their keys; ``prefix`` covers both."""
        found = [(key, filed_record(key, value)) for key, value in self.txn.scan((prefix, ""))]
        return [(key, claim_at(key, record)) for key, record in found if "token" in record]

    def of_agent(self, agent: str) -> Iterator[FiledRow]:
        """Yield every claim and ticket pattern of ``agent``."""
        mark = f"//{agent}/"
        for key, value in self.txn.scan(*(Range(prefix, mark) for prefix in FILED)):
            yield FiledRow(key, agent, filed_record(key, value))

    def claims(self, agent: str = "") -> Iterator[tuple[str, Claim]]:
        """Yield the key and claim of every claim, live or expired, of one agent or of all."""
        mark = f"//{agent}/" if agent else ""
        for key, value in self.txn.scan(*(Range(prefix, mark) for prefix in FILED)):
            record = filed_record(key, value)
            if "token" in record:
                yield key, claim_at(key, record)

    def count_filed(self) -> int:
        """Return how many rows are stored by pattern."""
        return sum(1 for _ in self.txn.scan(*(Range(prefix) for prefix in FILED)))

    def is_filed(self, key: str) -> bool:
        """Return whether the claim with this key still exists."""
        return self.txn.get(key) is not None

    def is_anything_at(self, pattern: Pattern) -> bool:
        """Return whether a claim or a ticket is stored under exactly this pattern."""
        return next(iter(self.txn.scan((entry_prefix(pattern), ""))), None) is not None

    def put_claim(self, claim: Claim, pattern: Pattern) -> None:
        """Store ``claim`` under ``pattern``, which is its own."""
        key = f"{entry_prefix(pattern)}{claim.agent}/{claim.id}"
        if pattern.scheme == "task" and pattern.literal:
            from dibs.core.tasks.names import claim_key, name_of

            own = pattern if pattern.text == claim.pattern else self.pattern(claim.pattern)
            key = claim_key(pattern, name_of(own), claim.agent, claim.id)
        self.txn.put(key, claim_record(claim))

    def drop_claim(self, key: str) -> None:
        """Delete the claim with this key."""
        self.txn.delete(key)
        self.turns = True

    # -- tickets

    def ticket(self, number: int) -> Ticket | None:
        """Return the ticket with this number."""
        value = self.txn.get(f"{WAIT}{number:016d}")
        return None if value is None else _ticket(value)

    def tickets(self) -> Iterator[Ticket]:
        """Yield all tickets, earliest first."""
        for _, value in self.txn.scan(Range(WAIT)):
            yield _ticket(value)

    def is_anyone_waiting(self) -> bool:
        """Return whether there is a ticket."""
        return next(iter(self.txn.scan(Range(WAIT))), None) is not None

    def put_ticket(self, ticket: Ticket) -> None:
        """Write ``ticket``; ``file_ticket`` stores its patterns once."""
        record = ticket._asdict()
        self.txn.put(f"{WAIT}{ticket.number:016d}", encode(record))

    def file_ticket(self, ticket: Ticket) -> None:
        """Write ``ticket``, and a row for each of its patterns."""
        self.put_ticket(ticket)
        for key, text in self._entries(ticket):
            entry = {"ticket": ticket.number, "pattern": text, "mode": ticket.mode}
            self.txn.put(key, encode(entry))

    def drop_ticket(self, ticket: Ticket) -> None:
        """Delete ``ticket`` and the rows of its patterns."""
        self.txn.delete(f"{WAIT}{ticket.number:016d}")
        self.turns = True
        for key, _ in self._entries(ticket):
            self.txn.delete(key)

    def _entries(self, ticket: Ticket) -> Iterator[tuple[str, str]]:
        for place, text in enumerate(ticket.patterns):
            prefix = entry_prefix(self.pattern(text))
            yield f"{prefix}{ticket.agent}/t{ticket.number}.{place}", text

    # -- agents

    def beat(self, agent: str) -> Beat | None:
        """Return the heartbeat of ``agent``; None if it never joined or has ended."""
        if agent not in self._beats:
            value = self.txn.get(f"{BEAT}{agent}")
            self._beats[agent] = None if value is None else _beat(agent, value)
        return self._beats[agent]

    def heard(self, agent: str) -> float:
        """Return the last heartbeat of ``agent``, or 0 if it has ended; its process may be dead."""
        beat = self.beat(agent)
        return 0.0 if beat is None else beat.seen

    def active(self, agent: str) -> float:
        """Return when ``agent`` last called, or 0 if it has ended; a server's heartbeat does not count."""
        beat = self.beat(agent)
        return 0.0 if beat is None else beat.active or beat.seen

    def seen(self, agent: str) -> float:
        """Return the last heartbeat of ``agent``, 0 if it has ended, ``GONE`` if its process is dead.

        Every check whether a ticket is live uses this; for claims, there is ``is_live``.
        """
        return GONE if self.is_gone(agent) else self.heard(agent)

    def is_live(self, claim: Claim) -> bool:
        """Return whether ``claim`` has not expired; every check whether a claim is live uses this."""
        return self.now < self.deadline(claim)

    def deadline(self, claim: Claim) -> float:
        """Return when ``claim`` expires, or did, without another heartbeat.

        A claim that covers uncommitted changes outlives its ttl while its process runs.
        """
        ends = deadline(claim, self.seen(claim.agent))
        if ends <= self.now < claim.hard and self.facts.sessions and not self.is_gone(claim.agent):
            return claim.hard if outlives_ttl(self, claim) else ends
        return ends

    def is_while_running(self, claim: Claim) -> bool:
        """Return whether ``claim`` lives on while its process runs, although its agent is idle."""
        seen = GONE if self.is_gone(claim.agent) else self.active(claim.agent)
        return deadline(claim, seen) <= self.now < self.deadline(claim)

    def is_gone(self, agent: str) -> bool:
        """Return whether the process of an agent's session ran on this machine and has ended."""
        if not self.facts.sessions:
            return False
        known = self._is_gone.get(agent)
        if known is None:
            known = self._is_gone[agent] = self._check_process(agent)
        return known

    def _check_process(self, agent: str) -> bool:
        from os.path import isdir

        if not isdir(self.facts.sessions):
            self.facts.sessions = ""
            return False
        from dibs.services.state.sessions import has_ended

        if not has_ended(self, agent):
            return False
        self.facts.dead.add(agent)
        return True

    def assume_present(self, agents: Iterable[str]) -> None:
        """Skip the process check for these agents: they are calling."""
        self._is_gone.update(dict.fromkeys(agents, False))
        self.facts.dead.difference_update(agents)

    def put_beat(self, agent: str, beat: Beat) -> None:
        """Store the heartbeat of ``agent``; ``flush`` writes it."""
        self._beats[agent] = beat
        self._changed.add(agent)

    def drop_beat(self, agent: str) -> None:
        """Delete the heartbeat of ``agent``, which has ended."""
        self._beats[agent] = None
        self.txn.delete(f"{BEAT}{agent}")

    def agent(self, agent: str) -> Agent | None:
        """Return the record of ``agent``."""
        value = self.txn.get(f"{AGENT}{agent}")
        return None if value is None else Agent(**decode(value))

    def agents(self) -> list[Agent]:
        """Return all agents that ever joined and were not deleted."""
        return [Agent(**decode(value)) for _, value in self.txn.scan(Range(AGENT))]

    def put_agent(self, agent: Agent) -> None:
        """Write the record of an agent."""
        self.txn.put(f"{AGENT}{agent.id}", encode(agent._asdict()))

    def drop_agent(self, agent: str) -> None:
        """Delete an agent that has ended."""
        self.txn.delete(f"{AGENT}{agent}")

    # -- notifications to owners

    def lost(self, agent: str) -> Iterator[tuple[str, Lost]]:
        """Yield the key and record of each claim that ``agent`` lost."""
        for key, value in self.txn.scan(Range(f"{LOST}{agent}/")):
            yield key, Lost(**decode(value))

    def lost_at(self, agent: str, pattern: Pattern) -> Lost | None:
        """Return how ``agent`` lost its claim on ``pattern``, if it did."""
        value = self.txn.get(f"{LOST}{agent}/{pattern.key}")
        return None if value is None else Lost(**decode(value))

    def put_lost(self, agent: str, pattern: Pattern, lost: Lost) -> None:
        """Record that ``agent`` lost its claim on ``pattern``."""
        self.txn.put(f"{LOST}{agent}/{pattern.key}", encode(lost._asdict()))

    def drop_lost(self, agent: str, pattern: Pattern) -> None:
        """Delete the record that ``agent`` lost its claim on ``pattern``."""
        self.txn.delete(f"{LOST}{agent}/{pattern.key}")

    def is_anything_left(self) -> bool:
        """Return whether any agent that ended left an uncommitted file."""
        return next(iter(self.txn.scan((LEFT, ""))), None) is not None

    def has_unread(self, agent: str) -> bool:
        """Return whether a message waits for an agent's next briefing."""
        return next(iter(self.txn.scan((f"{UNREAD}{agent}/", ""))), None) is not None

    def drop_losses(self, agent: str) -> None:
        """Delete all records of claims that ``agent`` lost."""
        for key, _ in list(self.lost(agent)):
            self.txn.delete(key)

    def asks(self, holder: str = "") -> Iterator[tuple[str, Ask]]:
        """Yield the key and record of each release request, to one owner or to all."""
        prefix = f"{ASK}{holder}/" if holder else ASK
        for key, value in self.txn.scan(Range(prefix)):
            yield key, Ask(**decode(value))

    def put_ask(self, ask: Ask) -> None:
        """Write a release request; a repeat replaces the earlier one."""
        key = self._ask_key(ask.holder, ask.pattern, ask.asker)
        self.txn.put(key, encode(ask._asdict()))

    def is_asked(self, holder: str, pattern: str, asker: str) -> bool:
        """Return whether ``asker`` has requested exactly this pattern from ``holder``."""
        return self.txn.get(self._ask_key(holder, pattern, asker)) is not None

    def _ask_key(self, holder: str, pattern: str, asker: str) -> str:
        return f"{ASK}{holder}/{self.pattern(pattern).key}//{asker}"


# The two records that every claim writes are encoded directly, which is two to three times as fast
# as the general encoder; a claim has a budget of a few dozen microseconds.


def claim_record(claim: Claim) -> str:
    """Return the stored form of ``claim``: everything except its id, which is in the key."""
    _, pattern, mode, agent, token, ttl, since, hard, reason, task, tree, branch = claim
    where = f',"tree":{quoted(tree)},"branch":{quoted(branch)}' if tree else ""
    return (
        f'{{"pattern":{quoted(pattern)},"mode":"{mode}","agent":"{agent}","token":{token},'
        f'"ttl":{ttl!r},"since":{since!r},"hard":{hard!r},'
        f'"reason":{quoted(reason)},"task":{quoted(task)}{where}}}'
    )


def beat_record(beat: Beat) -> str:
    """Return the stored form of ``beat``: an array of its fields."""
    seen, ttl, hard, claims, lost, role, calls, active, rests = beat
    rest = f",{quoted(calls)}" if calls else ""
    if active or rests:
        rest = f",{quoted(calls)},{active!r},{rests!r}"
    return f"[{seen!r},{ttl!r},{hard!r},{claims},{lost},{quoted(role)}{rest}]"


def _beat(agent: str, value: str) -> Beat:
    """Return a stored heartbeat; one with impossible values must not make claims expire."""
    fields = decode(value)
    try:
        beat = Beat(*fields)
        if type(fields) is list and beat.seen >= 0 and beat.ttl > 0 and beat.hard > 0:
            return beat
    except TypeError:
        pass
    raise unreadable(f"{BEAT}{agent}", "it is not a heartbeat")


def _ticket(value: str) -> Ticket:
    record = decode(value)
    record["patterns"] = tuple(record["patterns"])
    return Ticket(**record)
