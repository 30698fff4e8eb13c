"""What the table of an agent is made of."""

from __future__ import annotations

import os

from dibs.install.entries import texts
from dibs.install.entries.pieces import Block, WholeFile
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dibs.install.entries.commands import Commands
    from dibs.install.entries.pieces import Piece

#: For how many seconds an agent waits for a hook. Ours answers far earlier; many let pass what is late.
PATIENCE, SHORT_PATIENCE = 60, 10


class Choice(Record):
    """What the user wants to have written, and where."""

    root: str
    commands: Commands
    #: Whether the files are for everybody who works on the repository.
    shared: bool = False
    servers: bool = True
    instructions: bool = True
    #: Whether reading a file is asked about, too.
    reads: bool = False

    def has(self, path: str) -> bool:
        """Tell whether the repository has this file or folder."""
        return os.path.lexists(os.path.join(self.root, path))

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file of the repository; none if it cannot be read."""
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return [line.strip() for line in file]
        except OSError:
            return []


class FileEdit(Record):
    """One piece that an agent needs in one file."""

    #: The file, relative to the root.
    path: str
    piece: Piece
    #: What it is, for people: hooks, MCP server, instructions, skill.
    what: str
    #: Whether it holds for this machine alone, so that it must not be committed.
    local: bool = False


class AgentInstaller(Record):
    """One coding agent."""

    name: str
    title: str
    #: Programs on the PATH, folders in the home, and files in the repository that show that it is used.
    programs: tuple[str, ...]
    homes: tuple[str, ...]
    signs: tuple[str, ...]
    #: What it needs in which file.
    wishes: Callable[[Choice], list[FileEdit]]
    #: What its user has to do before our hooks run. Dibs never does that for them.
    trust: tuple[str, ...] = ()


def claude_groups(
    choice: Choice, agent: str, events: Iterable[tuple[str, str, dict[str, Any]]]
) -> dict[str, tuple[Any, ...]]:
    """Return handlers as Claude Code and those that follow it write them.

    Each event comes with its matcher and with what its handler has beyond the command.
    """
    found = {}
    for event, matcher, more in events:
        command = choice.commands.hook(agent, can_refuse=bool(matcher) and is_before(event))
        handler = {"type": "command", "command": command, **more}
        found[event] = ({**({"matcher": matcher} if matcher else {}), "hooks": [handler]},)
    return found


def is_before(event: str) -> bool:
    """Tell whether an event comes before a tool runs, so that it can be refused."""
    return event.lower().startswith(("pretool", "beforetool"))


def instructions(choice: Choice, path: str) -> list[FileEdit]:
    """Return the block for the agent's reader, if it is wanted."""
    if not choice.instructions:
        return []
    return [FileEdit(path, Block(texts.BLOCK), "instructions")]


def skill(choice: Choice, folder: str) -> list[FileEdit]:
    """Return the skill for a folder of skills, if it is wanted."""
    if not choice.instructions:
        return []
    piece = WholeFile(texts.SKILL, texts.SKILL_MARK)
    return [FileEdit(f"{folder}/dibs/SKILL.md", piece, "skill", local=not choice.shared)]


def plain_server(choice: Choice, **more: Any) -> dict[str, Any]:
    """Return the entry of our MCP server as most agents write it."""
    program, *arguments = choice.commands.server
    return {"command": program, "args": arguments, **more}
