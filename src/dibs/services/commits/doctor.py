"""The git checks of ``dibs doctor``: unfinished commits, stale locks, and changed hooks.

Hooks in the git directory run as the user whenever the user commits, and anyone who can write there can plant
one. So they are compared with the last run, and a change is reported until ``--fix`` accepts it.
"""

from __future__ import annotations

import json
import os

from dibs.core.text.durations import show_span
from dibs.core.text.findings import Finding, Level
from dibs.errors import DibsError
from dibs.git.locks import find_stale, put_aside
from dibs.local.files import read_file, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.local.repository import Repository
    from dibs.services.commits.gate import Gate

_NOTE = "hooks-seen.json"
_SAMPLE = ".sample"


class GitCare:
    """Inspects the git directory of one repository; ``ours`` names the hooks that Dibs installed."""

    def __init__(
        self, repository: Repository, gate: Gate, ours: frozenset[str] = frozenset()
    ) -> None:
        self._repository = repository
        self._ours = ours
        self._gate = gate
        self._note = os.path.join(repository.state, _NOTE)

    def inspect(self) -> list[Finding]:
        """Return the findings; change nothing, except that the first run records the hooks."""
        if not self._repository.common:
            return []
        return [*self._begun(), *self._locks(), *self._hooks()]

    def repair(self) -> list[str]:
        """Move stale locks away, finish or drop unfinished commits, and accept the hooks as they are."""
        if not self._repository.common:
            return []
        done = []
        for lock in find_stale(self._repository.common):
            aside = put_aside(lock, self._repository.common)
            if aside:
                done.append(f"moved the stale lock {lock.path} to {aside}")
        done += self._settled()
        now = self._digests()
        if _changes(self._seen(), now):
            self._remember(now)
            done.append("accepted this repository's git hooks as they are now")
        return done

    def _begun(self) -> list[Finding]:
        return [
            Finding(
                Level.WARN,
                "git commit",
                f"a {intent.kind} by {intent.agent} to {intent.ref.removeprefix('refs/heads/')} started"
                f" {show_span(round(age))} ago and never finished; the next commit resolves it, or --fix now",
            )
            for intent, age in self._gate.begun()
        ]

    def _settled(self) -> list[str]:
        try:
            return self._gate.recover()
        except DibsError as error:  # the next inspection reports it
            return [f"cannot resolve an unfinished commit now: {error.message}"]

    def _locks(self) -> list[Finding]:
        return [
            Finding(
                Level.WARN,
                "git lock",
                f"{lock.path} is a stale lock, left {show_span(round(lock.age))} ago by a killed git",
            )
            for lock in find_stale(self._repository.common)
        ]

    def _hooks(self) -> list[Finding]:
        seen, now = self._seen(), self._digests()
        if seen is None:
            if os.path.isdir(os.path.dirname(self._note)):
                self._remember(now)
            return []
        return [
            Finding(Level.WARN, "git hooks", f"the {name} hook {what} since the last check")
            for name, what in _changes(seen, now)
            if name not in self._ours
        ]

    def _seen(self) -> dict[str, str] | None:
        try:
            content = json.loads(read_file(self._note))
        except (OSError, ValueError):
            return None
        return {str(k): str(v) for k, v in content.items()} if isinstance(content, dict) else None

    def _remember(self, digests: dict[str, str]) -> None:
        write_file(self._note, json.dumps(digests, sort_keys=True))

    def _digests(self) -> dict[str, str]:
        """Return a digest of each hook that git would run."""
        from hashlib import sha256

        folder = os.path.join(self._repository.common, "hooks")
        found = {}
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if name.endswith(_SAMPLE) or not os.path.isfile(path) or not os.access(path, os.X_OK):
                continue
            found[name] = sha256(read_file(path)).hexdigest()
        return found


def _changes(seen: dict[str, str] | None, now: dict[str, str]) -> list[tuple[str, str]]:
    """Return how each hook changed, in words."""
    if seen is None:
        return []
    found = []
    for name in sorted({*seen, *now}):
        if name not in now:
            found.append((name, "was removed"))
        elif name not in seen:
            found.append((name, "was added"))
        elif seen[name] != now[name]:
            found.append((name, "was changed"))
    return found
