"""A process that acts as a coding agent: each hook, command, and shell runs in a child of it.

python proof_session.py

It reads one JSON list per line, ``["hook", payload, agent]``, ``["dibs", words, folder]``, or
``["sh", command, folder]``, and answers with ``[exit status, output]``. Dibs finds the agent by its
process, so the process must be real: it can idle, be paused, and be killed. Only the hook's time to start is
saved, by a fork.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING

from dibs.cli import main
from dibs.guard.agents.program import answer

if TYPE_CHECKING:
    from collections.abc import Callable


def hook(payload: dict[str, object], agent: str = "claude") -> int:
    """Answer one event like the installed hook of an agent."""
    given = json.dumps(payload).encode()
    said, confirm = answer((agent,), given, os.environ, str(payload["cwd"]), os.getpid())
    sys.stdout.write(said.stdout + said.stderr)
    sys.stdout.flush()
    if confirm is not None:
        confirm()
    return said.status


def dibs(words: list[str], folder: str) -> int:
    """Run a command of the agent's shell."""
    os.chdir(folder)
    status = main(words)
    sys.stdout.flush()
    return status


def shell(command: str, folder: str) -> int:
    """Run a shell command in place of this child."""
    os.chdir(folder)
    os.execvp("bash", ["bash", "-c", command])


def in_child(work: Callable[[], int]) -> tuple[int, str]:
    """Run ``work`` in a child process; return its exit status and output."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            status = work()
        except SystemExit as error:
            status = int(error.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(writer)
    with open(reader, "rb") as file:
        said = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode("utf-8", "replace")


def disable(rules: str) -> None:
    """Replace functions of Dibs, so that a rule does not hold: ``module:name=value``, one per line."""
    for rule in rules.splitlines():
        place, _, value = rule.partition("=")
        module, _, name = place.partition(":")
        there, answer = importlib.import_module(module), ast.literal_eval(value)
        assert callable(getattr(there, name))
        setattr(there, name, lambda *_, _answer=answer, **__: _answer)


if __name__ == "__main__":
    disable(os.environ.get("PROOF_DISABLED", ""))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        what, *given = json.loads(line)
        act = {"hook": hook, "dibs": dibs, "sh": shell}[what]
        answered = in_child(lambda act=act, given=given: act(*given))
        sys.stdout.write(f"{json.dumps(answered)}\n")
        sys.stdout.flush()
