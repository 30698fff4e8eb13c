"""The user's own files that configure agents, git, and Dibs; short because only their places vary."""

from __future__ import annotations

import os

from dibs.core.claims.protected import HOME_GUARDED, HOME_VARIABLES
from dibs.local.server_files import server_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


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
