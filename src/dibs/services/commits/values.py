"""Requests for scoped commits, and their results."""

from __future__ import annotations

import os

from dibs.core.claims.coverage import BlockReason, inherited_lines, inherited_path
from dibs.core.claims.rules import view_command
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
    from dibs.services.commits.scope import ClaimsNow, Origin

#: The most unclaimed files in a result.
NEARBY = 20
#: The error codes of some reasons; of others, it is ``SCOPE``.
CODES = {BlockReason.UNDOES: "UNDOES", BlockReason.INHERITED: "INHERITED"}


class Inherited(Record):
    """Another author's lines in a file that a commit lands."""

    path: str
    #: Their author; empty for a person.
    agent: str
    #: How many lines; 0 if unknown.
    lines: int = 0
    #: The name of a copy; empty if there is none.
    copy: str = ""


class Foreign(Record):
    """Another agent's lines that are in the source of a commit and not in the last one."""

    about: Inherited
    #: The agent's lines, and those that the caller added to the same file.
    theirs: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()

    @property
    def blocked(self) -> Blocked:
        """The refusal of the path."""
        path, agent, lines, copy = self.about
        found = inherited_path(path, agent, view_command(copy, path), lines)
        return found._replace(landed=self.theirs, yours=self.yours)


class Leftovers(Record):
    """The other authors' lines that a commit would land."""

    foreign: tuple[Foreign, ...] = ()
    #: People's lines, which are never refused.
    persons: tuple[Inherited, ...] = ()
    #: The former paths of files that the commit renames.
    moved: tuple[str, ...] = ()

    @property
    def blocked(self) -> list[Blocked]:
        """The refusal of each path with another agent's lines."""
        return [one.blocked for one in self.foreign]

    @property
    def included(self) -> tuple[Inherited, ...]:
        """What a commit includes if it is made anyway."""
        return (*(one.about for one in self.foreign), *self.persons)


class CommitRequest(Record):
    """What an agent wants to commit."""

    #: The message, not yet checked.
    message: str
    #: Only files that match these; empty for all that the agent holds.
    patterns: tuple[Pattern, ...] = ()
    #: Existing files, spelled as on disk.
    names: tuple[str, ...] = ()
    release: bool = False
    #: Run the hooks that can refuse the commit.
    verify: bool = True
    request_id: str = ""
    task: str = ""
    #: Include other agents' lines that are in no commit.
    inherited: bool = False
    #: Commit even if it undoes what others committed since the agent read the file.
    anyway: bool = False

    @property
    def fingerprint(self) -> str:
        """A text that is the same for identical requests."""
        return "\n".join(("commit", *self.names, *(p.key for p in self.patterns), "", self.message))

    @property
    def narrowed(self) -> bool:
        """Whether the request is limited to some of the agent's files."""
        return bool(self.patterns or self.names)


class CommitPlan(Record):
    """The files that a commit includes, and the other changes."""

    state: TreeState
    changes: tuple[PathStatus, ...]
    sorted: Sorted
    standing: ClaimsNow
    chosen: tuple[PathStatus, ...]
    #: Records of uncommitted content in the files that the caller may commit, by path, oldest first.
    older: dict[str, list[Origin]] = {}  # noqa: RUF012

    @property
    def ref(self) -> str:
        """The ref to move: ``refs/heads/x``, or ``HEAD`` when it is detached."""
        return self.state.ref or "HEAD"


class File(Record):
    """A file in a commit, and how it changed: ``new``, ``changed``, or ``deleted``."""

    path: str
    what: str


class Committed(Record):
    """A commit that landed, or would land."""

    #: Empty for a trial.
    commit: str
    #: ``refs/heads/x``, or ``HEAD`` when it is detached.
    ref: str
    files: tuple[File, ...]
    #: Files that the agent claimed by name and did not change.
    unchanged: tuple[str, ...] = ()
    #: Those of them that git ignores: they may have changed.
    ignored: tuple[str, ...] = ()
    #: Deleted files that are still on disk: they were removed from git's index, and git ignores them.
    on_disk: tuple[str, ...] = ()
    #: Unclaimed changed files in the folders of the commit; new ones first.
    nobody: tuple[File, ...] = ()
    #: The number of other unclaimed changed files.
    elsewhere: int = 0
    #: Changed files that other agents hold.
    others: tuple[Blocked, ...] = ()
    released: tuple[Claim, ...] = ()
    #: The ledger entry, or 0 if it is not written yet.
    seq: int = 0
    #: Whether this is the result of an earlier request with the same ID.
    repeated: bool = False
    #: Whether a claim expired at the moment the branch moved.
    late: bool = False
    #: Lines of other agents or people that were in no commit, and that this one includes.
    included: tuple[Inherited, ...] = ()

    @property
    def branch(self) -> str:
        """The branch's short name."""
        return self.ref.removeprefix("refs/heads/")


class CommitDenied(Record):
    """A refused commit: the blocked paths, or the hook that failed."""

    blocked: tuple[Blocked, ...] = ()
    #: The hook that failed, if that was the reason.
    hook: str = ""

    @property
    def code(self) -> str:
        """The error code of the reason."""
        if self.hook:
            return "HOOK_REFUSED"
        return CODES.get(self.blocked[0].why, "SCOPE")

    def advised(self, form: str) -> CommitDenied:
        """Return it with how to commit other agents' lines, in the form of the surface that asked."""
        return self._replace(
            blocked=tuple(
                item._replace(hint=f"{item.hint}; to commit both: {form}")
                if item.why == BlockReason.INHERITED
                else item
                for item in self.blocked
            )
        )

    @property
    def reason(self) -> str:
        """The reason in a few words, with the first path."""
        if self.hook and not self.blocked:
            return f"the {self.hook} hook failed"
        first = self.blocked[0]
        by = f" by {first.holder}" if first.why == BlockReason.HELD else ""
        more = f", and {len(self.blocked) - 1} more" if len(self.blocked) > 1 else ""
        if first.why == BlockReason.DROPPED:
            return f"the {self.hook} hook staged {shown(first.path)} without lines that have landed{more}"
        if first.why == BlockReason.INHERITED:
            return f"in {shown(first.path)}, {inherited_lines(first)}{more}"
        if first.why == BlockReason.UNDOES:
            return (
                f"it would undo {first.commit[:10]} by {first.holder} in {shown(first.path)}{more}"
            )
        return f"{shown(first.path)} is {first.why}{by}{more}"


def files_of(changes: Iterable[PathStatus | TreeChange]) -> Iterator[File]:
    """Yield how a commit changes each file."""
    for change in changes:
        if isinstance(change, PathStatus):
            new, gone = change.new, change.gone or change.code == "D."
        else:
            new, gone = change.old_mode == ABSENT and not change.gone, change.gone
        yield File(change.path, "new" if new else "deleted" if gone else "changed")


def about(plan: CommitPlan, changes: Iterable[PathStatus | TreeChange]) -> Committed:
    """Return the result of committing ``changes``, including what it says about other files."""
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
        "", plan.ref, files, unchanged, nobody=told, elsewhere=len(found.nobody) - len(told),
        others=found.others,
    )  # fmt: skip
