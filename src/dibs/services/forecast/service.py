"""Forecast which work would conflict if it were merged now, and notify the agents."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time

from dibs.errors import NotFound
from dibs.git.untrusted import SafeGitPool
from dibs.services.commits.gate import nothing
from dibs.services.forecast.outlook import Outlook
from dibs.services.worktrees.service import Worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.core.changes.forecasts import Forecast, Pair
    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.services.state.store import Store

_FOLDER = "forecast-objects-"
#: A folder of objects that has not changed for this many seconds belongs to a dead process.
_ABANDONED = 86_400.0


class Forecasts:
    """Forecasts for one clone."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self._repository = repository
        self._guard = SafeGitPool(repository)

    @contextlib.contextmanager
    def _outlook(self, base: str) -> Iterator[Outlook]:
        """Open a forecast; ``base`` overrides the integration branch."""
        repository = self._repository
        if not repository.common:
            raise NotFound(
                "this is not a git repository", code="NO_REPO", hint="create one: git init"
            )
        there = os.path.isdir(repository.state)
        if there:
            _clear_abandoned(repository.state)
        folder = tempfile.mkdtemp(prefix=_FOLDER, dir=repository.state if there else None)
        into = base or self._store.config.merge_into
        trees = Worktrees(self._store, repository).all
        try:
            outlook = Outlook(repository, folder, into, git_of=self._git, trees_of=trees)
            with contextlib.closing(outlook):
                yield outlook
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _git(self, tree: str) -> GitCalls:
        return self._guard.calls(tree)

    def once(
        self,
        names: Sequence[str] = (),
        base: str = "",
        progress: Callable[[str, int, int], None] = nothing,
        *,
        lines: bool = False,
    ) -> Forecast:
        """Return a forecast, limited to pairs with one of ``names`` if there are any.

        ``progress`` is called with the current step, and how much of it is done. With ``lines``, the forecast
        has the conflicting lines of both sides.
        """
        with self._outlook(base) as outlook:
            outlook.progress = progress
            found = outlook.look(names)
            return outlook.with_lines(found) if lines else found

    def warn(self, caller: Caller, forecast: Forecast) -> list[Pair]:
        """Record new conflicts in the ledger, notify the agents, and return these conflicts."""
        from dibs.local.repository import clone_id
        from dibs.services.forecast.warnings import warn

        clashes = any(pair.clashes for pair in forecast.pairs)  # without an id, none were recorded
        clone = clone_id(self._repository.state, make=clashes)
        return warn(self._store, caller, forecast, clone)


def _clear_abandoned(state: str) -> None:
    """Remove the objects of dead processes."""
    with os.scandir(state) as entries:
        for entry in entries:
            if entry.name.startswith(_FOLDER) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > _ABANDONED:
                        shutil.rmtree(entry.path, ignore_errors=True)
