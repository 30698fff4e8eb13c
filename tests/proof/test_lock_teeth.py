"""With one rule of the lock-file queue disabled, the judge finds the broken promise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from proof_lock_files import TAKE, World
from proof_lock_judge import judge
from test_lock_document import take_at_once

if TYPE_CHECKING:
    from pathlib import Path

    from proof_lock_files import Member

pytestmark = pytest.mark.slow

#: What replaces a rule, by the rule's name.
NEVER_LOCKED = """
from dibs.services.tasks.lock_queue import snapshot
snapshot.lock_end = lambda *_: 0.0
"""
NO_LEASE = """
from dibs.engines.git.remote import Remote
def push(self, commit, expected, deadline):
    words = ("push", "--porcelain", "--force", self.place.url, f"{commit}:{self.place.ref}")
    return self._outcome(self._git.run_until(deadline, *words))
Remote.push = push
"""
NO_OWNER = """
from dibs.services.tasks.lock_queue import tasks
tasks._is_callers = lambda *_: True
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put({"a": "title: fix it\n"})
    return world


def broken(member: Member, rule: str) -> None:
    """Give a member a ``dibs`` without this rule."""
    text = f"#!{sys.executable}\n{rule}\nimport sys\nfrom dibs.cli import main\nsys.exit(main())\n"
    program = member.home / "dibs"
    program.write_text(text)
    program.chmod(0o755)
    member.program = program


def test_an_agent_that_ignores_locks_is_found(world: World):
    first, second = world.member("dibs-1"), world.member("dibs-2")
    broken(second, NEVER_LOCKED)

    for member in (first, second):
        member.believe(TAKE["dibs"](member), owns=True)

    faults = judge(world)
    assert any("early" in fault for fault in faults)
    assert "dibs-2 and dibs-1 work on a at the same time" in faults


def test_an_agent_that_pushes_without_a_lease_is_found(world: World):
    first, second = world.member("dibs-1"), world.member("dibs-2")
    broken(second, NO_LEASE)

    assert take_at_once(first, "dibs", second, "dibs") == ["a", "a"]

    assert any("is no longer on the branch" in fault for fault in judge(world))


def test_an_agent_that_finishes_anothers_task_is_found(world: World):
    first, second = world.member("dibs-1"), world.member("dibs-2")
    broken(second, NO_OWNER)
    TAKE["dibs"](first)

    assert second.dibs("task", "done", "a").returncode == 0

    assert any("the lock of dibs-1 on a disappears" in fault for fault in judge(world))
