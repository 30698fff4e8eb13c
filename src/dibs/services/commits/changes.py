"""Uncommitted changes by owner, in one working tree or in all of them."""

from __future__ import annotations

from dibs.core.changes.ownership import Dirty, OwnedChanges, What, changed_by, shares
from dibs.core.claims.coverage import Cover, OwnedPattern
from dibs.core.patterns.pattern import matches
from dibs.errors import Unavailable
from dibs.git.snapshot import patch
from dibs.git.state import read_state
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.git.worktrees import entries
from dibs.services.claims.views import held_in
from dibs.services.state.sessions import left_in
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.core.patterns.pattern import Pattern
    from dibs.git.calls import GitCalls
    from dibs.git.status import PathStatus
    from dibs.local.repository import Repository
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store


class Idle(Record):
    """An agent that has claims but no changes."""

    agent: str
    claims: int


class TreeChanges(Record):
    """The uncommitted changes of one working tree; ``wrong`` says why they are unknown."""

    root: str
    branch: str = ""
    agents: tuple[OwnedChanges, ...] = ()
    nobody: tuple[Dirty, ...] = ()
    idle: tuple[Idle, ...] = ()
    wrong: str = ""

    def narrowed(self, agent: str) -> TreeChanges:
        """Return only what belongs to one agent."""
        return self._replace(
            agents=tuple(part for part in self.agents if part.agent == agent),
            nobody=(),
            idle=tuple(idle for idle in self.idle if idle.agent == agent),
        )


class Difference(Record):
    """The changed files of one agent, and their diff against the last commit."""

    agent: str
    files: tuple[Dirty, ...]
    text: bytes


class Changes:
    """Reads uncommitted changes without writing anything, not even an index."""

    def __init__(
        self,
        store: Store,
        repository: Repository,
        writers: Callable[[str, Sequence[str]], dict[str, str]] = lambda *_: {},
    ) -> None:
        """``writers`` returns the agents whose own calls left files of a working tree as they are now."""
        self._store = store
        self._repository = repository
        self._writers = writers

    def here(self) -> TreeChanges:
        """Return the changes in the caller's working tree."""
        return self._of(self._repository.root, self._claims())

    def everywhere(self) -> list[TreeChanges]:
        """Return the changes in each working tree of this clone; a claim is valid in all of them."""
        claims = self._claims()
        found: list[TreeChanges] = []
        for tree in entries(self._git(self._repository.root)):
            if tree.bare:
                continue
            if tree.missing:
                found.append(
                    TreeChanges(tree.path, tree.branch or "HEAD", wrong="its folder is missing")
                )
                continue
            try:
                found.append(self._of(tree.path, claims))
            except Unavailable as error:
                found.append(TreeChanges(tree.path, tree.branch or "HEAD", wrong=error.message))
        return found

    def of(self, agent: str = "", *, everywhere: bool = False) -> list[TreeChanges]:
        """Return the changes here or everywhere, all of them or only those of one agent."""
        found = self.everywhere() if everywhere else [self.here()]
        return [tree.narrowed(agent) for tree in found] if agent else found

    def difference(
        self, agent: str, within: Sequence[Pattern] = (), *, stat: bool = False
    ) -> Difference:
        """Return the diff of the files that ``agent`` has claimed and changed.

        ``within`` limits it to paths that match one of these patterns.
        """
        root = self._repository.root
        seen = self._of(root, self._claims())
        own = next((part.files for part in seen.agents if part.agent == agent), ())
        if within:
            own = tuple(f for f in own if any(matches(p, f"./{f.path}") for p in within))
        git = self._git(root)
        state = read_state(git)
        paths = [file.path for file in own if file.what != What.REPOSITORY]
        return Difference(agent, own, patch(git, state.git_dir, state.head, paths, stat=stat))

    def knows(self, agent: str) -> bool:
        """Return whether an agent with this name has ever joined."""
        return self._store.look(lambda rows: rows.agent(agent) is not None)

    def _git(self, root: str) -> GitCalls:
        return guarded_calls(root, self._repository)

    def _claims(self) -> list[OwnedPattern]:
        def step(rows: Rows) -> list[OwnedPattern]:
            found = ((held, rows.pattern(held.claim.pattern)) for held in held_in(rows))
            return [
                OwnedPattern(held.claim, pattern, held.expires_in, while_running=held.while_running)
                for held, pattern in found
                if not pattern.scheme
            ]

        return self._store.look(step)

    def _known(self, root: str, files: Sequence[Dirty]) -> list[Dirty]:
        """Add who is known to have changed the files."""
        if not files:
            return []
        wrote = self._writers(root, [file.path for file in files])
        left = self._store.look(
            lambda rows: {one.path: one.agent for _, one in left_in(rows, root)}
        )
        return [file._replace(changed_by=changed_by(file.path, wrote, left)) for file in files]

    def _of(self, root: str, claims: Sequence[OwnedPattern]) -> TreeChanges:
        git = self._git(root)
        state = read_state(git)
        found = shares(self._known(root, [*map(dirty_file, changed(git))]), Cover(claims))
        busy = {part.agent for part in found.agents}
        counts: dict[str, int] = {}
        for held in claims:
            if held.claim.agent not in busy:
                counts[held.claim.agent] = counts.get(held.claim.agent, 0) + 1
        idle = tuple(Idle(*about) for about in sorted(counts.items()))
        return TreeChanges(root, state.branch, found.agents, found.nobody, idle)


def dirty_file(change: PathStatus) -> Dirty:
    """Return a changed path as people see it."""
    what = What.MODIFIED
    if change.unmerged:
        what = What.CONFLICT
    elif change.nested:
        what = What.REPOSITORY
    elif change.gone:
        what = What.DELETED
    elif change.new:
        what = What.NEW
    return Dirty(change.path, what, change.staged, change.code[1] != ".")
