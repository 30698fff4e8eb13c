"""Create a task and a ledger entry for a branch that cannot be merged.

The task ID is derived from the conflict, so repeating the merge does not create a second task.
"""

from __future__ import annotations

import hashlib

from dibs.core.changes.trailers import authors_in, read_signed
from dibs.core.claims.ledger import Kind
from dibs.core.tasks.rules import Status
from dibs.core.text.names import AGENT_ID_CHARACTERS, printable, slug
from dibs.errors import BadInput
from dibs.git.log import last_change
from dibs.services.merging.values import End
from dibs.services.state.presence import arrive
from dibs.services.state.serving.faults import put_error
from dibs.services.state.tasks import unfinished
from dibs.services.tasks.values import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.core.claims.agents import Caller
    from dibs.git.calls import GitCalls
    from dibs.git.merge_tree import MergeConflict
    from dibs.services.board.tasks import Tasks
    from dibs.services.merging.values import MergeVerdict
    from dibs.services.state.rows import Rows
    from dibs.services.state.store import Store

#: The most files in a task or ledger entry, and the most whose last author is looked up.
FILES = 50
_ASKED = 10
#: Tasks in these states can be canceled: nobody is working on them.
_WAITING = frozenset({Status.NEW, Status.ASSIGNED, Status.BLOCKED, Status.ERROR})
#: The task title, given the branch and the integration branch. ``settled_tasks`` compares all but its verb.
_VERBS = {"conflict": "Resolve", "tests": "Fix"}
_TITLES = {
    "conflict": " the merge conflict of {} with {}",
    "tests": " the tests that {} breaks in {}",
}


def concerned(
    git: GitCalls, base: str, tip: str, clashes: Sequence[MergeConflict], owner: str
) -> tuple[str, ...]:
    """Return who last changed the conflicting files on the integration branch: agents or authors."""
    names: dict[str, None] = {}
    for clash in clashes[:_ASKED] if base else ():
        commit = last_change(git, base, tip, clash.path)
        if commit is not None:
            signed = read_signed(commit.message)
            names[commit.author if signed is None else signed.agent] = None
            names.update(dict.fromkeys(authors_in(commit.message)))
    return tuple(printable(name) for name in names if name != owner)


def report(
    store: Store, caller: Caller, verdict: MergeVerdict, into: str, tips: tuple[str, str]
) -> None:
    """Record in the ledger that a branch was refused, and who is affected."""
    summary = f"{verdict.branch} was not merged into {into}: {said_of(verdict)}"

    def step(rows: Rows) -> None:
        beat = arrive(rows, caller)
        rows.emit(
            caller.id, beat.role, Kind.MERGE_REFUSED, printable(summary),
            branch=verdict.branch, into=into, why=verdict.end, owner=verdict.agent,
            others=list(verdict.others), task=verdict.task, old=tips[0], new=tips[1],
            paths=[printable(path) for path in paths_of(verdict)[:FILES]],
        )  # fmt: skip
        if verdict.end == End.TESTS and verdict.run is not None:
            put_error(
                rows, f"merge-tests:{verdict.branch}",
                f"the tests failed before merging {printable(verdict.branch)}: {verdict.run.how}",
                agent=caller.id, role=beat.role, branch=verdict.branch, log=verdict.run.log,
                output=list(verdict.run.tail),
            )  # fmt: skip

    store.apply(step)


def said_of(verdict: MergeVerdict) -> str:
    """Return why a branch was refused, in a few words."""
    count = len(paths_of(verdict))
    files = f"{count} file{'s' if count != 1 else ''}"
    if verdict.end == End.CONFLICT:
        names = " and ".join(dict.fromkeys(filter(None, (verdict.agent, *verdict.others))))
        return f"conflict in {files}" + (f" ({names})" if names else "")
    if verdict.end == End.TESTS:
        return f"tests failed ({verdict.run.how})" if verdict.run else "tests failed"
    words = {
        End.SCOPE: f"{files} outside its agent's claims",
        End.HELD: f"{files} held by other agents",
        End.DIRTY: "the working tree has uncommitted changes",
        End.MOVED: "the integration branch kept moving",
    }
    return words.get(verdict.end, verdict.end)


def paths_of(verdict: MergeVerdict) -> list[str]:
    """Return the paths that a refusal is about."""
    found = [*(o.path for o in verdict.outside), *(c.path for c in verdict.clashes)]
    return list(dict.fromkeys(found)) or list(verdict.paths)


def make_task(tasks: Tasks, caller: Caller, verdict: MergeVerdict, into: str, tip: str) -> str:
    """Create the task for a branch that conflicts or fails the tests, and return its ID.

    If the task exists already, return the ID of that one.
    """
    what = "conflict" if verdict.end == End.CONFLICT else "tests"
    paths = sorted(paths_of(verdict))
    mark = hashlib.sha256("\0".join((tip, into, *paths)).encode("utf-8", "surrogateescape"))
    id_ = f"merge-{what}-{slug(verdict.branch, 40)}-{mark.hexdigest()[:10]}"
    draft = Draft(fields=_fields(verdict, into, what, paths), id=id_)
    try:
        tasks.create(caller, [draft], request_id="")
    except BadInput as error:
        if error.code != "TASK_EXISTS":
            raise
    return id_


def settled_tasks(rows: Rows, branches: Iterable[str], into: str) -> list[str]:
    """Return the tasks of these merged branches that nobody is working on and nobody needs to."""
    titles = tuple(title.format(branch, into) for branch in branches for title in _TITLES.values())
    waiting = (task for task in unfinished(rows) if task.status in _WAITING)
    return [task.id for task in waiting if task.title.endswith(titles)]


def _fields(verdict: MergeVerdict, into: str, what: str, paths: Sequence[str]) -> dict[str, Any]:
    branch = verdict.branch
    if what == "conflict":
        with_whom = ", ".join(verdict.others) or "someone else"
        steps = f"claim the files, run git merge {into}, resolve the conflicts, run git commit"
        notes = [
            f"{verdict.agent or branch} and {with_whom} changed the same lines.",
            f"In the worktree of {branch}: {steps}, then dibs merge.",
            *(f"{printable(c.path)}: {c.kind}" + _hunks(c) for c in verdict.clashes[:FILES]),
        ]
    else:
        log = verdict.run.log if verdict.run else ""
        notes = [
            f"In the worktree of {branch}: run git merge {into}, fix the tests, commit, then run dibs merge."
        ]
        notes += [f"Full output: {log}"] if log else []
        notes += list(verdict.run.tail) if verdict.run else []
    title = _VERBS[what] + _TITLES[what].format(branch, into)
    fields: dict[str, Any] = {"title": title, "priority": "high"}
    if verdict.agent and AGENT_ID_CHARACTERS.issuperset(verdict.agent):
        fields["agent"] = verdict.agent
    artefacts = [path for path in paths[:FILES] if path.isprintable()]
    if artefacts:
        fields["artefacts"] = artefacts
    return {**fields, "context": {"notes": notes}}


def _hunks(clash: MergeConflict) -> str:
    return f", {clash.hunks} hunk{'s' if clash.hunks != 1 else ''}" if clash.hunks else ""
