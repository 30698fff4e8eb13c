"""Hooks in the user's own settings, for agents that skip a repository's hooks in some cases.

Only ``dibs init --user`` writes them, and only ``dibs init --uninstall --user`` removes them: they serve all
repositories of the user. Outside of Dibs projects they do nothing, even if Dibs was removed.
"""

from __future__ import annotations

import os

from dibs.install.agents.edits import Choice, hook_entries
from dibs.install.agents.table import AGENTS
from dibs.install.entries.commands import commands
from dibs.install.entries.pieces import Default, put_all, take_all
from dibs.install.inspect.settings import hooks_of, user_places
from dibs.install.plan import PlannedChange, read
from dibs.local.files import write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.install.agents.table import AgentSettings
    from dibs.install.entries.pieces import Piece
    from dibs.local.repository import Repository

_WHAT = "hooks for all your repositories"


def plan_user_hooks(
    repository: Repository,
    names: Iterable[str],
    environ: Mapping[str, str],
    *,
    remove: bool = False,
) -> tuple[PlannedChange, ...]:
    """Return the changes in the home folder that these agents need, or that remove what they needed."""
    agents = [AGENTS[name] for name in names if AGENTS[name].hooks.user_file]
    return tuple(_change(repository, agent, environ, remove=remove) for agent in agents)


def _change(
    repository: Repository, agent: AgentSettings, environ: Mapping[str, str], *, remove: bool
) -> PlannedChange:
    file = agent.hooks.user_file
    (found,) = user_places(agent, (file,), os.path.expanduser("~"), environ)
    place = os.path.realpath(found)  # a link to the user's settings stays a link
    old, mode = read(repository, place)
    pieces = _pieces(agent, place)
    if not remove:
        new: bytes | None = put_all(pieces, old or b"", place)
    else:
        new = None if old is None else take_all(pieces, old, place, b"") or None
    return PlannedChange(place, old, new, old, mode, (_WHAT,), (agent.name,))


def _pieces(agent: AgentSettings, place: str) -> tuple[Piece, ...]:
    choice = Choice("", commands()._replace(everywhere=True))
    entries = hook_entries(agent, choice, place)
    version = agent.hooks.version
    return (Default(("version",), version), entries) if version else (entries,)


def apply_user_hooks(changes: Iterable[PlannedChange]) -> None:
    """Write the files."""
    for change in changes:
        if change.new is None and change.old is not None:
            os.unlink(change.path)
            _remove_empty(os.path.dirname(change.path))
        elif change.new is not None and change.act != "keep":
            os.makedirs(os.path.dirname(change.path), mode=0o700, exist_ok=True)
            write_file(change.path, change.new, mode=change.mode, sync=True)


def _remove_empty(folder: str) -> None:
    """Remove the agent's folders that are empty: otherwise the agent would seem to be in use."""
    while folder not in {os.path.realpath(os.path.expanduser("~")), "/"}:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


def with_user_hooks(names: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Return the agents whose settings in the home folder contain our hooks."""
    home = os.path.expanduser("~")
    wanted = (name for name in names if AGENTS[name].hooks.user_file)
    return [name for name in wanted if _at_home(name, home, environ)]


def _at_home(name: str, home: str, environ: Mapping[str, str]) -> bool:
    return any(hook.refuses for hook in hooks_of(name, home, home, environ)[0])
