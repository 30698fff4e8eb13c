"""Run one command for a caller on another machine; the server starts this process.

Standard input has the order: the command line, who it is for, and what that identity may do. Everything else
is as for a person here, except that the command stays in this project and reads no other files.
"""

from __future__ import annotations

import os
import sys

from dibs.errors import BadInput, NotAllowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

#: The scopes, as in ``server.security.identity``.
READ, AGENT, HUMAN, ADMIN = range(4)
#: Commands, or subcommands, that need more than an agent's scope, or less.
NEEDED = {
    "engine": ADMIN, "engine check": READ, "token": ADMIN,
    "git install": ADMIN, "git uninstall": ADMIN,
    "status": READ, "who": READ, "check": READ, "log": READ, "explain": READ, "whoami": READ,
    "agent ls": READ, "agent show": READ, "changes": READ, "forecast": READ, "config": READ,
    "crew up": HUMAN, "crew restart": HUMAN, "crew scale": HUMAN, "crew pause": HUMAN,
    "crew resume": HUMAN, "crew ls": READ, "crew show": READ, "crew logs": READ,
    "task ls": READ, "task show": READ, "task graph": READ, "decide ls": READ,
    "decide show": READ, "group ls": READ, "worktree ls": READ, "salvage ls": READ,
}  # fmt: skip
#: Printed when ``dibs run`` has its claims.
STARTED = "dibs-run-holds-its-claims"
#: What ``dibs run`` runs here while the command runs on the other machine.
_WAIT = "import signal; signal.signal(2, signal.SIG_DFL); print({!r}, flush=True); signal.pause()"
WAITING = [sys.executable, "-I", "-S", "-c", _WAIT.format(STARTED)]
#: Options that name files or folders of this machine: only an admin's may be outside of the repository.
FILES = ("file", "path", "to", "server")


class Order:
    """What the server was asked to run."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.words: list[str] = given["argv"]
        self.stdin: str = given["stdin"]
        self.files: dict[str, str] = given["files"]
        self.agent: str = given["agent"]
        self.human: bool = given["human"]
        self.scope: int = given["scope"]
        self._folder = ""

    def check(self, args: Namespace) -> None:
        """Refuse what this identity may not do; put the files that were sent in place of their names."""
        name = " ".join([self.words[0], *([args.verb] if getattr(args, "verb", "") else [])])
        needs = NEEDED.get(name, NEEDED.get(self.words[0], AGENT))
        if self.scope < needs:
            scope = ("read", "agent", "human", "admin")[needs]
            option = "--agent NAME" if needs == AGENT else f"--scope {scope}"
            raise NotAllowed(
                f"dibs {name} needs a token with the scope {scope}",
                code="TOKEN_SCOPE",
                hint=f"create one on the server: dibs token new {option}",
            )
        if self.words[0] == "run":
            args.command = WAITING  # the command itself runs where it was typed
        if getattr(args, "repo", ""):
            raise BadInput(
                "--repo names a folder of this machine", hint="set DIBS_SERVER_PROJECT instead"
            )
        if args.agent is not None and args.agent != self.agent and self.scope < HUMAN:
            raise NotAllowed(
                f"the token belongs to {self.agent}",
                code="NOT_YOU",
                hint="omit --agent, or use that agent's token",
            )
        for option in FILES:
            if hasattr(args, option):
                setattr(args, option, self._replaced(getattr(args, option), option))

    def _replaced(self, value: Any, option: str) -> Any:
        if isinstance(value, list):
            return [self._replaced(one, option) for one in value]
        if not isinstance(value, str) or value in {"", "-"}:
            return value
        if value in self.files:
            return self._written(value)
        root = os.path.realpath(os.getcwd())
        if self.scope < ADMIN and not os.path.realpath(value).startswith(f"{_top(root)}/"):
            raise NotAllowed(
                f"--{option} names a place outside of the server's repository",
                field=option,
                hint="only a token with the scope admin may do that",
            )
        return value

    def _written(self, name: str) -> str:
        """Return a private copy of a file that was sent."""
        if not self._folder:
            from tempfile import mkdtemp

            self._folder = mkdtemp(prefix="dibs-")
        path = os.path.join(self._folder, os.path.basename(name) or "file")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(self.files[name])
        return path

    def clean(self) -> None:
        """Remove the private copies."""
        if self._folder:
            from shutil import rmtree

            rmtree(self._folder, ignore_errors=True)


def _top(folder: str) -> str:
    from dibs.local.repository import find

    return find(folder).root.rstrip("/")


def main() -> int:
    """Run the command of the order on standard input; return its exit status."""
    import io
    import json

    from dibs.cli import main as run
    from dibs.local.identity import BEARER, Identity, act_for

    order = Order(json.load(sys.stdin.buffer))
    sys.stdin = io.TextIOWrapper(io.BytesIO(order.stdin.encode("utf-8", "surrogateescape")))
    act_for(Identity(order.agent, human=order.human, source=BEARER))
    try:
        return run(order.words, order.check)
    finally:
        order.clean()


if __name__ == "__main__":
    sys.exit(main())
