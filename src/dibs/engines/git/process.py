"""How the engine starts git: as all of Dibs does, but remotes are reached in the user's own way."""

from __future__ import annotations

import os
import time

from dibs.git.calls import GitCalls
from dibs.git.run import finish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.git.run import GitResult

_SETTINGS = (("push.followTags", "false"), ("push.gpgSign", "false"))
#: How git asks for a password, and through which program it connects: the user's own way.
_REACH = ("GIT_ASKPASS", "GIT_PROXY_COMMAND")


class EngineGit(GitCalls):
    """Runs git in one repository; ``patience`` is for a connection to a remote."""

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
        """Run git to its end; raise ``TimedOut`` if that is not reached at ``deadline`` (monotonic)."""
        return finish(self.start(*arguments), None, deadline)

    def setting(self, name: str, timeout: float) -> str:
        """Return one setting of the repository, empty if it is not set."""
        result = self.run_until(time.monotonic() + timeout, "config", "--get", name)
        return result.out.decode("utf-8", "replace").strip()
