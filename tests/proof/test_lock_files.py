"""Scripts, Dibs agents, and people share one branch with lock files: never two owners of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from proof_lock_files import Crew, World
from proof_lock_judge import judge

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_scripts_alone_never_have_two_owners_of_a_task(tmp_path: Path):
    world = World(tmp_path)
    world.put({f"t{number}": "title: x\n" for number in range(6)})
    crew = Crew(world, 1, kinds=("script",))

    crew.start()
    crew.wait_until("every task is done", lambda: not world.open_tasks())
    crew.stop()

    assert judge(world) == []
