"""Install git hooks that refuse commits and pushes of files that other agents hold.

Your own hooks still run, and run first. Git's options can bypass hooks: see docs/how-to/git-gates.md.

Examples:
  dibs git install
  dibs git status

exit status: 0 done, 3 another agent holds a file, 6 no repository or no hooks installed, 69 git failed,
77 not allowed, 78 hooks conflict with each other
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

#: Each verb: its module and summary.
VERBS = {
    "install": ("git.gates", "install hooks in this repository"),
    "uninstall": ("git.gates", "remove the hooks"),
    "status": ("git.gates", "show which hooks are installed and whether they work"),
    "check": ("git.gates", "check whether the staged files may be committed"),
}


def run(args: Namespace) -> int:
    """Run a verb; none of them requires a reachable store."""
    status: int = args.act(args)
    return status
