"""Who changed the board's files without a task command.

The first that is known: the agent whose own call left the file as it is, the agent that the commit names in a
trailer, the commit's author, the git user of this machine, the login name.
"""

from __future__ import annotations

import os

from dibs.core.changes.trailers import AGENT
from dibs.core.text.names import printable
from dibs.errors import DibsError
from dibs.git.status import changed
from dibs.git.untrusted import guarded_calls
from dibs.local.identity import login
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dibs.git.calls import GitCalls

    #: Returns the agents whose own calls left these files of a working tree as they are now.
    Writers = Callable[[str, Sequence[str]], dict[str, str]]

#: How many commits are searched for the authors, and for how many files.
MOST = 500
#: The longest name that is recorded.
LONGEST = 80
_START, _GAP = "\x01", "\x02"
_FORMAT = f"%x01%an%x02%(trailers:key={AGENT},valueonly,separator=%x2C)"


class FileAuthor(Record):
    """Who changed a file, and whether it is as committed."""

    name: str
    committed: bool = False


def authors(
    tree: str, paths: Iterable[str], writers: Writers = lambda *_: {}
) -> dict[str, FileAuthor]:
    """Return who last changed each file; ``paths`` are relative to the working tree ``tree``."""
    wanted = list(paths)
    if not wanted:
        return {}
    try:
        known = _committed(guarded_calls(tree), wanted[:MOST])
    except (DibsError, OSError):  # not a git repository, or an unusable one
        known = {}
    wrote, person = writers(tree, wanted), person_at(tree)
    return {
        path: FileAuthor(wrote.get(path) or known.get(path) or person, path in known)
        for path in wanted
    }


def person_at(tree: str) -> str:
    """Return the name of the person who works in ``tree``: the git user, or else the login name."""
    try:
        named = guarded_calls(tree).run("config", "--get", "user.name").out
    except (DibsError, OSError):
        named = b""
    return _shown(named.decode("utf-8", "replace")) or _shown(login(os.environ))


def _committed(git: GitCalls, paths: list[str]) -> dict[str, str]:
    """Return the authors of the files that are as committed."""
    listed = git.run("ls-files", "-z", "--", *paths)
    clean = {os.fsdecode(path) for path in listed.out.split(b"\0") if path}
    clean -= {change.path for change in changed(git, *paths)} if clean else set()
    if not clean:
        return {}
    out = git.run(
        "log", f"--max-count={MOST}", f"--format={_FORMAT}", "--name-only", "--no-renames",
        "--", *sorted(clean),
    ).out  # fmt: skip
    found: dict[str, str] = {}
    author = ""
    for line in out.decode("utf-8", "replace").split("\n"):
        if line.startswith(_START):
            name, _, agent = line.removeprefix(_START).partition(_GAP)
            author = _shown(agent.partition(",")[0] or name)
        elif line in clean:
            found.setdefault(line, author)
    return found


def _shown(name: str) -> str:
    return printable(" ".join(name.split()))[:LONGEST]
