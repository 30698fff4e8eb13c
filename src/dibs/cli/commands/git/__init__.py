"""Let git itself refuse commits and pushes of files that others have claimed.

Examples:
  dibs git install
  dibs git status
  dibs git trust filter.lfs.clean
  dibs git install --server /srv/project.git --engine redis://host:6379/0

Hooks that are there run as before, and first. What `git commit --no-verify` leaves out is asked when the
branch moves. Only a server that you own is final: see docs/how-to/git-gates.md.

exit status: 0 done, 3 somebody holds it, 6 there is no repository or nothing is
installed, 69 git cannot now, 77 you may not, 78 the hooks stand in each other's way
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

#: Each verb: the module that knows it, and the line that says what it does.
VERBS = {
    "install": ("git.gates", "put hooks into this repository, or into a server's"),
    "uninstall": ("git.gates", "take them away; all is as it was before"),
    "status": ("git.gates", "show which hooks are in place, and whether they work"),
    "check": ("git.gates", "ask whether what is staged may be committed"),
    "trust": ("git.trust", "show or allow what the repository's configuration runs"),
}


def run(args: Namespace) -> int:
    """Run one of the verbs; none of them needs the store to be there."""
    status: int = args.act(args)
    return status
