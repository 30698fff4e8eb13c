"""What a command works with: the open project and the caller, from its common options."""

from __future__ import annotations

import json
import os
import sys

from dibs.core.agents import Caller
from dibs.identity import acting_agent
from dibs.project import open_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, TextIO

    from dibs.core.patterns import Pattern
    from dibs.project import Project


class Session:
    """One command's project and caller; closes the project at the end."""

    def __init__(self, args: Namespace, **flags: object) -> None:
        self.json: bool = args.json
        self.caller = caller(args)
        self.project: Project = open_project(args.repo, flags=flags)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.project.close()

    def patterns(self, texts: Sequence[str], *, literal: bool = False) -> list[Pattern]:
        """Resolve what was typed, relative to the folder in which it was typed."""
        return [self.project.tree.resolve(text, literal=literal) for text in texts]

    def now(self) -> float:
        """Return the moment on the engine's clock."""
        return self.project.desk.look(lambda book: book.now)

    def show(self, shape: Callable[[], Any], text: Callable[[], None]) -> None:
        """Print the answer: JSON if it was asked for, else text for people.

        That nobody reads it any more does not change what has happened, nor the exit status.
        """
        try:
            if self.json:
                print_json(shape())
            else:
                text()
        except BrokenPipeError:
            from dibs.cli import quieten

            quieten()


def caller(args: Namespace) -> Caller:
    """Return who acts."""
    identity = acting_agent(args.agent, os.environ)
    host = os.uname().nodename if hasattr(os, "uname") else ""
    return Caller(identity.id, "human" if identity.human else "agent", host)


def print_json(shape: object, stream: TextIO | None = None) -> None:
    """Print one line of JSON; where the stream cannot carry all letters, they are escaped.

    A raw byte of a path comes out escaped as well: the stream replaces what it cannot encode.
    """
    out = sys.stdout if stream is None else stream
    whole = out.encoding.lower().replace("-", "") == "utf8"
    print(json.dumps(shape, ensure_ascii=not whole), file=out, flush=True)
