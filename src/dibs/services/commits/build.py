"""Build a commit off the branch, so that it cannot contain anyone else's changes.

The short way is one ``git commit --only`` in a private git directory: git hashes the files, writes the trees
and the commit, and updates a copy of the shared index, all in one process. The long way takes these steps one
by one in a private index, with the user's hooks in between; it also handles what the short way cannot (a
branch without commits, a file that became a folder, entries in conflict). Both results are checked the same.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat

from dibs.core.changes.trailers import signed
from dibs.core.claims.coverage import dropped_path, staged_by, uncovered
from dibs.core.text.names import printable, shown
from dibs.errors import Misconfigured, NotFound, Unavailable
from dibs.git.calls import rows_of
from dibs.git.trees import differences, write_entries
from dibs.local.files import read_file
from dibs.services.commits.keep import DroppedLines, keep_files
from dibs.services.commits.private_index import (
    PATIENCE,
    add,
    fill,
    private_directory,
    stats,
)
from dibs.services.commits.user_hooks import HookRefused
from dibs.services.commits.values import Leftovers
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.git.untrusted import SafeGit
    from dibs.services.commits.keep import Kept
    from dibs.services.commits.private_index import Stat
    from dibs.services.commits.user_hooks import UserHooks
    from dibs.services.commits.values import CommitPlan, CommitRequest

_NO_IDENTITY = (
    "Please tell me",
    "empty ident name",
    "auto-detect",
    "invalid ident",
    "ident name",
    "disallowed characters",
)
#: How often to stage the files again when they change on disk meanwhile.
TRIES = 3


class CommitJob(Record):
    """A commit that is being built, with everything that its steps need."""

    git: SafeGit
    caller: Caller
    request: CommitRequest
    plan: CommitPlan
    #: The path of its private index.
    private: str
    hooks: UserHooks
    #: The signing option for ``commit-tree``, if any.
    sign: tuple[str, ...]
    #: Whether the caller may not commit files that configure tools.
    guards: bool

    def uncovered(self, changes: Iterable[TreeChange]) -> list[Blocked]:
        """Return the changed paths that the caller may not commit."""
        paths = [change.path for change in changes]
        return uncovered(self.caller.id, paths, self.plan.standing.cover, guards=self.guards)

    def signed(self, message: str, paths: Iterable[str], left: Leftovers) -> str:
        """Return the message with the trailers that name the claims on ``paths``, and authors in ``left``."""
        cover, named = self.plan.standing.cover, set(paths)
        found = (cover.exclusive(self.caller.id, path) for path in sorted(named))
        covering = {held.claim.id: held.claim for held in found if held is not None}
        authors = {one.about.agent for one in left.foreign}
        return signed(message, self.caller.id, covering.values(), self.request.task, authors)


class ReadyCommit(Record):
    """A checked commit that is not on a branch yet."""

    commit: str
    #: Its tree and its parent, and how they differ.
    kept: Kept
    message: str
    #: The files' stats when they were read.
    stats: dict[str, Stat | None]
    #: Whether the commit has the files' content on disk; a hook may have staged something else.
    as_on_disk: bool
    #: An index that already contains the commit, and the stat of the shared index that it is based on.
    new_index: str = ""
    made_from: Stat | None = None
    #: Other authors' lines that it includes.
    left: Leftovers = Leftovers()

    @property
    def parent(self) -> str:
        """Its parent; empty for the first commit."""
        return self.kept.parents[0] if self.kept.parents else ""

    @property
    def changes(self) -> tuple[TreeChange, ...]:
        """How it differs from its parent."""
        return self.kept.changes

    @property
    def paths(self) -> list[str]:
        """The paths that it changes."""
        return [change.path for change in self.changes]


def build(job: CommitJob) -> ReadyCommit | list[Blocked]:
    """Build the planned commit, or return the paths that the caller may not commit.

    Raises:
        HookRefused: a user's hook failed, or staged a file without lines that have landed.
        DroppedLines: the commit would lack such lines, which is a bug.
    """
    paths = [change.path for change in job.plan.chosen]
    for _ in range(TRIES):
        before = stats(job.git.tree, paths)
        try:
            return (_short(job, before) if can_be_short(job) else None) or _long(job, before)
        except DroppedLines as dropped:
            changed = [path for path in dropped.found if _differs(job.git.tree, path, before)]
            if not changed:
                raise
    raise unsteady(changed[0])


def unsteady(path: str) -> Unavailable:
    """Return the error for a file that changes while it is committed."""
    return Unavailable(
        f"nothing was committed: {shown(path)} kept changing on disk during the commit",
        code="CONFLICT",
        hint="your changes are safe; commit again when no program writes to it",
    )


def _differs(tree: str, path: str, before: Mapping[str, Stat | None]) -> bool:
    return path not in before or stats(tree, [path])[path] != before[path]


# -- the short way


def can_be_short(job: CommitJob) -> bool:
    """Return whether no hook can interfere and git commits plain files as they are on disk."""
    plan, tree = job.plan, job.git.tree
    if plan.older or job.hooks.have_a_say(verify=job.request.verify):
        return False
    if job.git.reading.conditional:  # conditional includes may differ in a private git directory
        return False
    if plan.state.unborn or any(change.unmerged for change in plan.changes):
        return False
    for change in plan.chosen:
        place = os.path.join(tree, change.path)
        if change.code[0] == "D" and os.path.lexists(place):
            return False
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(place).st_mode):
                return False
    return True


def _short(job: CommitJob, before: dict[str, Stat | None]) -> ReadyCommit | None:
    """Commit in one step; return None, with nothing changed, if git cannot do it."""
    check_identity(os.environ.items())
    state, place = job.plan.state, f"{job.private}.d"
    chosen = [change.path for change in job.plan.chosen]
    text = job.signed(job.request.message, chosen, Leftovers())
    shutil.rmtree(place, ignore_errors=True)  # of an earlier try
    made_from = private_directory(state, place)
    new_index = os.path.join(place, "index")
    if not _commit_in(job, place, new_index, chosen, text):
        return None
    commit = read_file(os.path.join(place, "HEAD")).decode("ascii", "replace").strip()
    if commit == state.head:
        return None
    changes = tuple(differences(job.git, state.head, commit))
    # A file without differences is not in the commit, so its claim does not belong in the message.
    named = job.signed(job.request.message, (c.path for c in changes), Leftovers())
    if named != text or job.uncovered(changes):
        return None
    kept = keep_files(job.git, state.head, commit, new_index, changes)
    return ReadyCommit(commit, kept, text, before, True, new_index, made_from)


def _commit_in(job: CommitJob, place: str, index: str, chosen: list[str], text: str) -> bool:
    """Run ``git commit --only`` in a private git directory; return whether it succeeded."""
    variables = {
        "GIT_DIR": place, "GIT_COMMON_DIR": job.plan.state.common, "GIT_WORK_TREE": job.git.tree,
        "GIT_INDEX_FILE": index, **_dates(),
    }  # fmt: skip
    calls = job.git.patient(PATIENCE)
    new = rows_of(change.path for change in job.plan.chosen if change.untracked)
    if new and calls.run(
        "update-index", "--add", "-z", "--stdin", given=new, variables=variables
    ).code:  # fmt: skip
        return False
    message = os.path.join(place, "message")
    with open(message, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    result = calls.run(
        "-c", "i18n.commitEncoding=UTF-8", "-c", "core.logAllRefUpdates=false", "-c", "core.splitIndex=false",
        "commit", "--quiet", "--only", "--no-verify", "--no-status", "--cleanup=verbatim",
        "-F", message, "--pathspec-from-file=-", "--pathspec-file-nul",
        given=rows_of(chosen), variables=variables,
    )  # fmt: skip
    return not result.code


# -- the long way


def _long(job: CommitJob, before: dict[str, Stat | None]) -> ReadyCommit | list[Blocked]:
    """Commit step by step, with the user's hooks in between."""
    git, plan, verify = job.git, job.plan, job.request.verify
    head = plan.state.head
    fill(git, job.private, head)
    add(git, job.private, plan.chosen)
    tree, changes = _finish(job, head)
    left = leftovers(job, changes)
    if left.foreign and not job.request.inherited:
        return left.blocked
    hooked = verify and job.hooks.before()
    if hooked:
        staged = {change.path: change.after for change in changes}
        tree, changes = _finish(job, head)
        left = leftovers(job, changes)
        if left.foreign and not job.request.inherited:
            return staged_by("pre-commit", left.blocked, staged)
    blocked = job.uncovered(changes)
    if blocked:
        return staged_by("pre-commit", blocked, {change.path for change in plan.chosen})
    if not changes:
        hint = "only timestamps or line endings differ from the last commit"
        raise NotFound("nothing to commit", code="NOTHING_CHANGED", hint=hint)
    try:
        kept = keep_files(git, head, tree, job.private, changes)
    except DroppedLines as dropped:
        if hooked:
            _refuse_hook(dropped, changes, staged)
        raise
    message = job.hooks.message(job.request.message, verify=verify)
    text = job.signed(message, (change.path for change in changes), left)
    commit = write_commit(git, kept, text, job.sign)
    return ReadyCommit(commit, kept, text, before, not hooked, left=left)


