"""Branch updates and pushes in a clone: which commits they add, and whether claims allow them."""

from __future__ import annotations

import os

from dibs.core.claims.plain_commits import PlainCommit, only_new
from dibs.git.incoming import brought, fetched, is_nothing, is_object, new_commits
from dibs.git.refs import HEADS, commit_of
from dibs.git.untrusted import guarded_calls
from dibs.guard.git.history import head_moved, overwritten, rewritten
from dibs.guard.git.messages import OK, refuse
from dibs.guard.git.program import committer, opened
from dibs.guard.git.sources import is_fetch_from_elsewhere
from dibs.local.branches import note_allowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.git.calls import GitCalls
    from dibs.local.repository import Repository
    from dibs.project.project import Project

_REMOTES = "refs/remotes/"
#: Their files are named after objects, not after paths. Commits under all other names are checked in a push:
#: a fetch from there makes them known.
_NOTES = "refs/notes/"
#: Variables that tell a hook about its repository, and that its own git calls need as well.
_PLACE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
)  # fmt: skip


def git_here() -> GitCalls:
    """Return git for the repository in which the hook runs."""
    told = {name: os.environ[name] for name in _PLACE if name in os.environ}
    return guarded_calls(os.getcwd(), variables=told)


def moved(lines: Iterable[Sequence[str]], process: int) -> int:
    """Check a prepared ``reference-transaction`` of a git process, given lines of ``old new ref``."""
    given = list(lines)
    project, git = opened(), git_here()
    if given and all(ref == "HEAD" for _, _, ref in given):
        return head_moved(project, git, given[0][1])
    own = own_branch(project)
    updates = [
        (old if is_object(old) and not is_nothing(old) else commit_of(git, ref), new, ref)
        for old, new, ref in given
        if ref.startswith((HEADS, _REMOTES)) and ref != own and is_object(new)
    ]
    wanted = [one for one in updates if one[2].startswith(HEADS)]
    status = rewritten(project, git, wanted)
    if status != OK:
        return status
    common = project.place.repository.common
    if len(wanted) < len(updates) and _makes_known(project, git, process):
        wanted = updates
    git_dir = os.environ.get("GIT_DIR") or os.path.join(git.tree, ".git")
    beyond = fetched(git, common, git_dir)
    made: list[PlainCommit] = []
    for before, new, _ in wanted:
        if before != new and not is_nothing(new):
            made += brought(git, before, new, beyond)
    status = judge(project, made, "branch update")
    if status == OK:
        who = committer(project).id
        for _, new, _ in wanted:
            note_allowed(project.place.repository, who, tip=new)
    return status


def _makes_known(project: Project, git: GitCalls, process: int) -> bool:
    """Return whether an agent's own write of a remote-tracking branch would make its commits known.

    A fetch from another repository only records what is there.
    """
    common = project.place.repository.common
    return not (committer(project).human or is_fetch_from_elsewhere(git, common, process))


def pushed(lines: Iterable[Sequence[str]]) -> int:
    """Check a ``pre-push``, given lines of ``local-ref local-oid remote-ref remote-oid``."""
    given = [(new, old, ref) for _, new, ref, old in lines if not ref.startswith(_NOTES)]
    git = git_here()
    branches = [(old, new, ref) for new, old, ref in given if ref.startswith(HEADS)]
    status = overwritten(git, [one for one in branches if not is_nothing(one[0])])
    wanted = [(new, old) for new, old, _ in given if not is_nothing(new)]
    if status != OK or not wanted:
        return status
    if not git.must("for-each-ref", "--count=1", "refs/remotes"):
        # Nothing was ever fetched, so this would check all history; the server decides.
        wanted = [(new, old) for new, old in wanted if not is_nothing(old)]
    made: list[PlainCommit] = []
    for new, old in wanted:
        commits = new_commits(git, new, [old], known=("--remotes",))
        made += [PlainCommit(only_new(commit.changes, ()), commit.oid) for commit in commits]
    return judge(opened(), made, "push", making=False) if made else OK


def staged_or_pushed(repository: Repository) -> list[PlainCommit]:
    """Return what the pre-commit framework asks about: the staged paths, or the commits to push."""
    git = git_here()
    old, new = os.environ.get("PRE_COMMIT_FROM_REF", ""), os.environ.get("PRE_COMMIT_TO_REF", "")
    if is_object(new) and not is_nothing(new):
        beyond = [old] if is_object(old) and not is_nothing(old) else []
        commits = new_commits(git, new, beyond, known=("--remotes",))
        return [PlainCommit(only_new(commit.changes, ()), commit.oid) for commit in commits]
    git_dir = os.path.join(repository.root, ".git")
    if os.path.exists(os.path.join(os.environ.get("GIT_DIR") or git_dir, "MERGE_HEAD")):
        return []  # a merge contains other people's changes; the branch update tells them apart
    out = git.must(
        "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-relative", "--ignore-submodules=none",
    )  # fmt: skip
    paths = tuple(os.fsdecode(path) for path in out.split(b"\0") if path)
    return [PlainCommit(paths)] if paths else []


def judge(project: Project, made: Sequence[PlainCommit], what: str, *, making: bool = True) -> int:
    """Refuse commits that change what other agents hold; return the exit status."""
    if not any(one.paths for one in made):
        return OK
    caller = committer(project)
    stopped = project.gating.judge(caller, made, making=making)
    return refuse(stopped, what, caller, project) if stopped else OK


def own_branch(project: Project) -> str:
    """Return the ref of the git engine's branch, or an empty text for another engine."""
    config = project.config
    return f"{HEADS}{config.git_branch}" if config.engine.startswith("git:") else ""
