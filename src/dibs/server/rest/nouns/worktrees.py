"""Agents' worktrees, and work that was saved before it was removed or overwritten."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.core.text.names import check_agent_id, check_branch
from dibs.errors import BadInput
from dibs.server.rest.nouns.places import check_command, file_at
from dibs.server.rest.routes import (
    Answer,
    ApiRoute,
    Body,
    Call,
    Listing,
    Name,
    NoBody,
    PathText,
    Text,
)
from dibs.server.security.identity import TokenScope
from dibs.services.worktrees.service import KeptWorktree, SharedTree, WorktreeRequest
from dibs.shapes import worktrees as shapes

Setup = Annotated[Text | None, Meta(description="setup command (humans only); empty for none")]


class WorktreeBody(Body, frozen=True):
    """A worktree for an agent."""

    agent: Annotated[Name, Meta(description="default: you")] = ""
    branch: Name = ""
    base: Annotated[Name, Meta(description="where the branch starts")] = ""
    path: Annotated[PathText | None, Meta(description="folder to create, in the repository")] = None
    setup: Setup = None
    or_shared: Annotated[bool, Meta(description="else use the shared working tree")] = False


def create(call: Call, body: WorktreeBody) -> Any:
    """Create a worktree with its own branch, or return the one that exists."""
    setup = check_command(call, body.setup, "setup")
    agent = check_agent_id(body.agent) if body.agent else call.caller.id
    branch = check_branch(body.branch) if body.branch else ""
    path = "" if body.path is None else file_at(call, body.path)
    wanted = WorktreeRequest(agent, branch, body.base, path)
    trees = call.project.worktrees
    make = trees.new_or_shared if body.or_shared else trees.new
    made = make(call.caller, wanted, setup=setup)
    fresh = not isinstance(made, SharedTree) and made.new
    return Answer(201 if fresh else 200, shapes.made(made))


def list_worktrees(call: Call, body: Listing) -> Any:
    """Return the worktrees of this clone, with their branches and unsaved work."""
    trees = shapes.listing(call.project.worktrees.listed())["worktrees"]
    return call.page(body, "worktrees", trees, lambda tree: tree["path"])


def environment(call: Call, _: NoBody) -> Any:
    """Return the environment variables of a worktree."""
    return call.project.worktrees.environment(call.path["agent"])


class SetupBody(Body, frozen=True):
    """The setup command; by default, the one in the settings."""

    setup: Annotated[Text, Meta(description="setup command (humans only)")] = ""


def set_up(call: Call, body: SetupBody) -> Any:
    """Run the setup command of a worktree again."""
    command = check_command(call, body.setup, "setup") or ""
    row = call.project.worktrees.setup(call.caller, call.path["agent"], command)
    return {"worktree": shapes.row(row)}


class RemoveQuery(Body, frozen=True):
    """How to remove a worktree."""

    force: Annotated[bool, Meta(description="salvage its work, then remove it")] = False
    reason: Annotated[Text, Meta(description="required with force")] = ""


def remove(call: Call, body: RemoveQuery) -> Any:
    """Remove a worktree that contains no unsaved work."""
    answer = call.project.worktrees.remove(
        call.caller, call.path["agent"], force=body.force, reason=body.reason
    )
    return Answer(409 if isinstance(answer, KeptWorktree) else 200, shapes.outcome(answer))


class CleanBody(Body, frozen=True):
    """How to clean up."""

    dry_run: bool = False
    salvage: Annotated[bool, Meta(description="save the work in them and remove these too")] = False


def clean_up(call: Call, body: CleanBody) -> Any:
    """Remove the worktrees of dead agents, unless they contain work."""
    trees = call.project.worktrees
    return shapes.cleaned(trees.clean_up(call.caller, dry_run=body.dry_run, salvage=body.salvage))


def list_salvage(call: Call, body: Listing) -> Any:
    """Return salvaged work, newest first."""
    found = shapes.salvage(call.project.salvage.all())["salvaged"]
    return call.page(body, "salvaged", found, lambda one: (one["at"], one["id"]), newest_first=True)


def show_salvage(call: Call, _: NoBody) -> Any:
    """Return how salvaged work differs from the commit that was checked out."""
    return shapes.shown(call.project.salvage.show(call.path["id"]))


class RestoreBody(Body, frozen=True):
    """Where to restore work: on a new branch, or in a new folder in the repository."""

    branch: Name = ""
    to: Annotated[PathText | None, Meta(description="a new folder")] = None


def restore(call: Call, body: RestoreBody) -> Any:
    """Restore salvaged work to a new branch or folder; this overwrites nothing."""
    if body.branch and body.to is not None:
        raise BadInput("give either branch or to", code="USAGE", field="to")
    salvage, id_ = call.project.salvage, call.path["id"]
    if body.to is not None:
        found, place = salvage.to_folder(id_, file_at(call, body.to))
        return shapes.restored(found, "folder", place)
    found, place = salvage.to_branch(id_, body.branch)
    return shapes.restored(found, "branch", place)


ROUTES = (
    ApiRoute(
        "POST", "/worktrees", "worktrees.create", "Create a worktree, or show the existing one",
        "worktree new", create, WorktreeBody, statuses=(201, 200), waits=True,
    ),
    ApiRoute(
        "GET", "/worktrees", "worktrees.list", "List worktrees and their unsaved work",
        "worktree ls", list_worktrees, Listing, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/worktrees/{agent}/env", "worktrees.env", "Show a worktree's environment variables",
        "worktree env", environment, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/worktrees/{agent}/setup", "worktrees.setup", "Run the setup command again",
        "worktree setup", set_up, SetupBody, waits=True,
    ),
    ApiRoute(
        "DELETE", "/worktrees/{agent}", "worktrees.remove", "Remove a worktree",
        "worktree rm", remove, RemoveQuery, statuses=(200, 409), waits=True,
    ),
    ApiRoute(
        "POST", "/worktrees/gc", "worktrees.gc", "Remove the worktrees of dead agents",
        "worktree gc", clean_up, CleanBody, waits=True,
    ),
    ApiRoute(
        "GET", "/salvage", "salvage.list", "List salvaged work",
        "salvage ls", list_salvage, Listing, scope=TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/salvage/{id}", "salvage.show", "Show salvaged changes",
        "salvage show", show_salvage, scope=TokenScope.READ,
    ),
    ApiRoute(
        "POST", "/salvage/{id}/restore", "salvage.restore",
        "Restore salvaged work to a new branch or folder", "salvage restore", restore, RestoreBody,
        statuses=(201,),
    ),
)  # fmt: skip
