"""Find the projects that a tool call touches: the agent's own, and others its paths are in."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import EventKind
from dibs.errors import NotFound
from dibs.project.project import locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dibs.core.toolcalls.values import HookEvent, Touch
    from dibs.project.engines import Location

#: Variables with the folder in which a session was started.
FOLDERS = ("CLAUDE_PROJECT_DIR", "COPILOT_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def base_project(starts: Mapping[str, None], environ: Mapping[str, str]) -> Location | None:
    """Return the project of the first folder that is in one."""
    for start in (*starts, *(environ.get(name, "") for name in FOLDERS)):
        place = _project(start, environ) if start else None
        if place is not None:
            return place
    return None


def split_by_project(
    heard: HookEvent, base: Location | None, environ: Mapping[str, str]
) -> list[tuple[Location, HookEvent]]:
    """Return each project that a call touches, with its share of the paths.

    The agent's own project comes first and gets everything, including its other working trees; other projects
    get the paths inside them.
    """
    if heard.moment != EventKind.BEFORE or not heard.touches:
        return [(base, heard)] if base is not None else []
    others: dict[str, tuple[Location, list[Touch]]] = {}
    for touch in heard.touches:
        for folder in _folders(os.path.join(heard.cwd, touch.path), base):
            place = _project(folder, environ)
            if place is not None and (
                base is None or place.repository.root != base.repository.root
            ):
                others.setdefault(place.repository.root, (place, []))[1].append(touch)
    found = [
        (place, heard._replace(touches=tuple(touches), command="", listens=False))
        for place, touches in others.values()
    ]
    return [(base, heard), *found] if base is not None else found


def _folders(path: str, base: Location | None) -> Iterator[str]:
    """Yield a path's folders outside the project, as written and with links resolved."""
    root = base.repository.root if base is not None else ""
    for spelling in dict.fromkeys((os.path.normpath(path), os.path.realpath(path))):
        if not root or not spelling.startswith(f"{root}/"):
            yield _there(os.path.dirname(spelling))


def _there(folder: str) -> str:
    """Return the nearest existing folder: the target's own folder may not exist yet."""
    while not os.path.isdir(folder) and folder not in {"", "/"}:
        folder = os.path.dirname(folder)
    return folder


def _project(start: str, environ: Mapping[str, str]) -> Location | None:
    try:
        place = locate(start, environ)
    except NotFound:
        return None
    return place if place.is_project else None
