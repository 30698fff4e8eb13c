"""A bare repository that asks the store about every push: the gate that no client can leave out.

Whoever pushes is not known here. A commit is an agent's if the store says so (``dibs commit`` wrote it down);
else it counts as of the agent that the push names (``git push -o dibs-agent=NAME``), else as nobody's.
"""

from __future__ import annotations

import os
import sys

from dibs.config import load
from dibs.core.text.names import printable
from dibs.errors import BadInput, DibsError, Misconfigured
from dibs.git.calls import GitCalls
from dibs.git.incoming import is_nothing
from dibs.git.refs import HEADS, is_in
from dibs.guard.git.config_backup import change, recall, restore
from dibs.guard.git.messages import OK, REFUSED, not_asked, refuse
from dibs.guard.git.updates import brought, git_here
from dibs.local.repository import STATE_IN_GIT, Repository
from dibs.project.engines import Location
from dibs.project.project import Project, open_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.core.claims.agents import Caller
    from dibs.core.claims.plain_commits import PlainCommit

#: Where a bare repository keeps what its gate needs, and which settings of Dibs these are.
SETTINGS = {
    "dibs.engine": "engine",
    "dibs.branch": "git_branch",
    "dibs.project": "project",
    "dibs.onerror": "gate_on_error",
}
#: The engine of a bare repository that says nothing else: the branch of the git engine in itself.
ITSELF = "git:."
#: Only the server's own word opens its gate, nothing of the pusher's surroundings.
_WAY_OUT = "  if it must be, set on the server: git config dibs.onError allow"


def received(updates: Sequence[tuple[str, str, str]]) -> int:
    """Answer ``pre-receive`` or ``update`` in a bare repository."""
    folder = os.path.realpath(os.environ.get("GIT_DIR") or os.getcwd())
    settings = read_settings(folder)
    try:
        return _received(folder, settings, updates)
    except (DibsError, OSError, ImportError) as error:
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
    wanted = [
        (old, new)
        for old, new, ref in updates
        if ref.startswith(HEADS) and not is_nothing(new) and ref != own
    ]
    if not wanted or not _has_branches(git, own):
        return OK  # the first push brings the past, which nobody can hold any more
    # Whoever pushes can put any commit under a tag, or onto the branch of the state, without being asked.
    known = (*((f"--exclude={state}",) if own else ()), "--branches")
    made: list[PlainCommit] = []
    for old, new in wanted:
        made += brought(git, "" if is_nothing(old) else old, new, known=known)
    if not any(one.paths for one in made):
        return OK
    return _judge(folder, settings, made)


def _goes_on(git: GitCalls, old: str, new: str) -> bool:
    """Return whether a branch is begun, or keeps all that it had."""
    return is_nothing(old) or (not is_nothing(new) and is_in(git, old, new))


def _keep_state(ref: str) -> int:
    """Refuse to lose the state: without it nobody holds anything."""
    sys.stderr.write(
        f"dibs: this push is refused: {printable(ref)} keeps who holds what, and is only added to\n"
        "  if it must go, delete it on the server itself: git update-ref -d\n"
    )
    return REFUSED


def _has_branches(git: GitCalls, own: str) -> bool:
    """Return whether there is a branch, but for the one that an engine keeps its state on."""
    found = git.must("for-each-ref", "--count=2", "--format=%(refname)", HEADS)
    return bool(set(found.decode("utf-8", "replace").split()) - {own})


def _judge(folder: str, settings: dict[str, str], made: Sequence[PlainCommit]) -> int:
    caller = _pusher()
    project = open_bare(folder, settings)
    try:
        stopped = project.gating.judge(caller, made, making=False)
    finally:
        project.close()
    return refuse(stopped, "this push", caller) if stopped else OK


def _pusher() -> Caller | None:
    """Return the agent that the push names by ``-o dibs-agent=NAME``, if it names one."""
    from dibs.core.claims.agents import Caller
    from dibs.core.text.names import check_agent_id

    count = os.environ.get("GIT_PUSH_OPTION_COUNT", "")
    for place in range(int(count) if count.isdigit() else 0):
        name, mark, value = os.environ.get(f"GIT_PUSH_OPTION_{place}", "").partition("=")
        if mark and name == "dibs-agent":
            return Caller(check_agent_id(value))
    return None


def read_settings(folder: str) -> dict[str, str]:
    """Return the settings of Dibs that a bare repository has in its own configuration."""
    argv = ("config", "--file", os.path.join(folder, "config"), "-z", "--get-regexp", r"^dibs\.")
    said = GitCalls(folder, timeout=10.0).run(*argv)
    found = {"engine": ITSELF}
    for row in os.fsdecode(said.out).split("\0"):
        key, _, value = row.partition("\n")
        if key in SETTINGS and value:
            found[SETTINGS[key]] = value
    return found


def open_bare(folder: str, settings: dict[str, str]) -> Project:
    """Open the store that a bare repository names; nothing of the pusher's surroundings counts."""
    state = os.path.join(folder, STATE_IN_GIT)
    repository = Repository(folder, folder, state, "")
    try:
        loaded = load.load(folder, state, {}, settings)
    except BadInput as error:
        raise Misconfigured(error.message, hint=error.hint, field=error.field) from None
    return open_at(Location(repository, loaded))


def is_bare(folder: str) -> bool:
    """Return whether a folder is a repository without a working tree, whose store would be another one."""
    if not os.path.isdir(os.path.join(folder, "objects")):
        return False
    argv = ("config", "--file", os.path.join(folder, "config"), "--type=bool", "core.bare")
    return GitCalls(folder, timeout=10.0).run(*argv).out.strip() == b"true"


def set_up(folder: str, given: dict[str, str]) -> None:
    """Write down which store a bare repository asks; check first that it answers. Safe to repeat."""
    fields = {SETTINGS[f"dibs.{name}"]: value for name, value in given.items()}
    settings = {**read_settings(folder), **fields}
    if settings["engine"].partition(":")[0] == "memory":
        raise BadInput("memory: ends with its process; a server cannot ask it", field="engine")
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
    """Take away what ``set_up`` wrote down; return whether there was anything."""
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
