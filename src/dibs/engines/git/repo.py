"""The engine's private bare repository, and how git is started in it.

Git runs as everywhere in Dibs, but reaches remotes as the user configured it. The user's own
repository is never touched.
"""

from __future__ import annotations

import contextlib
import os

from dibs.errors import DibsError
from dibs.git.calls import GitCalls
from dibs.git.run import finish
from dibs.local.files import write_file
from dibs.local.repository import git_dir_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.run import GitResult

REMOTE_REF = "refs/dibs/remote"
LOST_REFS = "refs/dibs/lost"

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"
_SETTINGS = (("push.followTags", "false"), ("push.gpgSign", "false"))
#: How git asks for a password, and which program it connects with, as the user configured it.
_REACH = ("GIT_ASKPASS", "GIT_PROXY_COMMAND")


class EngineGit(GitCalls):
    """Runs git in one repository; ``patience`` is for connecting to a remote."""

    __slots__ = ()

    def __init__(
        self, repo: str, settings: Iterable[tuple[str, str]] = (), patience: float = 10.0
    ) -> None:
        variables = {"GIT_DIR": repo}
        super().__init__(
            repo, timeout=patience, settings=(*_SETTINGS, *settings), variables=variables, network=True
        )  # fmt: skip
        for name in _REACH:
            self._environ.pop(name, None)
            if name in os.environ:
                self._environ[name] = os.environ[name]

    def run_until(self, deadline: float, *arguments: str) -> GitResult:
        """Run git to its end; raise ``TimedOut`` at ``deadline`` (monotonic)."""
        return finish(self.start(*arguments), None, deadline)


def open_repo(repo: str) -> None:
    """Create the repository if it does not exist."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/dibs"):
        os.makedirs(f"{repo}/{folder}", mode=0o700, exist_ok=True)
    try:
        with open(f"{repo}/config", encoding="utf-8") as file:
            if file.read() == _CONFIG:
                return
    except FileNotFoundError:
        pass
    _write(repo, "HEAD", "ref: refs/heads/none\n")
    _write(repo, "config", _CONFIG)


def read_ref(repo: str, name: str) -> str:
    """Return the commit of one of our refs; an empty text if it does not exist."""
    try:
        with open(f"{repo}/{name}", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def write_ref(repo: str, name: str, commit: str) -> None:
    """Set one of our refs."""
    os.makedirs(os.path.dirname(f"{repo}/{name}"), exist_ok=True)
    _write(repo, name, commit + "\n")


def drop_ref(repo: str, name: str) -> None:
    """Delete one of our refs, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{repo}/{name}")


def keep_lost(repo: str, commit: str, at: int) -> None:
    """Keep the commit of a branch that was deleted or force-pushed."""
    write_ref(repo, f"{LOST_REFS}/{at}-{commit[:12]}", commit)


def clear_leftovers(repo: str) -> None:
    """Remove the remains of a killed git; the caller holds the remote's lock, so no other git runs."""
    folder = f"{repo}/{os.path.dirname(REMOTE_REF)}"
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.startswith("remote.") or name.endswith(".lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}")
    for folder in (f"{repo}/objects", f"{repo}/objects/pack"):
        for name in os.listdir(folder):
            # Git does not resume an interrupted fetch either.
            if name.startswith(("tmp_pack_", "tmp_idx_", "tmp_rev_", ".tmp-")):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{folder}/{name}")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{repo}/shallow.lock")


def real_dir(path: str) -> str:
    """Return the folder with the refs and objects of a repository."""
    for end in ("/.git", "", ".git/.git", ".git"):  # in git's own order
        with contextlib.suppress(OSError, DibsError):
            found = git_dir_at(path + end)
            if found:
                return found
    return path


def _write(repo: str, name: str, text: str) -> None:
    # The draft is not next to the file: git treats everything below refs/ as a ref.
    write_file(f"{repo}/{name}", text, drafts=repo)
