"""Build a commit off the branch, so that it cannot contain anyone else's changes.

The short way is one ``git commit --only`` in a private git directory: git hashes the files, writes the trees
and the commit, and updates a copy of the shared index, all in one process. The long way takes these steps one
by one in a private index, with the user's hooks in between; it also handles what the short way cannot (a
branch without commits, a file that became a folder, entries in conflict). Both results are checked the same.
"""

from __future__ import annotations

import contextlib
import os
import stat

from dibs.core.changes.trailers import signed
from dibs.core.claims.coverage import inherited_path, staged_by, uncovered
from dibs.core.text.names import printable
from dibs.errors import Misconfigured, NotFound, Unavailable
from dibs.git.calls import rows_of
from dibs.git.trees import differences, write_entries
from dibs.local.files import read_file
from dibs.services.commits.private_index import (
    PATIENCE,
    add,
    fill,
    private_directory,
    put,
    stats,
)
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.git.calls import GitCalls
    from dibs.git.trees import TreeChange
    from dibs.git.untrusted import SafeGit
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

    def signed(self, message: str, paths: Iterable[str]) -> str:
        """Return the message with the trailers that name the claims on ``paths``."""
        cover, named = self.plan.standing.cover, set(paths)
        found = (cover.exclusive(self.caller.id, path) for path in sorted(named))
        covering = {held.claim.id: held.claim for held in found if held is not None}
        authors = {one.agent for one in self.plan.included if one.agent and one.path in named}
        return signed(message, self.caller.id, covering.values(), self.request.task, authors)


class ReadyCommit(Record):
    """A checked commit that is not on a branch yet."""

    parent: str
    commit: str
    #: How it differs from its parent.
    changes: tuple[TreeChange, ...]
    message: str
    #: The files' stats when they were read.
    stats: dict[str, Stat | None]
    #: Whether the commit has the files' content on disk; a hook may have staged something else.
    as_on_disk: bool
    #: An index that already contains the commit, and the stat of the shared index that it is based on.
    new_index: str = ""
    made_from: Stat | None = None

    @property
    def paths(self) -> list[str]:
        """The paths that it changes."""
        return [change.path for change in self.changes]


def build(job: CommitJob) -> ReadyCommit | list[Blocked]:
    """Build the planned commit, or return the paths that a hook staged and the caller may not commit.

    Raises:
        HookRefused: a user's hook failed.
    """
    # A file of which only a part is committed counts as changed afterwards.
    whole = (change.path for change in job.plan.chosen if change.path not in job.plan.own)
    before = stats(job.git.tree, whole)
    return (_short(job, before) if can_be_short(job) else None) or _long(job, before)


# -- the short way


def can_be_short(job: CommitJob) -> bool:
    """Return whether no hook can interfere and git commits plain files as they are on disk."""
    plan, tree = job.plan, job.git.tree
    if plan.own or job.hooks.have_a_say(verify=job.request.verify):
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
    text = job.signed(job.request.message, chosen)
    made_from = private_directory(state, place)
    new_index = os.path.join(place, "index")
    if not _commit_in(job, place, new_index, chosen, text):
        return None
    commit = read_file(os.path.join(place, "HEAD")).decode("ascii", "replace").strip()
    if commit == state.head:
        return None
    changes = tuple(differences(job.git, state.head, commit))
    # A file without differences is not in the commit, so its claim does not belong in the message.
    if job.signed(job.request.message, (c.path for c in changes)) != text or job.uncovered(changes):
        return None
    return ReadyCommit(
        state.head, commit, changes, text, before, True, new_index, made_from
    )  # fmt: skip


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
    add(git, job.private, [change for change in plan.chosen if change.path not in plan.own])
    put(git, job.private, plan.own)
    hooked = verify and job.hooks.before()
    tree, changes = _finish(job, head)
    blocked = job.uncovered(changes)
    if blocked:
        return staged_by("pre-commit", blocked, {change.path for change in plan.chosen})
    mixed = [c.path for c in changes if c.path in plan.own and c.after != plan.own[c.path]]
    if mixed:  # the hook staged the file as it is on disk
        return staged_by("pre-commit", map(inherited_path, mixed), ())
    if not changes:
        hint = "only timestamps or line endings differ from the last commit"
        raise NotFound("nothing to commit", code="NOTHING_CHANGED", hint=hint)
    message = job.hooks.message(job.request.message, verify=verify)
    text = job.signed(message, (change.path for change in changes))
    commit = write_commit(git, tree, [head] if head else [], text, job.sign)
    return ReadyCommit(head, commit, changes, text, before, not hooked)


def _finish(job: CommitJob, parent: str) -> tuple[str, tuple[TreeChange, ...]]:
    """Write the tree of the private index; return it and its changes."""
    out = job.git.must("write-tree", variables={"GIT_INDEX_FILE": job.private})
    tree = out.decode().strip()
    return tree, tuple(differences(job.git, parent, tree))


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
    commit = write_commit(job.git, tree, [parent], ready.message, job.sign)
    return ready._replace(parent=parent, commit=commit, changes=changes)


# -- the commit itself


def write_commit(
    git: GitCalls, tree: str, parents: Sequence[str], message: str, sign: Sequence[str]
) -> str:
    """Write a commit that is not on a branch yet, and return its name."""
    check_identity(os.environ.items())
    calls = git.patient(PATIENCE) if sign else git
    above = [word for parent in parents for word in ("-p", parent)]
    result = calls.run(
        "-c", "i18n.commitEncoding=UTF-8", "commit-tree", *sign, *above, "-F", "-", tree,
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
