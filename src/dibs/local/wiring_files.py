"""The files that configure agents, git, and Dibs: in the repository, and the user's own."""

from __future__ import annotations

import os

from dibs.core.claims.protected import HOME_GUARDED, HOME_VARIABLES
from dibs.local.server_files import server_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dibs.local.repository import Repository

_SAMPLE = ".sample"
#: The most files of one folder.
_MOST = 100


def guarding_files(repository: Repository) -> Iterator[str]:
    """Yield the absolute paths of the files and folders that guard agents; those in listed folders, too."""
    from dibs.core.toolcalls.wiring import WIRING, WIRING_FOLDERS
    from dibs.local.loose_objects import unlogged_branches

    root, common = repository.root, repository.common
    places = [f"{root}/{name}" for name in (*WIRING_FOLDERS, *WIRING)]
    if common:
        places += [f"{common}/hooks/", f"{repository.state}/hooks/"]
        yield from (f"{common}/{name}" for name in ("config", "config.worktree", "info/attributes"))
        yield from unlogged_branches(common)
        if os.path.isfile(f"{root}/.git"):
            yield f"{root}/.git"
    for place in (*places, *home_guarded()):
        yield place.rstrip("/")
        if place.endswith("/"):
            yield from _files_in(place)


def _files_in(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            names = sorted(one.name for one in found if not one.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names[:_MOST]:
        if not name.endswith((_SAMPLE, ".lock")):
            yield f"{folder}{name}"


def home_guarded(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the absolute paths of these files; a folder ends in a slash."""
    variables = os.environ if environ is None else environ
    home = os.path.expanduser("~")
    found: dict[str, None] = {}
    for name in HOME_GUARDED:
        first, slash, rest = name.partition("/")
        variable, inner, folder = HOME_VARIABLES.get(first, "").partition("/")
        moved = variables.get(variable, "")
        if moved:
            found[f"{moved.rstrip('/')}{inner}{folder}{slash}{rest}"] = None
        found[f"{home}/{name}"] = None
    return list(found)


def is_home_guarded(path: str, *, deep: bool, deletes: bool) -> bool:
    """Return whether a path is one of these files, or with ``deep`` a folder around one.

    A folder that is not inside the home folder counts only if it is deleted: others unpack files there.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    around = deep and (deletes or path.startswith(f"{home}/"))
    # The server's folder has tokens; it is not compared, because the server writes there, too.
    for name in (*home_guarded(), f"{server_folder()}/"):
        place = os.path.realpath(name)
        if path == place or (name.endswith("/") and path.startswith(f"{place}/")):
            return True
        if around and place.startswith(f"{path.rstrip('/')}/") and os.path.lexists(place):
            return True
    return False
