"""Call git on the user's working tree with literal paths and without hooks or prompts.

Programs that the repository's own configuration names must not run. Those that are the same in every
repository are disabled here; those that depend on names (filters, drivers) are disabled by ``settings``,
which ``git.config`` provides.
"""

from __future__ import annotations

import os
import subprocess
import time

from dibs.core.text.names import printable
from dibs.errors import Misconfigured, Unavailable
from dibs.git.run import (
    KEPT,
    PROTOCOLS,
    GitResult,
    TimedOut,
    configured,
    end,
    environment,
    finish,
    spawn,
)
from dibs.local.special_files import refuse_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

#: The variables that name the author and committer; the caller's values are kept.
_IDENTITY = tuple(
    f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
)
_SETTINGS = (
    "--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "core.quotePath=false",
    "-c", "core.ignoreStat=false", "-c", "submodule.recurse=false",
    "-c", "log.showSignature=false", "-c", "core.filesRefLockTimeout=1000",
)  # fmt: skip
#: Disables the programs that git would start to ask or show something.
_NOBODY_THERE = {
    "GIT_ASKPASS": "", "GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":", "GIT_PAGER": "cat",
    "GIT_PROXY_COMMAND": "",
}  # fmt: skip
#: No protocol has this name, so nothing is fetched.
_NO_PROTOCOL = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}

_PLAIN = ("--no-ext-diff", "--no-textconv")
#: Keeps git from running in a submodule, with that repository's configuration.
_SHALLOW = "--ignore-submodules=dirty"
#: Options that each call of a command gets, because no setting has the same effect.
_CARE = {
    "diff": (*_PLAIN, _SHALLOW),
    "diff-files": (*_PLAIN, _SHALLOW),
    "diff-index": (*_PLAIN, _SHALLOW),
    "diff-tree": _PLAIN,
    "log": _PLAIN,
    "show": _PLAIN,
    "status": (_SHALLOW,),
}

_USAGE = 129
#: The first git with ``merge-tree --write-tree``.
OLDEST = (2, 38)


class SlowGit(Unavailable):
    """A git command did not finish in time."""


class GitProcess:
    """A running git process."""

    __slots__ = ("_calls", "_process", "_what")

    def __init__(self, process: subprocess.Popen[bytes], what: str, calls: GitCalls) -> None:
        self._process = process
        self._what = what
        self._calls = calls

    def end(self, given: bytes = b"") -> GitResult:
        """Write ``given`` to its input, wait for it to exit, and return the result."""
        timeout = self._calls.timeout
        try:
            result = finish(self._process, given, time.monotonic() + timeout)
        except TimedOut:
            raise SlowGit(
                f"git {self._what} timed out after {timeout:.0f}s", code="GIT_FAILED"
            ) from None
        return result._replace(err=result.err.strip())

    def must(self, given: bytes = b"") -> bytes:
        """Do the same and return the output; raise if git failed."""
        result = self.end(given)
        if result.code:
            self._calls.fail(self._what, result)
        return result.out


def rows_of(paths: Iterable[str]) -> bytes:
    """Return paths in the format that git reads with ``-z``."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def identity(name: str) -> dict[str, str]:
    """Return the variables that make ``name`` the author and committer."""
    return {key: name if key.endswith("NAME") else "dibs@localhost" for key in _IDENTITY}


def last_words(text: str) -> str:
    """Return the last line that git printed, except hints, for a message, or an empty text."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("hint:")]
    return printable(lines[-1].removeprefix("fatal: ").removeprefix("error: ")) if lines else ""


def checked(result: GitResult, what: str) -> bytes:
    """Return the output of a successful call; otherwise raise ``Unavailable`` with git's last line."""
    if result.code:
        last = last_words(result.err) or f"exit status {result.code}"
        raise Unavailable(f"git {what} failed: {last}", code="GIT_FAILED")
    return result.out


