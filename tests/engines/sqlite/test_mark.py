"""A SQLite store below its high-water mark has lost changes: it starts a new life."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import apsw
import pytest

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.ledger import Kind
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.engines.shared.mark import LIFE, stored_mark
from dibs.engines.sqlite import connection
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.errors import Fenced, Unavailable
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.store import Store
from dibs.testing.steps import entries, increment

FILES = ("dibs.db", "dibs.db-wal", "dibs.db-shm")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "dibs.db"


@pytest.fixture
def opened(path):
    engines = []

    def connect(**options):
        engines.append(SqliteEngine(path, renew=begin_life, **options))
        return engines[-1]

    yield connect
    for engine in engines:
        engine.close()


def checkpoint(path):
    db = apsw.Connection(str(path))
    db.execute("SELECT count(*) FROM kv").fetchall()
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.close()


def lose_log(path, copy):
    """Lose the write-ahead log, which contains all changes since the last checkpoint."""
    os.unlink(f"{path}-wal")
    os.unlink(f"{path}-shm")


def lose_database(path, copy):
    for name in FILES:
        (path.parent / name).unlink(missing_ok=True)


def restore_copy(path, copy):
    lose_database(path, copy)
    shutil.copy(copy, path)


LOSSES = [lose_log, lose_database, restore_copy]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_store_that_lost_changes_issues_no_number_twice(path, opened, tmp_path, lose):
    first = opened()
    first.transact(increment)
    checkpoint(path)
    shutil.copy(path, tmp_path / "copy")
    last = [first.transact(increment) for _ in range(5)][-1]
    first.close()

    lose(path, tmp_path / "copy")
    engine = opened()

    assert engine.view(lambda txn: next(txn.events(newest_first=True)).seq) > LIFE > last
    assert engine.transact(increment) > last
    assert [entry.kind for entry in entries(engine)].count(Kind.LEDGER_RESTARTED) == 1


def test_a_second_loss_right_after_a_new_life_is_detected(path, opened, tmp_path):
    engine = opened()
    engine.transact(increment)
    checkpoint(path)
    shutil.copy(path, tmp_path / "copy")
    engine.transact(increment)
    lives = []
    for _ in range(2):
        engine.close()
        restore_copy(path, tmp_path / "copy")
        engine = opened()
        lives.append(engine.view(lambda txn: next(txn.events(newest_first=True)).seq))
        assert stored_mark(f"{path}.mark") == lives[-1]

    assert LIFE < lives[0] < 2 * LIFE < lives[1]


def overwrite_with_copy(path, copy):
    lose_log(path, copy)
    shutil.copyfile(copy, path)


def lose_only_log(path, copy):
    os.unlink(f"{path}-wal")


@pytest.mark.parametrize("lose", [lose_log, lose_only_log, overwrite_with_copy])
@pytest.mark.parametrize("act", ["transact", "view"])
def test_an_open_handle_does_not_continue_with_a_lost_log(
    path, opened, tmp_path, lose, act, monkeypatch
):
    """It would see, and change, a store that no other process sees."""
    monkeypatch.setattr(connection, "LOG_EVERY", 0.0)
    handle = opened()
    handle.transact(increment)
    checkpoint(path)
    shutil.copy(path, tmp_path / "copy")
    last = [handle.transact(increment) for _ in range(5)][-1]

    lose(path, tmp_path / "copy")

    with pytest.raises(Unavailable) as caught:
        getattr(handle, act)(lambda txn: txn.get("n"))
    assert caught.value.code == "STORE_REPLACED"
    assert handle.transact(increment) > LIFE > last
    assert opened().view(lambda txn: txn.get("n")) == handle.view(lambda txn: txn.get("n"))
    assert apsw.Connection(str(path)).execute("PRAGMA integrity_check").get == "ok"


def test_claims_of_a_restored_copy_are_void_and_their_owner_is_notified(path, opened, tmp_path):
    alice, bob = Caller("alice"), Caller("bob")
    before = Store(opened(), Config())
    old = Claims(before).claim(alice, [parse("a.py")])
    before.engine.close()
    checkpoint(path)
    shutil.copy(path, tmp_path / "copy")
    between = Store(opened(), Config())
    Holdings(between).release(alice, [parse("a.py")])
    Claims(between).claim(bob, [parse("a.py")])
    between.engine.close()

    restore_copy(path, tmp_path / "copy")
    after = Store(opened(), Config())

    told = after.look(lambda rows: [(lost.why, lost.reason) for _, lost in rows.lost("alice")])
    assert told == [("void", "its newest changes are missing")]
    with pytest.raises(Fenced):
        Holdings(after).release(alice, [parse("a.py")], token=old.token)
    again = Claims(after).claim(bob, [parse("a.py")])
    assert isinstance(again, Granted)
    assert again.token > LIFE


def test_a_store_that_lost_nothing_keeps_its_life(opened):
    for _ in range(3):
        engine = opened()
        engine.transact(increment)
        engine.transact(lambda txn: txn.put("k", "v"))
        engine.view(lambda txn: txn.get("k"))
        engine.close()

    assert [entry.seq for entry in entries(opened())] == [1, 2, 3]


def test_two_handles_take_turns_without_a_new_life(opened):
    one, two = opened(), opened()

    numbers = [engine.transact(increment) for engine in (one, two, one, two, two, one)]

    assert numbers == [1, 2, 3, 4, 5, 6]
    assert entries(two)[-1].seq == 6


def test_the_mark_is_the_newest_number(path, opened):
    engine = opened()
    last = [engine.transact(increment) for _ in range(7)][-1]

    assert stored_mark(f"{path}.mark") == last


def test_a_change_that_fails_does_not_raise_the_mark(path, opened):
    engine = opened()
    engine.transact(increment)

    def fail(txn):
        increment(txn)
        raise KeyError("no")

    with pytest.raises(KeyError):
        engine.transact(fail)

    assert stored_mark(f"{path}.mark") == 1


@pytest.mark.parametrize(
    "damage", [b"", b"x", b"12", b"\xff" * 21, b"9" * 20 + b"\n", b"-0000000000000000005\n"]
)
def test_a_damaged_mark_starts_no_new_life_and_is_replaced(path, opened, damage):
    engine = opened()
    engine.transact(increment)
    engine.close()
    with open(f"{path}.mark", "wb") as file:
        file.write(damage)

    assert opened().transact(increment) == 2
    assert stored_mark(f"{path}.mark") == 2


def test_a_mark_that_cannot_be_written_does_not_fail_the_change(path, opened):
    (path.parent).mkdir(mode=0o700)
    os.mkdir(f"{path}.mark")

    engine = opened()

    assert [engine.transact(increment), engine.transact(increment)] == [1, 2]
    assert len(entries(engine)) == 2


def test_a_full_disk_does_not_fail_the_change_after_its_commit(path, opened, monkeypatch):
    engine = opened()
    engine.transact(increment)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)

    assert engine.transact(increment) == 2
    assert stored_mark(f"{path}.mark") == 1
    monkeypatch.undo()
    assert engine.transact(increment) == 3
    assert stored_mark(f"{path}.mark") == 3


def test_a_process_killed_before_it_wrote_the_mark_lost_nothing(path, opened):
    program = (
        "import os, sys, signal\n"
        "from dibs.engines.sqlite.engine import SqliteEngine\n"
        "from dibs.testing.steps import increment\n"
        "engine = SqliteEngine(sys.argv[1])\n"
        "engine.transact(increment)\n"
        "os.pwrite = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "engine.transact(increment)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)

    assert done.returncode == -signal.SIGKILL
    assert stored_mark(f"{path}.mark") == 1
    assert opened().transact(increment) == 3
    assert LIFE > stored_mark(f"{path}.mark") == 3


def test_many_processes_that_find_a_loss_start_one_life(path, opened, tmp_path):
    first = opened()
    first.transact(increment)
    checkpoint(path)
    shutil.copy(path, tmp_path / "copy")
    first.transact(increment)
    first.close()
    restore_copy(path, tmp_path / "copy")
    program = (
        "import sys\n"
        "from dibs.engines.sqlite.engine import SqliteEngine\n"
        "from dibs.services.state.lifecycle import begin_life\n"
        "from dibs.testing.steps import increment\n"
        "print(SqliteEngine(sys.argv[1], renew=begin_life).transact(increment))\n"
    )
    crew = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    numbers = [int(one.communicate()[0]) for one in crew]

    assert len(set(numbers)) == len(numbers)
    assert min(numbers) > LIFE
    assert [entry.kind for entry in entries(opened())].count(Kind.LEDGER_RESTARTED) == 1


def test_a_read_only_store_that_lost_changes_says_so(path, opened, tmp_path, monkeypatch):
    first = opened()
    first.transact(increment)
    checkpoint(path)
    shutil.copy(path, tmp_path / "copy")
    first.transact(increment)
    first.close()
    restore_copy(path, tmp_path / "copy")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything

    with pytest.raises(Unavailable, match="lost its newest changes"):
        opened().view(lambda txn: txn.get("count"))
