"""Files: who holds them, who waits for them, and what happened to them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dibs.core.changes.file_tree import MOST_DEEP
from dibs.server.rest.routes import MOST_PATH, ApiRoute, Body, Call, Name, NoBody
from dibs.server.security.identity import TokenScope
from dibs.services.files.service import MOST, SHOWN
from dibs.shapes import files as shapes


class FilesQuery(Body, frozen=True, kw_only=True):
    """Which folder to list, or what to search."""

    folder: Annotated[
        str, Meta(max_length=MOST_PATH, description="relative to the working tree; empty for all")
    ] = ""
    depth: Annotated[int, Meta(ge=1, le=MOST_DEEP, description="how many levels")] = 1
    match: Annotated[
        Name, Meta(description="search files below the folder: a part of the path, or a glob")
    ] = ""
    at: Annotated[Name, Meta(description="who held the files at this time; default: now")] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MOST, description="the most nodes; the deepest are left out first")
    ] = SHOWN


def listed(call: Call, body: FilesQuery) -> Any:
    """Return the files and folders below a folder, or the files that match."""
    files, folder = call.project.files, body.folder.strip("/")
    if folder:
        folder = _inside(call, folder)
    if body.match:
        return shapes.listing(files.search(body.match, folder, body.limit, body.at))
    return shapes.listing(files.folder(folder, body.depth, body.limit, body.at))


def show(call: Call, _: NoBody) -> Any:
    """Return one file, whether it exists or not."""
    return shapes.details(call.project.files.show(_inside(call, call.path["path"])))


def _inside(call: Call, text: str) -> str:
    """Return a path below the working tree; refuse one that leads out of it."""
    (pattern,) = call.patterns([text], literal=True)
    # A folder is a pattern for everything below it.
    return "/".join(part for part in pattern.rows[0] if isinstance(part, str))


ROUTES = (
    ApiRoute(
        "GET", "/files", "files.list", "List files with their owners and where agents meet",
        shapes.LISTING, listed, FilesQuery, TokenScope.READ,
    ),
    ApiRoute(
        "GET", "/files/{path:path}", "files.show", "Show one file: owners, queue, and history",
        shapes.DETAILS, show, scope=TokenScope.READ,
    ),
)  # fmt: skip
