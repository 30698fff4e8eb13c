"""What the live view shows, and its actions: from the store, or from the server that DIBS_SERVER names.

Each call of an action opens its own session, so actions and the watching thread share nothing.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from dibs.cli.support.session import Session
from dibs.client.client import Client
from dibs.client.connection import SERVER
from dibs.core.patterns.pattern import parse
from dibs.core.text.names import few
from dibs.errors import DibsError
from dibs.services.state.ledger import Query
from dibs.shapes import alerts, claims, decisions
from dibs.startup.records import Record

if TYPE_CHECKING:
    from argparse import Namespace

Shape = dict[str, Any]
#: How many ledger entries are shown.
NEWEST = 200
#: How many stopped or dead agents are shown.
STOPPED = 5
#: The longest single wait in seconds, so that expiries without an entry are noticed.
SLICE = 2.0
CONFIRMED, REJECTED = "confirmed", "rejected"


class Picture(Record):
    """A project at one moment, as JSON values, and the difference to this machine's clock."""

    status: Shape
    alerts: list[Shape]
    decisions: list[Shape]
    entries: list[Shape]
    #: Seconds that the engine's clock is ahead.
    ahead: float
    #: Why the values may be old; empty if they are current.
    stale: str = ""


class Source(Protocol):
    """Where the view's values come from."""

    #: The name of the project.
    name: str

    def look(self) -> Picture:
        """Return the state now."""

    def wait(self) -> None:
        """Wait until the ledger has grown, for a few seconds at most."""

    def ask(self, pattern: str, note: str) -> str:
        """Ask the owner of a claim to release it; return what happened."""

    def revoke(self, pattern: str, reason: str) -> str:
        """Revoke the claims that overlap a pattern; return what happened."""

    def say(self, to: str, text: str) -> str:
        """Send a message; return what happened."""

    def decide(self, decision: str, outcome: str, reason: str) -> str:
        """Confirm or reject a decision; return what happened."""

    def acknowledge(self, alert: str, reason: str) -> str:
        """Acknowledge an alert; return what happened."""


def open_source(args: Namespace) -> Source:
    """Return the source for a command's arguments and environment."""
    return RemoteSource() if os.environ.get(SERVER) else LocalSource(args)


class LocalSource:
    """The store itself. The thread that looks first is the one that looks always."""

    def __init__(self, args: Namespace) -> None:
        self._args = args
        self._session: Session | None = None
        self._newest = 0
        with Session(args) as session:  # report errors before the screen changes
            self.name = os.path.basename(session.project.place.repository.root)

    def look(self) -> Picture:
        """Return the state now."""
        if self._session is None:
            self._session = Session(self._args)
            self._newest = self._session.project.engine.wait(0, 0)
        project = self._session.project
        taken = project.overview()
        everyone = [*taken.agents, *taken.stopped[-STOPPED:]]
        agents = [{**claims.agent(one), "activity": one.activity(taken.ttl)} for one in everyone]
        return Picture(
            {**claims.overview(taken), "agents": agents},
            [alerts.alert(one) for one in project.alerts.all()],
            [decisions.decision(one) for one in project.decisions.all(pending=True)],
            [claims.entry(entry) for entry in project.ledger.newest(Query(), NEWEST)],
            taken.now - time.time(),
            "" if project.engine.as_of is None else "the remote is unreachable",
        )

    def wait(self) -> None:
        """Wait until the ledger has grown, for a few seconds at most."""
        assert self._session is not None
        self._newest = self._session.project.engine.wait(self._newest, SLICE)

    def ask(self, pattern: str, note: str) -> str:
        """Ask the owner of a claim to release it; return what happened."""
        with Session(self._args) as session:
            found = parse(pattern, fold_case=session.project.tree.fold_case)
            asked = session.project.holdings.ask(session.caller, [found], within="5m", note=note)
        return _asked([one.holder for one in asked], pattern)

    def revoke(self, pattern: str, reason: str) -> str:
        """Revoke the claims that overlap a pattern; return what happened."""
        with Session(self._args) as session:
            found = parse(pattern, fold_case=session.project.tree.fold_case)
            revoked = session.project.holdings.revoke(session.caller, found, reason=reason)
        return _revoked([(one.pattern, one.agent) for one in revoked], pattern)

    def say(self, to: str, text: str) -> str:
        """Send a message; return what happened."""
        with Session(self._args) as session:
            return _said(session.project.mail.say(session.caller, to, text).id, to)

    def decide(self, decision: str, outcome: str, reason: str) -> str:
        """Confirm or reject a decision; return what happened."""
        with Session(self._args) as session:
            service = session.project.decisions
            (made,) = service.decide(session.caller, [decision], outcome, reason)
        return f"{made.outcome} {made.id}: {made.title}"

    def acknowledge(self, alert: str, reason: str) -> str:
        """Acknowledge an alert; return what happened."""
        with Session(self._args) as session:
            (done,) = session.project.alerts.acknowledge(session.caller, [alert], reason)
        return f"acknowledged {done.id}: {done.text}"


