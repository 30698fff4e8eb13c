"""What a scoped commit is asked for, and what it answers."""

from __future__ import annotations

import os

from dibs.core.patterns.pattern import matches
from dibs.core.text.names import shown
from dibs.git.objects import ABSENT
from dibs.git.status import PathStatus
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.core.claims.coverage import Blocked, Sorted
    from dibs.core.claims.rules import Claim
    from dibs.core.patterns.pattern import Pattern
    from dibs.git.state import TreeState
    from dibs.git.trees import TreeChange
    from dibs.services.commits.scope import ClaimsNow

#: How many unclaimed files an answer names.
NEARBY = 20


class CommitRequest(Record):
    """What an agent wants to commit."""

    #: The message, not yet checked.
    message: str
    #: Only files that these match; empty for all that the agent holds.
    patterns: tuple[Pattern, ...] = ()
    #: Files that were named as they are spelled on disk.
    names: tuple[str, ...] = ()
    release: bool = False
    #: Whether the user's hooks run that may refuse.
    verify: bool = True
    request_id: str = ""
    task: str = ""

    @property
    def fingerprint(self) -> str:
        """The text that two requests share if they ask for the same."""
        return "\n".join(("commit", *self.names, *(p.key for p in self.patterns), "", self.message))

    @property
    def narrowed(self) -> bool:
        """Whether only some of the agent's files are meant."""
        return bool(self.patterns or self.names)


class CommitPlan(Record):
    """What a commit takes, and what else is changed."""

    state: TreeState
    changes: tuple[PathStatus, ...]
    sorted: Sorted
    standing: ClaimsNow
    chosen: tuple[PathStatus, ...]

    @property
    def ref(self) -> str:
        """The ref that is to move: ``refs/heads/x``, or ``HEAD`` when it is detached."""
        return self.state.ref or "HEAD"


class File(Record):
    """A file of a commit, and what happened to it: ``new``, ``changed`` or ``deleted``."""

    path: str
    what: str


class Committed(Record):
    """The answer to a commit that landed, or would land."""

    #: Empty for a trial.
    commit: str
    #: ``refs/heads/x``, or ``HEAD`` when it is detached.
    ref: str
    files: tuple[File, ...]
    #: What the agent claims by name and did not change.
    unchanged: tuple[str, ...] = ()
    #: Changed files that nobody holds, in the folders of the commit; new ones first.
    nobody: tuple[File, ...] = ()
    #: How many more of them there are elsewhere.
    elsewhere: int = 0
    #: Changed files that others hold.
    others: tuple[Blocked, ...] = ()
    released: tuple[Claim, ...] = ()
    #: The ledger's entry; 0 where the store could not be told yet.
    seq: int = 0
    #: Whether this is the answer to an earlier request with the same id.
    repeated: bool = False
    #: Whether a claim ran out in the moment in which the branch moved.
    late: bool = False

    @property
    def branch(self) -> str:
        """The branch's short name."""
        return self.ref.removeprefix("refs/heads/")


class CommitDenied(Record):
    """The answer to a refused commit: why, path by path, or which hook refused it."""

    blocked: tuple[Blocked, ...] = ()
    #: The hook that refused, where it was one.
    hook: str = ""

    @property
    def code(self) -> str:
        """The stable name of the reason."""
        return "HOOK_REFUSED" if self.hook else "SCOPE"

    @property
    def reason(self) -> str:
        """The reason in a few words, with the first path."""
        if self.hook:
            return f"the {self.hook} hook said no"
        more = f" and {len(self.blocked) - 1} more" if len(self.blocked) > 1 else ""
        return f"{shown(self.blocked[0].path)} is {self.blocked[0].why}{more}"


def files_of(changes: Iterable[PathStatus | TreeChange]) -> Iterator[File]:
    """Yield what a commit does to each file."""
    for change in changes:
        if isinstance(change, PathStatus):
            new, gone = change.new, change.gone or change.code == "D."
        else:
            new, gone = change.old_mode == ABSENT and not change.gone, change.gone
        yield File(change.path, "new" if new else "deleted" if gone else "changed")


def about(plan: CommitPlan, changes: Iterable[PathStatus | TreeChange]) -> Committed:
    """Return the answer to a commit of ``changes``, with what it says about other files."""
    files = tuple(files_of(changes))
    found = plan.sorted
    by_path = {change.path: change for change in plan.changes}
    unchanged = tuple(
        shown(held.pattern.path)
        for held in plan.standing.own
        if held.pattern.literal and not any(matches(held.pattern, f"./{path}") for path in by_path)
    )
    folders = {os.path.dirname(file.path) for file in files}
    near = [path for path in found.nobody if os.path.dirname(path) in folders]
    near.sort(key=lambda path: (not by_path[path].new, path))
    told = tuple(files_of(by_path[path] for path in near[:NEARBY]))
    return Committed(
        "", plan.ref, files, unchanged, told, len(found.nobody) - len(told), found.others
    )  # fmt: skip
