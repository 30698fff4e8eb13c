"""Guarantees of the git engine: files, messages, clock, lives, sharing, offline reads."""

from __future__ import annotations

import subprocess
import time
from threading import Barrier, Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.engines.git.conftest import git

from dibs.core.claims.ledger import Event, Kind
from dibs.engines.git.engine import GitEngine, remote_url
from dibs.engines.git.files import RowFiles
from dibs.engines.shared.clock import Sources
from dibs.errors import BadInput, DibsError, Misconfigured, NotFound, Unavailable
from dibs.testing.steps import entries, event, everything, increment, put


class Machine:
    """The clocks of one machine, set by the test."""

    def __init__(self, since_boot, wall, boot="first"):
        self.since_boot, self.wall, self.boot = since_boot, wall, boot

    def sources(self):
        return Sources(lambda: self.since_boot, lambda: self.wall, lambda: self.boot)


# -- files

SEGMENTS = st.sampled_from(["", ".", "..", ".git", ".GIT", "-", "a", "b.row", "x,y", "%41", "ü"])
KEYS = st.lists(SEGMENTS | st.text(max_size=4), max_size=5).map("/".join)


@given(KEYS, KEYS)
@example("a", "a/")
@example("a", "a/.row")
@example("a//b", "a/,b")
@example("-", "")
@example("ledger/x", "ledger//x")
def test_every_key_has_its_own_file_from_which_the_key_can_be_read(one, other):
    codec = RowFiles()

    paths = codec.path_of(one), codec.path_of(other)

    assert codec.parse(paths[0], b"v\n") == {one: "v"}
    assert (paths[0] == paths[1]) == (one == other)
    assert not paths[0].startswith(paths[1] + "/")
    assert not paths[0].startswith(("dibs/ledger/", "dibs/meta.json"))


def test_ordinary_keys_stay_readable():
    codec = RowFiles()

    assert codec.path_of("at/src/a.py//bob/c12") == "dibs/at/src/a.py,,bob,c12.row"
    assert codec.path_of("beat/agent-02") == "dibs/beat/agent-02.row"


@pytest.mark.parametrize("content", [b"", b"v", b"\xff\n"])
def test_a_file_with_content_that_we_would_not_write_is_a_damaged_row(content):
    assert RowFiles().parse("dibs/a.row", content)["a"].startswith("damaged: ")


def test_a_file_with_a_name_that_we_would_not_write_is_not_ours():
    assert RowFiles().parse("dibs/%61.row", b"v\n") is None
    assert RowFiles().parse("src/a.row", b"v\n") is None


def test_hostile_keys_pass_gits_own_check(machine, bare):
    keys = [
        ".git",
        ".GIT/x",
        ".g\u200cit/x",
        "git~1/x",
        "..",
        "./x",
        "a/../b",
        ".gitmodules/x",
        "\\",
    ]
    git(bare, "config", "receive.fsckObjects", "true")

    put(machine(), **dict.fromkeys(keys, "v"))

    git(bare, "fsck", "--strict")
    assert [key for key, _ in everything(machine("other"))] == sorted(keys)


def test_other_files_on_the_branch_are_not_changed(machine, bare, tmp_path):
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "-q", bare, work], check=True, capture_output=True)
    (work / "dibs").mkdir()
    (work / "src").mkdir()
    (work / "dibs" / "notes.row").write_bytes(b"\xff no row\r\n")
    (work / "src" / "main.c").write_bytes(b"int main;\r\n")
    git(work, "checkout", "-q", "-b", "dibs")
    git(work, "add", "-A")
    git(work, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "code")
    git(work, "push", "-q", "origin", "dibs")
    before = git(bare, "ls-tree", "-r", "dibs")

    put(machine(), k="v")
    machine("other").transact(lambda txn: txn.delete("k"))

    after = git(bare, "ls-tree", "-r", "dibs").splitlines()
    assert [line for line in after if "meta.json" not in line] == before.splitlines()
    assert everything(machine()) == [("notes", "damaged: \\xff no row\r\n")]


