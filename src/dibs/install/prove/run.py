"""Guard tests: each installed guard is asked to allow a write that it must block.

Nothing of the user is touched: the file does not exist, the test agents are removed afterwards, and commits
are made in a temporary worktree.
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


#: Variables that name an agent, a session, or a repository, and those that skip a git hook.
_NAMING = ("DIBS_AGENT", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX", "CLAUDE", "COPILOT", "GEMINI_CLI")
_SKIPPING = frozenset({"DIBS_COMMITTING"})


class ProofOutcome(metaclass=TextEnum):
    """The result of a guard test."""

    PROVED = "proved"
    FAILED = "failed"
    #: It could not be tested, such as a plug-in without a runtime.
    UNTRIED = "untried"


class GuardProof(Record):
    """One tested guard, and what it did."""

    #: Whose guard it is: an agent's name, git, or mcp.
    guard: str
    #: What was tested.
    what: str
    outcome: str
    #: The first line of the refusal, or what happened instead.
    said: str
    #: The file that configures the guard.
    file: str = ""


def failed(guard: str, what: str, said: str, file: str = "") -> GuardProof:
    """Return the result for a guard that does not block."""
    return GuardProof(guard, what, ProofOutcome.FAILED, said, file)


def judged(reason: str | None, holder: str, said: str = "") -> tuple[str, str]:
    """Return the outcome for a refusal, and its line that names the owner, without data tags."""
    if reason is None:
        return ProofOutcome.FAILED, f"the write was allowed{said}"
    lines = (line.strip().removeprefix("- ") for line in reason.splitlines())
    found = next((line for line in lines if holder in line), "")
    if found:
        return ProofOutcome.PROVED, re.sub(r"</?data-[0-9a-f]+[^>]*>", '"', found)
    return (
        ProofOutcome.FAILED,
        f"it blocked the write, but not because of the claim: {first_line(reason)}",
    )


class Ran(Record):
    """The output of a process."""

    status: int
    out: str
    err: str
    in_time: bool = True


def run(
    argv: Sequence[str], given: str, *, folder: str, environ: Mapping[str, str], timeout: float
) -> Ran:
    """Run a program with ``given`` as input; at the timeout, kill it and its children."""
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
        return Ran(127, "", f"cannot start {argv[0]}: {error.strerror}")
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


def surroundings(root: str, changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a test in ``root``.

    It has no variables that name another agent or repository, and finds no programs and modules in ``root``.
    """
    from dibs.git.run import LISTS, absolute

    named = naming()
    kept = {name: value for name, value in os.environ.items() if name not in named}
    kept |= {name: absolute(kept[name], root) for name in LISTS if name in kept}
    return {**kept, **(changes or {})}


def naming() -> dict[str, str]:
    """Return the variables that name an agent, a session, or a repository, each with an empty value."""
    return {name: "" for name in os.environ if name.startswith(_NAMING) or name in _SKIPPING}


def first_line(text: str) -> str:
    """Return the first line that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
