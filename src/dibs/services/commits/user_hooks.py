"""Run the user's hooks and signing as ``git commit`` does."""

from __future__ import annotations

import contextlib
import os

from dibs.core.changes.trailers import check_message
from dibs.errors import Unavailable
from dibs.git.hook_scripts import is_users
from dibs.local.identity import VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.git.config import ConfigReading
    from dibs.git.untrusted import SafeGit

#: The hooks of a commit, in order.
HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_FALSE = frozenset({"false", "no", "off", "0", ""})


class HookRefused(Exception):
    """A user's hook failed, or staged files without lines that have landed."""

    def __init__(self, hook: str, dropped: Sequence[Blocked] = ()) -> None:
        super().__init__(hook)
        self.hook = hook
        self.dropped = dropped


def signing(reading: ConfigReading) -> tuple[str, ...]:
    """Return the configured signing option for ``commit-tree``, if any."""
    return () if reading.signs.lower() in _FALSE else ("-S",)


class UserHooks:
    """The hooks of one commit; each runs with the private index and prints to standard error."""

    __slots__ = ("_agent", "_calls", "_index", "_names")

    def __init__(self, git: SafeGit, common: str, index: str, caller: Caller) -> None:
        folder = os.path.join(common, "hooks")
        if git.reading.hooks_path:
            folder = os.path.join(git.tree, os.path.expanduser(git.reading.hooks_path))
        self._calls = git.users()
        #: The committing agent, for hooks that call Dibs.
        self._agent = "" if caller.human else caller.id
        self._index = index
        #: The hooks to run. Our own hook has nothing to check in a scoped commit.
        self._names = {
            name
            for name in HOOKS
            if git.reading.hooks or is_users(os.path.join(folder, name), git.tree)
        }

    def have_a_say(self, *, verify: bool) -> bool:
        """Return whether a hook would run that may change or refuse the commit."""
        names = HOOKS[:3] if verify else ("prepare-commit-msg",)
        return not self._names.isdisjoint(names)

    def before(self) -> bool:
        """Run ``pre-commit``, which may change the private index; return whether there is one."""
        if "pre-commit" not in self._names:
            return False
        self._must("pre-commit")
        return True

    def message(self, text: str, *, verify: bool) -> str:
        """Let the hooks change the message; return it, checked again."""
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
        """Run ``post-commit``, which cannot change the outcome."""
        if "post-commit" in self._names:
            with contextlib.suppress(Unavailable):  # the commit is done, even if this fails
                self._run("post-commit", index="")

    def _must(self, name: str, *arguments: str) -> None:
        status = self._run(name, *arguments, index=self._index)
        if status:
            raise HookRefused(name)

    def _run(self, name: str, *arguments: str, index: str) -> int:
        variables = {"GIT_EDITOR": ":", "GIT_INDEX_FILE": index, VARIABLE: self._agent}
        # Tell our own hook to skip its check: the gate checks the finished commit.
        variables["DIBS_COMMITTING"] = "1"
        status = self._calls.run(
            "hook", "run", "--ignore-missing", name, "--", *arguments, variables=variables
        )
        if status < 0:
            raise Unavailable(f"the {name} hook was killed by signal {-status}", code="GIT_FAILED")
        return status
