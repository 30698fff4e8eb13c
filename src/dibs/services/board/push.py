"""Push the board's commits to the upstream of the current branch, without touching the working tree.

Commits of the user are never published: if the branch has one that changes other files, nothing is pushed
until the user pushes it. If the upstream has newer commits, they are merged outside the working tree, and the
merge is pushed; the local branch stays where it is, and the next ``git pull`` is a fast-forward.
"""

from __future__ import annotations

import re

from dibs.core.text.names import printable, quote
from dibs.errors import DibsError
from dibs.git.calls import last_words
from dibs.git.log import commits
from dibs.git.merge_tree import merged
from dibs.git.refs import commit_of, is_in, upstream_of
from dibs.git.untrusted import guarded_calls, refuse_drivers
from dibs.services.commits.build import write_commit
from dibs.services.commits.keep import keep_merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.calls import GitCalls
    from dibs.git.refs import Upstream
    from dibs.git.untrusted import SafeGit

#: How often to try when another process pushes first.
TRIES = 10
#: Where the upstream is fetched to; the user's own refs do not change.
_FETCHED = "refs/dibs/board-upstream"
_MESSAGE = "board: merge with the upstream"


class NotPushed(Exception):
    """Why nothing was pushed, and what to do."""


def push_board(tree: str, folder: str) -> str:
    """Push the commits of the board in ``folder``; return why they were not pushed, empty if they were."""
    try:
        git = guarded_calls(tree)
        place = _upstream(git)
        if not _has_news(git, place):
            return ""
        online = git.online()
        for _ in range(TRIES):
            if _pushed(git, online, place, folder):
                return ""
    except NotPushed as why:
        return str(why)
    except DibsError as error:
        return error.message
    except OSError as error:
        return f"cannot write the git directory: {error.strerror}"
    return f"others keep pushing to {place.remote}; the next command tries again"


def _upstream(git: GitCalls) -> Upstream:
    head = git.run("symbolic-ref", "--quiet", "HEAD").out.decode("utf-8", "replace").strip()
    if not head:
        raise NotPushed("HEAD is not on a branch; switch to one: git switch BRANCH")
    found = upstream_of(git, head)
    if found is None:
        raise _no_upstream(head.removeprefix("refs/heads/"))
    return found


def _no_upstream(branch: str) -> NotPushed:
    return NotPushed(
        f"branch {branch} has no upstream; to set one: git push --set-upstream origin {branch}"
    )


def _has_news(git: GitCalls, place: Upstream) -> bool:
    """Return whether the branch has commits that the upstream lacked at the last fetch."""
    listed = git.run("rev-list", "-n", "1", "--end-of-options", "HEAD", f"^{place.tracking}")
    return bool(listed.code or listed.out.strip())


def _pushed(git: SafeGit, online: GitCalls, place: Upstream, folder: str) -> bool:
    """Fetch, merge if needed, and push; return False if the upstream moved meanwhile."""
    there = _fetched(online, place)
    if not there:
        return False
    head = commit_of(git, "HEAD")
    new = _to_push(git, there, head, folder)
    if not new:
        return True
    result = online.run(
        "push", "--porcelain", "--no-verify", "--no-follow-tags", "--end-of-options",
        place.remote, f"{new}:{place.ref}",
    )  # fmt: skip
    if result.code == 0:
        return True
    if _fetched(online, place) != there:
        return False
    refused = re.search(rb"^!\t[^\t]*\t(.*)$", result.out, re.MULTILINE)
    why = printable(refused[1].decode("utf-8", "replace")) if refused else last_words(result.err)
    raise NotPushed(f"git push to {place.remote} failed: {why}; the next command tries again")


def _fetched(online: GitCalls, place: Upstream) -> str:
    """Return the upstream's commit; empty while another process fetches it."""
    result = online.run(
        "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=",
        "--recurse-submodules=no", "--end-of-options", place.remote, f"+{place.ref}:{_FETCHED}",
    )  # fmt: skip
    if result.code == 0:
        return commit_of(online, _FETCHED)
    if "cannot lock ref" in result.err:
        return ""
    if "couldn't find remote ref" in result.err:
        raise _no_upstream(place.branch)
    why = last_words(result.err) or f"exit status {result.code}"
    raise NotPushed(f"cannot reach {place.remote}: {why}; the next command tries again")


def _to_push(git: SafeGit, there: str, head: str, folder: str) -> str:
    """Return the commit to push, a merge if both sides have news; empty if there is nothing to push."""
    ours = commits(git, there, head)
    if not ours:
        return ""
    paths = {path for commit in ours for path in commit.paths}
    other = sorted(path for path in paths if not path.startswith(f"{folder}/"))
    if other:
        raise NotPushed(
            f"the branch has commits of yours that are not pushed yet ({quote(other[0])});"
            " to push them: git push"
        )
    if is_in(git, there, head):
        return head
    refuse_drivers(git, paths)
    outcome = merged(git, there, head)
    if outcome.clashes:
        path = outcome.clashes[0].path
        raise NotPushed(
            f"{quote(path)} was changed on both sides; to merge it: git pull --no-rebase"
        )
    return write_commit(git, keep_merge(git, there, head, outcome), _MESSAGE)
