"""One branch of the remote: read, fetched, and moved by compare-and-swap."""

from __future__ import annotations

import os
import re
import time

from dibs.core.text.names import check_branch, quote
from dibs.engines.git import errors
from dibs.engines.git.repo import EngineGit, real_dir
from dibs.errors import Misconfigured
from dibs.git.run import TimedOut
from dibs.local.files import read_file
from dibs.startup.records import Record, TextEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.git.run import GitResult

_SCHEMES = ("file", "git", "http", "https", "ssh")
_ABSENT = "couldn't find remote ref"
#: Age in seconds after which a lock file on a local remote counts as abandoned.
STALE = 60.0


class PushOutcome(metaclass=TextEnum):
    """The outcome of a push."""

    LANDED = "landed"
    #: Another process moved the branch.
    LOST = "lost"
    #: A lock file is in the way: another push is running, or died.
    LOCKED = "locked"
    #: It may have landed, or may still land.
    UNCLEAR = "unclear"


class RemoteBranch(Record):
    """A branch of a repository."""

    url: str
    branch: str

    @property
    def ref(self) -> str:
        """The full name of the branch."""
        return f"refs/heads/{self.branch}"

    @property
    def folder(self) -> str:
        """The repository's folder if it is on this machine, otherwise an empty text."""
        if self.url.startswith("file://"):
            return _unquoted(self.url.removeprefix("file://"))
        return self.url if self.url.startswith("/") else ""

    @property
    def git_dir(self) -> str:
        """The git directory of that repository; it differs from the folder if there is a working tree."""
        return real_dir(self.folder) if self.folder else ""


def _unquoted(path: str) -> str:
    """Return a path as git parses it from a URL."""
    if "%" not in path:
        return path
    from urllib.parse import unquote

    return unquote(path, errors="surrogateescape")


def place_of(url: str, branch: str) -> RemoteBranch:
    """Validate a URL and a branch; make a path absolute."""
    return RemoteBranch(_checked(url), check_branch(branch))


def _checked(url: str) -> str:
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    where = url[scheme.end() :] if scheme else url
    host = where.split("/", 1)[0].rpartition("@")[2]
    if (
        not url
        or not url.isprintable()
        or url.startswith("-")
        or re.match(r"[A-Za-z0-9_+.-]*::", url)
        or (scheme and scheme[1] not in _SCHEMES)
        or (host.startswith("-") and (scheme or ":" in host))
    ):
        raise Misconfigured(
            f"{quote(errors.shown(url))} is not a valid git remote URL",
            code="REMOTE_URL",
            hint="use a path, or a file, ssh, https, or git URL",
        )
    if scheme or ":" in host:
        return url
    return os.path.abspath(os.path.expanduser(url))


