"""What ``dibs.toml`` starts without a command of a person, and whether a human has accepted it here.

Everyone who can change the file could run programs as the user with it. So these parts run only after a human
has accepted exactly this text on this machine. The clone's state has a digest of the accepted text.
"""

from __future__ import annotations

import os
import shlex

from dibs.config.event_commands import decoded
from dibs.config.load import load
from dibs.core.claims.agents import check_human
from dibs.local.files import read_or_empty, write_file
from dibs.local.repository import main_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.config.load import Config
    from dibs.core.claims.agents import Caller
    from dibs.local.repository import Repository

_NAME = "accepted"
#: How to accept the text, and the end of each message that says so.
HINT = "a human can accept it: dibs init"


class StartConsent:
    """The accepted text of one clone. The file is read once, so that what is accepted is what was shown."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._found: list[tuple[str, str]] | None = None
        #: The file with the digest.
        self.path = os.path.join(repository.state, _NAME)

    def pending(self, config: Config | None = None) -> list[str]:
        """Return what waits for a human, one line each for people; empty if nothing does."""
        found = self._read() if config is None else list(_automatic(config))
        if not found or read_or_empty(self.path).decode("ascii", "replace") == _digest(found):
            return []
        return [shown for shown, _ in found]

    def why_not(self, config: Config) -> str:
        """Return why these settings may start nothing by themselves; empty if they may."""
        if not self.pending(config):
            return ""
        return f"no human has accepted what dibs.toml starts by itself; {HINT}"

    def accept(self, caller: Caller) -> list[str]:
        """Accept the text, for humans only; return its lines."""
        check_human(
            caller,
            "only a human may accept what dibs.toml starts by itself",
            hint="ask a human to run `dibs init`",
        )
        found = self._read()
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        write_file(self.path, _digest(found), sync=True)
        return [shown for shown, _ in found]

    def _read(self) -> list[tuple[str, str]]:
        """Return what the file of the main working tree starts; the server reads that one, too."""
        if self._found is None:
            loaded = load(main_tree(self._repository), self._repository.state, {}, {})
            self._found = list(_automatic(loaded.config))
        return self._found


def _automatic(config: Config) -> Iterator[tuple[str, str]]:
    """Yield each part twice: for people, and in full."""
    for text in config.handlers_on:
        one = decoded(text)
        yield f"on {one.event}: {shlex.join(one.command)}", text
    if test := config.merge_test.strip():
        yield f"merge.test: {test}", f"merge.test={test}"
    if address := config.notify_webhook.strip():
        host = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
        yield f"notify.webhook: {host}", f"notify.webhook={address}"


def _digest(found: Sequence[tuple[str, str]]) -> str:
    from hashlib import sha256

    text = "\0".join(full for _, full in found)
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
