"""Git hooks that Dibs wrote: how it recognizes them, and which hook of the user each of them runs first.

``dibs.guard.git`` writes the scripts. Their second line has a digest of the rest, so a script that somebody
changed counts as the user's own.
"""

from __future__ import annotations

import os
import re
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The second line of each script; the digest follows in parentheses.
MARK = "# dibs-hook: written by `dibs git install`, taken away by `dibs git uninstall`"
#: The suffix under which a hook that was there before is kept.
BEFORE = ".dibs-before"
#: What names the hook to run first: one beside the script, or in another folder.
_EARLIER = re.compile(
    r'^before=(?P<beside>"\$here"/)?(?P<name>.*?)\ncase ', re.DOTALL | re.MULTILINE
)


def marked(text: str) -> str:
    """Return a shell script with the lines by which Dibs recognizes it."""
    return f"#!/bin/sh\n{MARK} ({_digest(text)})\n{text}"


def is_ours(path: str) -> bool:
    """Return whether Dibs wrote the hook at ``path`` and nobody changed it since; a link is the user's."""
    return bool(_own_text(path))


def is_users(path: str, tree: str) -> bool:
    """Return whether the hook at ``path`` runs anything of the user's in the working tree ``tree``.

    One of ours does so only if it has a hook to run first.
    """
    if not os.access(path, os.X_OK):
        return False
    text = _own_text(path)
    found = _EARLIER.search(text)
    if found is None:  # not ours, or of a version that this one does not know
        return True
    folder = os.path.dirname(path) if found["beside"] else tree
    (earlier,) = shlex.split(found["name"])
    return os.access(os.path.join(folder, earlier), os.X_OK)


def _own_text(path: str) -> str:
    """Return what follows the mark in a script of ours, empty if it is not ours."""
    if os.path.islink(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            _, mark, text = file.read().split("\n", 2)
    except (OSError, ValueError):
        return ""
    return text if mark.startswith(MARK) and mark == f"{MARK} ({_digest(text)})" else ""


def _digest(text: str) -> str:
    return str(_sha256()(text.encode("utf-8", "surrogateescape")).hexdigest())[:16]


def _sha256() -> Callable[[bytes], Any]:
    """Return the hash without OpenSSL, whose library takes longer to load than all else in a commit."""
    from importlib import import_module

    for name in ("_sha2", "_sha256", "hashlib"):  # of Python 3.12 and newer, of 3.11, of others
        try:
            found: Callable[[bytes], Any] = import_module(name).sha256
        except ImportError:
            continue
        return found
    raise AssertionError
