"""Hooks in a bare repository: check every push, which no client can skip.

The server does not know who pushes. A commit belongs to the agent for which ``dibs commit`` recorded it in
the store, or else to the agent that the push names (``git push -o dibs-agent=NAME``), or else to nobody.
"""

from __future__ import annotations

import os
import sys

from dibs.config import load
from dibs.core.claims.history import refusal
from dibs.core.text.names import printable
from dibs.errors import BadInput, DibsError, Misconfigured
from dibs.git.calls import GitCalls
from dibs.git.incoming import brought, is_nothing
from dibs.git.refs import HEADS, is_in, removed_from
from dibs.git.state import head_of
from dibs.guard.git.config_backup import change, recall, restore
from dibs.guard.git.messages import OK, REFUSED, not_asked, refuse, say_refused
from dibs.guard.git.updates import git_here
from dibs.local.repository import STATE_IN_GIT, Repository
from dibs.project.engines import open_engine
from dibs.project.location import Location
from dibs.project.project import Project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.plain_commits import PlainCommit

#: Keys in a bare repository's git configuration, and the Dibs settings that they hold.
SETTINGS = {
    "dibs.engine": "engine",
    "dibs.branch": "git_branch",
    "dibs.project": "project",
    "dibs.onerror": "gate_on_error",
}
#: The default engine of a bare repository: the git engine's branch in the repository itself.
ITSELF = "git:."
#: Only the server's configuration can disable the check, never the pusher's environment.
_WAY_OUT = "  to skip this check, run on the server: git config dibs.onError allow"


def received(updates: Sequence[tuple[str, str, str]]) -> int:
    """Run ``pre-receive`` or ``update`` in a bare repository, and return its exit status."""
    folder = os.path.realpath(os.environ.get("GIT_DIR") or os.getcwd())
    settings = read_settings(folder)
    try:
        return _received(folder, settings, updates)
    except (DibsError, OSError) as error:
        allowed = settings.get("gate_on_error") == "allow"
        return not_asked(error, allowed=allowed, way_out=_WAY_OUT)


def _received(
    folder: str, settings: dict[str, str], updates: Sequence[tuple[str, str, str]]
) -> int:
    state = settings.get("git_branch") or "dibs"
    own = f"{HEADS}{state}" if settings["engine"].startswith("git:") else ""
    git = git_here()
    for old, new, ref in updates:
        if ref == own and not _goes_on(git, old, new):
            return _keep_state(ref)
    status = _keep_landed(git, folder, settings, [one for one in updates if one[2] != own])
    if status != OK:
        return status
    wanted = [
        (old, new)
        for old, new, ref in updates
        if ref.startswith(HEADS) and not is_nothing(new) and ref != own
    ]
    if not wanted or not _has_branches(git, own):
        return OK  # the first push into an empty repository
    # A pusher can put any commit under a tag, or on the state branch, without a check.
    known = (*((f"--exclude={state}",) if own else ()), "--branches")
    made: list[PlainCommit] = []
    for old, new in wanted:
        made += brought(git, "" if is_nothing(old) else old, new, known=known)
    if not any(one.paths for one in made):
        return OK
    return _judge(folder, settings, made)


def _goes_on(git: GitCalls, old: str, new: str) -> bool:
    """Return whether an update creates or fast-forwards a branch."""
    return is_nothing(old) or (not is_nothing(new) and is_in(git, old, new))


def _keep_state(ref: str) -> int:
    """Refuse a push that would lose the state."""
    sys.stderr.write(
        f"dibs: push refused: {printable(ref)} stores the claims and accepts only fast-forwards\n"
        f"  to delete all state, run on the server: git update-ref -d {printable(ref)}\n"
    )
    return REFUSED


def _keep_landed(
    git: GitCalls, folder: str, settings: dict[str, str], updates: Sequence[tuple[str, str, str]]
) -> int:
    """Refuse a push that removes commits which agents landed.

    On a branch other than the default one, an agent may replace its own.
    """
    back = [one for one in updates if one[2].startswith(HEADS) and not _goes_on(git, *one[:2])]
    if not back:
        return OK
    caller = _pusher()
    project = open_bare(folder, settings)
    try:
        for old, new, ref in back:
            others = (f"--exclude={ref.removeprefix(HEADS)}", "--branches", "--tags")
            found, lost = removed_from(git, old, new, others)
            rewrites = head_of(folder) != ref
            stopped, own = project.gating.removed(caller, ref, found, lost, rewrites=rewrites)
            if stopped:
                by_hand = f"  a human can run on the server: git update-ref {ref} COMMIT"
                return say_refused([*refusal(stopped, "push", ref, own=own), by_hand])
    finally:
        project.close()
    return OK


