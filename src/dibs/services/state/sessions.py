"""Rows of guarded agents: their sessions and processes, and the files they left uncommitted."""

from __future__ import annotations

from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import LeftWork
from dibs.core.patterns.overlap import matches
from dibs.core.text.names import AGENT_ID_CHARACTERS
from dibs.local.processes import is_there, realm
from dibs.services.state.keys import CREW, GUARDED, LEFT, SEAT, SESSION
from dibs.services.state.presence import role_of
from dibs.services.state.rows import decode, encode
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.patterns.pattern import Pattern
    from dibs.services.state.rows import Rows

#: The longest agent text that is used in a key as it is.
PART_MAX = 64
#: Dialects whose hooks an editor starts: a human's terminal has the same parent process.
EDITORS = frozenset({"cursor", "vscode"})


class SessionRow(Record):
    """A session, or a subagent in one."""

    #: The agent's id.
    id: str
    dialect: str = ""
    #: The agent's process; 0 if unknown.
    pid: int = 0
    born: int = 0
    #: The host on which this process id is valid; see ``processes.realm``.
    realm: str = ""
    #: The working tree of the session.
    root: str = ""
    #: For a subagent, the agent of its session.
    parent: str = ""
    #: What it was reminded of at the end of a turn, to avoid repeats.
    told: str = ""
    #: Whether the session has ended with uncommitted files.
    over: bool = False
    #: Whether its context was compacted and it has not been briefed again yet.
    forgot: bool = False
    #: Other working trees that it wrote to.
    also: tuple[str, ...] = ()

    def works_in(self, tree: str) -> bool:
        """Return whether it works in a working tree, or nobody knows in which one."""
        return self.root in {"", tree} or tree in self.also


class UnfinishedFile(Record):
    """Uncommitted content of a file, as it was when it changed owner.

    The record stays until the file has no uncommitted changes, or until they are committed.
    """

    path: str
    #: Its author; empty for a person.
    agent: str
    at: float
    #: The ref of a saved copy, or the ID of one outside git; empty if none could be made.
    salvage: str = ""
    #: The working tree that contains it.
    root: str = ""
    #: How many lines it changes; 0 if unknown.
    lines: int = 0
    #: The agents that were notified of it.
    told: tuple[str, ...] = ()
    #: The machine of the working tree; see ``processes.realm``.
    realm: str = ""
    #: The name of the copy of what its author found; empty for what the last commit had.
    before: str = ""

    def shown(self, now: float, tree: str = "") -> LeftWork:
        """Return what the next owner, who works in ``tree``, must know about it."""
        age, elsewhere = max(0.0, now - self.at), bool(tree) and self.root not in {"", tree}
        return LeftWork(self.path, self.agent, age, self.lines, self.salvage, self.root, elsewhere)


# -- sessions


def session_key(dialect: str, session: str, subagent: str = "") -> str:
    """Return the key of a session, or of a subagent in it."""
    key = f"{SESSION}{_part(dialect)}/{_part(session)}"
    return f"{key}/{_part(subagent)}" if subagent else key


def _part(text: str) -> str:
    """Return an agent's text as part of a key, unchanged if it is short and plain."""
    if 0 < len(text) <= PART_MAX and AGENT_ID_CHARACTERS.issuperset(text):
        return text
    from hashlib import sha256

    return "~" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def get_session(rows: Rows, key: str) -> SessionRow | None:
    """Return the session with this key."""
    value = rows.txn.get(key)
    return None if value is None else _session(value)


def _session(value: str) -> SessionRow:
    session = SessionRow(*decode(value))
    return session._replace(also=tuple(session.also))


def put_session(rows: Rows, key: str, session: SessionRow) -> None:
    """Write a session."""
    rows.txn.put(key, encode(list(session)))
    rows.txn.put(f"{SEAT}{session.id}", encode(key))


def drop_session(rows: Rows, key: str, session: SessionRow) -> None:
    """Delete a session that has ended; keep one that took over its agent."""
    rows.txn.delete(key)
    row = rows.txn.get(f"{SEAT}{session.id}")
    if row is not None and decode(row) == key:
        rows.txn.delete(f"{SEAT}{session.id}")


def sessions(rows: Rows, under: str = SESSION) -> Iterator[tuple[str, SessionRow]]:
    """Yield each session with its key."""
    for key, value in list(rows.txn.scan((under, ""))):
        yield key, _session(value)


def session_of(rows: Rows, agent: str) -> tuple[str, SessionRow] | None:
    """Return the session of an agent, with its key."""
    row = rows.txn.get(f"{SEAT}{agent}")
    if row is None:
        return None
    key = decode(row)
    session = get_session(rows, key)
    return None if session is None or session.id != agent else (key, session)


def is_gone(session: SessionRow, here: str) -> bool:
    """Return whether a session's process has ended; on other machines that is unknown."""
    return bool(session.pid) and session.realm == here and not is_there(session.pid, session.born)


