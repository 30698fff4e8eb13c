"""The built pages of the dashboard. Their sources are in ``dashboard/`` at the root of the repository.

Short because the pages themselves are not Python.
"""

from __future__ import annotations

import os

#: The first view, at ``/``, and the others, each at its own path.
HOME = "now"
VIEWS = ("files", "timeline", "board", "crew", "ledger", "inbox", "merge", "settings")
FOLDER = os.path.join(os.path.dirname(__file__), "static")


def is_built() -> bool:
    """Return whether this installation has the pages."""
    return os.path.exists(os.path.join(FOLDER, "index.html"))


def path_of(name: str) -> str | None:
    """Return the path of a page or an asset, None if this file does not exist."""
    path = os.path.normpath(os.path.join(FOLDER, name))
    return path if path.startswith(FOLDER + os.sep) and os.path.isfile(path) else None
