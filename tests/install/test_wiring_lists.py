"""What ``dibs init`` writes and agents read is what the guard protects."""

from __future__ import annotations

import pytest

from dibs.core.claims.protected import HOME_GUARDED, guarded
from dibs.core.toolcalls.wiring import WIRING
from dibs.install.agents.table import AGENTS
from dibs.install.inspect.settings import user_places
from dibs.local.wiring_files import home_guarded


def is_listed(path: str, names: tuple[str, ...]) -> bool:
    return any(path == name or (name.endswith("/") and path.startswith(name)) for name in names)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
def test_the_guard_protects_the_hook_files_of_every_agent(agent):
    written = [path for path in (agent.hooks.file, agent.hooks.shared_file) if path]
    assert [path for path in written if not guarded(path)] == []
    assert [path for path in written if not is_listed(path, WIRING)] == []
    assert [path for path in agent.hooks.user_files if not is_listed(path, HOME_GUARDED)] == []


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
def test_the_guard_follows_an_agents_folder_when_a_variable_moves_it(agent):
    if agent.home_variable:
        moved = {agent.home_variable: "/moved"}
        read = user_places(agent, agent.hooks.user_files, "/home/ann", moved)
        assert read
        assert [path for path in read if not is_listed(path, tuple(home_guarded(moved)))] == []