def _refuse_hook(
    dropped: DroppedLines, changes: Iterable[TreeChange], staged: Mapping[str, tuple[str, str]]
) -> None:
    """Refuse the commit if the hook staged another version of a file than was on disk."""
    entries = {change.path: change.after for change in changes}
    found = {
        path: lines for path, lines in dropped.found.items() if entries[path] != staged.get(path)
    }
    if found:
        name = "pre-commit"
        raise HookRefused(name, [dropped_path(path, found[path], name) for path in found])


def _finish(
    job: CommitJob, parent: str, variables: Mapping[str, str] | None = None
) -> tuple[str, tuple[TreeChange, ...]]:
    """Write the tree of the private index; return it and its changes."""
    own = {**(variables or {}), "GIT_INDEX_FILE": job.private}
    tree = job.git.must("write-tree", variables=own).decode().strip()
    return tree, tuple(differences(job.git, parent, tree, own))


def leftovers(
    job: CommitJob, changes: Sequence[TreeChange], variables: Mapping[str, str] | None = None
) -> Leftovers:
    """Return other authors' lines that these changes would land."""
    if not job.plan.older:
        return Leftovers()
    from dibs.services.commits.inherited import leftovers_in

    return leftovers_in(job.git, job.plan.state.common, job.plan.older, changes, variables)


