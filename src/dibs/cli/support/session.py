"""A command's open project and caller, and how it prints its answer."""

from __future__ import annotations

import os
import sys

from dibs.errors import Unavailable
from dibs.local.identity import acting_agent, check_names, host
from dibs.project.project import open_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, TextIO

    from dibs.cli.support.progress import Progress
    from dibs.config.load import Loaded
    from dibs.core.claims.agents import Caller
    from dibs.core.patterns.pattern import Pattern
    from dibs.project.project import Project
    from dibs.services.board.report import BoardReport


class Session:
    """One command's project and caller; closes the project at the end."""

    def __init__(self, args: Namespace, *, lenient: bool = False, **flags: object) -> None:
        self.json: bool = args.json
        self.verbose: bool = getattr(args, "verbose", False)
        check_names(args.agent, os.environ)  # before opening anything
        self.project: Project = open_project(args.repo, flags=flags, lenient=lenient)
        if not lenient:
            warn_of_unknown(self.project.place.loaded)
        self.caller = self._caller(args)
        self.project.tell_board = self._tell_board
        self.project.board_progress = self._show_progress
        self._progress: Progress | None = None
        #: Whether the command itself lists invalid task files.
        self.lists_aside = False
        self._told: set[str] = set()

    def _caller(self, args: Namespace) -> Caller:
        """Return the acting agent; refuse a name that this process may not use."""
        from dibs.services.claims.callers import caller_of

        state = self.project.place.repository.state
        identity = acting_agent(args.agent, os.environ, state)
        command = getattr(args, "called", "")
        return caller_of(self.project.store, identity, state, command=command, host=host())

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end_progress()
        if isinstance(error, Unavailable):
            self._record(error)
        self.project.close()

    def _record(self, error: Unavailable) -> None:
        """Record in the ledger that git failed."""
        from dibs.services.state.serving.faults import record_failure

        name, who = " ".join(["dibs", *sys.argv[1:2]]), self.caller
        record_failure(self.project.store, error, name, agent=who.id, role=who.role)

    def patterns(self, texts: Sequence[str], *, literal: bool = False) -> list[Pattern]:
        """Resolve patterns relative to the current folder."""
        return [self.project.tree.resolve(text, literal=literal) for text in texts]

    def _show_progress(self, what: str, done: int, total: int) -> None:
        """Show on a terminal how far a long board command is."""
        if not sys.stderr.isatty():
            return
        if self._progress is None:
            from dibs.cli.support.progress import Progress

            self._progress = Progress(quiet=self.json)
        self._progress(what, done, total)

    def _end_progress(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _tell_board(self, report: BoardReport) -> None:
        """Report on standard error what else changed on the board, each thing once."""
        self._end_progress()
        for line in report.remarks(aside=not self.lists_aside):
            if line not in self._told:
                self._told.add(line)
                print(f"dibs: {line}", file=sys.stderr)

    @property
    def tokens(self) -> bool:
        """Whether to print token numbers: always for an agent, with ``-v`` for a person."""
        return self.verbose or not self.caller.human

    def now(self) -> float:
        """Return the time on the engine's clock."""
        return self.project.store.now()

    def show(self, shape: Callable[[], Any], text: Callable[[], None]) -> None:
        """Print the answer, as JSON with ``--json`` and otherwise as text.

        A closed pipe does not change the exit status.
        """
        as_of = self.project.engine.as_of
        try:
            if self.json:
                print_json(dated(shape(), as_of))
            else:
                warn_if_old(as_of)
                text()
        except BrokenPipeError:
            from dibs.cli.support import quieten

            quieten()


def dated(shape: Any, as_of: float | None) -> Any:
    """Add ``as_of`` to an answer from a cache, when the engine was unreachable.

    An answer that is not an object gets a warning on standard error instead.
    """
    if as_of is None:
        return shape
    if isinstance(shape, dict):
        return {**shape, "as_of": as_of}
    warn_if_old(as_of)
    return shape


def warn_of_unknown(settings: Loaded) -> None:
    """Warn about each key in ``dibs.toml`` that is not a setting."""
    for line in settings.unknown:
        print(f"dibs: {line}", file=sys.stderr)


def warn_if_old(as_of: float | None) -> None:
    """Warn that an answer is from a cache, because the engine was unreachable."""
    if as_of is not None:
        print(f"dibs: {how_old(as_of)}", file=sys.stderr, flush=True)


def how_old(as_of: float) -> str:
    """Return how old a cached answer is."""
    import time

    from dibs.cli.support.text import clock

    return f"as of {clock(as_of, time.time())}: the remote is unreachable"


def caller(args: Namespace, state: str = "") -> Caller:
    """Return the acting agent; with a project's ``state``, its process can identify it."""
    from dibs.services.claims.callers import as_caller

    return as_caller(acting_agent(args.agent, os.environ, state), host())


def careful_caller(args: Namespace) -> Caller:
    """Return the acting agent for a command that is reserved for humans and opens no project."""
    from dibs.errors import DibsError
    from dibs.local.repository import find

    found = caller(args)
    if not found.human:
        return found
    try:
        repository = find(args.repo)
    except DibsError:
        return found
    return caller(args, repository.state)


def require_human(args: Namespace, message: str, *, hint: str, everywhere: bool = False) -> None:
    """Refuse a caller that is not a human; with ``everywhere``, also an agent of another project."""
    from dibs.core.claims.agents import check_human

    found = careful_caller(args)
    if everywhere and found.human:
        from dibs.local.server_files import server_folder
        from dibs.server.security.peers import agent_here

        agent, doubt = agent_here(server_folder())
        role = "agent" if agent else found.role
        found = found._replace(id=agent or found.id, role=role, doubt=doubt)
    check_human(found, message, hint=hint)


def print_json(shape: object, stream: TextIO | None = None) -> None:
    """Print one line of JSON; escape characters that the stream cannot encode.

    Control characters and raw bytes of paths are always escaped.
    """
    out = sys.stdout if stream is None else stream
    whole = out.encoding.lower().replace("-", "") == "utf8"
    import json

    text = json.dumps(shape, ensure_ascii=not whole)
    if not text.isprintable():
        # JSON escapes only the first 32 control characters, but terminals interpret more.
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    print(text, file=out, flush=True)
