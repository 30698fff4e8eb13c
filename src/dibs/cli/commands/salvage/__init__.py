"""List, show and restore work that was kept when a worktree was removed.

Examples:
  dibs salvage ls
  dibs salvage show tester-1
  dibs salvage restore tester-1/20260102T030405Z --branch rescued
  dibs salvage restore tester-1/20260102T030405Z --to ../rescued

Restoring overwrites nothing: it makes a new branch, or a new folder.

exit status: 0 done, 6 nothing is salvaged under that name
"""

from __future__ import annotations

from dibs.cli.support.verbs import add_verbs, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_MODULE = "salvage.verbs"
VERBS = {
    "ls": (_MODULE, "list what was salvaged"),
    "show": (_MODULE, "show what a piece of it holds"),
    "restore": (_MODULE, "bring it back as a new branch or folder"),
}


def configure(parser: ArgumentParser) -> None:
    """Add the verbs of ``dibs salvage``; each has the common options."""
    add_verbs(parser, VERBS)


def run(args: Namespace) -> int:
    """Run one of the verbs."""
    return perform(args)
