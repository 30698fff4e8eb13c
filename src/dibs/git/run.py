"""Start git in a controlled environment. All git processes of Dibs are started here.

Arguments are lists, never shell text. Every call has a deadline, after which its process group is killed. Git
never prompts, and only uses known protocols.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time

from dibs.errors import Misconfigured
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PROTOCOLS = "file:git:http:https:ssh"

# Git variables that are kept, because they only affect how to reach a remote.
KEPT = frozenset(
    (
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "GIT_EXEC_PATH",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
        "GIT_SSL_NO_VERIFY",
        "GIT_SSL_VERSION",
        "GIT_HTTP_USER_AGENT",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_HTTP_LOW_SPEED_LIMIT",
        "GIT_HTTP_LOW_SPEED_TIME",
    )
)


#: Variables with lists of folders that programs and Python's modules are loaded from.
LISTS = ("PATH", "PYTHONPATH")


class GitResult(Record):
    """The result of a git process."""

    code: int
    out: bytes
    err: str


class TimedOut(Exception):
    """The process timed out and was killed; what it did is unknown."""


def spawn(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: str,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
    shown: bool = False,
) -> subprocess.Popen[bytes]:
    """Start git with the arguments ``argv``, in its own process group.

    Its output goes to pipes, or with ``shown`` to our standard error.
    """
    out = 2 if shown else subprocess.PIPE
    try:
        return subprocess.Popen(  # noqa: S603 - an argument list, never a shell
            ["git", *argv],  # noqa: S607 - the user chooses which git
            stdin=stdin,
            stdout=out,
            stderr=out,
            env=environ,
            cwd=folder,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    except FileNotFoundError as error:
        if not os.path.isdir(folder):
            raise
        raise Misconfigured(
            "git is not installed or not on the PATH", code="GIT_MISSING", hint="install git"
        ) from error


def finish(process: subprocess.Popen[bytes], given: bytes | None, deadline: float) -> GitResult:
    """Write ``given`` to a process and wait for it; raise ``TimedOut`` at ``deadline`` (monotonic)."""
    try:
        out, err = process.communicate(given, timeout=max(0.05, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimedOut from None
    finally:
        end(process)
    return GitResult(process.returncode, out, err.decode("utf-8", "replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children, and close its pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()  # macOS refuses to signal a group that is just ending
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


def environment(
    environ: Mapping[str, str], settings: Iterable[tuple[str, str]], wait: float
) -> dict[str, str]:
    """Return the environment for a git process."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name in KEPT
    }
    kept.update(
        PATH=absolute(kept.get("PATH", os.defpath)),
        LC_ALL="C",
        LANGUAGE="",
        GIT_TERMINAL_PROMPT="0",
        GIT_ALLOW_PROTOCOL=PROTOCOLS,
        GIT_OPTIONAL_LOCKS="0",
        GIT_NO_REPLACE_OBJECTS="1",
        GIT_GRAFT_FILE=os.devnull,  # the real history, not what a file in the clone says
        GCM_INTERACTIVE="never",
    )
    if "GIT_SSH" not in kept:
        seconds = max(1, int(wait))
        kept.setdefault("GIT_SSH_COMMAND", f"ssh -o BatchMode=yes -o ConnectTimeout={seconds}")
    return kept | configured(settings)


def absolute(folders: str, root: str = "") -> str:
    """Return a list of folders without relative ones, which depend on the current folder.

    With ``root``, also without those in this repository, except the folder of the running interpreter.
    """
    kept = [folder for folder in folders.split(os.pathsep) if os.path.isabs(folder)]
    if root:
        import sys

        own, inside = os.path.dirname(sys.executable), os.path.join(root, "")
        kept = [
            folder
            for folder in kept
            if folder == own or not os.path.join(os.path.realpath(folder), "").startswith(inside)
        ]
    return os.pathsep.join(kept)


def configured(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that pass settings to git; names may contain any character."""
    pairs = list(settings)
    variables = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for place, (name, value) in enumerate(pairs):
        variables[f"GIT_CONFIG_KEY_{place}"] = name
        variables[f"GIT_CONFIG_VALUE_{place}"] = value
    return variables
