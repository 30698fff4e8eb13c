"""Distinguish two live processes with one ``DIBS_AGENT`` that use the same path."""

from __future__ import annotations

import os

from dibs.core.claims.rules import EXCLUSIVE
from dibs.core.patterns.overlap import overlap
from dibs.core.text.names import few, printable
from dibs.errors import NotAllowed
from dibs.local import namesakes
from dibs.local.identity import VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from dibs.cli.support.session import Session
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.local.processes import RunningProcess


def is_named(session: Session, args: Namespace) -> bool:
    """Return whether only ``DIBS_AGENT`` says who acts; ``--agent`` is a decision of its own."""
    named = os.environ.get(VARIABLE, "")
    return args.agent is None and bool(named) and session.caller.id == named


class Namesakes:
    """The other live processes with the caller's name."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._agent = session.caller.id
        self._state = session.project.place.repository.state
        self._own = namesakes.process_named(self._agent, VARIABLE)

    def refuse(self, patterns: Sequence[Pattern], what: str) -> None:
        """Refuse to act on patterns that overlap another process's claim."""
        project = self._session.project
        for claim, process in self.claims():
            held = project.pattern(claim.pattern)
            if any(overlap(pattern, held) is not None for pattern in patterns):
                raise self._refusal([claim.pattern], process, what)

    def claims(self) -> list[tuple[Claim, RunningProcess]]:
        """Return the exclusive claims of other processes."""
        tokens = {} if self._own is None else namesakes.others(self._state, self._agent, self._own)
        if not tokens:
            return []
        held = (one.claim for one in self._session.project.overview(self._agent).claims)
        return [
            (claim, tokens[claim.token])
            for claim in held
            if claim.token in tokens and claim.mode == EXCLUSIVE
        ]

    def record(self, claims: Iterable[Claim]) -> None:
        """Record new grants; refuse if another process made the same grant in the meantime."""
        if self._own is None:
            return
        tokens = {claim.token for claim in claims if claim.mode == EXCLUSIVE}
        for token in tokens:
            namesakes.note(self._state, self._agent, token, self._own)
        found = namesakes.others(self._state, self._agent, self._own)
        for token in tokens.intersection(found):
            namesakes.forget(self._state, self._agent, token, self._own)
            paths = [claim.pattern for claim in claims if claim.token == token]
            raise self._refusal(paths, found[token], "claim")

    def _refusal(self, paths: list[str], process: RunningProcess, what: str) -> NotAllowed:
        name = self._agent
        return NotAllowed(
            f"{what} refused: another live process named {name}, {process}, holds "
            f"{printable(few(paths))}",
            code="AGENT_SHARED",
            hint=f"choose another name: export {VARIABLE}={name}-2; if both are you, use --agent {name}",
        )
