"""The git engine: state on one branch of a remote, for several machines without a server of our own."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from threading import Lock

from dibs.engines.git import push
from dibs.engines.git.cache import pause, translated
from dibs.engines.git.connection import GitConnection
from dibs.engines.git.copy import Parts
from dibs.engines.git.remote import Remote, place_of, remote_settings, remote_url
from dibs.engines.git.repo import EngineGit
from dibs.engines.shared.clock import system_sources
from dibs.engines.shared.turns import jitter
from dibs.errors import DibsError, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from dibs.core.text.findings import Finding
    from dibs.engines.base import Txn
    from dibs.engines.git.copy import Renew
    from dibs.engines.shared.clock import Sources

    T = TypeVar("T")

__all__ = ["GitEngine", "remote_url"]

#: The share of the timeout that a view may spend on a remote that does not respond.
_VIEW_SHARE = 1 / 3
#: Seconds between checks for changes by other processes on this machine.
_LOOK = 0.03


class GitEngine:
    """Stores state as files on ``branch`` of ``remote``.

    ``state`` is a private folder on this machine for this project, shared by all its processes. A
    call takes at most about ``timeout`` seconds in addition to the step itself, except the first
    one on a machine, which waits for the fetch to finish. ``wait`` polls the remote every ``poll``
    seconds. Only settings on how to reach remotes are read from the git directory ``config_from``.
    """

    shortest_ttl = 60.0

    def __init__(
        self,
        remote: str,
        *,
        state: str | os.PathLike[str],
        branch: str = "dibs",
        timeout: float = 30.0,
        poll: float = 5.0,
        sources: Sources | None = None,
        renew: Renew | None = None,
        config_from: str = "",
    ) -> None:
        place = place_of(remote, branch)
        folder = os.path.abspath(os.fspath(state))
        git = EngineGit(f"{folder}/repo", remote_settings(config_from), timeout / 3)
        self.as_of: float | None = None
        self._timeout = timeout
        self._poll = poll
        self._parts = Parts(
            folder, Remote(git, place), git, sources or system_sources(),
            renew, timeout,
        )  # fmt: skip
        self._links: list[GitConnection] = []
        self._lock = Lock()
        self._closed = False
        _engines.add(self)

    def transact(self, step: Callable[[Txn], T]) -> T:
        """Apply ``step`` atomically on the newest state, and return once the remote has it."""
        with self._link() as link:
            started = link.now_reading()
            self._meet(link, time.monotonic() + self._timeout)
            deadline = time.monotonic() + self._timeout
            while True:
                attempt = link.attempt(step, deadline)
                if push.settle(link, attempt, started, deadline):
                    break
        answer: T = attempt.told()
        return answer

    def view(self, step: Callable[[Txn], T]) -> T:
        """Run ``step`` on the remote's state, or on the last known state if the remote is unreachable."""
        offline: DibsError | None = None
        with self._link() as link:
            started = link.now_reading()
            self._meet(link, time.monotonic() + self._timeout * _VIEW_SHARE)
            limit = time.monotonic() + self._timeout
            deadline = time.monotonic() + self._timeout * _VIEW_SHARE
            while True:
                if offline is None:
                    offline = self._follow(link, started, deadline)
                attempt = link.look_at(step)
                if attempt.number == 0 and offline is not None:
                    break  # a result or an error: both are as last known
                try:
                    if push.settle(link, attempt, started, deadline):
                        break
                except Unavailable as error:
                    if time.monotonic() >= limit:
                        raise
                    offline = error
                    deadline = limit
            head = link.head()
            self.as_of = head.known_at if offline is not None else None
        answer: T = attempt.told()
        return answer

    def wait(self, after: int, timeout: float) -> int:
        """Block until the ledger on the remote has moved past ``after``; return the newest number."""
        deadline = time.monotonic() + timeout
        with self._link() as link:
            self._meet(link, time.monotonic() + self._timeout)
            due = self._poll
            while (newest := (head := link.head()).landed) <= after:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                if link.now_reading() - head.asked >= due:
                    self._poll_remote(link, head.asked, max(deadline, time.monotonic() + 1.0))
                    due = jitter(self._poll)
                    continue
                pause(_LOOK, deadline)
        return newest

    def close(self) -> None:
        """Release what this handle holds."""
        self._closed = True
        self._shut()

    def inspect(self) -> list[Finding]:
        """Report what the remote guarantees as it is configured."""
        from dibs.engines.git.check import inspect

        with self._link() as link:
            return inspect(link, self._timeout)

    def _meet(self, link: GitConnection, deadline: float) -> None:
        """Contact the remote once before this machine's first step."""
        if not link.cache.head().met:
            push.is_current(link, "", link.now_reading(), deadline)

    def _follow(self, link: GitConnection, started: float, deadline: float) -> DibsError | None:
        """Follow the remote; return why it is unreachable."""
        try:
            head = link.head()
            if not head.pending:
                push.is_current(link, head.remote, started, deadline)
            if (head := link.head()).broken and not head.pending:
                self.transact(lambda _: None)  # a new life must start before anything is shown
        except Unavailable as error:
            return error
        return None

    def _poll_remote(self, link: GitConnection, asked: float, deadline: float) -> None:
        """Poll the remote, unless another process on this machine does."""
        with link.cache.talking(0.0) as mine:
            if not mine:
                pause(_LOOK, deadline)
            elif link.head().asked <= asked:
                try:
                    link.ask(deadline)
                except Unavailable:
                    pause(self._poll, deadline)

    @contextlib.contextmanager
    def _link(self) -> Iterator[GitConnection]:
        """Lend one of this handle's connections; concurrent threads get one each."""
        if self._closed:
            raise RuntimeError("the engine is closed")
        with self._lock:
            link = self._links.pop() if self._links else None
        with translated(f"{self._parts.state}/cache.db"):
            if link is None:
                link = GitConnection(self._parts)
        try:
            with translated(f"{self._parts.state}/cache.db"):
                yield link
        finally:
            link.rest()
            if self._closed:
                link.close()
            else:
                self._links.append(link)

    def _shut(self) -> None:
        with self._lock:
            links, self._links = self._links, []
        for link in links:
            link.close()


# SQLite must not see a fork (see dibs.engines.sqlite.engine), so idle connections are closed before one.
_engines: weakref.WeakSet[GitEngine] = weakref.WeakSet()


def _before_fork() -> None:
    for engine in list(_engines):
        engine._shut()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