class RemoteSource:
    """The server that DIBS_SERVER names. Each call has its own connection."""

    def __init__(self) -> None:
        with Client() as client:
            client.status.show()  # report errors before the screen changes
            self.name = client.address.project or client.address.url
        self._news = threading.Event()
        self._following: threading.Thread | None = None

    def look(self) -> Picture:
        """Return the state now."""
        self._follow()
        with Client() as client:
            found: tuple[Any, Any, Any, Any] = (
                client.status.show(),
                client.alerts.list()["alerts"],
                client.decisions.list(pending=True)["decisions"],
                client.log.list(limit=NEWEST)["entries"][::-1],
            )
        return Picture(*found, found[0]["now"] - time.time())

    def wait(self) -> None:
        """Wait until the ledger has grown, for a few seconds at most."""
        self._news.wait(SLICE)
        self._news.clear()

    def _follow(self) -> None:
        """Follow the server's events in a thread."""
        if self._following is None or not self._following.is_alive():
            self._following = threading.Thread(target=self._listen, daemon=True)
            self._following.start()

    def _listen(self) -> None:
        try:
            for _ in Client().events():
                self._news.set()
        except DibsError:
            return  # the next look reports why

    def ask(self, pattern: str, note: str) -> str:
        """Ask the owner of a claim to release it; return what happened."""
        with Client() as client:
            asked = client.claims.ask(patterns=[pattern], within="5m", note=note)["asked"]
        return _asked([one["holder"] for one in asked], pattern)

    def revoke(self, pattern: str, reason: str) -> str:
        """Revoke the claims that overlap a pattern; return what happened."""
        with Client() as client:
            revoked = client.claims.revoke(pattern=pattern, reason=reason)["revoked"]
        return _revoked([(one["pattern"], one["agent"]) for one in revoked], pattern)

    def say(self, to: str, text: str) -> str:
        """Send a message; return what happened."""
        with Client() as client:
            return _said(client.messages.send(to=to, text=text)["id"], to)

    def decide(self, decision: str, outcome: str, reason: str) -> str:
        """Confirm or reject a decision; return what happened."""
        with Client() as client:
            call = client.decisions.confirm if outcome == CONFIRMED else client.decisions.reject
            made = call(ids=[decision], reason=reason)["decided"][0]
        return f"{made['outcome']} {made['id']}: {made['title']}"

    def acknowledge(self, alert: str, reason: str) -> str:
        """Acknowledge an alert; return what happened."""
        with Client() as client:
            client.alerts.acknowledge(alert, reason=reason)
        return f"acknowledged {alert}"


def _asked(holders: list[str], pattern: str) -> str:
    if not holders:
        return f"no one else holds {pattern}"
    return f"asked {few(holders)} to release {pattern}"


def _revoked(revoked: list[tuple[str, str]], pattern: str) -> str:
    if not revoked:
        return f"no one holds {pattern} anymore"
    return "revoked " + few([f"{what} from {agent}" for what, agent in revoked])


def _said(message: str, to: str) -> str:
    return f"sent {message} to {to}"
