"""The settings in the ``dibs.toml`` of the last commit, cached next to the state.

Dibs reads settings that decide what agents may do from the last commit: a program can change the file, but
only a human can commit it. No git process is needed while new commits keep the file and are not packed.
"""

from __future__ import annotations

import sys

from dibs.config.cache import SIZE_MAX
from dibs.local.files import read_file
from dibs.startup import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.config.cache import Written

_CACHE = "committed-settings.json"
#: How many commits are remembered; each working tree may have another one checked out.
_MOST = 64
#: What this process has read or found, by state folder.
_known: dict[str, dict[str, Any]] = {}


def object_of(state: str, commit: str, ask: Callable[[str], str]) -> str:
    """Return the object of ``dibs.toml`` in a commit; empty if it has none.

    ``ask`` asks git for it.
    """
    kept = _kept(state)
    known = kept["commits"].get(commit)
    if not isinstance(known, str):
        known = ask(commit)
        commits = {**dict(list(kept["commits"].items())[1 - _MOST :]), commit: known}
        _keep(state, {**kept, "commits": commits, "last": known or kept.get("last", "")})
    return known


def last_object(state: str) -> str:
    """Return the object of the last committed ``dibs.toml`` that was seen; empty if there was none."""
    return str(_kept(state).get("last", ""))


def settings_of(
    state: str, blob: str, parse: Callable[[bytes], Written], read: Callable[[str], bytes]
) -> Written:
    """Return the settings in an object, parsed by ``parse``; ``read`` gets its content."""
    kept = _kept(state)
    known = kept["settings"].get(blob)
    if isinstance(known, dict):
        return {str(name): (value, int(line)) for name, (value, line) in known.items()}
    found = parse(read(blob)[:SIZE_MAX])
    settings = {**dict(list(kept["settings"].items())[1 - _MOST :]), blob: found}
    _keep(state, {**kept, "settings": settings})
    return found


def _version() -> str:
    return str(sys.modules["dibs"].__version__)  # importing dibs by name would be circular


def _kept(state: str) -> dict[str, Any]:
    known = _known.get(state)
    if known is None:
        known = _known[state] = _read(state)
    return known


def _read(state: str) -> dict[str, Any]:
    try:
        kept = quickjson.loads(read_file(f"{state}/{_CACHE}"))
        whole = isinstance(kept["commits"], dict) and isinstance(kept["settings"], dict)
        if whole and kept["version"] == _version():
            return dict(kept)
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return {"version": _version(), "commits": {}, "settings": {}}


def _keep(state: str, kept: dict[str, Any]) -> None:
    from dibs.local.files import write_file

    _known[state] = kept
    try:
        write_file(f"{state}/{_CACHE}", quickjson.dumps(kept))
    except OSError:
        return