def is_on_this_machine(session: SessionRow) -> bool:
    """Return whether a session's working trees are on this machine, possibly in another container."""
    return _same_machine(session.realm)


def _same_machine(other: str) -> bool:
    there, here = other.split("/"), realm().split("/")
    return there[1:2] == here[1:2] if there[1:] else there == here


def runs_here(session: SessionRow) -> bool:
    """Return whether a session has not ended, and its own process still runs on this machine."""
    return not session.over and has_process(session)


def has_process(session: SessionRow) -> bool:
    """Return whether a session's own process still runs on this machine, even if the session has ended.

    The process of an editor outlives its sessions, so it says nothing about them.
    """
    known = bool(session.pid) and session.dialect not in EDITORS
    return known and session.realm == realm() and is_there(session.pid, session.born)


def gone_sessions(rows: Rows, names: Iterable[str] | None = None) -> list[tuple[str, SessionRow]]:
    """Return the sessions whose process has ended, with their keys; of these agents, or of all."""
    here = realm()
    every = sessions(rows) if names is None else (session_of(rows, name) for name in sorted(names))
    return [found for found in every if found is not None and is_gone(found[1], here)]


def has_ended(rows: Rows, agent: str) -> bool:
    """Return whether an agent ended with the process of its session, which ran on this machine."""
    return bool(gone_sessions(rows, (agent,))) and not is_in_crew(rows, agent)


def is_in_crew(rows: Rows, agent: str) -> bool:
    """Return whether the crew decides when an agent ends: it outlives its sessions and their processes."""
    if rows.txn.get(f"{CREW}{agent}") is None:
        return False  # without an import: most projects have no crew
    from dibs.services.state.serving.crew import get_member

    member = get_member(rows, agent)
    return member is not None and not member.is_over


# -- guarded agents


def record_guarded(rows: Rows, agent: str, dialect: str) -> None:
    """Record that an agent is guarded, also in the ledger."""
    rows.txn.put(f"{GUARDED}{agent}", encode({"at": rows.now, "dialect": dialect}))
    summary = f"{agent}'s tool calls are now guarded ({dialect})"
    rows.emit(agent, role_of(rows, agent), Kind.AGENT_GUARDED, summary, dialect=dialect)


def guarded_since(rows: Rows, agent: str) -> tuple[float, str]:
    """Return when an agent's tool calls were first guarded, and its dialect; 0 for never."""
    value = rows.txn.get(f"{GUARDED}{agent}")
    if value is None:
        return 0.0, ""
    record = decode(value)
    return float(record["at"]), str(record["dialect"])


def is_anyone_guarded(rows: Rows) -> bool:
    """Return whether the tool calls of any agent were ever guarded."""
    return next(iter(rows.txn.scan((GUARDED, ""))), None) is not None


def drop_guarded(rows: Rows, agent: str) -> None:
    """Delete the record that an agent was guarded."""
    rows.txn.delete(f"{GUARDED}{agent}")


# -- uncommitted files of agents that ended


def put_left(rows: Rows, pattern: Pattern, left: UnfinishedFile) -> None:
    """Record uncommitted content: one row for each file, working tree, and author, and what that found."""
    from hashlib import sha256

    about = f"{left.root}\0{left.path}\0{left.before}"
    where = sha256(about.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    rows.txn.put(f"{LEFT}{pattern.key}//{where}/{left.agent}", encode(list(left)))


def _left(value: str) -> UnfinishedFile:
    left = UnfinishedFile(*decode(value))
    return left._replace(told=tuple(left.told)) if left.told else left


def is_left_here(left: UnfinishedFile) -> bool:
    """Return whether the working tree of uncommitted content can be looked at from here."""
    from os.path import isdir

    return (not left.realm or _same_machine(left.realm)) and (not left.root or isdir(left.root))


def drop_left(rows: Rows, keys: Iterable[str]) -> None:
    """Delete the records of uncommitted files."""
    for key in keys:
        rows.txn.delete(key)


def left_in(rows: Rows, root: str) -> Iterator[tuple[str, UnfinishedFile]]:
    """Yield the uncommitted files of a working tree that are recorded, with their keys."""
    for key, left in all_left(rows):
        if left.root in {"", root} and (not left.realm or _same_machine(left.realm)):
            yield key, left


def all_left(rows: Rows) -> Iterator[tuple[str, UnfinishedFile]]:
    """Yield all records of uncommitted content, with their keys."""
    for key, value in rows.txn.scan((LEFT, "")):
        yield key, _left(value)


def left_at(rows: Rows, patterns: Iterable[Pattern]) -> list[tuple[str, UnfinishedFile]]:
    """Return the uncommitted files that match patterns, with their keys."""
    found: dict[str, UnfinishedFile] = {}
    for pattern in patterns:
        if pattern.literal:
            listed = rows.txn.scan((f"{LEFT}{pattern.key}//", ""))
            found |= {key: _left(value) for key, value in listed}
            continue
        for key, left in list(all_left(rows)):
            if matches(pattern, f"./{left.path}"):
                found[key] = left
    return list(found.items())
