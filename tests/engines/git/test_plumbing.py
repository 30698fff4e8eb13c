"""Between the git engine and git: deadlines, damage, growth, URLs. With real git."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.engines.git.conftest import git
from tests.servers import GitRemote

from dibs.engines.git.engine import GitEngine
from dibs.engines.git.errors import refused, shown
from dibs.errors import DibsError, NotFound, Unavailable, Unknown
from dibs.testing.steps import entries, increment, put


def fill(engine):
    """Write enough that a fetch transfers a pack."""
    put(engine, **{f"k{number}": str(number) for number in range(120)})


@pytest.fixture
def remote(tmp_path):
    with GitRemote(tmp_path) as found:
        yield found


@pytest.fixture
def bare(remote):
    return Path(remote.path)


# -- deadlines


def test_a_denial_while_offline_is_reported_as_last_known(machine, bare, tmp_path):
    engine = machine()
    put(engine, k="v")
    bare.rename(tmp_path / "away")
    looks = []

    def refuse(txn):
        looks.append(txn.get("k"))
        assert len(looks) < 10
        raise NotFound("no such agent")

    with pytest.raises(NotFound):
        engine.view(refuse)

    assert engine.as_of is not None


@pytest.fixture
def slow_git(tmp_path, monkeypatch):
    """Return a function that makes one git command hang."""
    real = shutil.which("git")
    folder = tmp_path / "bin"
    folder.mkdir()

    def hang(command):
        script = f'#!/bin/sh\ncase " $* " in *" {command} "*) sleep 60;; esac\nexec {real} "$@"\n'
        (folder / "git").write_text(script)
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    return hang


@pytest.mark.parametrize("command", ["rev-list", "cat-file", "ls-remote"])
def test_a_git_that_hangs_is_reported_in_time(machine, slow_git, command):
    fill(machine("other"))
    slow_git(command)
    started = time.monotonic()

    with pytest.raises(Unavailable) as caught:
        machine(timeout=2.0).view(lambda txn: txn.get("k1"))

    assert caught.value.code == "REMOTE_DOWN"
    assert time.monotonic() - started < 20


def test_a_comparison_that_hangs_is_reported_in_time(machine, slow_git, bare):
    machine().transact(increment)
    tree = git(bare, "rev-parse", "dibs^{tree}")
    who = ("-c", "user.name=x", "-c", "user.email=x@y")
    git(bare, "update-ref", "refs/heads/dibs", git(bare, *who, "commit-tree", "-m", "x", tree))
    slow_git("rev-list")
    engine = machine(timeout=2.0)

    assert engine.view(lambda txn: txn.get("count")) == "1"
    assert engine.as_of is not None


def test_an_inspection_with_a_git_that_hangs_is_reported_in_time(machine, slow_git):
    engine = machine(timeout=2.0)
    engine.transact(increment)
    slow_git("config")

    with pytest.raises(Unavailable):
        engine.inspect()


# -- damage


def test_a_copy_of_random_bytes_is_reported_with_a_command_that_helps(machine, tmp_path):
    put(machine(), k="v")
    noise = os.urandom(50_000)
    (tmp_path / "here" / "cache.db-wal").unlink(missing_ok=True)
    (tmp_path / "here" / "cache.db").write_bytes(noise)
    engine = machine()

    with pytest.raises(Unavailable) as caught:
        engine.view(lambda txn: txn.get("k"))
    assert caught.value.code == "STORE_DAMAGED"
    engine.close()
    command = caught.value.hint.partition(": ")[2]
    subprocess.run(command.split(), check=True)

    engine = machine()
    assert engine.view(lambda txn: txn.get("k")) == "v"
    assert put(engine, k="w") is None
    assert (tmp_path / "here.old" / "cache.db").read_bytes() == noise


def test_damage_inside_the_copy_is_also_reported(machine, tmp_path):
    engine = machine()
    fill(engine)
    with engine._link() as link:
        link.cache.db.execute("PRAGMA wal_checkpoint(truncate)").fetchall()
    engine.close()
    path = tmp_path / "here" / "cache.db"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))

    with pytest.raises(Unavailable) as caught:
        machine().view(lambda txn: txn.get("k1"))
    assert caught.value.code == "STORE_DAMAGED"


# -- growth


def count(repo):
    words = git(repo, "count-objects", "-v").split()
    found = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return found["count:"], found["in-pack:"], found["packs:"]


def test_objects_that_the_state_needs_are_never_collected(machine, bare, tmp_path, monkeypatch):
    monkeypatch.setattr("dibs.engines.git.connection.TIDY", 5)
    monkeypatch.setattr("dibs.engines.git.connection.PRUNED", "now")
    engine = machine()
    put(engine, old="precious")
    for _ in range(6):
        engine.transact(increment)

    blob = git(bare, "rev-parse", "dibs:dibs/old.row")
    git(tmp_path / "here" / "repo", "cat-file", "-e", blob)
    git(tmp_path / "here" / "repo", "fsck", "--connectivity-only")


def test_a_machine_that_only_reads_packs_what_it_fetched(machine, tmp_path, monkeypatch):
    monkeypatch.setattr("dibs.engines.git.connection.TIDY", 5)
    ours, theirs = machine(), machine("other")
    for _ in range(6):
        theirs.transact(increment)
        ours.view(lambda txn: None)

    loose, packed, packs = count(tmp_path / "here" / "repo")
    assert loose < 10
    assert packed > 20
    assert packs == 1
    assert ours.view(lambda txn: txn.get("count")) == "6"


# -- the first fetch


@pytest.fixture(params=["path", "daemon", "http"])
def url(request, remote):
    """Return each kind of URL for the remote."""
    ways = {"path": lambda: remote.path, "daemon": remote.git_url, "http": remote.http_url}
    return ways[request.param]()


def test_a_machine_starts_with_only_the_newest_commit(machine, bare, url, tmp_path):
    old, new = machine("old"), machine("new", url)
    for _ in range(5):
        old.transact(increment)

    assert new.view(lambda txn: txn.get("count")) == "5"
    assert git(tmp_path / "new" / "repo", "rev-list", "--count", "refs/dibs/remote") == "1"
    assert new.transact(increment) == 6
    assert old.transact(increment) == 7
    assert new.transact(increment) == 8
    assert len(entries(new)) == 8
    git(bare, "fsck", "--strict")
    git(tmp_path / "new" / "repo", "fsck", "--connectivity-only")


@pytest.mark.parametrize("back", [1, 3, 5])
def test_a_force_pushed_branch_is_detected_from_a_short_history_too(machine, bare, url, back):
    old, new = machine("old"), machine("new", url)
    for _ in range(5):
        old.transact(increment)
    new.view(lambda txn: None)  # starts here
    for _ in range(3):
        old.transact(increment)
    new.view(lambda txn: None)
    git(bare, "update-ref", "refs/heads/dibs", f"dibs~{back}")

    assert new.view(lambda txn: txn.get("count")) == str(8 - back)
    assert new.transact(increment) > 1_000_000_000  # a new life


def test_a_first_commit_of_unknown_outcome_below_others_happens_once(machine, bare, tmp_path):
    """Its reply is lost, and another machine writes on top before this one reads again."""
    ours = machine(timeout=3.0)
    ours.view(lambda txn: None)
    going = bare / "hooks" / "reference-transaction"
    away = tmp_path / "away.git"
    going.write_text(f"#!/bin/sh\n[ $1 != committed ] || {{ mv {bare} {away}; kill -9 $PPID; }}\n")
    going.chmod(0o755)
    with pytest.raises(Unknown):
        ours.transact(increment)
    away.rename(bare)
    going.unlink()
    machine("other").transact(increment)

    assert ours.view(lambda txn: txn.get("count")) == "2"
    with ours._link() as link:
        assert link.cache.fate(1)[0] == "landed"


def test_a_first_fetch_may_take_longer_than_a_call(machine, tmp_path, monkeypatch):
    fill(machine("other"))
    real = shutil.which("git")
    folder = tmp_path / "bin"
    folder.mkdir()
    script = f'#!/bin/sh\ncase " $* " in *" fetch "*) sleep 3;; esac\nexec {real} "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    assert machine(timeout=2.0).transact(increment) == 1


def test_remains_of_a_killed_fetch_are_removed_by_the_next_one(machine, tmp_path):
    machine("other").transact(increment)
    engine = machine()
    engine.view(lambda txn: None)
    machine("other").transact(increment)
    objects = tmp_path / "here" / "repo" / "objects"
    left = [objects / "pack" / "tmp_pack_a1B2c3", objects / "pack" / "tmp_idx_a1B2c3"]
    for path in left:
        path.write_bytes(b"half")

    assert engine.view(lambda txn: txn.get("count")) == "2"
    assert not any(path.exists() for path in left)


def test_a_killed_first_fetch_blocks_no_one(machine, tmp_path):
    machine("other").transact(increment)
    engine = machine()
    with engine._link():
        (tmp_path / "here" / "repo" / "shallow.lock").touch()

    assert engine.view(lambda txn: txn.get("count")) == "1"


# -- URLs


@pytest.mark.parametrize("password", ["hunt@er2", "hunt/er2", "hunt er2", "hu@nt/er2", "hunt:er2"])
def test_no_part_of_a_password_is_shown_whatever_it_contains(tmp_path, password):
    engine = GitEngine(
        f"http://user:{password}@127.0.0.1:1/x.git", state=tmp_path / "s", timeout=9.0
    )

    with pytest.raises(DibsError) as caught:
        engine.view(lambda txn: None)

    engine.close()
    for part in ("hunt", "er2"):
        assert part not in str(caught.value)


def test_a_password_is_not_shown_in_gits_own_output():
    url = "http://user:hunt@er2/x@host/x.git"
    text = f"fatal: unable to access '{url}/': Could not resolve host: er2\nfatal: see http://a:b@c"

    error = refused(text, url)

    assert str(error).startswith("cannot resolve the host of http://host/x.git: ")
    for part in ("hunt", "er2", "a:b"):
        assert part not in str(error)


def test_an_at_sign_in_a_path_is_shown():
    assert shown("/srv/a@b.git") == "/srv/a@b.git"
    assert shown("file:///srv/a@b.git") == "file:///srv/a@b.git"


def test_a_file_url_means_what_git_understands(machine, tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "a b%.git"], check=True)
    engine = machine(url=f"file://{tmp_path}/a%20b%25.git")

    assert engine.transact(increment) == 1
    assert git(tmp_path / "a b%.git", "rev-list", "--count", "dibs") == "1"
    assert "durability" in {finding.what for finding in engine.inspect()}


@pytest.fixture(params=["suffix", "work tree", "git file", "second work tree"])
def indirect(request, bare, tmp_path):
    """Return a path that is not the git directory itself, and the git directory."""
    work, apart = tmp_path / "work", tmp_path / "apart.git"
    who = ("-c", "user.name=x", "-c", "user.email=x@y")
    if request.param == "suffix":
        return str(bare).removesuffix(".git"), bare
    if request.param == "git file":
        argv = ["git", "init", "-q", "--separate-git-dir", apart, work]
        subprocess.run(argv, check=True)
        return work, apart
    subprocess.run(["git", "init", "-q", "-b", "main", work], check=True)
    if request.param == "work tree":
        return work, work / ".git"
    git(work, *who, "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "worktree", "add", "-q", "-b", "side", str(tmp_path / "second"))
    return tmp_path / "second", work / ".git"


def test_a_path_that_leads_to_a_repository_works_like_the_repository(machine, indirect):
    path, real = indirect
    engine = machine(url=path)
    assert engine.transact(increment) == 1
    git(real, "config", "core.fsync", "all")
    lock, left = real / "refs" / "heads" / "dibs.lock", real / "objects" / "tmp_objdir-incoming-1"
    lock.touch()
    left.mkdir()
    for found in (lock, left):
        os.utime(found, (time.time() - 4000, time.time() - 4000))

    assert engine.transact(increment) == 2  # past the lock
    found = {finding.what: finding.level for finding in engine.inspect()}
    assert found["durability"] == "ok"


# -- object formats


def test_the_hint_for_an_untrusted_owner_names_the_folder():
    error = refused("fatal: detected dubious ownership in repository", "file:///srv/my repos/x.git")

    assert error.code == "REMOTE_OWNER"
    assert "safe.directory '/srv/my repos/x.git'`" in error.hint
