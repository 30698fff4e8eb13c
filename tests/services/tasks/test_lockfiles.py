"""Tasks as files: what Dibs writes, and how it reads what scripts write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.services.crew import Crew, caller
from tests.services.queues import PlainQueue

from dibs.core.claims.rules import Claim, Granted
from dibs.core.patterns.pattern import parse
from dibs.errors import BadInput, NotFound
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.rows import decode
from dibs.services.tasks.lockfiles import LockFiles
from dibs.services.tasks.values import NothingFree

NOW = 1_000_000.0
SCRIPT_LOCK = b"agent: agent-02\nclaimed: 2025-06-14T08:31:12Z\ntask: fix-header-lint\n"


class PlainRows:
    """A stand-in for the engine's own layout: one file per row."""

    folders = ("dibs",)

    def path_of(self, key):
        return "dibs/" + key.encode().hex()

    def parse(self, path, content, now):
        if not path.startswith("dibs/"):
            return None
        return {bytes.fromhex(path.removeprefix("dibs/")).decode(): content.decode()}

    def render(self, path, rows):
        (value,) = rows.values()
        return value.encode()


class Branch(Crew):
    """A crew whose state can be written to files and read back, like on a branch."""

    def __init__(self, *, lock_age=7200.0, fold_case=True, **settings):
        case = "insensitive" if fold_case else "sensitive"
        super().__init__(case=case, **settings)
        self.codec = LockFiles(PlainRows(), lock_age=lock_age, fold_case=fold_case)
        self.queue = PlainQueue(self.store)

    def files(self):
        grouped = {}
        for key, value in self.rows():
            grouped.setdefault(self.codec.path_of(key), {})[key] = value
        return {path: self.codec.render(path, rows) for path, rows in grouped.items()}

    def tops(self):
        """Return the files that shell agents see."""
        return {p: c for p, c in self.files().items() if not p.startswith("dibs/")}

    def land(self, path, content):
        """Add a file as another clone's commit would."""
        rows = self.codec.parse(path, content, self.clock.now) or {}

        def step(txn):
            for key, _ in self.rows_at(txn, path):
                txn.delete(key)
            for key, value in rows.items():
                assert self.codec.path_of(key) == path
                txn.put(key, value)

        self.engine.transact(step)
        return rows

    def rows_at(self, txn, path):
        rows = list(txn.scan(("", "")))
        return [(key, value) for key, value in rows if self.codec.path_of(key) == path]


@pytest.fixture
def branch():
    return Branch()


def lock(branch, task, content=SCRIPT_LOCK):
    return branch.land(f"current_tasks/{task}.lock", content)


def holder(rows):
    (value,) = rows.values()
    return decode(value)["agent"]


# -- what Dibs writes


def test_a_claim_on_a_task_is_a_lock_file_with_the_documented_lines(branch):
    branch.claim("agent-02", "task:fix-header-lint")

    (content,) = branch.tops().values()

    lines = content.decode().splitlines()
    assert list(branch.tops()) == ["current_tasks/fix-header-lint.lock"]
    assert lines[:3] == [
        "agent: agent-02",
        "claimed: 1970-01-12T13:46:40Z",
        "task: fix-header-lint",
    ]
    assert json.loads(lines[3].removeprefix("dibs: "))["key"].endswith("/c2")
    assert len(lines) == 4


def test_everything_else_stays_in_the_other_layout(branch):
    branch.claim("bob", "src/a.py", "task:a/b", "task:{1,2}", "port:80")
    branch.claim("bob", "task:x")
    branch.claim("carol", "task:x", queue=True)

    assert list(branch.tops()) == ["current_tasks/x.lock"]
    assert b"carol" not in branch.tops()["current_tasks/x.lock"]


@pytest.mark.parametrize("fold_case", [True, False])
@pytest.mark.parametrize(
    "task", ["42", "Fix-Header", "a b", "Straße", "*", "a[1]", "x.lock", "-dash", "a:b", "ä", r"a\b"]
)  # fmt: skip
def test_the_lock_file_has_the_owners_spelling_of_the_task(task, fold_case):
    branch = Branch(fold_case=fold_case)
    pattern = parse(f"task:{task}", literal=True, fold_case=fold_case)

    branch.claims.claim(caller("bob"), [pattern])

    assert list(branch.tops()) == [f"current_tasks/{task}.lock"]
    before = dict(branch.rows())
    for path, content in branch.files().items():
        branch.land(path, content)
    assert dict(branch.rows()) == before
    branch.holdings.renew(caller("bob"), [pattern], ttl=99)
    assert list(branch.tops()) == [f"current_tasks/{task}.lock"]
    branch.holdings.release(caller("bob"), [pattern])
    assert branch.tops() == {}


