"""Proofs: each guard that is installed is asked for what it must refuse, and shown to refuse it.

Nothing of the user's is touched: the file does not exist, the agents
are made for the proof and forgotten after it, and commits are made in a working tree of their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess

from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


#: Variables that name an agent, a session or a repository, and those by which a gate is passed over.
_NAMING = ("DIBS_AGENT", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX", "CLAUDE", "COPILOT", "GEMINI_CLI")
_SKIPPING = frozenset({"DIBS_COMMITTING"})


class ProofOutcome(metaclass=TextEnum):
    """What came of a proof."""

    PROVED = "proved"
    FAILED = "failed"
    #: It could not be tried here, such as a plug-in without the program that runs it.
    UNTRIED = "untried"


class GuardProof(Record):
    """One guard, and what it did when it was tried."""

    #: Whose guard it is: an agent's name, git, or mcp.
    guard: str
    #: What was tried.
    what: str
    outcome: str
    #: The first line of the refusal; where there was none, what happened instead.
    said: str
    #: Where the guard is named.
    file: str = ""


def failed(guard: str, what: str, said: str, file: str = "") -> GuardProof:
    """Return the proof of a guard that does not refuse."""
    return GuardProof(guard, what, ProofOutcome.FAILED, said, file)


def judged(reason: str | None, holder: str, said: str = "") -> tuple[str, str]:
    """Return what a refusal proves, and its line that names the holder, without the fence for models."""
    if reason is None:
        return ProofOutcome.FAILED, f"the write was let pass{said}"
    lines = (line.strip().removeprefix("- ") for line in reason.splitlines())
    found = next((line for line in lines if holder in line), "")
    if found:
        return ProofOutcome.PROVED, re.sub(r"</?data-[0-9a-f]+[^>]*>", '"', found)
    return ProofOutcome.FAILED, f"it refused, but not because of the claim: {first_line(reason)}"


class Ran(Record):
    """What a process said."""

    status: int
    out: str
    err: str
    in_time: bool = True


def run(
    argv: Sequence[str], given: str, *, folder: str, environ: Mapping[str, str], timeout: float
) -> Ran:
    """Run a program to its end with something to read; after ``timeout`` it and its children are killed."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the very command that the user's settings name
            list(argv),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Ran(127, "", f"{argv[0]} cannot be started: {error.strerror}")
    try:
        out, err = process.communicate(given.encode("utf-8", "surrogateescape"), timeout=timeout)
        in_time = True
    except subprocess.TimeoutExpired:
        kill(process)
        out, err = process.communicate()
        in_time = False
    return Ran(
        process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), in_time
    )


def surroundings(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment without variables that name another agent or repository."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_NAMING) and name not in _SKIPPING
    }
    return {**kept, **(changes or {})}


def first_line(text: str) -> str:
    """Return the first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
