"""What every command shares: the list of commands, exit statuses, and how a command's module is loaded.

Loaded by ``dibs help``, so it imports nothing else.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

#: Each command: its name, and the line that says what it does. The module has the same name.
COMMANDS = {
    "init": "make a project of this repository (safe to repeat)",
    "claim": "claim paths or globs, all or none",
    "renew": "give a sign of life; renew your claims",
    "release": "give your claims back",
    "brief": "tell me where the crew stands, and my mail, once",
    "status": "show agents, claims and the queue",
    "who": "show who holds or waits for a path",
    "check": "would these be free for me?",
    "ask": "ask the holder to give a claim back",
    "answer": "answer who asks for a claim of yours: yes, later, no",
    "escalate": "let a human decide between you and the holder",
    "revoke": "take a claim from its holder (humans)",
    "decide": "record a decision, ask for one, confirm, reject",
    "transfer": "hand your claims to another agent",
    "run": "hold claims while a command runs",
    "commit": "commit the files that you hold, and no others",
    "task": "make tasks, take the next one, finish it",
    "delegate": "send work to an agent, unless somebody has it",
    "merge": "merge branches, one at a time, scope and tests first",
    "orchestrate": "look after the board: assign, hand off, archive",
    "changes": "show what is changed and not committed, by whose it is",
    "diff": "show how the files that you hold are changed",
    "forecast": "what would conflict if it were merged now?",
    "worktree": "make, list, remove worktrees of agents",
    "salvage": "restore work of worktrees that were removed",
    "say": "say something to an agent, a role, a group or all",
    "inbox": "read what others said to you",
    "group": "make groups of agents to be written to",
    "agent": "list, join, report, leave, stop agents",
    "log": "show what happened",
    "explain": "do two patterns overlap, and on which path?",
    "doctor": "find what is wrong with the board and the state",
    "hook": "answer a hook of a coding agent (agents call it)",
    "daemon": "answer hooks faster, from a process that stays",
    "git": "let git refuse what others have claimed",
    "mcp": "serve these tools to agents by MCP",
    "engine": "check, repair or move the place of the state",
    "config": "show the settings and where each comes from",
    "completion": "print shell completion",
}

OK = 0
HELD = 3
INTERRUPTED = 130


def load(name: str) -> ModuleType:
    """Import the module of a command; importlib itself would cost more than some of them."""
    __import__(f"dibs.cli.commands.{name}")
    return sys.modules[f"dibs.cli.commands.{name}"]


def quieten() -> None:
    """Let what is still to be printed go nowhere: whoever read us is gone."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
