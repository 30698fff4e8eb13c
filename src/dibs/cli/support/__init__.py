"""The list of commands, their exit statuses, and how to load one.

Every command loads this module, so it imports nothing else.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

#: The commands by purpose: each name with one line that says what it does. The module has the same name.
GROUPS = {
    "get started": {
        "init": "set up Dibs in this repository (safe to repeat)",
        "doctor": "find and fix problems; --prove tests every guard",
        "whoami": "show who Dibs thinks you are, and why",
        "completion": "print shell completion for bash, zsh, or fish",
    },
    "work": {
        "claim": "claim paths or globs, all or nothing",
        "release": "release your claims",
        "renew": "renew your claims (heartbeat)",
        "run": "hold claims while a command runs",
        "ask": "ask the owner to release a claim",
        "answer": "reply to a release request: yes, later, or no",
        "escalate": "let a human decide between you and the owner",
        "transfer": "transfer your claims to another agent",
        "revoke": "revoke an agent's claim (humans only)",
    },
    "inspect": {
        "status": "show agents, claims, and the queue",
        "top": "watch the project live in the terminal, and act",
        "open": "open the dashboard in your browser",
        "who": "show who holds or waits for a path",
        "check": "check whether you could claim a path",
        "log": "show what happened (the ledger)",
        "report": "write a page: timeline, waits, work, overhead",
        "alerts": "show what needs attention; acknowledge it",
        "explain": "show whether two patterns overlap, and where",
        "agent": "list, register, and stop agents",
    },
    "communicate": {
        "brief": "show crew status and unread messages",
        "say": "send a message to an agent, role, group, or everyone",
        "inbox": "read your messages",
        "group": "manage groups of agents that receive messages",
        "decide": "record a decision, ask for one, or confirm one",
    },
    "tasks": {
        "task": "create, take, and finish tasks",
        "work": "take tasks one at a time, and run a command for each",
        "delegate": "delegate a task to an agent or a role",
        "orchestrate": "run the task board: assign, hand off, archive",
        "crew": "let Dibs start, prompt, restart, and stop agents",
    },
    "git": {
        "commit": "commit the files you hold, and nothing else",
        "changes": "show uncommitted changes by owner",
        "diff": "show the changes in the files you hold",
        "merge": "merge branches in turn, after scope and tests pass",
        "forecast": "show what would conflict if merged now",
        "worktree": "create, list, and remove worktrees for agents",
        "salvage": "restore saved copies of uncommitted work",
        "git": "install git hooks that enforce claims",
    },
    "operate": {
        "config": "show the settings and where each comes from",
        "engine": "check the store, or use another one",
        "serve": "run the server: hooks, REST, events, alerts, schedules",
        "token": "create, list, and revoke tokens for the server",
        "mcp": "serve Dibs tools to agents over MCP",
        "hook": "answer an agent's hook (agents call this)",
    },
}
#: Each command and the line that says what it does.
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}

OK = 0
HELD = 3
INTERRUPTED = 130


def load(name: str) -> ModuleType:
    """Import and return a command's module; importlib would cost more than some of them."""
    __import__(f"dibs.cli.commands.{name}")
    return sys.modules[f"dibs.cli.commands.{name}"]


def quieten() -> None:
    """Discard further output: the reader closed the pipe."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
