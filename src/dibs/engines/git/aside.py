"""Setting a branch with a store aside: the remote keeps it under another name."""

from __future__ import annotations

import time

from dibs.engines.git.remote import Remote, place_of
from dibs.engines.git.repo import EngineGit, drop_ref, open_repo
from dibs.engines.shared.failures import busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: The ref of the branch in this machine's copy, meanwhile.
_ASIDE = "refs/dibs/aside"


def rename_branch(
    url: str, branch: str, folder: str, stamp: str, timeout: float, check: Callable[[], None]
) -> str:
    """Rename a branch after ``check`` has allowed it; return the new name, or "" if it does not exist.

    ``folder`` contains this machine's copy. If the branch moves meanwhile, nothing is changed.
    """
    new, repo = f"{branch}-{stamp}", f"{folder}/repo"
    open_repo(repo)
    remote = Remote(EngineGit(repo), place_of(url, branch))
    deadline = time.monotonic() + timeout
    commit = remote.look(deadline)
    if not commit:
        return ""
    check()
    remote.fetch(_ASIDE, deadline)
    try:
        if not remote.rename(commit, f"refs/heads/{new}", deadline):
            raise busy(f"the branch {branch}")
    finally:
        drop_ref(repo, _ASIDE)
    return f"branch {new}"
