"""Put the hooks into a repository, beside what is there; and take them away, so that all is as before.

Where git looks into the repository's own folder, a hook that was there is renamed and run first. Where
``core.hooksPath`` names another folder, which may be tracked or made anew by its owner at any time, a folder
of ours is put in front of it: it runs both.
"""

from __future__ import annotations

import contextlib
import os

from dibs.core.values import Record
from dibs.errors import Misconfigured
from dibs.git.calls import GitCalls
from dibs.guard.remembering import change, read, recall, restore, write
from dibs.guard.scripts import BEFORE, LOCAL, NOTE, USUAL, is_ours, script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY = "core.hooksPath"
#: What the folder in front of another knows of the time before it.
_MEMORY = "before.json"


class Hook(Record):
    """One hook as it is: whether it is ours, up to date, and what runs before it."""

    name: str
    installed: bool
    current: bool
    before: str


class Hooks:
    """The hooks of one git directory; ``wanted`` are those that ask Dibs."""

    def __init__(self, common: str, state: str, wanted: Sequence[str] = LOCAL) -> None:
        self.own = os.path.join(common, "hooks")
        self.front = os.path.join(state, "hooks")
        self.wanted = tuple(wanted)
        self._common = common
        self._memory = os.path.join(self.front, _MEMORY)
        self._config = os.path.join(common, "config")
        self._git = GitCalls(common, variables={"GIT_DIR": common})

    # -- asking

    def configured(self) -> tuple[str, str, str]:
        """Return the folder that ``core.hooksPath`` names, its scope, and how it is spelled there."""
        argv = ("config", "--null", "--show-scope", "--get-all", _KEY)
        plain = os.fsdecode(self._git.run(*argv).out).split("\0")
        paths = os.fsdecode(self._git.run(*argv[:1], "--type=path", *argv[1:]).out).split("\0")
        found = ("", "", "")
        for scope, path, spelled in zip(plain[::2], paths[1::2], plain[1::2], strict=False):
            if scope != "command":  # our own switch, which keeps hooks off for our calls
                found = (path, scope, spelled)
        return found

    def in_front(self) -> bool:
        """Tell whether our folder stands in front of another."""
        return os.path.exists(self._memory)

    def look(self) -> list[Hook]:
        """Return each wanted hook as git would find it now."""
        path, _, _ = self.configured()
        folder = path or self.own
        ours = bool(path) and _same(folder, self.front)
        found = []
        for name in self.wanted:
            place = os.path.join(folder, name)
            installed = is_ours(place) and os.access(place, os.X_OK)
            earlier = self._earlier(name, ours=ours)
            text = read(place)
            current = installed and text == self._text(name, ours=ours).encode()
            found.append(Hook(name, installed, current, earlier))
        return found

    def _earlier(self, name: str, *, ours: bool) -> str:
        """Return the hook that runs before ours, empty if there is none."""
        place = os.path.join(self.own, name + BEFORE)
        if ours:
            place = os.path.join(self._remembered()["folder"], name)
        return place if os.access(place, os.X_OK) else ""

    def _text(self, name: str, *, ours: bool) -> str:
        if ours:
            return script(name, before=self._remembered()["folder"], beside_state=True)
        return script(name)

    # -- installing

    def install(self) -> None:
        """Put the hooks in; safe to repeat."""
        path, scope, spelled = self.configured()
        if path and _same(path, self.front):
            self._fill(self._remembered()["folder"])
        elif path and not _same(path, self.own):
            self._step_in_front(path, scope, spelled)
        elif os.path.islink(self.own):
            self._step_in_front(os.path.realpath(self.own), "", "")
        else:
            os.makedirs(self.own, exist_ok=True)
            for name in self.wanted:
                self._put(name)

    def narrow(self, name: str) -> None:
        """Want this hook alone; the others that an earlier install put in go."""
        rest, self.wanted = [other for other in self.wanted if other != name], (name,)
        for other in rest:
            self._take(other)

    def _put(self, name: str) -> None:
        place = os.path.join(self.own, name)
        if os.path.lexists(place) and not is_ours(place):
            _keep(place)
        write(place, script(name))

    def _step_in_front(self, path: str, scope: str, spelled: str) -> None:
        if scope == "worktree":
            raise Misconfigured(
                f"{_KEY} is set for one worktree alone, so that no other can be put before it",
                code="HOOK_TAKEN",
                hint=f"set it for the repository: git config {_KEY} DIR",
            )
        os.makedirs(self.front, mode=0o700, exist_ok=True)
        self._fill(path)
        known = {"folder": path, "value": spelled if scope == "local" else None}

        def set_path() -> None:
            self._git.must("config", "--file", self._config, _KEY, self.front)

        change(self._config, self._memory, set_path, known)

    def _fill(self, folder: str) -> None:
        """Write a script for each hook that the folder behind has, or may get."""
        base = os.path.join(os.path.dirname(self._common), folder)
        there = os.listdir(base) if os.path.isdir(base) else []
        found = [name for name in there if "." not in name and "-" in name]
        for name in dict.fromkeys((*self.wanted, *USUAL, *found)):
            text = script(name, before=folder, beside_state=True)
            write(os.path.join(self.front, name), text)

    # -- taking away

    def uninstall(self) -> bool:
        """Take away what was put in, and nothing else; tell whether there was anything."""
        done = self._step_aside() if self.in_front() else False
        self._drop_notes()
        for name in self.wanted:
            done = self._take(name) or done
        return done

    def _take(self, name: str) -> bool:
        """Give a hook back its old place; tell whether ours was there."""
        place = os.path.join(self.own, name)
        ours = [found for found in (place, f"{place}.legacy") if is_ours(found)]
        for found in ours:  # the pre-commit framework renames what it finds
            if os.path.lexists(place + BEFORE):
                os.replace(place + BEFORE, found)
            else:
                os.unlink(found)
        return bool(ours)

    def _drop_notes(self) -> None:
        trees = os.path.join(self._common, "worktrees")
        names = os.listdir(trees) if os.path.isdir(trees) else []
        for folder in (self._common, *(os.path.join(trees, name) for name in names)):
            for note in (NOTE, f"{NOTE}-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, note))

    def _step_aside(self) -> bool:
        memory = self._remembered()
        path, _, _ = self.configured()
        if path and _same(path, self.front):
            self._restore_config(memory)
        for name in os.listdir(self.front):
            place = os.path.join(self.front, name)
            if is_ours(place) or name == _MEMORY:
                os.unlink(place)
        with contextlib.suppress(OSError):  # somebody put something else there
            os.rmdir(self.front)
        return True

    def _restore_config(self, memory: dict[str, str]) -> None:
        """Give the configuration its old bytes; if it changed since, only the old value."""
        if restore(self._config, memory):
            return
        old = ("--unset-all", _KEY) if memory["value"] is None else (_KEY, memory["value"])
        self._git.must("config", "--file", self._config, *old)

    def _remembered(self) -> dict[str, str]:
        memory = recall(self._memory)
        if memory is None:
            raise Misconfigured(
                f"{self.front} has no memory of the hooks that it stands before",
                code="HOOK_TAKEN",
                hint=f"set {_KEY} yourself, remove that folder, and install again",
            )
        return memory


def _keep(place: str) -> None:
    """Keep a hook under another name as well; a second name is never taken from another hook.

    Not by a rename: of two that install at once, neither may replace what the other has kept.
    """
    try:
        os.link(place, place + BEFORE, follow_symlinks=False)
    except FileExistsError:
        if os.path.samestat(os.lstat(place), os.lstat(place + BEFORE)):
            return  # an earlier try got as far as this
        raise Misconfigured(
            f"both {place} and {os.path.basename(place)}{BEFORE} are there, and neither is ours",
            code="HOOK_TAKEN",
            hint="keep the one that you need under the first name, and remove the other",
        ) from None


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
