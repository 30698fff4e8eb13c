"""A server that a hook started exits only when nothing needs it."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest
from tests.guard.hooking import call

from dibs.guard.agents.program import answer
from dibs.server.process.upkeep import IDLE, Upkeep


@pytest.fixture
def idle(resident):
    """A server without calls, and what it looks at."""
    web = SimpleNamespace(server_state=SimpleNamespace(total_requests=0, connections=set()))
    hooks = SimpleNamespace(last=time.monotonic())
    resident.needs.clear()
    upkeep = Upkeep(resident, web, hooks, None, None)
    return SimpleNamespace(
        resident=resident,
        web=web.server_state,
        hooks=hooks,
        unneeded=lambda later: upkeep.is_unneeded(time.monotonic() + later),
    )


def test_it_is_not_needed_after_ten_minutes_without_a_call(idle):
    assert not idle.unneeded(IDLE - 5)
    assert idle.unneeded(IDLE + 5)


def test_each_call_starts_the_time_again(idle):
    idle.hooks.last += 60
    assert not idle.unneeded(IDLE + 5)
    assert idle.unneeded(IDLE + 65)
    idle.web.total_requests += 1
    assert not idle.unneeded(IDLE + 65)
    assert idle.unneeded(2 * IDLE + 70)


def test_an_open_connection_needs_it(idle):
    idle.web.connections.add("a WebSocket")
    assert not idle.unneeded(IDLE + 5)


def test_a_part_of_the_server_may_need_it(idle):
    idle.resident.needs.append(lambda: True)
    assert not idle.unneeded(IDLE + 5)


def test_a_session_that_runs_here_needs_it(idle):
    given = call(idle.resident.repo, "a.py", "s1")
    environ = {"HOME": os.environ["HOME"]}
    from dibs.local.processes import running

    answer(["claude"], given, environ, "", running(os.getpid()))

    assert not idle.unneeded(IDLE + 5)