@pytest.mark.parametrize("task", [".hidden", "x" * 251, "a/b", r"raw\xff", "a\u2003b"])
def test_a_task_that_cannot_be_a_file_name_stays_in_the_other_layout(branch, task):
    assert isinstance(branch.claim("bob", f"task:{task}"), Granted)

    assert branch.tops() == {}
    for path, content in branch.files().items():
        branch.land(path, content)
    assert [claim for _, claim in branch.held()]


def test_claiming_in_another_spelling_keeps_one_claim_in_one_file(branch):
    branch.claim("bob", "task:Fix-Header")
    branch.claim("bob", "task:fix-header")

    assert list(branch.tops()) == ["current_tasks/Fix-Header.lock"]
    assert branch.held() == {("bob", "task:Fix-Header")}


def test_shared_claims_are_several_lines_in_one_file(branch):
    for agent in ("bob", "carol"):
        branch.claim(agent, "task:x", mode="shared")

    (content,) = branch.tops().values()

    assert content.count(b"dibs: ") == 2
    before = branch.held()
    lock(branch, "x", content)
    assert branch.held() == before


@given(reason=st.text(max_size=60), task=st.text("aZ*?[]{}\\ -_.ßÄ:#'\"", min_size=1, max_size=9))
def test_any_claim_survives_a_round_trip_through_its_file(reason, task):
    branch = Branch()
    try:
        pattern = parse(f"task:{task}", literal=True)
    except BadInput:  # not a claimable name
        return
    branch.claims.claim(caller("bob"), [pattern], reason=reason)
    before = dict(branch.rows())

    for path, content in branch.files().items():
        branch.land(path, content.replace(b"\n", b"\r\n") if "current" in path else content)

    assert dict(branch.rows()) == before


def test_task_files_are_rows_that_preserve_every_byte(branch):
    for content in (b"", b"title: x\r\n", b"\xff\xfe\x00", b"base64:AAAA", b"no end", "ß".encode()):
        branch.land("tasks/pending/a.yml", content)
        branch.land("tasks/pending/b.yaml", content)
        assert branch.tops() == {"tasks/pending/a.yml": content, "tasks/pending/b.yaml": content}


def test_done_moves_the_file_unchanged_and_removes_the_lock(branch):
    branch.land("tasks/pending/Fix.yml", b"\xfftitle\r\n")
    branch.queue.take(caller("bob"))
    assert set(branch.tops()) == {"tasks/pending/Fix.yml", "current_tasks/Fix.lock"}

    branch.queue.done(caller("bob"), "fix")

    assert branch.tops() == {"tasks/done/Fix.yml": b"\xfftitle\r\n"}


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "current_tasks/.gitkeep", "current_tasks/x.txt", "current_tasks/.lock"),
        *("current_tasks/...lock", "current_tasks/sub/x.lock", "tasks/pending/x.json"),
        *("tasks/pending/sub/x.yml", "tasks/pending/.x.yml", "tasks/x.yml", "src/a.py"),
        *("current_tasks/a\x01.lock", "current_tasks/a\udcff.lock", "tasks/pending/a\udcff.yml"),
        *(
            "tasks/pending/a\u0308.yml",
            "Current_Tasks/x.lock",
            "current_tasks/" + "x" * 251 + ".lock",
        ),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(branch, path):
    assert branch.codec.parse(path, b"agent: bob\n", NOW) is None


# -- what scripts write


def test_a_scripts_lock_file_is_respected_and_listed(branch):
    lock(branch, "fix-header-lint")

    answer = branch.claim("bob", "task:fix-header-lint")

    assert answer.conflicts[0].holder == "agent-02"
    assert answer.conflicts[0].reason == "a script's lock file"
    assert answer.conflicts[0].expires_in == 7200
    assert branch.held() == {("agent-02", "task:fix-header-lint")}


