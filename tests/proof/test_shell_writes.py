"""Of the shell writes in the table, most are refused before they run, and nearly all others are reported."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from tests.proof.proof_shell_world import BROKEN, DETECTED, MISSED, REFUSED, ShellWorld
from tests.proof.proof_shell_writes import HELD, UNNOTICED, commands
from tests.proof.test_bypass import DOCS
from tests.soak import effort


@pytest.fixture
def world(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("GIT_", "DIBS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return ShellWorld(tmp_path)


@pytest.mark.timeout(900)
def test_most_shell_writes_are_refused_and_the_missed_ones_are_known(world):
    known = {held.fill(line) for held in HELD for line in UNNOTICED.strip().splitlines()}
    whole = commands()
    assert len(whole) >= 750
    table = [row for n, row in enumerate(whole) if n % effort(12, 1) == 0 or row[0] in known]
    said = [(world.judge(command, held), command) for command, held in table]

    count = Counter(verdict for verdict, _ in said)
    broken = [command for verdict, command in said if verdict == BROKEN]
    assert not broken, "\n".join(broken)
    missed = {command for verdict, command in said if verdict == MISSED}
    assert missed == known, "\n".join(missed ^ known)
    assert count[REFUSED] >= 0.7 * len(table), count
    assert count[MISSED] <= 0.01 * len(whole), count
    assert count[DETECTED] >= 0.1 * len(table), count


def test_the_docs_name_each_kind_of_write_that_goes_unnoticed():
    page = DOCS.read_text()

    for template in UNNOTICED.strip().splitlines():
        shown = template.replace("@W; kit/ls @F", "sleep 60; ./write").replace(
            " > /dev/null 2>&1", ""
        )
        assert f"`{shown}`" in page, shown
