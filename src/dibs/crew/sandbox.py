"""The optional sandbox of an agent: the repository is read-only, except for the agent's own worktree.

Bubblewrap is used if it works here, or else Landlock. Both allow writes to the same folders. Bubblewrap can
also protect single files in them, and hides the sockets of programs that run commands for others.
"""

from __future__ import annotations

import os
import sys
from functools import cache

import dibs
from dibs.core.text.names import quote
from dibs.crew import landlock
from dibs.errors import DibsError, Misconfigured
from dibs.local.paths import is_beneath
from dibs.local.repository import Repository, trees, with_own_state
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Parts of the common git directory that a commit writes. ``packed-refs``, hooks, and settings are not.
_GIT_PARTS = ("objects", "refs", "logs", "reftable", "lfs")
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - agents use them, and so do their tools
#: In the home folder: settings and programs that run outside the sandbox later.
_AT_HOME = (
    ".gitconfig", ".config/git", ".config/dibs", ".config/systemd", ".config/autostart", ".ssh", ".local/bin",
    ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".zshenv", ".zprofile", ".zshrc",
    ".config/fish",
)  # fmt: skip
#: The rest of ``/run`` contains sockets of programs that write files or run commands for others.
_IN_RUN = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/current-system")
_DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
    "/dev/shm",  # noqa: S108
)  # fmt: skip
_TRIAL_TIMEOUT = 10.0


class SandboxPolicy(Record):
    """What an agent in a sandbox may write. All paths are absolute."""

    #: The agent's worktree, and other paths, such as the board's folder.
    writable: tuple[str, ...]
    #: The main working tree.
    repository: str
    #: The git directory that all worktrees share.
    git_dir: str
    #: The state of Dibs in it.
    state: str
    home: str
    network: bool = True


class SandboxRules(Record):
    """Real paths, for either kind of sandbox; the longest path that contains a file decides."""

    writable: tuple[str, ...]
    read_only: tuple[str, ...]
    #: Read-only files that are necessarily in a writable folder.
    pinned: tuple[str, ...]


def confine(argv: Sequence[str], policy: SandboxPolicy) -> list[str]:
    """Return the command that runs ``argv`` in a sandbox.

    To stop it, signal its process group. It dies with the thread that starts it. A signal that ends the
    agent is reported as the exit status 128 + its number by bubblewrap.
    """
    check_policy(policy)
    if bubblewrap():
        return in_bubblewrap(argv, policy)
    if _landlock_works(network=policy.network):
        return in_landlock(argv, policy)
    why = "no program bwrap is on the PATH"
    if _program():
        why = "bubblewrap cannot create a user namespace"
    raise Misconfigured(
        f"agents cannot run in a sandbox here: {why}, and this kernel's Landlock is too old or disabled",
        code="SANDBOX",
        field="sandbox",
        hint="install bubblewrap (`apt-get install bubblewrap`) and allow user namespaces, "
        "use Linux 6.2 or newer with Landlock (6.7 for `network = false`), or remove `sandbox = true`",
    )


def check_policy(policy: SandboxPolicy) -> None:
    """Raise ``Misconfigured`` unless there is a worktree, and no writable path contains the repository."""
    repository, git_dir = os.path.realpath(policy.repository), os.path.realpath(policy.git_dir)
    if not any(_own_git_dir(path, git_dir) for path in policy.writable):
        raise Misconfigured(
            "a sandbox needs a worktree: in a shared tree, claims change while the agent runs, and a "
            "sandbox cannot",
            code="SANDBOX",
            field="sandbox",
            hint="let the role use a worktree, or remove `sandbox = true`",
        )
    for path in map(os.path.realpath, policy.writable):
        if any(is_beneath(tree, path) for tree in (repository, git_dir)):
            raise Misconfigured(
                f"{quote(path)} must not be writable in a sandbox: it contains the repository",
                code="SANDBOX",
                field="writable",
            )
    home = os.path.realpath(policy.home)
    if is_beneath(home, repository) or is_beneath(home, git_dir):
        raise Misconfigured(
            f"the home folder {quote(home)} is in the repository, so a sandbox cannot make it writable",
            code="SANDBOX",
            field="sandbox",
            hint="use a home folder outside of the repository, or remove `sandbox = true`",
        )


# -- bubblewrap


@cache
def _program() -> str:
    import shutil

    return shutil.which("bwrap") or ""


@cache
def bubblewrap() -> str:
    """Return the program bwrap; empty if it is not installed, or user namespaces are disabled."""
    import subprocess

    if sys.platform != "linux" or not _program():
        return ""
    trial = [_program(), "--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev", "--", "true"]
    try:
        done = subprocess.run(trial, check=False, capture_output=True, timeout=_TRIAL_TIMEOUT)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else _program()


