"""The watcher waits until the board changes."""

from types import SimpleNamespace

import pytest

from dibs.cli.support.watcher import BoardWatcher
from dibs.core.claims.ledger import Event
from dibs.engines.memory import MemoryEngine

LONGEST = 20.0


@pytest.fixture
def watched(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.yaml").write_text("title: a\n")
    board = SimpleNamespace(folders=SimpleNamespace(base=str(tmp_path), folder="work"))
    with BoardWatcher(board) as files:
        assert files.live
        yield files


def test_an_edit_in_place_is_reported_as_a_changed_file(watched, tmp_path):
    engine = MemoryEngine()
    with (tmp_path / "work" / "a.yaml").open("a") as file:
        # The watch starts a moment after its thread, so the edit is repeated until it is reported.
        for number in range(100):
            file.write(f"x{number}: 1\n")
            file.flush()
            if watched.wait(engine, 0, LONGEST / 100):
                return
    pytest.fail("the edit was not reported")


def test_a_new_ledger_entry_is_not_a_changed_file(watched):
    engine = MemoryEngine()
    engine.transact(lambda txn: txn.emit(Event("bob", "agent", "error", "x", {})))

    assert watched.wait(engine, 0, LONGEST) is False
