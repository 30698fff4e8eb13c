"""Commits, uncommitted changes, and diffs."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.errors import BadInput
from dibs.server.rest.routes import Answer, ApiRoute, Body, Call, Name, Paths, Text
from dibs.server.security.identity import TokenScope
from dibs.services.commits.scope import names_and_patterns
from dibs.services.commits.values import CommitDenied, CommitRequest
from dibs.shapes import commits as shapes


class CommitBody(Body, frozen=True):
    """A commit of the files that you hold and changed."""

    message: Annotated[Text, Meta(description="may be empty with dry_run")] = ""
    paths: Annotated[Paths, Meta(description="only these files, folders, or globs")] = []
    literal: Annotated[bool, Meta(description="treat the paths as literal")] = False
    release: Annotated[bool, Meta(description="release the committed files")] = False
    verify: Annotated[bool, Meta(description="run the hooks that can refuse the commit")] = True
    dry_run: bool = False
    inherited: Annotated[bool, Meta(description="also others' lines that are in no commit")] = False
    anyway: Annotated[bool, Meta(description="even if it undoes what others committed")] = False
    task: Annotated[Name, Meta(description="the task that it belongs to")] = ""


def commit(call: Call, body: CommitBody) -> Any:
    """Commit the changed files that you hold, and nothing else."""
    if not body.message and not body.dry_run:
        raise BadInput("a message is required", code="USAGE", field="message")
    names, texts = names_and_patterns(call.project.place.repository, body.paths)
    request = CommitRequest(
        body.message,
        tuple(call.patterns(texts, literal=body.literal)),
        tuple(names),
        release=body.release,
        verify=body.verify,
        request_id=call.request_id,
        task=body.task,
        inherited=body.inherited,
        anyway=body.anyway,
    )
    answer = call.project.commits.commit(call.caller, request, trial=body.dry_run)
    if isinstance(answer, CommitDenied):
        form = 'repeat the request with "inherited": true'
        return Answer(409, shapes.commit_answer(answer.advised(form)))
    return Answer(200 if body.dry_run else 201, shapes.commit_answer(answer))


class ChangesQuery(Body, frozen=True):
    """Whose changes, and where."""

    agent: Annotated[Name, Meta(description="only this agent's changes")] = ""
    all_trees: Annotated[bool, Meta(description="in every worktree of this clone")] = False


def changes(call: Call, body: ChangesQuery) -> Any:
    """Return uncommitted changes by owner."""
    return shapes.changed_trees(call.project.changes.of(body.agent, everywhere=body.all_trees))


class DiffQuery(Body, frozen=True):
    """Whose changes, and in which files."""

    agent: Annotated[Name, Meta(description="default: you")] = ""
    path: Annotated[Paths, Meta(description="only these files, folders, or globs")] = []
    stat: Annotated[bool, Meta(description="line counts only")] = False


def diff(call: Call, body: DiffQuery) -> Any:
    """Return an agent's uncommitted changes as a diff against the last commit."""
    found = call.project.changes.difference(
        body.agent or call.caller.id, call.patterns(body.path), stat=body.stat
    )
    return shapes.difference(found)


ROUTES = (
    ApiRoute(
        "POST", "/commits", "commits.create", "Commit the files that you hold, and nothing else",
        "commit", commit, CommitBody, statuses=(201, 200, 409), waits=True, keeps_ids=True,
    ),
    ApiRoute(
        "GET", "/changes", "changes.list", "Show uncommitted changes by owner",
        "changes", changes, ChangesQuery, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/diff", "changes.diff", "Show the changes in the files that an agent holds",
        "diff", diff, DiffQuery, scope=TokenScope.READ,
    ),
)  # fmt: skip
