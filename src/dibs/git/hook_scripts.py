"""Recognize git hooks that Dibs wrote, and the user's hook that each of them runs first.

``dibs.guard.git`` writes the scripts. Their second line has a digest of the rest, so an edited script counts
as the user's own.
"""

from __future__ import annotations

import os
import re
import shlex

from dibs.local.files import read_or_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The second line of each script; the digest follows in parentheses.
MARK = "# dibs-hook: written by `dibs git install`; to remove it, run `dibs git uninstall`"
#: The suffix of a saved user's hook.
BEFORE = ".dibs-before"
#: The file in our hooks folder that remembers the earlier configuration.
HOOKS_BEFORE = "before.json"
#: The line that names the hook to run first, in the script's own folder or in another one.
_EARLIER = re.compile(
    r'^before=(?P<beside>"\$here"/)?(?P<name>.*?)\ncase ', re.DOTALL | re.MULTILINE
)


def marked(text: str) -> str:
    """Return a shell script with the mark by which Dibs recognizes it."""
    return f"#!/bin/sh\n{MARK} ({_digest(text)})\n{text}"


def is_ours(path: str) -> bool:
    """Return whether Dibs wrote the hook at ``path`` and nobody edited it; a link is the user's."""
    return bool(_own_text(path))


def is_users(path: str, tree: str) -> bool:
    """Return whether the hook at ``path`` runs user code in the working tree ``tree``.

    Our own hook does so only if there is a hook to run first.
    """
    if not os.access(path, os.X_OK):
        return False
    text = _own_text(path)
    found = _EARLIER.search(text)
    if found is None:  # not ours
        return True
    folder = os.path.dirname(path) if found["beside"] else tree
    (earlier,) = shlex.split(found["name"])
    return os.access(os.path.join(folder, earlier), os.X_OK)


def _own_text(path: str) -> str:
    """Return what follows the mark in our script, or an empty text if it is not ours."""
    if os.path.islink(path):
        return ""
    try:
        _, mark, text = read_or_empty(path).decode("utf-8", "surrogateescape").split("\n", 2)
    except ValueError:
        return ""
    if not mark.startswith(MARK):
        return ""
    return text if mark.endswith(f"` ({_digest(text)})") else ""


def sha256_of(content: bytes) -> str:
    """Return the digest of some content."""
    return str(_sha256()(content).hexdigest())


def _digest(text: str) -> str:
    return sha256_of(text.encode("utf-8", "surrogateescape"))[:16]


def _sha256() -> Callable[[bytes], Any]:
    """Return SHA-256 without OpenSSL, whose library takes longer to load than the rest of a commit."""
    from importlib import import_module

    for name in ("_sha2", "_sha256", "hashlib"):  # Python 3.12 and newer, 3.11, others
        try:
            found: Callable[[bytes], Any] = import_module(name).sha256
        except ImportError:
            continue
        return found
    raise AssertionError
