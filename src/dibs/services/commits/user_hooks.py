"""The user's hooks and signing, as ``git commit`` has them."""

from __future__ import annotations

import contextlib
import os

from dibs.core.changes.trailers import check_message
from dibs.errors import Unavailable
from dibs.local.identity import VARIABLE
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller
    from dibs.git.calls import UserCalls
    from dibs.git.config import ConfigReading

#: The hooks of a commit, in their order.
HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_FALSE = frozenset({"false", "no", "off", "0", ""})


class HookRefused(Exception):
    """A hook of the user said no."""


class Setup(Record):
    """What the user's configuration says about commits."""

    #: The folder of the hooks.
    hooks: str
    #: How ``commit-tree`` is told to sign; empty for not at all.
    sign: tuple[str, ...] = ()


def setup_of(reading: ConfigReading, common: str, tree: str) -> Setup:
    """Return what the configuration says, as it was read."""
    hooks = os.path.join(common, "hooks")
    if reading.hooks_path:
        hooks = os.path.join(tree, os.path.expanduser(reading.hooks_path))
    return Setup(hooks, () if reading.signs.lower() in _FALSE else ("-S",))


class UserHooks:
    """The hooks of one commit: each is run with the private index, its words shown on standard error."""

    __slots__ = ("_agent", "_calls", "_folder", "_index")

    def __init__(self, calls: UserCalls, folder: str, index: str, caller: Caller) -> None:
        self._calls = calls
        #: Who commits, so that a hook which asks Dibs speaks for the same agent.
        self._agent = "" if caller.human else caller.id
        self._folder = folder
        self._index = index

    def there(self, name: str) -> bool:
        """Tell whether the user has this hook."""
        return os.access(os.path.join(self._folder, name), os.X_OK)

    def have_a_say(self, *, verify: bool) -> bool:
        """Tell whether a hook runs that may change the commit, or refuse it."""
        names = (
            ("pre-commit", "commit-msg", "prepare-commit-msg")
            if verify
            else ("prepare-commit-msg",)
        )
        return any(map(self.there, names))

    def before(self) -> bool:
        """Run ``pre-commit``; tell whether there is one, which may have changed the private index."""
        if not self.there("pre-commit"):
            return False
        self._must("pre-commit")
        return True

    def message(self, text: str, *, verify: bool) -> str:
        """Let the hooks read and change the message; return it, checked again."""
        names = ["prepare-commit-msg", *(["commit-msg"] if verify else [])]
        if not any(map(self.there, names)):
            return text
        place = f"{self._index}.msg"
        with open(place, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(f"{text}\n")
        for name in names:
            if self.there(name):
                self._must(name, place, *(["message"] if name == "prepare-commit-msg" else []))
        with open(place, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return check_message(file.read())

    def after(self) -> None:
        """Run ``post-commit``, in whose hands nothing lies any more."""
        if self.there("post-commit"):
            with contextlib.suppress(Unavailable):  # the commit stands, whatever becomes of this
                self._run("post-commit", index="")

    def _must(self, name: str, *arguments: str) -> None:
        status = self._run(name, *arguments, index=self._index)
        if status:
            raise HookRefused(name)

    def _run(self, name: str, *arguments: str, index: str) -> int:
        variables = {"GIT_EDITOR": ":", "GIT_INDEX_FILE": index, VARIABLE: self._agent}
        # Our own hook need not ask: others may commit meanwhile, and the gate looks at what is built on top.
        variables["DIBS_COMMITTING"] = "1"
        status = self._calls.run(
            "hook", "run", "--ignore-missing", name, "--", *arguments, variables=variables
        )
        if status < 0:
            raise Unavailable(f"the {name} hook was killed by signal {-status}", code="GIT_FAILED")
        return status
