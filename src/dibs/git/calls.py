"""Calling the user's git on the user's working tree: argument lists, literal paths, no hooks, no prompts."""

from __future__ import annotations

import os
import subprocess
import time

from dibs.errors import Unavailable
from dibs.git.run import Said, TimedOut, environment, finish, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Whom git names as author; the caller's own surroundings decide.
_IDENTITY = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
)
_SETTINGS = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "core.quotePath=false",
    "-c", "core.ignoreStat=false",
)  # fmt: skip


class GitCalls:
    """Runs git in one working tree; every call ends within ``timeout`` seconds."""

    __slots__ = ("_environ", "_timeout", "tree")

    def __init__(self, tree: str, *, timeout: float = 30.0) -> None:
        self.tree = tree
        self._timeout = timeout
        self._environ = environment(os.environ, (), timeout)
        self._environ["GIT_LITERAL_PATHSPECS"] = "1"
        self._environ |= {name: os.environ[name] for name in _IDENTITY if os.environ.get(name)}

    def run(
        self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> Said:
        """Run git to its end and return what it said, whether it succeeded or not."""
        argv = [*_SETTINGS, *arguments]
        process = spawn(
            argv,
            environ={**self._environ, **(variables or {})},
            folder=self.tree,
            stdin=subprocess.PIPE,
        )
        try:
            said = finish(process, given, time.monotonic() + self._timeout)
        except TimedOut:
            raise Unavailable(
                f"git {arguments[0]} did not end within {self._timeout:.0f} s"
            ) from None
        return said._replace(err=said.err.strip())

    def must(
        self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git and return its output; a failure is ``Unavailable``, with git's own last line."""
        said = self.run(*arguments, given=given, variables=variables)
        if said.code:
            last = said.err.splitlines()[-1] if said.err else f"exit status {said.code}"
            raise Unavailable(f"git {arguments[0]} failed: {last}")
        return said.out
