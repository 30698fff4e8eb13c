"""The guard protects the files that ``dibs init`` writes and agents read."""

from __future__ import annotations

import pytest

from dibs.core.claims.protected import HOME_GUARDED, guarded
from dibs.core.toolcalls.wiring import WIRING
from dibs.install.agents.table import AGENTS
from dibs.install.inspect.settings import user_places
from dibs.local.wiring_files import home_guarded


def is_listed(path: str, names: tuple[str, ...]) -> bool:
    return any(path == name or (name.endswith("/") and path.startswith(name)) for name in names)


def files(patterns: tuple[str, ...]) -> list[str]:
    ends = ("", ".local") if any("settings*" in pattern for pattern in patterns) else ("x",)
    return [pattern.replace("*", end) for pattern in patterns for end in ends]


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
def test_the_guard_protects_the_files_that_every_agent_reads(agent):
    hooks, servers = files(agent.hooks.files), files(agent.server.files)
    assert [path for path in (*hooks, *servers) if not guarded(path)] == []
    assert [path for path in hooks if not is_listed(path, WIRING)] == []
    users = files((*agent.hooks.user_files, *agent.server.user_files))
    assert [path for path in users if not is_listed(path, HOME_GUARDED)] == []


def test_what_is_watched_is_protected():
    assert [path for path in WIRING if not guarded(path)] == []


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
def test_the_guard_follows_an_agents_folder_when_a_variable_moves_it(agent):
    if agent.home_variable:
        moved = {agent.home_variable: "/moved"}
        read = user_places(agent, agent.hooks.user_files, "/home/ann", moved)
        assert read
        assert [path for path in read if not is_listed(path, tuple(home_guarded(moved)))] == []
