"""Make, list and remove worktrees of agents: a branch, a folder and ports of its own for each.

Examples:
  dibs worktree new tester-1
  eval "$(dibs worktree env tester-1)"
  dibs worktree ls
  dibs worktree rm tester-1

A worktree is not removed while it holds anything that is nowhere else, or a process
works in it. By force it is, after all of it is salvaged: see `dibs salvage`.

exit status: 0 done, 3 it holds work, 6 no such worktree, 69 git or the set-up failed
"""

from __future__ import annotations

from dibs.cli.support.verbs import add_verbs, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_MODULE = "worktree.verbs"
VERBS = {
    "new": (_MODULE, "make a worktree, or show the one that is there"),
    "ls": (_MODULE, "list the worktrees and what they hold"),
    "env": (_MODULE, "print the environment of a worktree's agent"),
    "setup": (_MODULE, "run the set-up command again"),
    "rm": (_MODULE, "remove a worktree that holds no work"),
    "gc": (_MODULE, "remove what agents that are gone left, but for work"),
}


def configure(parser: ArgumentParser) -> None:
    """Add the verbs of ``dibs worktree``; each has the common options."""
    add_verbs(parser, VERBS)


def run(args: Namespace) -> int:
    """Run one of the verbs."""
    return perform(args)
