"""Where a SQLite store may be, what it refuses to open, and what other programs see in it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time

import apsw
import pytest

from dibs.core.claims.ledger import Event, Kind
from dibs.engines.shared import folders
from dibs.engines.shared.clock import Sources
from dibs.engines.shared.format import FORMAT
from dibs.engines.sqlite import open as sqlite_open
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.errors import Misconfigured, Unavailable


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "dibs.db"


def put(engine, key, value):
    engine.transact(lambda txn: txn.put(key, value))


def modes(folder):
    return {name.name: stat.S_IMODE(name.stat().st_mode) for name in folder.iterdir()}


class TestPlace:
    @pytest.mark.parametrize("umask", [0, 0o777])
    def test_folder_and_files_are_private_whatever_the_umask(self, path, umask):
        before = os.umask(umask)
        try:
            engine = SqliteEngine(path)
            put(engine, "k", "v")
        finally:
            os.umask(before)

        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert set(modes(path.parent).values()) == {0o600}
        assert {"dibs.db", "dibs.db-wal"} <= set(modes(path.parent))
        engine.close()

    @pytest.mark.parametrize("loose", ["folder", "file"])
    def test_a_store_that_others_can_write_to_is_refused_with_the_command_that_fixes_it(
        self, path, loose
    ):
        SqliteEngine(path).close()
        target = path.parent if loose == "folder" else path
        target.chmod(0o770 if loose == "folder" else 0o620)

        with pytest.raises(Misconfigured, match="other users can write") as caught:
            SqliteEngine(path)

        assert caught.value.code == "STORE_PERMISSIONS"
        assert caught.value.hint == f"run `chmod go-w {target}`"

    @pytest.mark.parametrize("name", ["", ":memory:", "file:x.db", "file:/x?mode=memory", "a\0b"])
    def test_a_name_that_is_not_a_file_is_refused(self, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        with pytest.raises(Misconfigured) as caught:
            SqliteEngine(name)

        assert caught.value.code == "STORE_NAME"
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_is_not_a_store(self, path):
        path.mkdir(parents=True, mode=0o700)

        with pytest.raises(Misconfigured, match="not a file") as caught:
            SqliteEngine(path)

        assert caught.value.hint == f"move it away: mv {path} {path}.old"

    def test_a_file_is_not_a_folder(self, path):
        path.parent.write_text("")

        with pytest.raises(Misconfigured, match="not a folder"):
            SqliteEngine(path)

    @pytest.mark.parametrize("folder_is_there", [True, False])
    def test_a_missing_store_is_not_recreated_unasked(self, path, folder_is_there):
        if folder_is_there:
            path.parent.mkdir(mode=0o700)

        with pytest.raises(Misconfigured) as caught:
            SqliteEngine(path, create=False)

        assert caught.value.code == "STORE_MISSING"
        assert not path.exists()

    @pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs"])
    def test_a_network_file_system_is_refused(self, tmp_path, kind):
        mounts = tmp_path / "mountinfo"
        point = str(tmp_path).replace(" ", "\\040")
        mounts.write_text(
            f"21 1 8:1 / / rw - ext4 /dev/a rw\n"
            f"22 21 0:33 / {point} rw,relatime shared:5 - {kind} server:/x rw\n"
            f"23 22 8:2 / {point}/local rw - ext4 /dev/b rw\n"
        )

        with pytest.raises(Misconfigured, match=kind.replace(".", r"\.")) as caught:
            folders.refuse_network(str(tmp_path / "state"), str(mounts))

        assert caught.value.code == "STORE_NETWORK_FS"
        folders.refuse_network(str(tmp_path / "local" / "state"), str(mounts))
        folders.refuse_network("/elsewhere", str(mounts))

    def test_a_system_that_does_not_reveal_its_mounts_is_trusted(self, tmp_path):
        folders.refuse_network(str(tmp_path), str(tmp_path / "no-such-file"))


class TestOpening:
    def test_another_kind_of_file_is_refused_and_unchanged(self, path):
        path.parent.mkdir(mode=0o700)
        path.write_text("dear diary, " * 1000)
        path.chmod(0o600)
        before = path.read_bytes()

        with pytest.raises(Misconfigured, match="not a SQLite database"):
            SqliteEngine(path)

        assert path.read_bytes() == before

    def test_a_database_of_another_program_is_refused_and_unchanged(self, path):
        path.parent.mkdir(mode=0o700)
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE notes(text)")
        db.close()
        path.chmod(0o600)
        before = path.read_bytes()

        with pytest.raises(Misconfigured, match="not a Dibs database"):
            SqliteEngine(path)

        assert path.read_bytes() == before
        assert [name.name for name in path.parent.iterdir()] == ["dibs.db"]

    @pytest.mark.parametrize("number", [1, 2, 99])
    def test_a_store_of_another_format_is_refused_with_both_numbers(self, path, number):
        SqliteEngine(path).close()
        with apsw.Connection(str(path)) as db:
            db.execute(f"PRAGMA user_version = {number}")
        db.close()
        before = path.read_bytes()

        with pytest.raises(Misconfigured, match=f"format {number},.* format {FORMAT}$") as caught:
            SqliteEngine(path)

        assert caught.value.code == "STORE_FORMAT"
        assert "dibs init --new-store" in caught.value.hint
        assert path.read_bytes() == before

    def test_an_unsafe_sqlite_is_refused(self):
        sqlite_open.check_sqlite("3.51.3")
        sqlite_open.check_sqlite("4.0")

        with pytest.raises(Misconfigured, match=r"3\.51\.2"):
            sqlite_open.check_sqlite("3.51.2")

    def test_synchronous_must_be_normal_or_full(self, path):
        with pytest.raises(Misconfigured, match="off"):
            SqliteEngine(path, synchronous="off")

    def test_the_ledger_of_a_recreated_store_starts_at_the_given_number(self, path):
        engine = SqliteEngine(path, first_seq=1000)

        seq = engine.transact(lambda txn: txn.emit(Event("a", "", Kind.ERROR, "first", {})))

        assert seq == 1000
        engine.close()
        again = SqliteEngine(path, first_seq=5000)
        assert again.wait(0, 0) == 1000
        again.close()

    def test_a_closed_engine_says_so(self, path):
        engine = SqliteEngine(path)
        engine.close()
        engine.close()

        with pytest.raises(RuntimeError, match="closed"):
            engine.view(lambda txn: txn.now)

    def test_a_transaction_cannot_be_used_after_its_step(self, path):
        engine = SqliteEngine(path)
        leaked = engine.transact(lambda txn: txn)

        with pytest.raises(RuntimeError, match="ended"):
            leaked.emit(Event("a", "", Kind.ERROR, "late", {}))

        assert engine.wait(0, 0) == 0
        engine.close()

    def test_a_nested_transaction_is_an_error_and_does_not_hang(self, path):
        engine = SqliteEngine(path, timeout=0.1)

        with pytest.raises(Unavailable) as caught:
            engine.transact(lambda _: engine.transact(lambda txn: txn.now))

        assert caught.value.code == "STORE_BUSY"
        put(engine, "k", "v")
        engine.close()

    def test_damaged_details_are_shown_and_the_listing_continues(self, path):
        engine = SqliteEngine(path)
        for _ in range(3):
            engine.transact(lambda txn: txn.emit(Event("a", "", Kind.ERROR, "s", {"x": 1})))
        db = apsw.Connection(str(path))
        db.execute("UPDATE ledger SET details = '{broken' WHERE seq = 1")
        db.execute("UPDATE ledger SET details = '[1]' WHERE seq = 2")
        db.close()

        details = engine.view(lambda txn: [entry.details for entry in txn.events()])

        assert details == [{"unreadable": "{broken"}, {"unreadable": "[1]"}, {"x": 1}]
        engine.close()


class TestClock:
    """Close to Unix time, continuous across reboots, unaffected by changes to the wall clock."""

    class Machine:
        boot, since_boot, wall = "boot-1", 100.0, 5_000.0

        def sources(self):
            return Sources(lambda: self.since_boot, lambda: self.wall, lambda: self.boot)

    @pytest.fixture
    def machine(self):
        return self.Machine()

    def now(self, path, machine):
        engine = SqliteEngine(path, sources=machine.sources())
        now = engine.transact(lambda txn: txn.emit(Event("a", "", Kind.ERROR, "", {})) and txn.now)
        engine.close()
        return now

    def test_time_starts_at_the_wall_clock(self, path, machine):
        assert self.now(path, machine) == 5_000.0

    @pytest.mark.parametrize("step", [-3600.0, 3600.0])
    def test_a_change_to_the_wall_clock_has_no_effect(self, path, machine, step):
        self.now(path, machine)

        machine.wall += step
        machine.since_boot += 7.0

        assert self.now(path, machine) == 5_007.0

    def test_a_reboot_reads_the_wall_clock_again(self, path, machine):
        self.now(path, machine)

        machine.boot, machine.since_boot, machine.wall = "boot-2", 300.0, 6_000.0

        assert self.now(path, machine) == 6_000.0

    def test_a_reboot_with_a_slow_wall_clock_does_not_turn_time_back(self, path, machine):
        self.now(path, machine)
        machine.since_boot += 500.0
        self.now(path, machine)

        machine.boot, machine.since_boot, machine.wall = "boot-2", 3.0, 0.0

        assert self.now(path, machine) == 5_500.0

    def test_without_boot_ids_a_lower_clock_reading_reveals_a_reboot(self, path, machine):
        machine.boot = ""
        self.now(path, machine)

        machine.since_boot, machine.wall = 3.0, 6_000.0

        assert self.now(path, machine) == 6_000.0

    def test_the_real_clock_is_close_to_unix_time(self, path):
        engine = SqliteEngine(path)

        assert abs(engine.transact(lambda txn: txn.now) - time.time()) < 5.0
        engine.close()


def test_an_intact_store_is_reported_as_intact(tmp_path):
    engine = SqliteEngine(tmp_path / "state" / "dibs.db", synchronous="full")
    engine.transact(lambda txn: txn.put("k", "v"))

    findings = {finding.what: finding for finding in engine.inspect()}

    assert {finding.level for finding in findings.values()} == {"ok"}
    assert "power failure" in findings["durability"].text
    engine.close()


def test_a_store_that_a_power_failure_can_roll_back_says_so(tmp_path):
    engine = SqliteEngine(tmp_path / "state" / "dibs.db")

    (text,) = [finding.text for finding in engine.inspect() if finding.what == "durability"]

    assert "a power failure can undo the newest changes" in text
    assert 'synchronous = "full"' in text
    engine.close()


def test_the_file_shrinks_when_the_ledger_is_trimmed(tmp_path):
    path = str(tmp_path / "state.db")
    engine = SqliteEngine(path)
    _grow(engine, 5_000)
    before = _pages(path)
    size = os.path.getsize(path)
    other = SqliteEngine(path)
    other.view(lambda txn: txn.now)

    _trim(engine)

    assert _pages(path) < before / 2
    for one in (engine, other):  # a smaller file is not mistaken for a damaged one
        one.view(lambda txn: txn.now)
        one.transact(lambda txn: txn.put("a", "1"))
        one.close()
    assert os.path.getsize(path) < size


def test_a_file_that_a_partial_checkpoint_made_smaller_than_its_header_can_be_used(tmp_path):
    path = str(tmp_path / "state.db")
    engine, writer = SqliteEngine(path), SqliteEngine(path)
    _grow(writer, 5_000)
    _pages(path)
    engine.view(lambda txn: txn.now)
    _trim(writer)
    _pages(path)
    writer.transact(lambda txn: [txn.put(f"k{n}", "a" * 1000) for n in range(99)])
    with apsw.Connection(path) as reader:
        reader.execute("SELECT * FROM kv").fetchone()
        writer.transact(lambda txn: [txn.put(f"k{n}", "b" * 1000) for n in range(99)])
        apsw.Connection(path).execute("PRAGMA wal_checkpoint(passive)").fetchall()
        with open(path, "rb") as file:
            header = file.read(100)
        assert os.path.getsize(path) < int.from_bytes(header[28:32], "big") * 4096

        engine.view(lambda txn: txn.now)
        engine.transact(lambda txn: txn.put("a", "1"))

    reader.close()
    engine.close()
    writer.close()


def _grow(engine, count):
    event = Event("alice", "agent", "x", "x" * 300, {})
    engine.transact(lambda txn: [txn.emit(event) for _ in range(count)])


def _trim(engine):
    while engine.transact(lambda txn: txn.trim(next(txn.events()).seq + 499)):
        pass


def _pages(path):
    """Return the size of a database in pages, after its log was written to the file."""
    db = apsw.Connection(path)
    db.execute("PRAGMA wal_checkpoint(truncate)")
    ((count,),) = db.execute("PRAGMA page_count")
    db.close()
    return count
