"""Find the projects that a tool call touches: the agent's own, and others its paths are in.

A submodule or nested repository that is not a project belongs to the project around it.
"""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import EventKind, Watch
from dibs.errors import Misconfigured, NotFound
from dibs.project.location import locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dibs.core.toolcalls.values import HookEvent, Touch
    from dibs.project.location import Location

_TOOL = frozenset({EventKind.BEFORE, EventKind.AFTER})
#: Variables with the folder in which a session was started.
FOLDERS = ("CLAUDE_PROJECT_DIR", "COPILOT_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def base_project(
    starts: Mapping[str, None], environ: Mapping[str, str], *, lenient: bool = False
) -> Location | None:
    """Return the project of the first folder that is in one; if ``lenient``, despite invalid settings.

    A folder with settings but without a repository was a project, whose git directory was moved or deleted.
    """
    folders = [*starts, *filter(None, (environ.get(name, "") for name in FOLDERS))]
    for start in folders:
        place = _project(start, environ, lenient=lenient)
        if place is not None:
            return place
    for folder in filter(None, folders):
        if os.path.exists(f"{folder}/dibs.toml"):
            raise Misconfigured(
                f"{folder} has a dibs.toml, but is not in a git repository",
                hint="restore .git, or run `dibs init`, or delete dibs.toml",
            )
    return None


def split_by_project(
    heard: HookEvent, base: Location | None, environ: Mapping[str, str]
) -> list[tuple[Location, HookEvent]]:
    """Return each project that a call touches, with its share of the paths.

    The agent's own project comes first and gets everything, including its other working trees; other projects
    get the paths inside them, and a shell command that names any.
    """
    others: dict[str, tuple[Location, list[Touch]]] = {}
    for touch in heard.touches if heard.moment == EventKind.BEFORE else ():
        for place in _others(os.path.join(heard.cwd, touch.path), base, environ):
            others.setdefault(place.repository.root, (place, []))[1].append(touch)
    runs: set[str] = set()
    if heard.command and heard.moment in _TOOL:
        for path in _written(heard):
            for place in _others(path, base, environ):
                if base is None or place.repository.state != base.repository.state:
                    others.setdefault(place.repository.root, (place, []))
                    runs.add(place.repository.root)
    found = [
        (place, _share(heard, touches, heard.command if root in runs else ""))
        for root, (place, touches) in others.items()
    ]
    return [(base, heard), *found] if base is not None else found


def _share(heard: HookEvent, touches: list[Touch], command: str) -> HookEvent:
    """Return the part of a call that another project judges."""
    return heard._replace(
        touches=tuple(touches), command=command, mentions=(), watch=Watch.KNOWN, listens=False
    )


def _written(heard: HookEvent) -> list[str]:
    """Return the paths that a shell command writes, hands to git, or may write, as far as its text shows."""
    from dibs.services.guard.shell_targets import named_paths

    return named_paths(heard.command, heard.cwd)


def _others(path: str, base: Location | None, environ: Mapping[str, str]) -> Iterator[Location]:
    """Yield the projects other than the agent's own that contain a path."""
    for folder in _folders(path, base):
        place = _project(folder, environ)
        if place is not None and (base is None or _is_other(place, base)):
            yield place


def _is_other(place: Location, base: Location) -> bool:
    """Return whether a place is not in the agent's own project; inside it, worktrees of it are."""
    there, own = place.repository, base.repository
    if there.root.startswith(f"{own.root}/") and own.common:
        return there.common != own.common
    return there.root != own.root


def _folders(path: str, base: Location | None) -> Iterator[str]:
    """Yield a path's folders outside the project, or in a repository inside it, as written and resolved."""
    root = base.repository.root if base is not None else ""
    for spelling in dict.fromkeys((os.path.normpath(path), os.path.realpath(path))):
        if not root or not spelling.startswith(f"{root}/"):
            yield _there(spelling)
            continue
        at = len(root)
        while at >= 0:
            at = spelling.find("/", at + 1)
            if os.access(f"{spelling[:at] if at > 0 else spelling}/.git", os.F_OK):
                yield _there(spelling)
                break


def _there(folder: str) -> str:
    """Return the nearest existing folder: the target's own folder may not exist yet."""
    while not os.path.isdir(folder) and folder not in {"", "/"}:
        folder = os.path.dirname(folder)
    return folder


def _project(start: str, environ: Mapping[str, str], *, lenient: bool = False) -> Location | None:
    """Return the project of a folder: of its repository, or else of the nearest one around that."""
    folder = start
    while True:
        try:
            place = locate(folder, environ, lenient=lenient)
        except NotFound:
            return None
        if place.is_project:
            return place
        above = os.path.dirname(place.repository.root)
        if above in {folder, place.repository.root}:
            return None
        folder = above
