"""Servers that refuse to run as root, with their files where their account can reach them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress

import psutil
from tests.servers.processes import (
    ServerError,
    ServerProcess,
    clean_environment,
    keep,
    let_go,
    until,
)


def account() -> dict[str, object]:
    """Return arguments of ``Popen`` that run a program as a user other than root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise ServerError("this server does not run as root, and there is no user postgres or nobody")


def give(path: str) -> None:
    """Give a file or a folder to the account."""
    if owner := account():
        os.chown(path, owner["user"], owner["group"])


def private_folder() -> str:
    """Return a new folder of the account, which is removed when this process ends.

    Its path is short, because a socket's path is limited to about a hundred characters, and all its parents
    are open to the account, unlike pytest's folders if the tests run as root.
    """
    folder = tempfile.mkdtemp(prefix="dibs-pg-", dir="/tmp" if os.geteuid() == 0 else None)
    keep("folder", folder)
    give(folder)
    return folder


def environment(home: str) -> dict[str, str]:
    """Return the environment without variables that influence git or PostgreSQL's programs."""
    kept = {name: value for name, value in clean_environment().items() if name[:2] != "PG"}
    return {**kept, "HOME": home}  # the account may not read the user's


def run(*command: str, folder: str) -> None:
    """Run a program as the account, in ``folder``; fail with its output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
        **account(),
    )
    if done.returncode:
        raise ServerError(f"{command[0]} failed: {(done.stdout + done.stderr)[-2000:]}")


class AccountServer(ServerProcess):
    """A server of the account; its log is in ``folder``, everything else in ``home``."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(folder)
        self.home = private_folder()

    def launch_options(self) -> dict[str, object]:
        """Return how to run the command, as arguments of ``Popen``."""
        return {"cwd": self.home, "env": environment(self.home), **account()}

    def pause(self) -> None:
        """Freeze it and its children, which may be in process groups of their own."""
        os.kill(self.pid, signal.SIGSTOP)
        server = psutil.Process(self.pid)
        ended = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
        until(lambda: server.status() in ended, "the server is paused")
        self._signal(signal.SIGSTOP)  # no new child can appear

    def resume(self) -> None:
        """Unfreeze all of them."""
        self._signal(signal.SIGCONT)
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it and its children, and wait until they are gone."""
        children = []
        if self.running:
            self.pause()
            children = self._signal(signal.SIGKILL)
        super().kill()
        until(
            lambda: not any(_alive(child) for child in children), "the server's children are gone"
        )

    def _signal(self, number: int) -> list[psutil.Process]:
        """Send a signal to the children; return them."""
        children = psutil.Process(self.pid).children(recursive=True)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.send_signal(number)
        return children

    def close(self) -> None:
        """End it permanently, and remove its files."""
        super().close()
        shutil.rmtree(self.home, ignore_errors=True)
        let_go("folder", self.home)


def _alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False
