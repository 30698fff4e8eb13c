"""Check the crew for ``dibs doctor``: guarded agents, leftover claims and worktrees, clocks, versions."""

from __future__ import annotations

import time

from dibs.core.claims.ledger import Kind
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
from dibs.services.state.worktrees import is_abandoned
from dibs.services.worktrees.service import KeptWorktree, Removed, Worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.core.toolcalls.coverage import GuardStatus
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The difference between the store's clock and this machine's that makes shown times misleading, in seconds.
_APART = 60.0
#: How many ledger entries are searched for unguarded writes.
_RECENT = 10_000
#: How many names are listed.
_NAMED = 5
_SALVAGE = "dibs worktree gc --salvage"


class Doctoring:
    """Check and repair the crew of one project; ``trees`` are the worktrees of the whole clone."""

    def __init__(
        self, store: Store, repository: Repository, trees: Worktrees | None = None
    ) -> None:
        self._store = store
        self._repository = repository
        self._trees = trees

    def trees(self) -> list[str]:
        """Return the folders of the linked worktrees that exist."""
        found = self._trees.all() if self._trees is not None else []
        return [tree.path for tree in found if not (tree.main or tree.missing or tree.wrong)]

    def standings(self) -> list[GuardStatus]:
        """Return which agents were guarded, and which wrote unguarded recently."""
        guards = (Kind.AGENT_GUARDED, Kind.SUB_AGENT_SPAWNED)
        return standings(Ledger(self._store).recent(_RECENT, guards))

    def inspect(self, version: str, *, wired: bool = False) -> list[Finding]:
        """Return findings; change nothing. ``wired`` says that agents are supposed to be guarded."""
        return [
            self._versions(version),
            *self._clock(),
            *_guard_findings(self.standings(), wired=wired),
            *self._gone(),
            *self._stale(),
            *self._worktrees(),
        ]

    def repair(self, caller: Caller) -> list[str]:
        """Remove claims of dead agents, and their worktrees if they contain no work; say what was done."""
        left = Departures(self._store, self._repository).gone()
        done = [f"ended {agent}: its process is dead" for agent in left]
        scratch = forget(self._store, self._repository.state, left_behind(self._store))
        done += [f"removed {agent}: left behind by a guard test" for agent in scratch]
        count = Agents(self._store).sweep()
        if count:
            done.append(f"removed {count} expired claim{'' if count == 1 else 's'}")
        if self._trees is None or not self._orphans():
            return done
        for outcome in self._trees.clean_up(caller):
            tree = f"{outcome.row.agent}'s worktree {outcome.row.path}"
            if isinstance(outcome, Removed):
                done.append(f"removed {tree}")
            elif isinstance(outcome, KeptWorktree):
                held = ", ".join(map(str, outcome.held))
                done.append(f"kept {tree} ({held}); to save and remove it: {_SALVAGE}")
        return done

    def _versions(self, version: str) -> Finding:
        import platform

        text = f"dibs {version}, Python {platform.python_version()}"
        if not self._repository.common:
            return Finding(Level.OK, "versions", text)
        git = GitCalls(self._repository.root)
        words = git.run("version").out.decode("utf-8", "replace").split()
        text += f", git {words[2]}" if words[2:] else ", git of unknown version"
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
            f"the store's clock is {show_span(abs(off))} {side} this machine's clock: claims expire"
            " on time, but the times that Dibs shows are the store's; synchronize the clocks"
        )
        return [Finding(Level.WARN, "clock", text)]

    def _gone(self) -> list[Finding]:
        """Report agents of this machine whose process is dead."""

        def step(rows: Rows) -> list[tuple[str, int, int]]:
            found = [session for _, session in gone_sessions(rows)]
            return [
                (session.id, session.pid, len(claims_of(rows, session.id))) for session in found
            ]

        return [
            Finding(
                Level.WARN,
                "process",
                f"{agent} (process {pid}) is dead; its {claims} claim{'' if claims == 1 else 's'}"
                f" block{'s' if claims == 1 else ''} no one (to remove: `dibs doctor --fix`)",
            )
            for agent, pid, claims in self._store.look(step)
        ]

    def _stale(self) -> list[Finding]:
        """Report expired claims that are still in the store."""

        def step(rows: Rows) -> list[tuple[str, str, float]]:
            return [
                (claim.agent, claim.pattern, rows.now - rows.deadline(claim))
                for _, claim in rows.claims()
                if not rows.is_live(claim) and not rows.is_gone(claim.agent)
            ]

        return [
            Finding(
                Level.WARN,
                "claims",
                f"{agent}'s claim on {pattern} expired {show_span(round(max(0.0, ago)))} ago;"
                " it blocks no one, and `dibs doctor --fix` removes it",
            )
            for agent, pattern, ago in self._store.look(step)
        ]

    def _orphans(self) -> list[tuple[str, str, str]]:
        """Return orphaned worktrees and those without a folder: agent if Dibs created it, path, why."""
        if self._trees is None:
            return []
        found = []
        for tree in self._trees.all():
            row = tree.row
            if tree.main or (row is None and not tree.missing):
                continue
            if tree.missing:
                found.append((row.agent if row else "", tree.path, "its folder is missing"))
            elif row is not None and self._store.look(lambda rows: is_abandoned(rows, row)):  # noqa: B023
                found.append((tree.agent, tree.path, "its agent is dead"))
        return found

    def _worktrees(self) -> list[Finding]:
        text = (
            "{agent}'s worktree {path}: {why}; `dibs worktree gc` removes it unless it contains work,"
            f" `{_SALVAGE}` also saves that work"
        )
        plain = "{path}: {why}; `git worktree prune` removes it from git's list"
        return [
            Finding(
                Level.WARN,
                "worktree",
                (text if agent else plain).format(path=path, agent=agent, why=why),
            )
            for agent, path, why in self._orphans()
        ]


def _guard_findings(found: list[GuardStatus], *, wired: bool) -> list[Finding]:
    """Report guarded agents; unguarded writers are a warning if hooks are in use."""
    guarded = [one.agent for one in found if one.guarded]
    writers = [one for one in found if one.unguarded_writes]
    told = []
    if guarded:
        told.append(
            Finding(Level.OK, "guarded", f"agents whose hook reported in: {_names(guarded)}")
        )
    if writers:
        level = Level.WARN if wired or guarded else Level.OK
        names = _names([f"{one.agent} ({_times(one.unguarded_writes)})" for one in writers])
        text = (
            f"wrote before a hook reported in, so nothing could block them: {names};"
            " `dibs doctor --prove` tests the hooks"
        )
        told.append(Finding(level, "unguarded", text))
    foreign = [f"{one.agent} ({_times(one.foreign)})" for one in found if one.foreign]
    if foreign:
        text = f"changed files that others hold: {_names(foreign)}; see `dibs log --kind foreign_write`"
        told.append(Finding(Level.WARN, "foreign", text))
    return told


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
