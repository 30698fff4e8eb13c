"""Commands outside of a project know the projects in which agents are guarded."""

from __future__ import annotations

import os

from dibs.local.noted_agents import note
from dibs.local.server_files import GUARDED, guarded_states, note_guarded, server_folder


def test_the_project_of_an_agent_is_known_outside_of_it(tmp_path):
    note(str(tmp_path), os.getpid(), 1, "alice")
    note_guarded(str(tmp_path))

    assert guarded_states() == [str(tmp_path)]


def test_the_record_is_private():
    note_guarded("/x")

    assert os.stat(server_folder()).st_mode & 0o077 == 0


def test_an_unreadable_record_does_not_hide_the_others(tmp_path):
    for number in range(4):
        note_guarded(f"/project-{number}")
    folder = os.path.join(server_folder(), GUARDED)
    for number in range(40):  # enough that some of them come first, whatever the order
        os.mkfifo(os.path.join(folder, f"%hidden-{number}"))
    os.mkdir(os.path.join(folder, "%folder"))

    assert sorted(guarded_states()) == [f"/project-{number}" for number in range(4)]
