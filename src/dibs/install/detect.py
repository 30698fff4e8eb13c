"""Find out which coding agents are used here: by programs, and by files in the home and the repository."""

from __future__ import annotations

import os

from dibs.install.agents.table import AGENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dibs.install.agents.table import AgentSettings


def found(root: str, environ: Mapping[str, str], made: Collection[str] = ()) -> dict[str, str]:
    """Return the agents that are used here, each with what shows it.

    Files and folders that Dibs made show nothing.
    """
    shown = {name: _shown(agent, root, environ, made) for name, agent in AGENTS.items()}
    return {name: how for name, how in shown.items() if how}


def program_of(agent: AgentSettings, environ: Mapping[str, str]) -> str:
    """Return the agent's program, as the PATH finds it; empty if it does not."""
    for name in agent.programs:
        for folder in environ.get("PATH", "").split(os.pathsep):
            place = os.path.join(folder, name)
            if os.path.isabs(folder) and os.path.isfile(place) and os.access(place, os.X_OK):
                return place
    return ""


def _shown(
    agent: AgentSettings, root: str, environ: Mapping[str, str], made: Collection[str]
) -> str:
    place = program_of(agent, environ)
    if place:
        return f"program {place}"
    home = environ.get("HOME", "")
    for folder in agent.homes if os.path.isabs(home) else ():
        if os.path.isdir(os.path.join(home, folder)):
            return f"folder ~/{folder}"
    for sign in agent.signs:
        if sign not in made and os.path.lexists(os.path.join(root, sign)):
            return f"{sign} in the repository"
    return ""
