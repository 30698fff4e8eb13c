"""Which projects a call of a tool is about: where the agent stands, and wherever it reaches from there."""

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

#: Where agents say that a session was started.
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
    """Return each project that a call is about, with its share of what the call touches.

    The agent's own project comes first and hears of all, with its other working trees; another project
    hears of what lies in it, so that a file is judged where it is.
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
    """Yield the folders outside of a project that a path leads into, as it is written and as it is."""
    root = base.repository.root if base is not None else ""
    for spelling in dict.fromkeys((os.path.normpath(path), os.path.realpath(path))):
        if not root or not spelling.startswith(f"{root}/"):
            yield _there(os.path.dirname(spelling))


def _there(folder: str) -> str:
    """Return the nearest folder above that exists: files are written into new ones, too."""
    while not os.path.isdir(folder) and folder not in {"", "/"}:
        folder = os.path.dirname(folder)
    return folder


def _project(start: str, environ: Mapping[str, str]) -> Location | None:
    try:
        place = locate(start, environ)
    except NotFound:
        return None
    return place if place.is_project else None
