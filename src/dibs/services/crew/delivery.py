"""Deliver finished work: commit what an agent left in its own worktree, and merge its branch.

Nothing is discarded: what cannot be committed or merged stays in the worktree, and the notes say where.
"""

from __future__ import annotations

from dibs.core.claims.rules import Granted
from dibs.core.text.names import cut, few, printable, slug
from dibs.errors import BadInput, DibsError
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.local.repository import main_tree
from dibs.services.commits.values import CommitRequest, Committed
from dibs.services.merging.values import FINE, End, MergeRequest
from dibs.services.tasks.values import Draft
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dibs.core.claims.agents import Caller
    from dibs.core.crew.members import Member
    from dibs.local.paths import PathResolver
    from dibs.local.repository import Repository
    from dibs.services.board.tasks import Tasks
    from dibs.services.claims.holdings import Holdings
    from dibs.services.claims.service import Claims
    from dibs.services.commits.service import Commits
    from dibs.services.commits.values import CommitDenied
    from dibs.services.merging.service import Merges

    class _Place(Protocol):
        @property
        def repository(self) -> Repository: ...

    class DeliveryServices(Protocol):
        """What a delivery uses, in the agent's own worktree; a ``Project`` has all of it."""

        @property
        def place(self) -> _Place: ...
        @property
        def tree(self) -> PathResolver: ...
        @property
        def claims(self) -> Claims: ...
        @property
        def holdings(self) -> Holdings: ...
        @property
        def commits(self) -> Commits: ...
        @property
        def merges(self) -> Merges: ...
        @property
        def tasks(self) -> Tasks: ...


#: How long a merge waits for its turn, in seconds, and the longest subject of a commit.
_WAIT, _SUBJECT = 600, 72
#: How many refused files a task names.
_NOTED = 10


class DeliveredWork(Record):
    """What became of an agent's work: whether nothing is left to do, and what to know."""

    complete: bool
    notes: tuple[str, ...] = ()


def deliver(
    services: DeliveryServices, caller: Caller, member: Member, task: str, title: str
) -> DeliveredWork:
    """Commit the changes in an agent's worktree and merge its branch; return what happened."""
    try:
        left = _commit_rest(services, caller, task, title)
    except (DibsError, OSError) as error:
        left = f"{_words(error)}; the changes stay uncommitted in {member.tree}"
    if left:
        return DeliveredWork(False, (left,))
    if why := _untested(services.place.repository):
        return DeliveredWork(False, (f"not merged: {why}; the work stays on {member.branch}",))
    try:
        report = services.merges.merge(caller, MergeRequest((member.branch,), wait=_WAIT))
    except (DibsError, OSError) as error:
        return DeliveredWork(
            False, (f"not merged: {_words(error)}; the work stays on {member.branch}",)
        )
    notes = [*report.notes]
    complete = True
    for verdict in report.verdicts:
        notes += verdict.notes
        if verdict.end in FINE:
            word = "already contained in" if verdict.end == End.CONTAINED else "merged into"
            notes.append(f"{verdict.branch}: {word} {report.into.removeprefix('refs/heads/')}")
            continue
        complete = False
        follow = f"; see task {verdict.task}" if verdict.task else ""
        notes.append(f"not merged ({verdict.end}); the work stays on {verdict.branch}{follow}")
    if complete:
        catch_up(services, report.into)
        services.holdings.release(caller, [])  # all claims: nothing is left to protect
    return DeliveredWork(complete, tuple(map(printable, notes)))


def _untested(repository: Repository) -> str:
    """Return why the merge's test may not run; empty if it may, or there is none."""
    from dibs.config.load import load
    from dibs.services.pipeline.consent import StartConsent

    config = load(main_tree(repository), repository.state, {}, {}).config
    return StartConsent(repository).why_not(config) if config.merge_test.strip() else ""


def catch_up(services: DeliveryServices, into: str) -> bool:
    """Fast-forward an agent's branch to the integration branch; return False if it has other work."""
    repository = services.place.repository
    git = guarded_calls(repository.root, repository)
    return git.run("merge", "--ff-only", "--quiet", "--end-of-options", into).code == 0


def _commit_rest(services: DeliveryServices, caller: Caller, task: str, title: str) -> str:
    """Commit all changes in the worktree, which are the agent's own; return why some are left."""
    repository = services.place.repository
    paths = [
        one.path for one in changed(guarded_calls(repository.root, repository)) if not one.nested
    ]
    if not paths:
        return ""
    patterns = [services.tree.resolve(f"./{path}", literal=True) for path in paths]
    answer = services.claims.claim(caller, patterns, reason=f"task {task}", task=task)
    if not isinstance(answer, Granted):
        return f"others hold {few(paths)}, so these changes stay uncommitted in {repository.root}"
    message = f"{cut(printable(title or task), _SUBJECT)}\n\nTask: {printable(task)}\n"
    done = services.commits.commit(caller, CommitRequest(message, release=True, task=task))
    if isinstance(done, Committed):
        return ""
    follow = _make_task(services, caller, done, message, task)
    stays = f"the changes stay in {repository.root}"
    return f"not committed: {done.reason}; {stays}; see task {follow}"


def _make_task(
    services: DeliveryServices, caller: Caller, refused: CommitDenied, message: str, task: str
) -> str:
    """Create the task to commit what was refused, and return its ID; the same refusal creates only one."""
    from hashlib import sha256
    from shlex import join

    root = services.place.repository.root
    again = ["dibs", "commit", "--repo", root, "--agent", caller.id, "--task", task]
    words = join([*again, *(["--inherited"] if refused.code == "INHERITED" else [])])
    notes = [f"{caller.id}'s work on {task} was not committed: {refused.reason}."]
    for item in refused.blocked[:_NOTED]:
        notes.append(f"{item.path}: {item.hint}")
        notes += [f"{item.holder or 'committed'}: {line}" for line in item.landed]
        notes += [f"{caller.id}: {line}" for line in item.yours]
    notes.append(f"To commit it after you have compared: {words} -m MESSAGE")
    mark = sha256("\0".join((root, message, *notes)).encode("utf-8", "surrogateescape"))
    id_ = f"commit-{slug(task, 40)}-{mark.hexdigest()[:10]}"
    title = cut(printable(f"Commit {caller.id}'s work on {task}"), _SUBJECT)
    context = {"notes": [printable(note) for note in notes]}
    draft = Draft(fields={"title": title, "priority": "high", "context": context}, id=id_)
    try:
        services.tasks.create(caller, [draft], request_id="")
    except BadInput as error:
        if error.code != "TASK_EXISTS":
            raise
    return id_


def _words(error: DibsError | OSError) -> str:
    return printable(error.message if isinstance(error, DibsError) else str(error))