def _has_branches(git: GitCalls, own: str) -> bool:
    """Return whether there is a branch other than the git engine's own."""
    found = git.must("for-each-ref", "--count=2", "--format=%(refname)", HEADS)
    return bool(set(found.decode("utf-8", "replace").split()) - {own})


def _judge(folder: str, settings: dict[str, str], made: Sequence[PlainCommit]) -> int:
    caller = _pusher()
    project = open_bare(folder, settings)
    try:
        stopped = project.gating.judge(caller, made, making=False)
    finally:
        project.close()
    return refuse(stopped, "push", caller) if stopped else OK


def _pusher() -> Caller | None:
    """Return the agent that the push names with ``-o dibs-agent=NAME``, if any."""
    from dibs.core.claims.agents import Caller
    from dibs.core.text.names import check_agent_id

    count = os.environ.get("GIT_PUSH_OPTION_COUNT", "")
    for place in range(int(count) if count.isdigit() else 0):
        name, mark, value = os.environ.get(f"GIT_PUSH_OPTION_{place}", "").partition("=")
        if mark and name == "dibs-agent":
            return Caller(check_agent_id(value))
    return None


def read_settings(folder: str) -> dict[str, str]:
    """Return the Dibs settings in a bare repository's git configuration."""
    argv = ("config", "--file", os.path.join(folder, "config"), "-z", "--get-regexp", r"^dibs\.")
    result = GitCalls(folder, timeout=10.0).run(*argv)
    found = {"engine": ITSELF}
    for row in os.fsdecode(result.out).split("\0"):
        key, _, value = row.partition("\n")
        if key in SETTINGS and value:
            found[SETTINGS[key]] = value
    return found


def open_bare(folder: str, settings: dict[str, str]) -> Project:
    """Open the store that a bare repository names, regardless of the pusher's environment."""
    state = os.path.join(folder, STATE_IN_GIT)
    repository = Repository(folder, folder, state, "")
    try:
        loaded = load.load(folder, state, {}, settings)
    except BadInput as error:
        raise Misconfigured(error.message, hint=error.hint, field=error.field) from None
    place = Location(repository, loaded)
    return Project(place, open_engine(place, recreate=False))


def is_bare(folder: str) -> bool:
    """Return whether a folder is a bare repository."""
    if not os.path.isdir(os.path.join(folder, "objects")):
        return False
    argv = ("config", "--file", os.path.join(folder, "config"), "--type=bool", "core.bare")
    return GitCalls(folder, timeout=10.0).run(*argv).out.strip() == b"true"


def set_up(folder: str, given: dict[str, str]) -> None:
    """Check that the store is reachable, then configure the bare repository to use it. Safe to repeat."""
    fields = {SETTINGS[f"dibs.{name}"]: value for name, value in given.items()}
    settings = {**read_settings(folder), **fields}
    if settings["engine"].partition(":")[0] == "memory":
        raise BadInput(
            "a server cannot use the memory engine: its state ends with the process",
            field="engine",
        )
    project = open_bare(folder, settings)
    try:
        project.store.now()
    finally:
        project.close()
    config = os.path.join(folder, "config")
    memory = _memory(folder)
    git = GitCalls(folder)
    forget(folder)
    os.makedirs(os.path.dirname(memory), mode=0o700, exist_ok=True)

    def write_down() -> None:
        for key, field in SETTINGS.items():
            if field in settings:
                git.must("config", "--file", config, key, settings[field])
        git.must("config", "--file", config, "receive.advertisePushOptions", "true")

    change(config, memory, write_down, {})


def forget(folder: str) -> bool:
    """Undo ``set_up``; return whether there was anything to undo."""
    memory = recall(_memory(folder))
    if memory is None:
        return False
    config = os.path.join(folder, "config")
    if not restore(config, memory):
        GitCalls(folder).run("config", "--file", config, "--remove-section", "dibs")
    os.unlink(_memory(folder))
    return True


def _memory(folder: str) -> str:
    return os.path.join(folder, STATE_IN_GIT, "gate-config.json")
