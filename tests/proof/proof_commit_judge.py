"""Check commit histories with plain git, independently of how Dibs commits.

File states are written like git tree entries, ``100644 <blob>``; a missing file is an empty string.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from proof_crew import environment

from dibs.local.locks import FileLock

if TYPE_CHECKING:
    from pathlib import Path

Tree = dict[str, str]
#: The git modes of files and links.
PLAIN, PROGRAM, LINK = "100644", "100755", "120000"
AUTHOR = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "t"), ("EMAIL", "t@example.org"))
}


class Commit(NamedTuple):
    """A commit in the history."""

    id: str
    agent: str
    claims: list[str]
    tokens: list[int]
    #: The new state of each changed path.
    changed: Tree


def git(
    repo: Path, *words: str, check: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run plain git without user settings."""
    return subprocess.run(
        ["git", "-c", "core.quotePath=false", *words],
        cwd=repo,
        env=environment(**AUTHOR, **variables),
        capture_output=True,
        text=True,
        check=check,
    )


def history(repo: Path, since: str = "") -> list[Commit]:
    """Return the branch's commits, oldest first."""
    span = f"{since}..HEAD" if since else "HEAD"
    body = "%x01%H%x02%(trailers:key=Dibs-Agent,valueonly)%x02%(trailers:key=Dibs-Claim,valueonly)"
    body += "%x02%(trailers:key=Dibs-Token,valueonly)%x02"
    said = git(repo, "log", "--reverse", "--raw", "--no-renames", "--no-abbrev", "-m",
               f"--format={body}", span)  # fmt: skip
    return [_commit(text) for text in said.stdout.split("\1")[1:]]


def _commit(text: str) -> Commit:
    oid, agent, claims, tokens, rest = text.split("\2")
    changed = {}
    for line in rest.splitlines():
        if line.startswith(":"):
            about, path = line.split("\t", 1)
            _, mode, _, blob, _ = about.split(" ")
            changed[path] = "" if mode == "000000" else f"{mode} {blob}"
    return Commit(oid, agent.strip(), claims.split(), [int(t) for t in tokens.split()], changed)


def tree_of(repo: Path, commit: str = "HEAD") -> Tree:
    """Return the state of every path in a commit."""
    lines = git(repo, "ls-tree", "-r", commit).stdout.splitlines()
    entries = [line.split("\t", 1) for line in lines]
    return {path: f"{about.split()[0]} {about.split()[2]}" for about, path in entries}


def index_of(repo: Path) -> Tree:
    """Return the state of every path in the index, with flags and stages if set."""
    found = {}
    for line in git(repo, "ls-files", "--stage", "-v").stdout.splitlines():
        flag, mode, blob, rest = line.split(" ", 3)
        stage, path = rest.split("\t", 1)
        found[path] = f"{mode} {blob}" + ("" if (flag, stage) == ("H", "0") else f" {flag}{stage}")
    return found


def on_disk(path: Path) -> str:
    """Return the state of one path in the working tree."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if stat.S_ISLNK(mode):
        return f"{LINK} {blob_id(os.fsencode(os.readlink(path)))}"
    if stat.S_ISDIR(mode):
        return ""
    return f"{PROGRAM if mode & stat.S_IXUSR else PLAIN} {blob_id(path.read_bytes())}"


def blob_id(content: bytes) -> str:
    """Return the git hash of a file's content."""
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()


def soundness(repo: Path) -> list[str]:
    """Return problems with the repository: objects, references, leftover locks."""
    fsck = git(repo, "fsck", "--full", "--strict", "--no-dangling", check=False)
    wrong = [line for line in (fsck.stdout + fsck.stderr).splitlines() if "notice:" not in line]
    if git(repo, "rev-parse", "--verify", "HEAD^{commit}", check=False).returncode:
        wrong.append("HEAD is not a commit")
    # A lock of git's is a file; one of Dibs's ends with its process, and its empty file stays.
    locks = [
        lock
        for lock in (repo / ".git").rglob("*.lock")
        if repo / ".git" / "dibs" not in lock.parents or FileLock(str(lock)).is_held()
    ]
    return wrong + [f"left behind: {lock}" for lock in locks]


def left_over(repo: Path) -> list[str]:
    """Return leftover Dibs files in the git directory."""
    kinds = ("dibs-lock-", "dibs-index-")
    names = (path.name for path in (repo / ".git").iterdir())
    return sorted(name for name in names if name.startswith(kinds))


class Said(NamedTuple):
    """What Dibs reported to an agent about its commit, and the state of its files."""

    agent: str
    commit: str
    #: The files changed since its last commit, with their states.
    changed: Tree


def disagreements(commits: list[Commit], told: list[Said], start: Tree) -> list[str]:
    """Compare the history with what Dibs reported to agents; return the differences.

    Each commit of an agent must contain exactly what that agent had changed, in the same states.
    """
    wrong = []
    by_id = {said.commit: said for said in told}
    if len(by_id) != len(told):
        wrong.append("one commit was reported twice")
    seen = {commit.id for commit in commits}
    wrong += [
        f"{said.agent} got a report of {said.commit}" for said in told if said.commit not in seen
    ]
    state = dict(start)
    for commit in commits:
        said = by_id.get(commit.id)
        if said is not None:
            if said.agent != commit.agent:
                wrong.append(f"{commit.id} names {commit.agent}, and is {said.agent}'s")
            real = {p: s for p, s in said.changed.items() if s != state.get(p, "")}
            if real != commit.changed:
                wrong.append(f"{commit.id} of {said.agent}: {commit.changed} is not {real}")
        state.update(commit.changed)
    return wrong


def foreign(commits: list[Commit], owner_of: dict[str, str]) -> list[str]:
    """Return paths in agents' commits that belong to others; ``owner_of`` uses the start of the name."""
    return [
        f"{commit.agent} committed {path}"
        for commit in commits
        if commit.agent
        for path in commit.changed
        if _owner(path, owner_of) not in (commit.agent, "")
    ]


def _owner(path: str, owner_of: dict[str, str]) -> str:
    return next((who for start, who in owner_of.items() if path.startswith(start)), "")


def late_tokens(commits: list[Commit], paths: list[str]) -> list[str]:
    """Return commits of shared paths whose token is not higher than the previous one."""
    wrong, newest = [], dict.fromkeys(paths, 0)
    for commit in commits:
        for path in newest.keys() & commit.changed.keys():
            if commit.agent and max(commit.tokens) <= newest[path]:
                wrong.append(f"{path}: {commit.tokens} after {newest[path]}")
            newest[path] = max([newest[path], *commit.tokens])
    return wrong