def test_a_task_that_a_script_holds_is_not_taken(branch):
    for task in ("a", "b"):
        branch.land(f"tasks/pending/{task}.yml", b"")
    lock(branch, "a")

    assert branch.queue.take(caller("bob")).stored.id == "b"
    busy = branch.queue.take(caller("carol"))
    assert isinstance(busy, NothingFree)
    assert [task.holder for task in busy.queue] == ["agent-02", "bob"]


@pytest.mark.parametrize("age", [60.0, 7200.0])
def test_a_scripts_lock_file_expires_by_age_since_it_was_first_seen(age):
    branch = Branch(lock_age=age)
    lock(branch, "x")
    branch.clock.advance(age - 0.001)
    assert not isinstance(branch.claim("bob", "task:x"), Granted)

    branch.clock.advance(0.001)
    assert branch.held() == set()
    assert isinstance(branch.claim("bob", "task:x"), Granted)
    assert b"agent: bob" in branch.tops()["current_tasks/x.lock"]


def test_a_rewritten_lock_file_counts_from_then(branch):
    lock(branch, "x")
    branch.clock.advance(7000)
    lock(branch, "x", SCRIPT_LOCK + b"# still at it\n")
    branch.clock.advance(7000)

    assert branch.held() == {("agent-02", "task:x")}


def test_a_lock_file_that_its_script_removes_no_longer_counts(branch):
    lock(branch, "x")
    branch.engine.transact(lambda txn: [txn.delete(k) for k, _ in list(txn.scan(("at/", "")))])

    assert isinstance(branch.claim("bob", "task:x"), Granted)


def test_a_human_can_revoke_a_scripts_lock_file(branch):
    lock(branch, "x")
    branch.revoke("human", "task:x")

    assert branch.tops() == {}


@pytest.mark.parametrize(
    ("content", "agent"),
    [
        (b"agent: agent-02\r\nclaimed: now\r\n", "agent-02"),
        (b"\xef\xbb\xbfagent: agent-02\n", "agent-02"),
        (b'task: x\nagent: "agent 02"\n', "agent-02"),
        (b"agent: 'agent-02' # me\n", "agent-02"),
        (b"agent: agent-02 # me\n", "agent-02"),
        (b"Agent : a\xff\xfeb\n", "a--b"),
        (b"agent:\n", "unknown"),
        (b"agent: ../../etc/passwd\n", "etc-passwd"),
        (b"agent: " + b"x" * 500, "x" * 64),
        (b"agent: \x1b[31mred\n", "31mred"),
        (b"", "unknown"),
        (b"\x00\x01\x02\xff" * 1000, "unknown"),
        (b"x" * 1_000_000, "unknown"),
        (b"\n" * 1_000_000, "unknown"),
        (b"dibs: " + b"[" * 100_000, "unknown"),
        (b"dibs: {}\ndibs: 7\ndibs: null\nagent: bob\n", "bob"),
        (b'dibs: {"key": 1, "value": 2}\nagent: bob\n', "bob"),
        (b"<<<<<<< HEAD\nagent: bob\n=======\nagent: carol\n>>>>>>> x\n", "bob"),
    ],
)
def test_a_lock_file_with_any_content_is_a_lock(branch, content, agent):
    assert holder(lock(branch, "x", content)) == agent
    assert branch.held() == {(agent, "task:x")}


@given(st.binary(max_size=300), st.booleans())
def test_a_lock_file_is_never_an_error(junk, ours):
    branch = Branch()
    lock(branch, "x", b"dibs: " + junk if ours else junk)

    assert len(branch.held()) == 1
    branch.claim("zoe", "task:x")
    branch.files()


def forged(branch, **changes):
    """Return bob's lock file on ``task:x`` with some fields of the record changed."""
    branch.claim("bob", "task:x")
    (key, value), *_ = [(k, v) for k, v in branch.rows() if k.startswith("at/")]
    key = changes.pop("key", key)
    record = {**decode(value), **changes}
    row = {"key": key, "value": json.dumps(record)}
    return f"agent: mallory\ndibs: {json.dumps(row)}\n".encode()


