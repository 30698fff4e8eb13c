"""The commands that have no route, each with the reason (short because it is one table)."""

from __future__ import annotations

#: The reference lists them, and a test compares them with the commands and the routes.
LEFT_OUT = {
    "init": "changes files of agents on the machine; run it there",
    "completion": "prints a script for a shell",
    "run": "runs a program on the client's machine while it holds claims; use `POST /claims`",
    "work": "runs a program for each task on the client's machine; use `POST /board/take`",
    "hook": "agents call it on their machine; the server answers hooks on its own socket",
    "mcp": "talks to an agent over standard input",
    "serve": "starts and stops the server itself; see `GET /health`",
    "top": "draws on the terminal where it is typed; see `GET /status` and `/ws`",
    "open": "opens a browser on the machine where it is typed; see `POST /login`",
    "git install": "writes hooks into the clone, which run programs; run it there",
    "git uninstall": "removes hooks from the clone; run it there",
    "git check": "reads what the pre-commit framework passes to it",
    "engine use": "changes which store the clone uses while the server has it open",
}
