"""The program that the git hooks run: check claims, and print why something is refused.

It runs at every commit, so it loads no more than it needs.
"""

from __future__ import annotations

import os
import sys

from dibs.errors import DibsError
from dibs.guard.git.messages import HEADER, OK, UNLOADABLE, not_asked, refuse
from dibs.local.files import read_or_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.coverage import Blocked
    from dibs.project.location import Location
    from dibs.project.project import Project


def program() -> NoReturn:
    """Run one hook and exit."""
    import gc

    gc.set_threshold(100_000)
    try:
        status = run(sys.argv[1:], sys.stdin.buffer.read())
    except ImportError as error:
        sys.stderr.write(f"dibs: {error}\n")
        status = UNLOADABLE
    sys.stderr.flush()
    os._exit(status)


def run(words: Sequence[str], given: bytes) -> int:
    """Run the hook named by ``words``, with the input ``given``, and return its exit status."""
    name, *rest = words
    try:
        if name == "pre-commit":
            return _pre_commit(given, *rest)
        if name in {"post-checkout", "post-rewrite"}:
            return _after(name, os.fsdecode(given))
        from dibs.guard.git.updates import moved, pushed

        lines = [line.split(" ") for line in os.fsdecode(given).splitlines() if line]
        if name == "reference-transaction":
            return moved(lines, int(rest[0]) if rest else 0)
        return pushed(lines)
    except (DibsError, OSError) as error:
        return not_asked(error, allowed=_on_error() == "allow")


def _after(name: str, given: str) -> int:
    """Record what has happened: HEAD moved, or commits were replaced."""
    project = opened()
    caller = committer(project)
    if name == "post-checkout":
        project.gating.head_moved(caller, project.place.repository.root)
    else:
        pairs = [line.split(" ") for line in given.splitlines()]
        project.gating.replaced(caller, [(words[0], words[1]) for words in pairs if words[1:]])
    return OK


def _pre_commit(given: bytes, note: str, process: str) -> int:
    """Check the staged paths; leave a note so that the branch update need not check again."""
    if not given:
        return OK
    from dibs.core.claims.plain_commits import PlainCommit
    from dibs.local.branches import note_allowed
    from dibs.local.loose_objects import head_commit

    project = opened()
    caller = committer(project)
    header = _store_header(project)
    paths = tuple(os.fsdecode(path) for path in given.split(b"\0") if path)
    stopped = project.gating.judge(caller, [PlainCommit(paths)])
    stopped = stopped or _others_work(project, caller, paths)
    if stopped:
        return refuse(stopped, "commit", caller, project)
    here = project.place.repository
    note_allowed(here, caller.id, parent=head_commit(here.root, here.common))
    needs_own = project.config.gate_unclaimed == "deny" and not caller.human
    if header and not needs_own:  # the caller's own claims may expire without a write
        agent = os.environ.get("DIBS_AGENT", "")
        _leave(note, f"{process} {agent}\n".encode() + given, header)
    return OK


def _others_work(project: Project, caller: Caller, paths: Sequence[str]) -> list[Blocked]:
    """Return what a commit undoes of others' commits, or includes of other agents' uncommitted work."""
    from dibs.guard.git.updates import git_here
    from dibs.local.loose_objects import head_commit

    repository = project.place.repository
    head = head_commit(repository.root, repository.common)
    if not head:
        return []
    git = git_here()
    index = os.environ.get("GIT_INDEX_FILE", "") or os.path.join(repository.root, ".git", "index")
    index = os.path.abspath(index)
    found = project.commits.overtaken(git, index, paths)
    if found or caller.human:
        return found
    from dibs.git.trees import staged

    changes = staged(git, head, index)
    return project.commits.undoing(caller, git, changes, head) or project.commits.including(
        caller, git, changes, head
    )


def _store_header(project: Project) -> bytes:
    """Return the bytes that change with every write to a local SQLite store, or nothing for another engine.

    Must be read before the store: a later write then shows as a difference.
    """
    if project.config.engine:
        return b""
    return read_or_empty(f"{project.place.repository.state}/dibs.db-shm")[:HEADER]


def _leave(note: str, text: bytes, header: bytes) -> None:
    """Write the note; if that fails, the branch update checks again."""
    try:
        for path, content in ((f"{note}-shm", header), (note, text)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(path, flags, 0o600)
            with open(handle, "wb") as file:
                file.write(content)
    except OSError:
        return


def opened() -> Project:
    """Open the project of the working tree in which the hook runs."""
    from dibs.project.project import open_at

    return open_at(_place())


def _place() -> Location:
    from dibs.project.location import locate

    here = os.getcwd()
    if os.path.basename(here) == ".git" and os.environ.get("GIT_DIR") == ".":
        # During a push into this repository, git runs in the git directory; the settings are above it.
        from dibs.local.repository import find
        from dibs.project.environment import trusted_variables

        variables = {**os.environ, "GIT_DIR": ""}
        state = find(os.path.dirname(here), variables).state
        return locate(os.path.dirname(here), trusted_variables(variables, state))
    return locate(here)


def committer(project: Project) -> Caller:
    """Return the caller of git: the named agent, the agent that started this process, or the human.

    Programs with windows have no terminal, so a person who commits needs none; a process that an agent can
    have started counts as an agent's.
    """
    from dibs.local.identity import acting_agent
    from dibs.services.claims.callers import caller_of

    state = project.place.repository.state
    identity = acting_agent(None, os.environ, state, needs_terminal=False)
    return caller_of(project.store, identity, state)


def _on_error() -> str:
    """Return gate.on_error, from a human's environment alone if the settings cannot be read."""
    try:
        return _place().loaded.config.gate_on_error
    except (DibsError, ImportError):
        pass
    try:
        from dibs.local.repository import find
        from dibs.project.environment import trusted_variables

        return trusted_variables(os.environ, find().state).get("DIBS_GATE_ON_ERROR", "")
    except (DibsError, ImportError):
        return ""
