"""The handlers of a project: built in, and from ``dibs.toml`` of the main working tree."""

from __future__ import annotations

import hashlib
import os
import shlex
from functools import partial
from typing import TYPE_CHECKING

from dibs.config.cache import NAME as SETTINGS
from dibs.config.event_commands import decoded
from dibs.config.load import load
from dibs.core.claims.ledger import Kind
from dibs.local.repository import clone_id, main_tree
from dibs.server.notify import handlers as notify
from dibs.services.merging.tests import TEST_TIMEOUT
from dibs.services.pipeline import commit_tests, summaries
from dibs.services.pipeline.commands import run_command
from dibs.services.pipeline.consent import StartConsent
from dibs.services.pipeline.handlers import (
    IN_FILE,
    Handler,
    event_text,
    event_variables,
    surroundings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.config.event_commands import EventCommand
    from dibs.config.load import Config
    from dibs.core.claims.ledger import Entry
    from dibs.local.repository import Repository
    from dibs.server.projects import ServedProject
    from dibs.services.pipeline.handlers import Finish

#: How long a handler that only writes to the store may take, in seconds.
_WRITE = 60.0
#: How long the git calls around a test run may take, in seconds.
_AROUND_TESTS = 300.0


class Registry:
    """Builds the handlers of one project."""

    def __init__(
        self, served: ServedProject, stopping: Callable[[], bool], folder: str = ""
    ) -> None:
        """``folder`` is the server's, which has the secret of webhooks."""
        self._served, self._folder = served, folder
        self._stopping = stopping

    def stamp(self) -> tuple[object, ...]:
        """Return what changes when the handlers may be others."""
        repository = self._repository
        files = (os.path.join(main_tree(repository), SETTINGS), StartConsent(repository).path)
        return tuple(_stamp(file) for file in files)

    def handlers(self) -> list[Handler]:
        """Return the handlers as the settings are now."""
        repository = self._repository
        config = load(main_tree(repository), repository.state, {}, {}).config
        parked = StartConsent(repository).why_not(config)
        found = [self._summary(config)] if config.handlers_summary != summaries.OFF else []
        if config.merge_test.strip() and config.handlers_tests and repository.common:
            found.append(self._tests(repository, config.merge_test.strip(), parked))
        found += [self._command(repository, text, parked) for text in config.handlers_on]
        found += notify.handlers(config, self._served.name, self._folder, parked)
        return found

    @property
    def _repository(self) -> Repository:
        return self._served.project().place.repository

    def _summary(self, config: Config) -> Handler:
        def act(entries: Sequence[Entry]) -> Finish:
            return lambda rows: summaries.summarize(rows, entries, config.handlers_summary)

        kinds = frozenset({Kind.TASK_COMPLETED})
        return Handler(summaries.NAME, kinds, act, _WRITE, runs="tell the lead")

    def _tests(self, repository: Repository, test: str, parked: str) -> Handler:
        clone = clone_id(repository.state)

        def act(entries: Sequence[Entry]) -> Finish | None:
            project = self._served.project()
            ours = project.store.look(lambda rows: commit_tests.of_clone(rows, entries, clone))
            return commit_tests.run_tests(project.merges, ours, self._stopping) if ours else None

        return Handler(
            # A commit is only there in the clone in which it was made, so each clone tests its own.
            f"{commit_tests.NAME}@{clone[:12]}", frozenset({Kind.COMMITTED}), act,
            TEST_TIMEOUT + _AROUND_TESTS, retries=1, all_at_once=True, runs=test,
            parked=parked,
        )  # fmt: skip

    def _command(self, repository: Repository, text: str, parked: str) -> Handler:
        one = decoded(text)
        name = f"on.{one.event}.{hashlib.sha256(shlex.join(one.command).encode()).hexdigest()[:8]}"
        return Handler(
            name, frozenset({one.event}),
            partial(self._run, name, one, main_tree(repository)), one.timeout, one.retries,
            source=IN_FILE, runs=shlex.join(one.command), parked=parked,
        )  # fmt: skip

    def _run(self, name: str, one: EventCommand, root: str, entries: Sequence[Entry]) -> None:
        for entry in entries:
            run_command(
                one.command, root, event_text(name, entry),
                surroundings(event_variables(name, entry)),
                timeout=one.timeout, stopping=self._stopping,
            )  # fmt: skip


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
