"""What a SQLite store does when processes die or stop, and when the disk fails."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import apsw
import pytest

from dibs.core.claims.ledger import Event, Kind
from dibs.core.patterns.filing import Range
from dibs.engines.shared.turns import Turns
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.errors import Unavailable, Unknown

HAPPENED = Event("a", "", Kind.DECISION_MADE, "happened", {})

PAUSING = """
import sys, time
from dibs.core.claims.ledger import Event, Kind
from dibs.engines.sqlite.engine import SqliteEngine

def step(txn):
    txn.put("half", "done")
    txn.emit(Event("a", "", Kind.ERROR, "half done", {}))
    print("inside", flush=True)
    time.sleep(60)

SqliteEngine(sys.argv[1]).transact(step)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "dibs.db"


@pytest.fixture
def engine(path):
    engine = SqliteEngine(path, timeout=0.5)
    yield engine
    engine.close()


@pytest.fixture
def pausing(path):
    """A process in the middle of its step."""
    with subprocess.Popen(
        [sys.executable, "-c", PAUSING, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "inside\n"
        yield process
        process.kill()


def put(engine, key, value="v"):
    engine.transact(lambda txn: txn.put(key, value))


def keys(engine):
    return engine.view(lambda txn: [key for key, _ in txn.scan(Range(""))])


def integrity(path):
    db = apsw.Connection(str(path))
    try:
        return db.execute("PRAGMA integrity_check").get
    finally:
        db.close()


class TestProcesses:
    def test_a_process_killed_in_its_step_changes_nothing_and_blocks_no_one(self, engine, pausing):
        pausing.kill()
        pausing.wait()

        put(engine, "next")

        assert keys(engine) == ["next"]
        assert engine.wait(0, 0) == 0

    def test_a_process_stopped_in_its_step_makes_the_store_unavailable_instead_of_hanging(
        self, engine, pausing
    ):
        os.kill(pausing.pid, signal.SIGSTOP)
        started = time.monotonic()

        with pytest.raises(Unavailable) as caught:
            put(engine, "k")

        assert caught.value.code == "STORE_BUSY"
        assert 0.4 < time.monotonic() - started < 2.0
        assert keys(engine) == []  # readers do not have to wait

        pausing.kill()
        pausing.wait()
        put(engine, "k")

    def test_a_foreign_writer_makes_the_store_busy_until_it_finishes(self, engine, path):
        program = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
            "db.execute('BEGIN IMMEDIATE'); print('inside', flush=True); sys.stdin.read()"
        )
        foreign = subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert foreign.stdout.readline() == "inside\n"
        started = time.monotonic()

        with pytest.raises(Unavailable) as caught:
            put(engine, "k")

        assert caught.value.code == "STORE_BUSY"
        assert 0.4 < time.monotonic() - started < 2.0
        foreign.communicate()
        put(engine, "k")

    def test_many_processes_can_create_one_store_at_once(self, path):
        program = (
            "import sys; from dibs.engines.sqlite.engine import SqliteEngine;"
            "from dibs.testing.steps import add_up; add_up(SqliteEngine(sys.argv[1]), 1)"
        )
        for attempt in range(3):
            name = f"{path}{attempt}"

            racers = [subprocess.Popen([sys.executable, "-c", program, name]) for _ in range(6)]

            assert [racer.wait() for racer in racers] == [0] * 6
            engine = SqliteEngine(name)
            assert engine.view(lambda txn: txn.get("count")) == "6"
            engine.close()

    def test_a_fork_leaves_parent_and_child_with_working_handles(self, path):
        program = """
import os, sys
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.testing.steps import add_up

engine = SqliteEngine(sys.argv[1])
add_up(engine, 10)
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        add_up(engine, 20)
        os._exit(0)
    children.append(child)
add_up(engine, 20)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
assert engine.view(lambda txn: txn.get("count")) == "90"
"""
        subprocess.run([sys.executable, "-c", program, str(path)], check=True)

        assert integrity(path) == "ok"

    def test_a_child_forked_inside_a_step_must_open_its_own_store(self, path):
        program = """
import os, sys
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.errors import Unavailable

engine = SqliteEngine(sys.argv[1])

def step(txn):
    txn.put("k", "v")
    child = os.fork()
    if not child:
        try:
            engine.transact(lambda txn: txn.now)
        except Unavailable as error:
            os._exit(error.code == "STORE_FORKED")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

assert engine.transact(step) == 1
assert engine.view(lambda txn: txn.get("k")) == "v"
"""
        subprocess.run([sys.executable, "-c", program, str(path)], check=True)

    @pytest.mark.slow
    def test_two_hundred_kills_under_load_lose_nothing_that_was_confirmed(self, path):
        # Each worker prints the number of every confirmed step; a killed one stops anywhere.
        program = """
import os, random, signal, sys, time
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.testing.steps import increment

def work():
    engine = SqliteEngine(sys.argv[1])
    while True:
        os.write(1, b"%d\\n" % engine.transact(increment))

def start():
    child = os.fork()
    if not child:
        work()
    return child

workers = [start() for _ in range(4)]
for _ in range(200):
    time.sleep(random.uniform(0.002, 0.02))
    victim = workers.pop(0)
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    workers.append(start())
for victim in workers:
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
"""
        output = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

        answered = [int(line) for line in output.splitlines()]
        engine = SqliteEngine(path)
        written = engine.view(lambda txn: [entry.seq for entry in txn.events()])
        count = engine.view(lambda txn: int(txn.get("count")))
        engine.close()
        assert len(answered) > 200
        assert len(answered) == len(set(answered))
        assert set(answered) <= set(written)
        assert count == len(written) <= len(answered) + 204
        assert integrity(path) == "ok"


class TestTurns:
    """Which process may start the next write transaction."""

    @pytest.fixture
    def gates(self, path):
        path.parent.mkdir(mode=0o700)
        gates = [Turns(str(path)) for _ in range(3)]
        yield gates
        for gate in gates:
            gate.close()

    def test_one_at_a_time_and_no_one_waits_forever(self, gates):
        first, second, _ = gates
        assert first.enter(time.monotonic(), 0.05)

        assert not second.enter(time.monotonic(), 0.05)

        first.leave()
        assert second.enter(time.monotonic(), 0.05)

    def test_a_writer_that_had_its_turn_waits_while_another_is_in_line(self, gates):
        first, second, _ = gates
        assert first.enter(time.monotonic(), 0.05)
        first.leave()
        time.sleep(0.004)  # longer than a turn
        stand_in_line(second)

        assert not first.enter(time.monotonic(), 0.05)

    def test_a_turn_lasts_for_more_than_one_transaction(self, gates):
        first, second, _ = gates
        now = time.monotonic()
        assert first.enter(now, 0.05)
        first.leave()
        stand_in_line(second)

        assert first.enter(now, 0.05)

    def test_a_process_stopped_in_line_does_not_block_a_free_gate(self, gates):
        _, stopped, third = gates
        stand_in_line(stopped)

        assert third.enter(time.monotonic(), 2.0)


def stand_in_line(gate):
    import fcntl

    fcntl.flock(gate._line, fcntl.LOCK_EX)


def test_a_writer_takes_its_turn_and_a_reader_needs_none(engine, path):
    gate = Turns(str(path))
    assert gate.enter(time.monotonic(), 0.05)

    with pytest.raises(Unavailable) as caught:
        put(engine, "k")

    assert caught.value.code == "STORE_BUSY"
    assert keys(engine) == []
    gate.close()
    put(engine, "k")


class Interrupted(Exception):
    """What a signal handler raises."""


@pytest.mark.parametrize("write", [False, True])
def test_a_signal_handler_that_raises_leaves_the_store_usable(engine, write):
    def act():
        if write:
            engine.transact(lambda txn: txn.put("key", "value"))
        else:
            engine.view(lambda txn: txn.get("key"))

    def interrupt(_, event, __):  # Python runs signal handlers when a function of C has returned
        nonlocal left
        left -= event == "c_return"
        if left == 0:
            raise Interrupted

    for number in itertools.count(1):
        left = number
        sys.setprofile(interrupt)
        try:
            act()
            break
        except Interrupted:
            pass
        finally:
            sys.setprofile(None)
        act()

    assert number > 5


class TestFiles:
    @pytest.mark.parametrize("act", ["transact", "view", "wait"])
    @pytest.mark.parametrize("harm", ["deleted", "replaced", "emptied", "cut"])
    def test_a_replaced_file_can_no_longer_be_used(self, engine, path, harm, act):
        for number in range(50):
            put(engine, f"k{number}", "x" * 1000)
        fold_log_into_file(path)
        put(engine, "last")
        before = path.stat().st_size
        if harm == "deleted":
            path.unlink()
        elif harm == "replaced":
            shutil.copy(path, path.with_name("copy"))
            path.with_name("copy").replace(path)
        else:
            os.truncate(path, 0 if harm == "emptied" else before // 2)

        with pytest.raises(Unavailable) as caught:
            {
                "transact": lambda: put(engine, "more"),
                "view": lambda: keys(engine),
                "wait": lambda: engine.wait(0, 0),
            }[act]()

        assert caught.value.code == "STORE_REPLACED"
        with pytest.raises(Unavailable):  # and it stays that way
            put(engine, "more")

    def test_a_file_that_a_checkpoint_is_extending_can_be_used(self, engine, path, monkeypatch):
        for number in range(50):
            put(engine, f"k{number}", "x" * 1000)
        fold_log_into_file(path)
        found = keys(engine)
        whole = path.read_bytes()
        os.truncate(path, len(whole) // 2)

        def extend(_):
            with path.open("r+b") as file:
                file.write(whole)

        monkeypatch.setattr(time, "sleep", extend)  # another process continues

        assert keys(engine) == found

    def test_a_damaged_file_is_named_and_kept(self, path):
        engine = SqliteEngine(path)
        for number in range(100):
            put(engine, f"k{number}", "x" * 1000)
        engine.close()
        fold_log_into_file(path)
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        damaged = path.read_bytes()

        engine = SqliteEngine(path, clock=time.time)
        with pytest.raises(Unavailable) as caught:
            keys(engine)

        assert caught.value.code == "STORE_DAMAGED"
        assert "not changed" in caught.value.hint
        engine.close()
        assert path.read_bytes() == damaged

    def test_a_disk_that_fails_at_commit_is_unknown_and_the_handle_recovers(self, engine, path):
        put(engine, "before")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (path.with_name("dibs.db-wal").stat().st_size + 100, limits[1])
        )
        try:
            with pytest.raises(Unknown):
                put(engine, "during", "x" * 10_000)
            assert engine._link is None  # a connection whose write failed is not trusted again
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

        put(engine, "after")

        assert set(keys(engine)) >= {"before", "after"}
        assert integrity(path) == "ok"


def fold_log_into_file(path):
    db = apsw.Connection(str(path))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


class TestSmallDisk:
    """On a separate file system, which only root can mount."""

    @pytest.fixture
    def disk(self, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir(mode=0o700)
        command = ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", str(disk)]
        if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
            pytest.skip("CANNOT MOUNT a file system here: full and read-only disks are NOT checked")
        yield disk
        subprocess.run(["umount", "--lazy", str(disk)], check=True)

    def test_a_full_disk_changes_nothing_and_recovers_when_there_is_space(self, disk):
        engine = SqliteEngine(disk / "dibs.db")
        put(engine, "before")
        engine.transact(lambda txn: txn.emit(HAPPENED))
        fill(disk / "ballast")

        for _ in range(3):
            with pytest.raises(Unavailable) as caught:
                engine.transact(lambda txn: (txn.put("k", "x" * 20_000), txn.emit(HAPPENED)))
            assert caught.value.code == "STORAGE_FULL"

        assert keys(engine) == ["before"]
        assert engine.wait(0, 0) == 1
        (disk / "ballast").unlink()
        put(engine, "k")
        assert keys(engine) == ["before", "k"]
        engine.close()
        assert integrity(disk / "dibs.db") == "ok"

    @pytest.mark.parametrize("log", ["left behind", "folded in"])
    def test_a_read_only_disk_can_be_read(self, disk, log):
        path = disk / "dibs.db"
        engine = SqliteEngine(path)
        put(engine, "k")
        engine.close()
        if log == "folded in":
            db = apsw.Connection(str(path))
            assert db.execute("SELECT count(*) FROM kv").get == 1
            db.close()
        assert (disk / "dibs.db-wal").exists() == (log == "left behind")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        engine = SqliteEngine(path)
        assert keys(engine) == ["k"]
        assert engine.wait(0, 0) == 0
        with pytest.raises(Unavailable) as caught:
            put(engine, "more")

        assert caught.value.code == "STORAGE_READONLY"
        engine.close()
        with pytest.raises(Unavailable) as caught:
            SqliteEngine(disk / "other" / "dibs.db")
        assert caught.value.code == "STORAGE_READONLY"


def fill(ballast):
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
