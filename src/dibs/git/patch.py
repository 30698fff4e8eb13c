"""The textual difference between a commit and some files of a working tree, new ones with them.

The files are put into an index of our own, and their contents into a folder that is gone afterwards: neither
the user's index nor the repository changes, and any path works, because none stands on a command line.
"""

from __future__ import annotations

import os
import tempfile

from dibs.git.snapshot import quarantined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.calls import GitCalls

#: Nothing of the user's settings may run a program, or colour what programs read.
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short")
#: Line ends that do not survive a commit are no matter for whoever only looks.
_CALM = ("-c", "core.safecrlf=false")


def patch(
    git: GitCalls, place: str, base: str, paths: Iterable[str], *, stat: bool = False
) -> bytes:
    """Return how ``paths`` in the working tree differ from the commit ``base``, empty for none yet.

    ``place`` is the git directory of the tree. With ``stat`` the lines are only counted.
    """
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    if not given:
        return b""
    with tempfile.TemporaryDirectory(prefix="dibs-diff-") as folder:
        objects = os.path.join(folder, "objects")
        os.mkdir(objects)
        variables = quarantined(place, objects)
        variables["GIT_INDEX_FILE"] = os.path.join(folder, "index")
        if base:
            git.must("read-tree", "--end-of-options", base, variables=variables)
        against = base or _empty_tree(git, variables)
        git.must(
            *_CALM, "update-index", "--add", "--remove", "--replace", "-z", "--stdin",
            given=given, variables=variables,
        )  # fmt: skip
        how = ("--stat",) if stat else ("-p", "--full-index")
        return git.must(
            "diff-index", "--cached", *_PLAIN, *how, "--end-of-options", against,
            variables=variables,
        )  # fmt: skip


def _empty_tree(git: GitCalls, variables: dict[str, str]) -> str:
    written = git.must("hash-object", "-t", "tree", "-w", "--stdin", variables=variables)
    return written.decode().strip()
