"""Whose uncommitted changes a call would take away. Pure.

A change belongs to the agent that is known to have made it. All other uncommitted changes belong to a person,
including those to a file that an agent holds, if the file is not as that agent's own calls left it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

#: The name under which a person's work is saved.
PERSON = "human"
#: Ignored files that programs write, by the end of their names.
_OUTPUT = (
    ".log", ".pyc", ".pyo", ".o", ".a", ".so", ".obj", ".class", ".tmp", ".temp", ".pid", ".cache",
    ".tsbuildinfo", ".eslintcache", ".coverage", ".DS_Store", ".swp", ".lock", ".out", ".map",
)  # fmt: skip


def is_output(path: str) -> bool:
    """Return whether an ignored file is probably a program's output, by its name."""
    return path.endswith(_OUTPUT)


def author_of(holder: str, mine: Container[str], *, unchanged: bool, known: str) -> str | None:
    """Return whose uncommitted change a file contains; empty for a person, None if no copy is needed.

    ``unchanged`` says whether the calling agent has written the file and it is still as that agent left it,
    and ``known`` which other agent is known to have left it as it is.
    """
    if holder and holder not in mine:
        return None  # the claim protects it
    return None if unchanged else known


def of(author: str) -> str:
    """Return whose changes they are, in a message to the agent."""
    return f"{author}'s" if author else "your user's"


def copied(author: str, what: str) -> str:
    """Return what a copy contains, in a message that names the paths next."""
    if what == "branch":
        return "branch"
    if what == "stash":
        return "the stash with changes to"
    return f"{of(author)} {what or 'uncommitted'} changes to"