class Remote:
    """One branch of a remote repository."""

    __slots__ = ("_git", "place")

    def __init__(self, git: EngineGit, place: RemoteBranch) -> None:
        self._git = git
        self.place = place

    def look(self, deadline: float) -> str:
        """Return the commit of the branch; an empty text if it does not exist."""
        found = self.refs(self.place.ref, deadline=deadline)
        return found.get(self.place.ref, "")

    def refs(self, *names: str, deadline: float) -> dict[str, str]:
        """Return the commits of the refs ``names`` that exist."""
        argv = ("ls-remote", "--quiet", "--end-of-options", self.place.url, *names)
        result = self._ask(*argv, deadline=deadline)
        rows = [line.split("\t", 1) for line in result.out.decode("utf-8", "replace").splitlines()]
        return {row[1]: row[0] for row in rows if len(row) == 2}  # noqa: PLR2004

    def fetch(self, into: str, deadline: float, *, history: bool = True) -> bool:
        """Fetch the branch into our ref ``into``, if one is given; return whether it exists.

        Without ``history``, fetch only its newest commit; later fetches add what follows.
        """
        refspec = f"+{self.place.ref}:{into}" if into else self.place.ref
        depth = () if history else ("--depth=1",)
        argv = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
                "--recurse-submodules=no", *depth, "--end-of-options", self.place.url, refspec)  # fmt: skip
        result = self._ask(*argv, deadline=deadline, allowed=_ABSENT)
        return result.code == 0

    def push(self, commit: str, expected: str, deadline: float, *, trial: bool = False) -> str:
        """Move the branch from ``expected`` (empty if it does not exist) to ``commit``."""
        argv = ["push", "--porcelain", "--no-verify", "--no-follow-tags"]
        argv += ["--dry-run"] if trial else []
        argv += [f"--force-with-lease={self.place.ref}:{expected}", "--end-of-options"]
        argv += [self.place.url, f"{commit}:{self.place.ref}"]
        try:
            result = self._git.run_until(deadline, *argv)
        except TimedOut:
            return PushOutcome.UNCLEAR
        return self._outcome(result)

    def rename(self, commit: str, new: str, deadline: float) -> bool:
        """Rename the branch, which is at ``commit``, to the ref ``new``; return whether it was there."""
        argv = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--atomic")
        lease = (f"--force-with-lease={self.place.ref}:{commit}", "--end-of-options")
        moves = (f"{commit}:{new}", f":{self.place.ref}")
        result = self._run(*argv, *lease, self.place.url, *moves, deadline=deadline)
        return self._outcome(result) == PushOutcome.LANDED

    def _outcome(self, result: GitResult) -> str:
        if result.code == 0:
            return PushOutcome.LANDED
        told = re.search(rb"^!\t[^\t]*\t\[([^\]]*)\] ?\(?(.*?)\)?$", result.out, re.MULTILINE)
        if told is None:
            error = errors.refused(result.err, self.place.url)
            if error is not None:
                raise error
            return PushOutcome.UNCLEAR
        kind, reason = (part.decode("utf-8", "replace") for part in told.groups())
        said = f"{reason}\n{result.err}".lower()
        if kind == "rejected":
            return PushOutcome.LOST
        if (lost := errors.lost_objects(said, self.place.url)) is not None:
            raise lost
        if ".lock': file exists" in said:
            return PushOutcome.LOCKED
        if "hook declined" in said or "protected" in said or "prohibited" in said:
            raise errors.declined(reason, result.err, self.place.url)
        if (
            "but expected" in said
            or "already exists" in said
            or "incorrect old value" in said
            or "failed to update ref" in said
            or "unable to resolve reference" in said
        ):
            return PushOutcome.LOST
        if "remote failure" in said or "unpack" in said or "atomic" in said:
            return PushOutcome.UNCLEAR
        raise errors.declined(reason, result.err, self.place.url)

    def remove_stale_lock(self) -> str:
        """Remove an abandoned lock file from a local remote; return its path."""
        folder = self.place.git_dir
        for name in (f"{self.place.ref}.lock", "packed-refs.lock") if folder else ():
            path = os.path.join(folder, name)
            if _age(path) > STALE:
                os.unlink(path)
                return path
        return ""

    def _ask(self, *argv: str, deadline: float, allowed: str = "") -> GitResult:
        result = self._run(*argv, deadline=deadline)
        if result.code == 0 or (allowed and allowed in result.err.lower()):
            return result
        error = errors.refused(result.err, self.place.url)
        raise error or errors.unclear(result.err, self.place.url)

    def _run(self, *argv: str, deadline: float) -> GitResult:
        try:
            return self._git.run_until(deadline, *argv)
        except TimedOut:
            raise errors.too_slow(self.place.url) from None


def remote_url(git_dir: str, name: str, timeout: float = 5.0) -> str:
    """Return the URL of the remote ``name`` in the repository ``git_dir``."""
    git = EngineGit(os.path.abspath(git_dir))
    check_branch(name)
    deadline = time.monotonic() + timeout
    try:
        result = git.run_until(deadline, "remote", "get-url", "--push", "--end-of-options", name)
    except TimedOut:
        raise errors.too_slow(git_dir) from None
    url = result.out.decode("utf-8", "surrogateescape").strip("\n")
    if result.code or not url:
        raise Misconfigured(
            f"this repository has no remote {quote(name)}",
            code="REMOTE_NAME",
            hint="run `git remote -v` to list its remotes",
        )
    return url


def remote_settings(git_dir: str, timeout: float = 5.0) -> list[tuple[str, str]]:
    """Return only those settings of a user's repository that say how to reach remotes."""
    if not git_dir or not _has_remote_settings(git_dir):
        return []
    git = EngineGit(os.path.abspath(git_dir))
    argv = ("config", "--local", "--no-includes", "-z", "--get-regexp", r"^(http|url)\.")
    try:
        result = git.run_until(time.monotonic() + timeout, *argv)
    except TimedOut:
        return []
    text = result.out.decode("utf-8", "surrogateescape")
    pairs = [row.partition("\n") for row in text.split("\0") if row]
    return [(name, value) for name, _, value in pairs]


def _has_remote_settings(git_dir: str) -> bool:
    """Return whether it is worth asking git: most repositories have no such settings."""
    try:
        text = read_file(os.path.join(git_dir, "config")).lower()
    except OSError:
        return True
    return b"[http" in text or b"[url" in text


def _age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0
