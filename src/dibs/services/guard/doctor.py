"""What ``dibs doctor`` looks at in the crew: who is guarded, what nobody holds any more, clocks, versions."""

from __future__ import annotations

import time

from dibs.core.claims.rules import deadline, live
from dibs.core.text.durations import show_span
from dibs.core.text.findings import Finding, Level
from dibs.core.toolcalls.coverage import standings
from dibs.errors import DibsError
from dibs.git.calls import GitCalls, require_version
from dibs.services.claims.agents import Agents
from dibs.services.guard.departures import Departures
from dibs.services.guard.trial_claims import forget, left_behind
from dibs.services.state.ledger import Ledger
from dibs.services.state.own_claims import claims_of
from dibs.services.state.sessions import gone_sessions
from dibs.services.state.worktrees import left_alone
from dibs.services.worktrees.service import Removed, Worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.toolcalls.coverage import GuardStatus
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: How far the store's clock and this machine's may be apart before times on the screen mislead.
_APART = 60.0
#: So many names are told one by one.
_NAMED = 5


class Doctoring:
    """Looks after the crew of one project; ``trees`` are those of the whole clone."""

    def __init__(
        self, store: Store, repository: Repository, trees: Worktrees | None = None
    ) -> None:
        self._store = store
        self._repository = repository
        self._trees = trees

    def trees(self) -> list[str]:
        """Return the folders of the linked working trees that are there."""
        found = self._trees.all() if self._trees is not None else []
        return [tree.path for tree in found if not (tree.main or tree.missing or tree.wrong)]

    def standings(self) -> list[GuardStatus]:
        """Return who was seen guarded, and who wrote without, as far as the ledger goes back."""
        return standings(Ledger(self._store).after(0)[0])

    def inspect(self, version: str, *, wired: bool = False) -> list[Finding]:
        """Return what is to know; nothing is changed. ``wired`` tells that agents are meant to be guarded."""
        return [
            self._versions(version),
            *self._clock(),
            *_guard_findings(self.standings(), wired=wired),
            *self._gone(),
            *self._stale(),
            *self._worktrees(),
        ]

    def repair(self, caller: Caller) -> list[str]:
        """Take off claims that nobody holds any more, and worktrees without work whose agents are gone."""
        left = Departures(self._store, self._repository).gone()
        done = [f"{agent} is ended: its process is gone" for agent in left]
        scratch = forget(self._store, self._repository.state, left_behind(self._store))
        done += [f"{agent} is forgotten: it was made for a proof" for agent in scratch]
        count = Agents(self._store).sweep()
        if count:
            done.append(f"{count} of the claims had run out and are taken off")
        if self._trees is None or not self._orphans():
            return done
        for outcome in self._trees.clean_up(caller):
            if isinstance(outcome, Removed):
                done.append(f"the worktree {outcome.row.path} of {outcome.row.agent} is removed")
        return done

    def _versions(self, version: str) -> Finding:
        import platform

        text = f"dibs {version}, Python {platform.python_version()}"
        if not self._repository.common:
            return Finding(Level.OK, "versions", text)
        git = GitCalls(self._repository.root)
        words = git.run("version").out.decode("utf-8", "replace").split()
        text += f", git {words[2]}" if words[2:] else ", a git that does not tell its version"
        try:
            require_version(git)
        except DibsError as error:
            return Finding(Level.WARN, "versions", f"{text}: {error.message}")
        return Finding(Level.OK, "versions", text)

    def _clock(self) -> list[Finding]:
        before = time.time()
        now = Ledger(self._store).now()
        off = now - (before + time.time()) / 2
        if abs(off) < _APART:
            return []
        side = "ahead of" if off > 0 else "behind"
        text = (
            f"the store's clock is {show_span(abs(off))} {side} this machine's: claims end when they"
            " should, but the times that are shown are the store's"
        )
        return [Finding(Level.WARN, "clock", text)]

    def _gone(self) -> list[Finding]:
        """Tell of agents of this machine whose process has ended without a word."""

        def step(rows: Rows) -> list[tuple[str, int, int]]:
            found = [session for _, session in gone_sessions(rows)]
            return [
                (session.id, session.pid, len(claims_of(rows, session.id))) for session in found
            ]

        return [
            Finding(
                Level.WARN,
                "process",
                f"{agent} (process {pid}) is gone, and {claims} of its claims are left;"
                " they stop nobody, and --fix takes them off",
            )
            for agent, pid, claims in self._store.look(step)
        ]

    def _stale(self) -> list[Finding]:
        """Tell of claims that ran out and that nobody has stumbled over yet."""

        def step(rows: Rows) -> list[tuple[str, str, float]]:
            return [
                (claim.agent, claim.pattern, rows.now - deadline(claim, rows.heard(claim.agent)))
                for _, claim in rows.claims()
                if not live(claim, rows.heard(claim.agent), rows.now)
            ]

        return [
            Finding(
                Level.WARN,
                "claims",
                f"the claim of {agent} on {pattern} ran out {show_span(max(0.0, ago))} ago;"
                " it stops nobody, and --fix takes it off",
            )
            for agent, pattern, ago in self._store.look(step)
        ]

    def _orphans(self) -> list[tuple[str, str, str]]:
        """Return worktrees of agents that are gone, and those whose folder is: agent, path, why."""
        if self._trees is None:
            return []
        found = []
        for tree in self._trees.all():
            row = tree.row
            if tree.main or (row is None and not tree.missing):
                continue
            if tree.missing:
                found.append((tree.agent, tree.path, "its folder is gone"))
            elif row is not None and self._store.look(lambda rows: left_alone(rows, row)):  # noqa: B023
                found.append((tree.agent, tree.path, "its agent is gone"))
        return found

    def _worktrees(self) -> list[Finding]:
        text = "{path} of {agent}: {why}; `dibs worktree gc` removes it unless it holds work"
        plain = "{path}: {why}; `git worktree prune` makes git forget it"
        return [
            Finding(
                Level.WARN,
                "worktree",
                (text if agent else plain).format(path=path, agent=agent, why=why),
            )
            for agent, path, why in self._orphans()
        ]


def _guard_findings(found: list[GuardStatus], *, wired: bool) -> list[Finding]:
    """Tell who works behind a hook; who wrote without one is a warning where hooks are in use."""
    guarded = [one.agent for one in found if one.guarded]
    writers = [one for one in found if one.unguarded_writes]
    told = []
    if guarded:
        told.append(Finding(Level.OK, "guarded", f"seen behind a hook: {_names(guarded)}"))
    if writers:
        level = Level.WARN if wired or guarded else Level.OK
        text = "wrote while no hook of theirs had reported in: " + _names(
            [f"{one.agent} ({_times(one.unguarded_writes)})" for one in writers]
        )
        told.append(Finding(level, "unguarded", text))
    foreign = [f"{one.agent} ({_times(one.foreign)})" for one in found if one.foreign]
    if foreign:
        text = f"changed files of others: {_names(foreign)}; `dibs log --kind foreign_write`"
        told.append(Finding(Level.WARN, "foreign", text))
    return told


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