def in_bubblewrap(argv: Sequence[str], policy: SandboxPolicy) -> list[str]:
    """Return the command that runs ``argv`` in bubblewrap.

    Process numbers are not unshared: Dibs outside identifies sessions by them (``processes.realm``), and
    could no longer see whether they run. A separate user namespace keeps ``/proc/PID/root`` closed.
    """
    from dibs.guard.agents.start import socket_of

    rules = _rules(policy)
    # A runner that dies takes its agent along; the death of the supervisor, which is not a parent, does not.
    words = [bubblewrap(), "--die-with-parent", "--unshare-user", "--cap-drop", "ALL"]
    words += [] if policy.network else ["--unshare-net"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev"]
    words += ["--tmpfs", "/run"] if os.path.isdir("/run") else []
    for path in (*_IN_RUN, os.path.dirname(socket_of(""))):
        if is_beneath(path, "/run"):
            words += ["--ro-bind-try", path, path]
    for path, writable in _mounts(rules):
        words += ["--bind" if writable else "--ro-bind", path, path]
    user = os.getuid()
    for path in (f"/tmp/tmux-{user}", "/tmp/.X11-unix"):  # noqa: S108 - a terminal there runs what it is sent
        words += ["--tmpfs", path] if os.path.isdir(path) else []
    # bwrap would die of a signal to the group, and the agent with it, before the agent could react.
    return [*_helper(landlock.HOLD), *words, "--", *_helper(landlock.SCOPE), *argv]


def _mounts(rules: SandboxRules) -> list[tuple[str, bool]]:
    """Return paths to mount, and whether they are writable; outer ones first."""
    found = dict.fromkeys(rules.writable, True)
    found |= dict.fromkeys((*rules.read_only, *rules.pinned), False)
    for path in list(found):
        above = os.path.dirname(path)
        while above not in found and any(is_beneath(above, one) for one in rules.writable):
            # A mount point cannot be renamed, so what is in it stays where it is.
            found[above] = _is_writable(above, found)
            above = os.path.dirname(above)
    return sorted(found.items(), key=lambda item: item[0].count("/"))


def _is_writable(path: str, found: dict[str, bool]) -> bool:
    while path not in found:
        path = os.path.dirname(path)
    return found[path]


# -- Landlock


def _landlock_works(*, network: bool) -> bool:
    return landlock.abi_version() >= (landlock.LEAST_ABI if network else landlock.NETWORK_ABI)


def in_landlock(argv: Sequence[str], policy: SandboxPolicy) -> list[str]:
    """Return the command that runs ``argv`` restricted by Landlock."""
    rules = _rules(policy)
    paths = [grant for path in rules.writable for grant in _grants(path, rules.read_only)]
    mode = landlock.CONFINE if policy.network else landlock.OFFLINE
    return [*_helper(mode, *dict.fromkeys(paths), *_DEVICES), *argv]


def _grants(path: str, read_only: Sequence[str]) -> Iterator[str]:
    """Yield ``path``, or what is in it if a part of it is read-only."""
    inside = [one for one in read_only if is_beneath(one, path)]
    if not inside:
        yield path
    elif path not in inside:
        try:
            names = sorted(os.listdir(path))
        except OSError:
            return
        for name in names:
            yield from _grants(os.path.join(path, name), inside)


def _helper(mode: str, *paths: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(landlock.__file__), mode, *paths, "--"]


# -- what may be written


def _rules(policy: SandboxPolicy) -> SandboxRules:
    git_dir, home = os.path.realpath(policy.git_dir), os.path.realpath(policy.home)
    given = [os.path.realpath(path) for path in policy.writable]
    own = {path: found for path in given if (found := _own_git_dir(path, git_dir))}
    parts = (*(os.path.join(git_dir, name) for name in _GIT_PARTS), policy.state, *own.values())
    general = [os.path.realpath(path) for path in (home, *_TEMPORARY)]
    repository = os.path.realpath(policy.repository)
    every = trees(Repository(repository, git_dir, policy.state, ""))
    # Worktrees of other agents, which may not exist yet, are next to this one.
    beside = [
        above
        for above in map(os.path.dirname, own)
        if not any(is_beneath(one, above) for one in general)
    ]
    read_only = (repository, git_dir, *(tree for tree in every if tree not in given), *beside)
    installed = [os.path.realpath(path) for path in (os.path.dirname(dibs.__file__), sys.prefix)]
    pinned = [path for path in installed if not any(is_beneath(path, tree) for tree in own)]
    pinned += [os.path.join(home, name) for name in _AT_HOME]
    for tree, folder in own.items():
        # Git outside would follow them to settings of the agent's choice.
        names = ("commondir", "gitdir", "config.worktree")
        _create(os.path.join(folder, "config.worktree"))
        pinned += [os.path.join(tree, ".git"), *(os.path.join(folder, name) for name in names)]
    return SandboxRules(_real((*given, *general, *parts)), _real(read_only), _real(pinned))


def _create(path: str) -> None:
    """Create an empty file if there is none: what does not exist cannot be read-only."""
    with open(path, "ab"):
        pass


def _real(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path)))


def _own_git_dir(tree: str, git_dir: str) -> str:
    """Return the git directory of a linked worktree; empty unless each of the two names the other."""
    tree = os.path.realpath(tree)
    try:
        state = with_own_state(Repository(tree, git_dir, "", "")).state
        folder = os.path.realpath(os.path.dirname(state)) if state else ""
        if os.path.dirname(folder) != os.path.join(git_dir, "worktrees"):
            return ""
        with open(
            os.path.join(folder, "gitdir"), encoding="utf-8", errors="surrogateescape"
        ) as file:
            entry = os.path.join(folder, file.read().rstrip("\n"))
    except (OSError, DibsError):
        return ""
    return folder if os.path.realpath(entry) == os.path.join(tree, ".git") else ""
