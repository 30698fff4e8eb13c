"""Test the git hooks: real commits and a real push, with the repository's own hooks, in a temporary worktree.

No branch, index, or file of the user is touched. A commit that a hook allows moves a temporary branch, which
is deleted afterwards.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from dibs.errors import DibsError
from dibs.git.calls import GitCalls, identity
from dibs.git.worktrees import entries, git_dir_of
from dibs.guard.git.install import GitHooks
from dibs.install.agents.edits import SETTINGS_FILE
from dibs.install.prove.run import GuardProof, ProofOutcome, failed, run, surroundings
from dibs.project.project import open_project
from dibs.services.guard.trial_claims import TrialClaim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.install.prove.run import Ran
    from dibs.local.repository import Repository

_BRANCH = "dibs-prove/"
_PATIENCE = 60.0
#: A test that started this many seconds ago is no longer running.
_ABANDONED = 900.0
_COMMIT = ("commit", "--quiet", "-m", "proof")
#: Each hook: what is tested, how its refusal begins, and the arguments of git; None for a push.
_GATES: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "pre-commit": ("git commit", "dibs: commit refused", _COMMIT),
    "reference-transaction": (
        "git commit --no-verify",
        "dibs: branch update refused",
        (*_COMMIT, "--no-verify"),
    ),
    "pre-push": ("git push", "dibs: push refused", None),
}


def prove_gates(repository: Repository) -> Iterator[GuardProof]:
    """Test each installed git hook."""
    if not repository.common:
        return
    there = {
        hook.name for hook in GitHooks(repository.common, repository.state).look() if hook.installed
    }
    if not there:
        return
    try:
        with _working_tree(repository) as folder, _claimed(folder) as scratch:
            for name in _GATES:
                if name in there:
                    yield _prove(name, folder, scratch)
    except DibsError as error:
        yield failed("git", "gates", f"cannot be tested: {error.message}")


def _prove(name: str, folder: str, scratch: TrialClaim) -> GuardProof:
    what, begins, words = _GATES[name]
    _stage(folder, scratch)
    ran = _git(folder, scratch, *(words or _pushing(folder)))
    lines = [line.strip() for line in ran.err.splitlines()]
    if not ran.in_time:
        return failed("git", what, f"no answer within {_PATIENCE:.0f} s", name)
    if ran.status == 0:
        return failed("git", what, "git allowed it", name)
    at = next((at for at, line in enumerate(lines) if line.startswith(begins)), None)
    named = [line for line in lines[at or 0 :] if scratch.holder in line]
    if at is None or not named:
        first = next(filter(None, lines), f"exit status {ran.status}")
        return failed("git", what, f"git refused, but not because of the claim: {first}", name)
    return GuardProof("git", what, ProofOutcome.PROVED, named[0], name)


@contextlib.contextmanager
def _working_tree(repository: Repository) -> Iterator[str]:
    """Create a worktree with the repository's index and settings but no other file; remove it at the end."""
    plain = GitCalls(repository.root, variables=identity("Dibs"))
    head = plain.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}").out.decode().strip()
    if not head:
        tree = plain.must("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()
        head = plain.must("commit-tree", tree, "-m", "proof").decode().strip()
    with tempfile.TemporaryDirectory(prefix="dibs-prove-") as above:
        folder = os.path.join(os.path.realpath(above), "tree")
        branch = _BRANCH + os.path.basename(above)
        try:
            plain.must("worktree", "add", "--no-checkout", "-b", branch, "--", folder, head)
            GitCalls(folder).must("read-tree", "HEAD")
            with contextlib.suppress(OSError):
                shutil.copyfile(
                    os.path.join(repository.root, SETTINGS_FILE),
                    os.path.join(folder, SETTINGS_FILE),
                )
            yield folder
        finally:
            _remove(plain, folder, branch)


def _remove(git: GitCalls, folder: str, branch: str) -> None:
    """Remove a temporary worktree, its entry in git, and its branch."""
    git.run("worktree", "remove", "--force", "--force", "--", folder)
    git.run("update-ref", "-d", f"refs/heads/{branch}")


def sweep(repository: Repository, now: float) -> list[str]:
    """Remove what killed tests left behind; a test that may still be running is left alone."""
    if not repository.common:
        return []
    git, done = GitCalls(repository.root), []
    for entry in entries(git):
        admin = git_dir_of(repository.common, entry.path)
        if not entry.branch.startswith(_BRANCH) or not admin:
            continue
        if now - os.stat(admin).st_mtime > _ABANDONED:
            _remove(git, entry.path, entry.branch)
            above = os.path.dirname(entry.path)
            if os.path.basename(above) == entry.branch.removeprefix(_BRANCH):
                shutil.rmtree(above, ignore_errors=True)  # named like the branch, so it is ours
            done.append(f"removed {entry.path}: left behind by a killed guard test")
    return done


@contextlib.contextmanager
def _claimed(folder: str) -> Iterator[TrialClaim]:
    """Hold a test file as that worktree sees claims: they may be separate for each worktree."""
    project = open_project(folder, {**os.environ, "GIT_DIR": ""})
    try:
        with TrialClaim(project.store, project.place.repository.state) as scratch:
            yield scratch
    finally:
        project.close()


def _stage(folder: str, scratch: TrialClaim) -> None:
    """Stage the test file with new content: the previous hook may have allowed its commit."""
    with open(os.path.join(folder, scratch.path), "a", encoding="utf-8") as file:
        file.write("proof\n")
    GitCalls(folder).must("add", "--force", "--", scratch.path)


def _pushing(folder: str) -> tuple[str, ...]:
    """Return the arguments that push a commit made without hooks to a temporary repository."""
    git = GitCalls(folder, variables=identity("Dibs"))
    head = git.must("rev-parse", "HEAD").decode().strip()
    tree = git.must("write-tree").decode().strip()
    made = git.must("commit-tree", tree, "-p", head, "-m", "proof").decode().strip()
    there = os.path.join(os.path.dirname(folder), "there.git")
    git.must("init", "--quiet", "--bare", "--", there)
    objects = git.must("rev-parse", "--path-format=absolute", "--git-path", "objects")
    with open(os.path.join(there, "objects", "info", "alternates"), "wb") as file:
        file.write(objects)
    GitCalls(there).must("update-ref", "refs/heads/proof", head)
    return ("push", "--quiet", there, f"{made}:refs/heads/proof")


def _git(folder: str, scratch: TrialClaim, *words: str) -> Ran:
    """Run git as a user would, with all hooks, but without prompts."""
    names = {"DIBS_AGENT": f"{scratch.holder}-git", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}
    environ = surroundings({**identity("Dibs"), **names})
    settings = ("-c", "commit.gpgSign=false", "-c", "push.gpgSign=false")
    return run(["git", *settings, *words], "", folder=folder, environ=environ, timeout=_PATIENCE)