@pytest.mark.parametrize(
    "changes",
    [
        *({"key": "beat/bob"}, {"key": "at/src/a.py//bob/c2"}, {"key": "at/:task/y//bob/c2"}),
        *({"key": "at/:task/x//bob/t2.0"}, {"key": "at/:task/x//carol/c2"}, {"key": "at/:task/x"}),
        *(
            {"pattern": "**"},
            {"pattern": 7},
            {"mode": "mine"},
            {"agent": "../x"},
            {"agent": "carol"},
        ),
        *({"token": "7"}, {"token": None}, {"token": True}, {"ttl": float("nan")}, {"since": "x"}),
        *({"hard": None}, {"reason": []}, {"task": None}, {"since": 10**400}),
        *({"reason": "\ud800"}, {"key": "at/:task/x//bob/c\ud800"}),
    ],
)
def test_a_damaged_dibs_line_makes_it_a_scripts_lock_file(branch, changes):
    content = forged(branch, **changes)

    assert holder(lock(branch, "x", content)) == "mallory"


# -- a script's agent that Dibs also knows


def test_heartbeats_do_not_extend_a_scripts_lock_file(branch):
    branch.renew("agent-02")
    lock(branch, "x")
    for _ in range(8):
        branch.clock.advance(900)
        branch.renew("agent-02")

    assert branch.held() == set()
    assert isinstance(branch.claim("bob", "task:x"), Granted)


def test_a_scripts_lock_file_needs_no_heartbeat(branch):
    branch.claim("agent-02", "src/a.py", ttl=30)
    lock(branch, "x")
    branch.clock.advance(600)
    branch.renew("agent-02")
    branch.clock.advance(6000)

    assert branch.held() == {("agent-02", "task:x")}
    assert not isinstance(branch.claim("bob", "task:x"), Granted)


def test_an_agent_that_claims_what_its_script_holds_gets_a_token(branch):
    lock(branch, "x")

    answer = branch.claim("agent-02", "task:x", ttl=60)

    assert isinstance(answer, Granted)
    assert answer.token > 0
    assert branch.held() == {("agent-02", "task:x")}
    assert branch.tops()["current_tasks/x.lock"].count(b"dibs: ") == 1
    branch.clock.advance(60)
    assert branch.held() == set()


def test_an_agent_whose_lock_file_expired_cannot_renew_it(branch):
    branch.land("tasks/pending/x.yml", b"")
    branch.renew("agent-02")
    lock(branch, "x")
    branch.clock.advance(7200)

    for act in (branch.renew, branch.release):
        with pytest.raises(NotFound, match="do not hold"):
            act("agent-02", "task:x")
    with pytest.raises(NotFound, match="do not hold"):
        branch.queue.done(caller("agent-02"), "x")
    answer = branch.claim("agent-02", "task:x")
    assert isinstance(answer, Granted)
    assert branch.tops()["current_tasks/x.lock"].count(b"dibs: ") == 1
    assert branch.agents.show("agent-02")[1] == []


def test_an_agent_finishes_with_dibs_what_its_script_claimed(branch):
    branch.land("tasks/pending/x.yml", b"text")
    lock(branch, "x")

    branch.queue.done(caller("agent-02"), "x")

    assert branch.tops() == {"tasks/done/x.yml": b"text"}


def test_a_scripts_locks_do_not_count_as_the_agents_claims(branch):
    branch.claim("agent-02", "src/a.py")
    lock(branch, "x")
    branch.release("agent-02", "task:x")
    lock(branch, "y")
    branch.claim("agent-02", "task:y")
    lock(branch, "z")
    branch.revoke("human", "task:z")

    assert branch.store.look(lambda rows: rows.beat("agent-02").claims) == 2


def test_a_new_life_of_the_store_keeps_scripts_lock_files(branch):
    branch.claim("bob", "task:a", "src/a.py")
    lock(branch, "x")

    branch.engine.transact(lambda txn: begin_life(txn, "the branch was forced back"))

    assert branch.held() == {("agent-02", "task:x")}


def test_a_scripts_claim_has_no_token(branch):
    (held,), _ = (lock(branch, "x"), branch.claims.all())[1]

    assert held.claim == Claim(
        "script", "task:x", "exclusive", "agent-02", 0, 7200.0, NOW, NOW + 7200.0,
        "a script's lock file", "x",
    )  # fmt: skip