class GitCalls:
    """Runs git in one working tree; every call has a timeout of ``timeout`` seconds.

    ``settings`` override the repository's own, and ``variables`` are set for every call. Without ``network``,
    nothing is ever fetched.
    """

    __slots__ = ("_environ", "timeout", "tree")

    def __init__(
        self,
        tree: str,
        *,
        timeout: float = 30.0,
        settings: Iterable[tuple[str, str]] = (),
        variables: Mapping[str, str] | None = None,
        network: bool = False,
    ) -> None:
        self.tree = tree
        self.timeout = timeout
        self._environ = environment(os.environ, settings, timeout)
        self._environ["GIT_LITERAL_PATHSPECS"] = "1"
        self._environ |= {name: os.environ[name] for name in _IDENTITY if os.environ.get(name)}
        self._environ |= _NOBODY_THERE
        self._environ |= {"GIT_ALLOW_PROTOCOL": PROTOCOLS} if network else _NO_PROTOCOL
        self._environ |= variables or {}

    def patient(self, timeout: float) -> GitCalls:
        """Return the same calls with another timeout."""
        calls = GitCalls(self.tree, timeout=timeout)
        calls._environ = self._environ
        return calls

    def run(
        self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> GitResult:
        """Run git and return the result, whether it succeeded or not."""
        return self.begin(*arguments, variables=variables).end(given)

    def must(
        self, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git and return its output; raise if it failed."""
        return self.begin(*arguments, variables=variables).must(given)

    def begin(self, *arguments: str, variables: Mapping[str, str] | None = None) -> GitProcess:
        """Start git in the background; the caller must call ``end`` on the result."""
        process = self.start(*arguments, variables=variables)
        return GitProcess(process, arguments[_command(arguments)], self)

    def start(
        self, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start git in the background; the caller must pass the process to ``dibs.git.run.end``."""
        refuse_special(self.tree)
        behind = _command(arguments) + 1
        care = _CARE.get(arguments[behind - 1], ())
        return spawn(
            [*_SETTINGS, *arguments[:behind], *care, *arguments[behind:]],
            environ={**self._environ, **(variables or {})},
            folder=self.tree,
            stdin=subprocess.PIPE,
        )

    def fail(self, command: str, result: GitResult) -> NoReturn:
        """Raise the error for a failure: an untrusted owner, a git that is too old, or git's message."""
        if "dubious ownership" in result.err:
            raise _not_trusted(result.err)
        if result.code == _USAGE or "is not a git command" in result.err:
            require_version(self)
        checked(result, command)
        raise AssertionError(command)


def _command(arguments: Sequence[str]) -> int:
    """Return the index of git's command, after any ``-c`` settings."""
    place = 0
    while arguments[place] == "-c":
        place += 2
    return place


class UserCalls:
    """Runs the user's own programs, such as hooks, with the user's settings and environment.

    Only variables that would point git to another repository are removed; ``settings`` override the user's.
    """

    __slots__ = ("_environ", "tree")

    def __init__(self, tree: str, settings: Iterable[tuple[str, str]] = ()) -> None:
        self.tree = tree
        self._environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or _is_users(name)
        }
        self._environ |= configured(settings)

    def run(self, *arguments: str, variables: Mapping[str, str]) -> int:
        """Run git with its output on our standard error, and return its exit status.

        Empty variables are removed.
        """
        environ = {name: value for name, value in {**self._environ, **variables}.items() if value}
        process = spawn(arguments, environ=environ, folder=self.tree, shown=True)
        try:
            return process.wait()
        finally:
            end(process)


def _is_users(name: str) -> bool:
    return name in KEPT or name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TRACE"))


def require_version(git: GitCalls, oldest: tuple[int, int] = OLDEST) -> None:
    """Raise if git is older than Dibs needs."""
    words = git.run("version").out.decode("utf-8", "replace").split()
    numbers = [part for word in words[2:3] for part in word.split(".")[:2]]
    if len(numbers) == len(oldest) and all(part.isdecimal() for part in numbers):
        if tuple(map(int, numbers)) >= oldest:
            return
        needed = ".".join(map(str, oldest))
        raise Misconfigured(
            f"git {words[2]} is too old: this command requires git {needed} or newer",
            code="GIT_VERSION",
            hint="update git",
        )


def _not_trusted(err: str) -> Misconfigured:
    """Return the error for a repository that another user owns, with git's own advice."""
    lines = [line.strip() for line in err.splitlines()]
    fix = next((line for line in lines if line.startswith("git config ")), "")
    first = lines[0].removeprefix("fatal: ") if lines else ""
    return Misconfigured(
        f"git does not trust this repository: {printable(first)}",
        code="REPO_OWNER",
        hint=f"if you trust it, run: {printable(fix)}" if fix else "",
    )
