"""Paths and commands in a request: files stay beneath the working tree, and only humans name commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.errors import humans_only
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.server.rest.routes import Call

    #: A value with the path of a file in ``file``.
    HasFile = TypeVar("HasFile", bound=Any)

#: The most files in one request.
MOST_FILES = 1_000


def file_at(call: Call, text: str) -> str:
    """Return the absolute path of a file that the request names relative to its working tree.

    Raises:
        BadInput: it is outside the working tree, in a nested repository, or in a folder of git or Dibs.
    """
    project = call.project
    found = project.tree.resolve(text, literal=True)
    return os.path.join(project.place.repository.root, found.path.removeprefix("./")).rstrip("/")


def files_at(call: Call, texts: Sequence[str]) -> list[str]:
    """Return the absolute paths of files."""
    return [file_at(call, text) for text in texts]


def inside(call: Call, path: str) -> str:
    """Return a path relative to the working tree; the server's own folder means nothing to a client."""
    return os.path.relpath(path, call.project.place.repository.root)


def seen_from(call: Call, found: Iterable[HasFile]) -> list[HasFile]:
    """Return findings about files with paths relative to the working tree."""
    return [item._replace(file=inside(call, item.file)) for item in found]


def check_command(call: Call, command: str | None, what: str) -> str | None:
    """Return a command line that the request names; only a human may choose what this machine runs.

    An agent may still use the one in the settings, or none.
    """
    if command and call.identity.scope < TokenScope.HUMAN:
        raise humans_only(
            f"only a human may name {what} in a request",
            call.caller.id,
            hint="omit it to use the one in dibs.toml, or run the command on that machine",
            field=what.replace(" ", "_"),
        )
    return command