def test_a_file_in_the_way_is_reported_and_kept(machine, bare):
    blob = git(bare, "hash-object", "-w", "--stdin", data=b"mine")
    tree = git(bare, "mktree", data=f"100644 blob {blob}\tdibs\n".encode())
    argv = ["-c", "user.name=x", "-c", "user.email=x@y", "commit-tree", "-m", "x", tree]
    git(bare, "update-ref", "refs/heads/dibs", git(bare, *argv))

    with pytest.raises(Misconfigured) as caught:
        put(machine(), k="v")

    assert caught.value.code == "REMOTE_TREE"
    assert git(bare, "cat-file", "-p", "dibs:dibs") == "mine"


def test_the_users_working_tree_index_and_refs_do_not_change(machine, bare, tmp_path, monkeypatch):
    user = tmp_path / "user"
    subprocess.run(["git", "init", "-q", user], check=True)
    monkeypatch.chdir(user)
    monkeypatch.setenv("GIT_DIR", str(user / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(user / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(user))
    before = sorted(path for path in user.rglob("*"))

    put(machine(), k="v")

    assert everything(machine("other")) == [("k", "v")]
    assert sorted(path for path in user.rglob("*")) == before


# -- the log


def told(kind, agent="agent-02", summary="words", **details):
    return Event(agent, "coder", kind, summary, details)


def test_the_log_of_the_branch_is_a_readable_audit_trail(machine, bare):
    engine = machine()
    for what in (
        told(Kind.LOCK_ACQUIRED, patterns=["task:42"]),
        told(Kind.LOCK_ACQUIRED, patterns=["src/a.py", "src/b.py"]),
        told(Kind.TASK_COMPLETED, task="42"),
        told(Kind.LOCK_RELEASED, patterns=["task:42"]),
        told(Kind.DECISION_MADE, summary="use tabs"),
    ):
        engine.transact(lambda txn, what=what: txn.emit(what))

    assert git(bare, "log", "--reverse", "--format=%s|%an", "dibs").splitlines() == [
        "claim: 42 by agent-02|agent-02",
        "claim: src/a.py, src/b.py by agent-02|agent-02",
        "done: 42 by agent-02|agent-02",
        "release: 42 by agent-02|agent-02",
        "decision made: use tabs|agent-02",
    ]


def test_a_message_cannot_forge_trailers_or_headers(machine, bare):
    bad = "x\n\nDibs-Nonce: 0\nSigned-off-by: boss\n\x1b[2J"
    forged = [told(Kind.DECISION_MADE, f"a\n<{bad}>", bad), told(Kind.ERROR, "b", bad)]

    machine().transact(lambda txn: [txn.emit(one) for one in forged])

    assert git(bare, "log", "--format=%(trailers:key=Signed-off-by)", "dibs") == ""
    assert git(bare, "log", "--format=%(trailers:key=Dibs-Nonce,valueonly)", "dibs") != "0"
    assert "\x1b" not in git(bare, "cat-file", "-p", "dibs")
    git(bare, "fsck", "--strict")


# -- the clock


def test_time_passes_only_from_a_machines_own_first_read(machine):
    ours, theirs = Machine(100.0, 5_000.0), Machine(7.0, 9_999_999.0)
    first = machine("ours", sources=ours.sources())
    assert first.transact(lambda txn: (txn.put("k", "v"), txn.now)[1]) == 5_000.0

    ours.since_boot += 60.0
    second = machine("theirs", sources=theirs.sources())

    assert first.view(lambda txn: txn.now) == 5_060.0
    assert second.view(lambda txn: txn.now) == 5_000.0
    theirs.since_boot += 30.0
    assert second.view(lambda txn: txn.now) == 5_030.0


def test_a_later_commit_moves_a_lagging_machine_forward(machine):
    ours, theirs = Machine(100.0, 5_000.0), Machine(7.0, 0.0)
    first, second = machine("a", sources=ours.sources()), machine("b", sources=theirs.sources())
    put(first, k="1")
    second.view(lambda txn: txn.now)
    ours.since_boot += 60.0
    put(first, k="2")

    assert second.view(lambda txn: txn.now) == 5_060.0
    put(second, k="3")
    assert first.view(lambda txn: txn.now) == 5_060.0


def test_the_wall_clock_does_not_matter_once_there_is_a_time(machine):
    ours = Machine(100.0, 5_000.0)
    put(machine("a", sources=ours.sources()), k="1")

    ours.wall += 86_400.0

    assert machine("a", sources=ours.sources()).view(lambda txn: txn.now) == 5_000.0


def test_after_a_reboot_time_continues_and_never_goes_back(machine):
    ours = Machine(100.0, 5_000.0)
    put(machine("a", sources=ours.sources()), k="1")
    ours.since_boot += 50.0
    put(machine("a", sources=ours.sources()), k="2")

    ours.since_boot, ours.boot = 1.0, "second"
    again = machine("a", sources=ours.sources())

    assert again.view(lambda txn: txn.now) == 5_050.0
    ours.since_boot += 5.0
    assert again.transact(lambda txn: (txn.put("k", "3"), txn.now)[1]) == 5_055.0


def test_a_first_guess_by_the_wall_clock_is_replaced_by_the_shared_time(machine):
    ahead, right = Machine(1.0, 9_000.0), Machine(1.0, 5_000.0)
    fast, slow = machine("fast", sources=ahead.sources()), machine("slow", sources=right.sources())
    assert fast.view(lambda txn: txn.now) == 9_000.0
    put(slow, k="v")

    assert fast.transact(lambda txn: (txn.put("k", "w"), txn.now)[1]) == 5_000.0


# -- lives


def lives(machine):
    calls = []

    def renew(txn, why):
        calls.append(why)
        txn.emit(event("a new life"))

    return calls, lambda name: machine(name, renew=renew)


def test_a_deleted_branch_starts_a_new_life_above_all_numbers(machine, bare, tmp_path):
    calls, connect = lives(machine)
    ours = connect("a")
    last = [ours.transact(increment) for _ in range(3)][-1]
    tip = git(bare, "rev-parse", "dibs")
    git(bare, "update-ref", "-d", "refs/heads/dibs")

    number = ours.transact(increment)

    assert calls
    assert set(calls) == {"the branch dibs was deleted"}
    assert number == 1_000_000_002 > last
    assert everything(ours) == [("count", "1")]
    assert tip in git(tmp_path / "a" / "repo", "for-each-ref", "refs/dibs/lost")


def test_a_force_pushed_branch_starts_a_new_life(machine, bare):
    calls, connect = lives(machine)
    ours, theirs = connect("a"), connect("b")
    ours.transact(increment)
    old = git(bare, "rev-parse", "dibs")
    ours.transact(increment)
    theirs.transact(increment)
    git(bare, "update-ref", "refs/heads/dibs", old)

    seen = ours.view(lambda txn: [entry.seq for entry in txn.events()])

    assert seen == [1, 1_000_000_001]
    assert calls[-1] == "the branch dibs was force-pushed to an older commit"
    begun = len(calls)
    assert theirs.transact(increment) == 1_000_000_002
    assert len(calls) == begun  # the other machine follows; it does not start its own life


def test_a_branch_recreated_by_a_machine_without_memory_does_not_repeat_numbers(machine, bare):
    calls, connect = lives(machine)
    ours, fresh = connect("a"), connect("fresh")
    for _ in range(5):
        ours.transact(increment)
    git(bare, "update-ref", "-d", "refs/heads/dibs")
    assert fresh.transact(increment) == 1

    assert ours.transact(increment) == 1_000_000_002
    assert fresh.transact(increment) == 1_000_000_003
    assert calls[-1] == "the branch dibs was force-pushed to an older commit"


# -- sharing, waiting, reading


def test_agents_on_one_machine_share_pushes(machine, bare, tmp_path):
    log = tmp_path / "pushes"
    hook = bare / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\necho push >> {log}\n")
    hook.chmod(0o755)
    engines = [machine() for _ in range(8)]
    start = Barrier(8)

    def work(engine):
        start.wait()
        for _ in range(5):
            engine.transact(increment)

    threads = [Thread(target=work, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert machine("other").view(lambda txn: txn.get("count")) == "40"
    assert int(git(bare, "rev-list", "--count", "dibs")) == 40
    assert len(log.read_text().split()) < 30


def test_waiting_notices_what_another_machine_writes(machine):
    ours, theirs, found = machine("a"), machine("b"), []
    before = ours.transact(increment)
    watching = Thread(target=lambda: found.append(theirs.wait(before, 20.0)))
    watching.start()

    newest = ours.transact(increment)
    watching.join(15)

    assert found == [newest]


def test_a_denial_based_on_old_state_is_not_final(machine):
    ours, theirs = machine("a"), machine("b")
    put(ours, other="x")
    theirs.view(lambda txn: None)
    put(ours, wanted="x")

    def step(txn):
        if txn.get("wanted") is None:
            raise NotFound("not there")
        return "found"

    assert theirs.transact(step) == "found"


def test_a_view_reads_the_remote_once_and_reports_when_it_cannot(machine, bare, tmp_path):
    ours = machine()
    put(ours, k="v")
    assert ours.view(lambda txn: txn.get("k")) == "v"
    assert ours.as_of is None
    bare.rename(tmp_path / "away")

    assert ours.view(lambda txn: txn.get("k")) == "v"
    assert ours.as_of is not None
    with pytest.raises(Unavailable) as caught:
        put(ours, k="w")
    assert caught.value.code == "REMOTE_GONE"

    (tmp_path / "away").rename(bare)
    assert ours.view(lambda txn: txn.get("k")) == "v"
    assert ours.as_of is None


def test_a_machine_that_never_saw_the_remote_has_nothing_to_show(machine, bare, tmp_path):
    bare.rename(tmp_path / "away")

    with pytest.raises(Unavailable):
        machine().view(lambda txn: txn.get("k"))


# -- URLs and settings


@pytest.mark.parametrize(
    "url",
    ["", "-x", "--upload-pack=touch x", "ext::sh -c x", "EXT::x", "fd::3", "ssh://-oX/y", "a\nb",
     "-oProxyCommand=x:y", "user@-oX:y", "gopher://x/y", "::x"],
)  # fmt: skip
def test_a_harmful_url_is_refused(url, tmp_path):
    with pytest.raises(Misconfigured) as caught:
        GitEngine(url, state=tmp_path / "s")

    assert caught.value.code == "REMOTE_URL"


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "refs/heads/x", "a\nb"])
def test_an_invalid_branch_name_is_refused(branch, tmp_path):
    with pytest.raises(BadInput) as caught:
        GitEngine(str(tmp_path), state=tmp_path / "s", branch=branch)

    assert caught.value.code == "REF_NAME"


def test_credentials_in_a_url_are_never_shown(tmp_path):
    url = "http://user:hunter2secret@127.0.0.1:1/x.git"

    with pytest.raises(DibsError) as caught:
        GitEngine(url, state=tmp_path / "s", timeout=5.0).view(lambda txn: None)

    assert "hunter2" not in str(caught.value)
    assert caught.value.code == "REMOTE_DOWN"


def test_only_settings_for_reaching_remotes_are_read_from_the_users_configuration(tmp_path, bare):
    user = tmp_path / "user"
    subprocess.run(["git", "init", "-q", user], check=True)
    git(user, "config", f"url.{bare}.insteadOf", "https://nowhere.invalid/x.git")
    git(user, "config", "core.sshCommand", "touch harm")
    git(user, "config", "credential.helper", "!touch harm")
    config = str(user / ".git")
    engine = GitEngine("https://nowhere.invalid/x.git", state=tmp_path / "s", config_from=config)

    put(engine, k="v")

    assert git(bare, "log", "--format=%an", "dibs") == "dibs"
    assert not any(
        "core" in value or "credential" in value for value in engine._parts.git._environ.values()
    )
    engine.close()


def test_the_url_of_a_named_remote_comes_from_git(tmp_path, bare):
    user = tmp_path / "user"
    subprocess.run(["git", "init", "-q", user], check=True)
    git(user, "remote", "add", "origin", str(bare))

    assert remote_url(str(user / ".git"), "origin") == str(bare)
    with pytest.raises(Misconfigured) as caught:
        remote_url(str(user / ".git"), "nowhere")
    assert caught.value.code == "REMOTE_NAME"


def test_a_branch_of_another_format_is_refused(machine, bare):
    put(machine(), k="v")
    blob = git(bare, "hash-object", "-w", "--stdin", data=b'{"format": 99}')
    sub = git(bare, "mktree", data=f"100644 blob {blob}\tmeta.json\n".encode())
    tree = git(bare, "mktree", data=f"040000 tree {sub}\tdibs\n".encode())
    argv = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@y",
        "commit-tree",
        "-p",
        "dibs",
        "-m",
        "x",
        tree,
    ]
    git(bare, "update-ref", "refs/heads/dibs", git(bare, *argv))

    with pytest.raises(Misconfigured) as caught:
        put(machine(), k="w")

    assert caught.value.code == "STORE_FORMAT"


def test_the_repository_is_packed_occasionally_and_stays_readable(machine, monkeypatch, tmp_path):
    monkeypatch.setattr("dibs.engines.git.connection.TIDY", 5)
    ours = machine()

    for _ in range(12):
        ours.transact(increment)

    assert len(entries(machine("other"))) == 12
    assert machine().transact(increment) == 13
    git(tmp_path / "here" / "repo", "fsck", "--connectivity-only")


def test_an_inspection_reports_the_guarantees(machine):
    engine = machine()
    put(engine, k="v")

    findings = {finding.what: finding.level for finding in engine.inspect()}

    assert findings["push"] == "ok"
    assert findings["durability"] == "warn"
    assert {"round trip", "writers", "clock"} <= findings.keys()


def test_each_call_ends_within_its_timeout(tmp_path, bare):
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nsleep 60\n")
    hook.chmod(0o755)
    engine = GitEngine(str(bare), state=tmp_path / "s", timeout=2.0)
    started = time.monotonic()

    with pytest.raises(DibsError):
        put(engine, k="v")

    assert time.monotonic() - started < 10
    engine.close()


def test_two_rivals_that_write_the_same_bytes_do_not_both_win(machine):
    clocks = Machine(100.0, 5_000.0)
    ours, theirs = (machine(name, sources=clocks.sources()) for name in ("a", "b"))
    put(ours, seed="x")
    theirs.view(lambda txn: None)

    def take(txn):
        free = txn.get("taken") is None
        if free:
            txn.put("taken", "")
        return free

    assert [ours.transact(take), theirs.transact(take)] == [True, False]


def test_a_copy_that_others_can_write_to_is_refused(bare, tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)

    with pytest.raises(Misconfigured) as caught:
        GitEngine(str(bare), state=folder).view(lambda txn: None)

    assert caught.value.code == "STORE_PERMISSIONS"


def test_a_copy_on_a_network_file_system_is_refused(bare, tmp_path, monkeypatch):
    def refuse(folder):
        raise Misconfigured(f"{folder} is on a network file system", code="STORE_NETWORK_FS")

    monkeypatch.setattr("dibs.engines.shared.folders.refuse_network", refuse)

    with pytest.raises(Misconfigured) as caught:
        GitEngine(str(bare), state=tmp_path / "state").view(lambda txn: None)

    assert caught.value.code == "STORE_NETWORK_FS"
