"""The Python face of Dibs, for people who write their own agents.

>>> from dibs import Dibs
>>> with Dibs.open(agent="a", engine="memory:") as dibs:
...     with dibs.claim("src/**", reason="rename the parser") as hold:
...         print(hold.claims[0].pattern, hold.claims[0].mode)
src/** exclusive

A claim that somebody else holds is refused with ``Refused``, which carries the answer:

>>> alice = Dibs.open(agent="alice", engine="memory:")
>>> bob = alice.as_agent("bob")
>>> hold = alice.claim("src/auth.py")
>>> try:
...     bob.claim("src/*.py")
... except Refused as refused:
...     print(refused.conflicts[0].holder, refused.conflicts[0].witness)
alice src/auth.py
>>> hold.release()
>>> bob.claim("src/*.py").token > hold.token
True
>>> alice.close()
"""

from __future__ import annotations

import os

from dibs.core.agents import Caller
from dibs.core.claims import EXCLUSIVE, SHARED, Denied, Granted, Queued
from dibs.core.names import check_agent_id
from dibs.errors import DibsError, Fenced
from dibs.identity import acting_agent
from dibs.project import open_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from dibs.core.claims import Ask, Claim, Conflict, Lost
    from dibs.core.ledger import Entry
    from dibs.project import Project
    from dibs.services.claims import Held
    from dibs.services.holdings import Renewed


class Refused(DibsError):
    """Somebody else holds what was asked for. ``answer`` says who, why and until when."""

    code = "HELD"
    retryable = True

    def __init__(self, answer: Denied | Queued) -> None:
        first = answer.conflicts[0]
        super().__init__(
            f"{first.holder} holds {first.held}",
            hint="wait for it, ask for it, or work on something else",
        )
        self.answer = answer

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """What stands in the way."""
        return self.answer.conflicts


class Hold:
    """Granted claims, as a block: leaving it gives them back.

    Work that outlasts the ttl calls ``renew`` now and then; any other call of the same agent
    does as well. ``check`` raises ``Fenced`` once a claim is lost: call it before an effect.
    """

    def __init__(self, dibs: Dibs, granted: Granted) -> None:
        self._dibs = dibs
        self.claims: tuple[Claim, ...] = granted.claims
        self.token: int = granted.token

    def __enter__(self) -> Hold:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.release()
        except Fenced:
            if error is None:
                raise

    def check(self) -> None:
        """Raise ``Fenced`` unless every claim is still held with its token; also a sign of life."""
        for claim in self.claims:
            pattern = self._dibs.project.pattern(claim.pattern)
            holdings = self._dibs.project.holdings
            holdings.renew(self._dibs.caller, [pattern], token=claim.token)

    renew = check

    def release(self) -> None:
        """Give the claims back; ``Fenced`` if one was lost before."""
        for claim in self.claims:
            pattern = self._dibs.project.pattern(claim.pattern)
            holdings = self._dibs.project.holdings
            holdings.release(self._dibs.caller, [pattern], token=claim.token)


class Dibs:
    """One agent's view of a project."""

    def __init__(self, project: Project, caller: Caller) -> None:
        self.project = project
        self.caller = caller

    @classmethod
    def open(
        cls,
        repo: str | os.PathLike[str] = "",
        *,
        agent: str | None = None,
        engine: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Dibs:
        """Open the project of a folder, by default the current one, as ``agent``."""
        variables = os.environ if environ is None else environ
        identity = acting_agent(agent, variables)
        flags = {} if engine is None else {"engine": engine}
        project = open_project(os.fspath(repo), variables, flags)
        return cls(project, Caller(identity.id, "human" if identity.human else "agent"))

    def as_agent(self, agent: str) -> Dibs:
        """Return the same project seen by another agent."""
        return Dibs(self.project, Caller(check_agent_id(agent)))

    def __enter__(self) -> Dibs:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def claim(
        self,
        *patterns: str,
        shared: bool = False,
        ttl: float | str | None = None,
        wait: float | str = 0,
        reason: str = "",
        task: str = "",
        literal: bool = False,
        request_id: str = "",
    ) -> Hold:
        """Claim all of ``patterns`` or none; raise ``Refused`` if somebody is in the way."""
        resolved = [self.project.tree.resolve(text, literal=literal) for text in patterns]
        answer = self.project.claims.claim(
            self.caller, resolved, mode=SHARED if shared else EXCLUSIVE, ttl=ttl, wait=wait,
            reason=reason, task=task, request_id=request_id,
        )  # fmt: skip
        if isinstance(answer, Granted):
            return Hold(self, answer)
        raise Refused(answer)

    def check(self, *patterns: str, shared: bool = False) -> tuple[Conflict, ...]:
        """Return what stands between this agent and ``patterns``; change nothing."""
        resolved = [self.project.tree.resolve(text) for text in patterns]
        return self.project.claims.check(self.caller, resolved, SHARED if shared else EXCLUSIVE)

    def held(self, agent: str = "") -> list[Held]:
        """Return the live claims, of one agent or of everybody."""
        return self.project.claims.all(agent)[0]

    def renew(self, ttl: float | str | None = None) -> Renewed:
        """Give a sign of life for all claims; learn what was lost and who asks."""
        return self.project.holdings.renew(self.caller, ttl=ttl)

    def lost(self) -> list[Lost]:
        """Return the claims that this agent lost without giving them back."""
        return self.project.agents.show(self.caller.id)[1]

    def ask(self, *patterns: str, within: float | str = 300, note: str = "") -> list[Ask]:
        """Ask the holders of ``patterns`` to give them back in time."""
        resolved = [self.project.tree.resolve(text) for text in patterns]
        return self.project.holdings.ask(self.caller, resolved, within=within, note=note)

    def log(self, limit: int = 50) -> list[Entry]:
        """Return the newest entries of the ledger, the oldest of them first."""
        from dibs.services.ledger import Query

        return self.project.ledger.newest(Query(), limit)

    def leave(self) -> None:
        """End this agent's session: everything that it holds is given back."""
        self.project.agents.leave(self.caller)

    def close(self) -> None:
        """Close the project; claims stay until they run out or are given back."""
        self.project.close()
