"""The user's hooks and signing, as ``git commit`` runs them."""

from __future__ import annotations

import contextlib
import os

from dibs.core.changes.trailers import check_message
from dibs.errors import Unavailable
from dibs.git.hook_scripts import is_users
from dibs.local.identity import VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.git.config import ConfigReading
    from dibs.git.untrusted import SafeGit

#: The hooks of a commit, in their order.
HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_FALSE = frozenset({"false", "no", "off", "0", ""})


class HookRefused(Exception):
    """A hook of the user said no."""


def signing(reading: ConfigReading) -> tuple[str, ...]:
    """Return how ``commit-tree`` is told to sign, as the configuration says; empty for not at all."""
    return () if reading.signs.lower() in _FALSE else ("-S",)


class UserHooks:
    """The hooks of one commit: each runs with the private index, and its output goes to standard error."""

    __slots__ = ("_agent", "_calls", "_index", "_names")

    def __init__(self, git: SafeGit, common: str, index: str, caller: Caller) -> None:
        folder = os.path.join(common, "hooks")
        if git.reading.hooks_path:
            folder = os.path.join(git.tree, os.path.expanduser(git.reading.hooks_path))
        self._calls = git.users()
        #: The agent that commits, so that a hook which asks Dibs speaks for the same one.
        self._agent = "" if caller.human else caller.id
        self._index = index
        #: The hooks to run. Our own have nothing to ask in a commit of ours; settings may name any.
        self._names = {
            name
            for name in HOOKS
            if git.reading.hooks or is_users(os.path.join(folder, name), git.tree)
        }

    def have_a_say(self, *, verify: bool) -> bool:
        """Return whether a hook runs that may change the commit or refuse it."""
        names = HOOKS[:3] if verify else ("prepare-commit-msg",)
        return not self._names.isdisjoint(names)

    def before(self) -> bool:
        """Run ``pre-commit``; return whether there is one, which may have changed the private index."""
        if "pre-commit" not in self._names:
            return False
        self._must("pre-commit")
        return True

    def message(self, text: str, *, verify: bool) -> str:
        """Let the hooks read and change the message; return it, checked again."""
        names = HOOKS[1:3] if verify else HOOKS[1:2]
        if self._names.isdisjoint(names):
            return text
        place = f"{self._index}.msg"
        with open(place, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(f"{text}\n")
        for name in names:
            if name in self._names:
                self._must(name, place, *(["message"] if name == "prepare-commit-msg" else []))
        with open(place, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return check_message(file.read())

    def after(self) -> None:
        """Run ``post-commit``, which cannot change the outcome any more."""
        if "post-commit" in self._names:
            with contextlib.suppress(Unavailable):  # the commit stands, whatever becomes of this
                self._run("post-commit", index="")

    def _must(self, name: str, *arguments: str) -> None:
        status = self._run(name, *arguments, index=self._index)
        if status:
            raise HookRefused(name)

    def _run(self, name: str, *arguments: str, index: str) -> int:
        variables = {"GIT_EDITOR": ":", "GIT_INDEX_FILE": index, VARIABLE: self._agent}
        # Our own hook must not ask: others may commit meanwhile, and the gate checks the finished commit.
        variables["DIBS_COMMITTING"] = "1"
        status = self._calls.run(
            "hook", "run", "--ignore-missing", name, "--", *arguments, variables=variables
        )
        if status < 0:
            raise Unavailable(f"the {name} hook was killed by signal {-status}", code="GIT_FAILED")
        return status
