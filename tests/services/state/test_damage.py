"""A row that cannot be read is reported, blocks what it may protect, and never causes a traceback."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import apsw
import pytest
from tests.guard.hooking import call, environment, hook, project

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.claims.rules import Granted
from dibs.core.patterns.pattern import parse
from dibs.engines.git.files import RowFiles
from dibs.engines.memory import MemoryEngine
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.errors import DibsError, Unavailable
from dibs.services.claims.service import Claims
from dibs.services.claims.views import overview
from dibs.services.state import keys
from dibs.services.state.damage import damaged_rows, findings, why_damaged
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.store import Store

ALICE, BOB = Caller("alice"), Caller("bob")
#: A key of each kind of row with a form of its own. Other kinds are free text, or only their key counts.
FORMED = {
    "at/": "at/a.py//alice/c2",
    "in/": "in/src//*.py//alice/c2",
    "at/t": "at/a.py//alice/t2.0",
    "wait/": "wait/0000000000000002",
    "beat/": "beat/alice",
    "agent/": "agent/alice",
    "lost/": "lost/alice/a.py",
    "ask/": "ask/alice/a.py//bob",
    "refused/": "refused/0000000000000002",
    "req/": "req/alice/r1",
    "session/": "session/claude/s1",
    "seat/": "seat/alice",
    "guarded/": "guarded/alice",
    "left/": "left/a.py",
    "mail/": "mail/0000000000000002",
    "box/": "box/alice/2",
    "unread/": "unread/alice/2",
    "rate/": "rate/alice",
    "group/": "group/g",
    "offer/": "offer/alice",
    "briefed/": "briefed/alice",
    "alert/": "alert/0000000000000002",
    "watch/": "watch/alerts",
    "decision/": "decision/0000000000000002",
    "open/": "open/0000000000000002",
    "due/": "due/0000000000002.000/ask/2",
    "job/": "job/board-cycle",
    "task/": "task/00/t1",
    "version/": "version/00/t1",
    "past/": "past/00/t1",
    "board": "board",
    "ready/": "ready/any//2/0000000000002.000/t1",
    "busy//": "busy//0000000000002.000/t1",
    "turn/": "turn/alice",
    "intent/": "intent/clone/i1",
    "gate/": "gate/clone",
    "commit/": "commit/0123",
    "tree/": "tree/alice",
    "locked/": "locked/t1",
    "warned/": "warned/clone/a//b",
    "handler/": "handler/summary",
    "fault/": "fault/git",
    "crew/": "crew/developer-1",
    "crews/": "crews/host",
    "crash/": "crash/developer//t1",
}
FREE = {
    *("worker/", "needs/", "fresh//", "since//", "handoff//", "over//", "aside//", "clash//"),
    *("told/handoff//", "told/aside//", "probe/"),
}
#: Nothing of this is a row of any formed kind.
MALFORMED = (
    "",
    "null",
    "true",
    "7",
    "-1",
    "{",
    '{"a"',
    "[[[[",
    "\x00",
    "[" * 100_000,
    "damaged: x",
)


def test_every_kind_of_row_is_listed_here():
    names = {
        value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)
    }

    assert names == {name for name in FORMED if name != "at/t"} | FREE


@pytest.mark.parametrize("value", MALFORMED, ids=lambda value: repr(value[:8]))
@pytest.mark.parametrize("kind", FORMED)
def test_a_malformed_row_is_reported_with_its_key(kind, value):
    if kind in {"version/", "board"} and value == "7":
        return
    engine = MemoryEngine()
    engine.transact(lambda txn: txn.put(FORMED[kind], value))

    (found,) = findings(engine)

    assert repr(FORMED[kind]) in found.text
    assert "dibs init --new-store" in found.text


CLAIM = {
    "pattern": "a.py", "mode": "exclusive", "agent": "alice", "token": 2, "ttl": 300.0, "since": 1.0,
    "hard": 1e15, "reason": "", "task": "",
}  # fmt: skip
BEAT = [1.0, 300.0, 1e15, 1, 0, "agent"]
#: Fields of a claim with values that would make it expired, or not a claim at all.
WRONG = [
    *({"ttl": value} for value in (-5, 0, "300", None, math.nan, [], True)),
    *({"since": value} for value in (-1, "now", None, math.nan)),
    *({"hard": value} for value in (-1, None, math.nan)),
    *({"token": value} for value in (-2, "2", None, 2.5)),
    *({"mode": value} for value in ("", "both", None)),
    *({"pattern": value} for value in (None, 7, [])),
    *({"agent": value} for value in (None, "eve")),
]


@pytest.mark.parametrize("wrong", [*WRONG, *({name: ...} for name in CLAIM)], ids=str)
def test_a_claim_with_an_impossible_field_is_damaged(wrong):
    record = {name: value for name, value in {**CLAIM, **wrong}.items() if value is not ...}

    assert why_damaged("at/a.py//alice/c2", json.dumps(CLAIM)) == ""
    assert why_damaged("at/a.py//alice/c2", json.dumps(record))


@pytest.fixture
def store(tmp_path):
    engine = SqliteEngine(tmp_path / "state" / "dibs.db", renew=begin_life)
    store = Store(engine, Config())
    Claims(store).claim(ALICE, [parse("a.py"), parse("src/*.py")])
    yield store
    engine.close()


def spoil(store, prefix, value):
    """Replace the first row of a kind, and return its key."""

    def step(txn):
        key = next(key for key, _ in txn.scan((prefix, "")))
        txn.put(key, value)
        return key

    return store.engine.transact(step)


EXPIRED = json.dumps({**CLAIM, "ttl": -5})


@pytest.mark.parametrize(
    "value", [*MALFORMED, "[]", "{}", '"x"', EXPIRED], ids=lambda v: repr(v[:8])
)
@pytest.mark.parametrize(
    ("prefix", "path"), [("at/", "a.py"), ("in/", "src/b.py"), ("beat/", "a.py")]
)
def test_a_damaged_claim_or_heartbeat_blocks_its_path(store, prefix, path, value):
    if prefix == "beat/" and value == EXPIRED:
        value = "[-5,300,300,1,0,1]"
    key = spoil(store, prefix, value)

    for step in (
        lambda: Claims(store).claim(BOB, [parse(path)]),
        lambda: Claims(store).check(BOB, [parse(path)]),
        lambda: overview(store),
    ):
        with pytest.raises(Unavailable) as caught:
            step()
        assert caught.value.code == "STORE_DAMAGED"
        assert repr(key) in caught.value.message
        assert "dibs init --new-store" in caught.value.hint


def test_a_damaged_claim_does_not_block_other_paths(store):
    spoil(store, "at/", "[]")

    assert isinstance(Claims(store).claim(BOB, [parse("docs/b.md")]), Granted)


def test_a_new_life_starts_although_rows_are_damaged(store):
    key = spoil(store, "at/", "[]")

    store.engine.transact(lambda txn: begin_life(txn, "a test"))

    with pytest.raises(Unavailable, match="cannot read"):
        Claims(store).claim(BOB, [parse("a.py")])
    assert isinstance(Claims(store).claim(BOB, [parse("src/b.py")]), Granted)
    assert store.engine.view(lambda txn: txn.get(key)) == "[]"


def test_a_claim_under_another_patterns_key_is_reported(store):
    key = spoil(store, "at/", json.dumps({**CLAIM, "pattern": "b.py"}))

    (found,) = findings(store.engine)

    assert repr(key) in found.text
    assert "pattern is not the one in its key" in found.text


@pytest.mark.parametrize("fold", [True, False])
def test_claims_on_unusual_patterns_are_in_their_place(fold):
    store = Store(MemoryEngine(), Config(case="insensitive" if fold else "sensitive"))
    texts = ["Straße/Ä.py", "src/[ab]*.PY", "@port/8080", "@task/Fix A", "{a,b}/**", ":odd/x", "**"]
    for number, text in enumerate(texts):
        pattern = parse(text, fold_case=fold)
        Claims(store).claim(Caller(f"agent{number}"), [pattern], mode="shared")

    assert store.engine.view(lambda txn: list(damaged_rows(txn))) == []
    assert len(overview(store).claims) == len(texts)


def test_a_failing_step_in_an_intact_store_keeps_its_error(store):
    def fail(_):
        raise KeyError("ours")

    for run in (store.apply, store.look):
        with pytest.raises(KeyError, match="ours"):
            run(fail)


def test_an_intact_store_has_no_damaged_rows(store):
    assert store.engine.view(lambda txn: list(damaged_rows(txn))) == []


# -- through the commands and the hook


def run(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "dibs", *words],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def repo(tmp_path):
    return project(tmp_path / "repo")


def write_raw(folder, key, value):
    db = apsw.Connection(str(folder / ".git" / "dibs" / "dibs.db"))
    kind = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
    db.execute(f"INSERT OR REPLACE INTO kv VALUES (?, {kind})", (key, value))
    db.close()


READERS = [
    ("status",), ("status", "--json"), ("ls",), ("log",), ("agent", "ls"), ("inbox", "--agent", "bob"),
    ("brief", "--agent", "bob"), ("task", "ls"), ("changes",), ("doctor",), ("whoami",),
    ("claim", "held.py", "--agent", "eve"), ("renew", "--agent", "bob"),
    ("commit", "-m", "x", "--agent", "bob"), ("release", "--all", "--agent", "bob"),
]  # fmt: skip
BAD = ["[]", "null", "{", '{"token":"x"}', b'{"a":"\xff"}', b"\xff\xfe"]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_no_command_shows_a_traceback_and_the_hook_answers(repo, value):
    """All kinds of rows at once; each command meets the first one it needs."""
    for key in FORMED.values():
        write_raw(repo, key.replace("alice", "bob").replace("a.py", "held.py"), value)

    for words in READERS:
        said = run(repo, *words)
        assert "Traceback" not in said.stderr, (words, said.stderr)
        assert said.returncode in {0, 2, 3, 4, 64, 65, 69, 77, 78}, (words, said)
    said = hook(repo, call(repo, "held.py", "s1"))
    assert said.returncode == 2 or b'"deny"' in said.stdout
    assert b"Traceback" not in said.stderr

    checked = run(repo, "engine", "check")
    assert checked.returncode == 78
    assert "Traceback" not in checked.stderr
    assert "held.py" in checked.stdout

    assert run(repo, "init", "--new-store").returncode == 0
    assert run(repo, "claim", "held.py", "--agent", "eve").returncode == 0


def test_doctor_lists_all_damaged_rows(repo):
    keys = ["at/held.py//bob/c2", "session/claude/s1", "task/00/t1", "tree/alice"]
    for key in keys:
        write_raw(repo, key, "[]" if key != "session/claude/s1" else "{}")

    said = run(repo, "doctor")

    assert said.returncode == 78, said
    text = " ".join(said.stdout.split())
    assert all(key in text for key in keys)
    assert text.count("dibs init --new-store") == len(keys)


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("key", ["at/held.py//bob/c2", "beat/bob"])
def test_a_damaged_claim_is_denied_by_command_and_hook(repo, key, value):
    write_raw(repo, key, value)

    said = run(repo, "claim", "held.py", "--agent", "eve")
    heard = hook(repo, call(repo, "held.py", "s1"))

    assert said.returncode == 69, said
    assert len(said.stderr.splitlines()) == 1
    assert "cannot read" in said.stderr
    assert heard.returncode == 2 or b'"deny"' in heard.stdout


# -- on a git branch


@pytest.mark.parametrize("content", [b"", b'{"a":1}', b"\xff\n", b"\n\xff"], ids=repr)
def test_a_row_file_with_other_content_is_a_damaged_row(content):
    codec = RowFiles()
    path = codec.path_of("at/a.py//alice/c2")

    ((key, value),) = codec.parse(path, content).items()

    assert key == "at/a.py//alice/c2"
    assert why_damaged(key, value)


def test_a_row_file_that_lost_its_key_is_a_damaged_row():
    codec = RowFiles()
    path = codec.path_of(f"at/{'a' * 300}.py//alice/c2")

    ((key, value),) = codec.parse(path, b"[]\n").items()

    assert why_damaged(key, value)


def test_damage_is_one_of_our_errors():
    engine = MemoryEngine()
    engine.transact(lambda txn: txn.put("beat/alice", "[]"))

    with pytest.raises(DibsError, match="beat/alice"):
        Store(engine, Config()).look(lambda rows: rows.beat("alice"))