def leftovers_on_disk(job: CommitJob) -> Leftovers:
    """Return the same for the planned files as they are now, without writing to the repository."""
    from dibs.services.commits.inherited import scratch

    with scratch(job.plan.state.common) as variables:
        fill(job.git, job.private, job.plan.state.head)
        add(job.git, job.private, job.plan.chosen, variables)
        _, changes = _finish(job, job.plan.state.head, variables)
        return leftovers(job, changes, variables)


def rebuild(
    job: CommitJob, ready: ReadyCommit, wanted: Sequence[TreeChange], parent: str
) -> ReadyCommit | list[Blocked]:
    """Build the changes ``wanted`` on top of another commit."""
    fill(job.git, job.private, parent)
    write_entries(job.git, job.private, wanted)
    tree, changes = _finish(job, parent)
    blocked = job.uncovered(changes)
    if blocked:
        return blocked
    kept = keep_files(job.git, parent, tree, job.private, changes)
    commit = write_commit(job.git, kept, ready.message, job.sign)
    return ready._replace(commit=commit, kept=kept)


# -- the commit itself


def write_commit(git: GitCalls, kept: Kept, message: str, sign: Sequence[str] = ()) -> str:
    """Write a commit that is not on a branch yet, and return its name."""
    check_identity(os.environ.items())
    calls = git.patient(PATIENCE) if sign else git
    above = [word for parent in kept.parents for word in ("-p", parent)]
    result = calls.run(
        "-c", "i18n.commitEncoding=UTF-8", "commit-tree", *sign, *above, "-F", "-", kept.tree,
        given=message.encode("utf-8", "surrogateescape"), variables=_dates(),
    )  # fmt: skip
    if not result.code:
        return result.out.decode().strip()
    if any(words in result.err for words in _NO_IDENTITY):
        raise Misconfigured(
            "git has no valid name and email address for you",
            code="IDENTITY",
            hint='set them: git config user.name "NAME"; git config user.email ADDRESS',
        )
    last = printable(result.err.splitlines()[-1]) if result.err else f"exit status {result.code}"
    raise Unavailable(f"git cannot write the commit: {last}", code="GIT_FAILED")


def _dates() -> dict[str, str]:
    """Return the commit dates that the caller's environment sets."""
    names = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def check_identity(variables: Iterable[tuple[str, str]]) -> None:
    """Refuse a name or an address that would break the commit's header lines."""
    for name, value in variables:
        ours = name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))
        if ours and not set("\n\r<>\0").isdisjoint(value):
            raise Misconfigured(
                f"{name} contains a newline, <, or >",
                code="IDENTITY",
                hint=f"correct the variable {name}",
            )
