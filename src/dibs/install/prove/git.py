"""Test the git hooks: real commits and a real push with Dibs' hooks, in a temporary worktree.

No branch, index, or file of the user is touched. A commit that a hook allows moves a temporary branch, which
is deleted afterwards. Nothing else in the repository runs: its other hooks and the programs in its
configuration are off, and a hook that differs from the one that Dibs would write is reported, not run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from dibs.errors import DibsError
from dibs.git.calls import GitCalls, identity
from dibs.git.untrusted import guarded_calls
from dibs.git.worktrees import entries, git_dir_of
from dibs.guard.git.config_backup import write
from dibs.guard.git.install import GitHooks
from dibs.guard.git.scripts import script
from dibs.install.agents.edits import SETTINGS_FILE
from dibs.install.prove.run import GuardProof, ProofOutcome, failed, naming
from dibs.project.project import open_project
from dibs.services.guard.trial_claims import TrialClaim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.git.run import GitResult
    from dibs.git.untrusted import SafeGit
    from dibs.guard.git.install import Hook
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
    hooks = GitHooks(repository.common, repository.state)
    there = {hook.name: hook for hook in hooks.look() if hook.installed}
    if not there:
        return
    try:
        with _working_tree(repository) as folder, _claimed(folder) as scratch:
            git = guarded_calls(folder, repository, timeout=_PATIENCE, variables=_names(scratch))
            seen = [hook for hook in hooks.look(git) if hook.current]
            for hook in seen:
                write(os.path.join(_hooks_folder(folder), hook.name), script(hook.name))
            for name in _GATES:
                if name in there:
                    yield _prove(there[name], git, scratch)
    except DibsError as error:
        yield failed("git", "gates", f"cannot be tested: {error.message}")


def _prove(hook: Hook, git: SafeGit, scratch: TrialClaim) -> GuardProof:
    what, begins, words = _GATES[hook.name]
    if not hook.current:
        said = "it differs from the hook that this version writes, so it was not run"
        return failed("git", what, f"{said}: run `dibs git install`", hook.name)
    _stage(git, scratch)
    ran = _run(git, *(words or _pushing(git)))
    lines = [line.strip() for line in ran.err.splitlines()]
    if ran.code == 0:
        return failed("git", what, "git allowed it", hook.name)
    at = next((at for at, line in enumerate(lines) if line.startswith(begins)), None)
    named = [line for line in lines[at or 0 :] if scratch.holder in line]
    if at is None or not named:
        first = next(filter(None, lines), f"exit status {ran.code}")
        return failed("git", what, f"git refused, but not because of the claim: {first}", hook.name)
    return GuardProof("git", what, ProofOutcome.PROVED, named[0], hook.name)


def _hooks_folder(folder: str) -> str:
    """Return the folder of the hooks for the test, next to the temporary worktree."""
    return os.path.join(os.path.dirname(folder), "hooks")


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
        os.mkdir(_hooks_folder(folder))
        branch = _BRANCH + os.path.basename(above)
        try:
            plain.must("worktree", "add", "--no-checkout", "-b", branch, "--", folder, head)
            GitCalls(folder).must("read-tree", "HEAD")
            settings = os.path.join(repository.root, SETTINGS_FILE)
            if os.path.isfile(settings):
                shutil.copyfile(settings, os.path.join(folder, SETTINGS_FILE))
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


def _stage(git: SafeGit, scratch: TrialClaim) -> None:
    """Stage the test file with new content: the previous hook may have allowed its commit."""
    with open(os.path.join(git.tree, scratch.path), "a", encoding="utf-8") as file:
        file.write("proof\n")
    git.must("add", "--force", "--", scratch.path)


def _pushing(git: SafeGit) -> tuple[str, ...]:
    """Return the arguments that push a commit made without hooks to a temporary repository."""
    head = git.must("rev-parse", "HEAD").decode().strip()
    tree = git.must("write-tree").decode().strip()
    made = git.must("commit-tree", tree, "-p", head, "-m", "proof").decode().strip()
    there = os.path.join(os.path.dirname(git.tree), "there.git")
    git.must("init", "--quiet", "--bare", "--template=", "--", there)
    objects = git.must("rev-parse", "--path-format=absolute", "--git-path", "objects")
    os.makedirs(os.path.join(there, "objects", "info"), exist_ok=True)
    with open(os.path.join(there, "objects", "info", "alternates"), "wb") as file:
        file.write(objects)
    GitCalls(there).must("update-ref", "refs/heads/proof", head)
    return ("push", "--quiet", there, f"{made}:refs/heads/proof")


def _run(git: SafeGit, *words: str) -> GitResult:
    """Run git with the hooks for the test; a push reaches local folders only."""
    settings = (
        "commit.gpgSign=false",
        "push.gpgSign=false",
        f"core.hooksPath={_hooks_folder(git.tree)}",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    return git.run(*options, *words, variables={"GIT_ALLOW_PROTOCOL": "file"})


def _names(scratch: TrialClaim) -> dict[str, str]:
    """Return the variables of another agent, without those that name one or a session."""
    others = {name: "" for name in naming() if not name.startswith("GIT_")}
    return {**others, **identity("Dibs"), "DIBS_AGENT": f"{scratch.holder}-git"}
