"""The ledger: queries, summary, and its limit with monthly files."""

import json

from tests.services.several_agents import Crew, caller

from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Entry
from dibs.services.state.ledger import TRIM_BATCH, Query


def test_entries_are_returned_oldest_first_and_up_to_the_limit(crew):
    for name in "abcde":
        crew.claim("alice", name)

    entries = crew.ledger.newest(Query(), 2)

    assert [entry.summary for entry in entries] == ["alice claimed d", "alice claimed e"]


def test_a_query_filters_by_agent_kind_time_and_number(crew):
    crew.claim("alice", "a")
    crew.clock.advance(10)
    later = crew.clock()
    crew.claim("bob", "b")
    crew.release("bob", "b")

    def summaries(**query):
        return [entry.summary for entry in crew.ledger.newest(Query(**query), 100)]

    assert summaries(agents=frozenset({"alice"})) == ["alice joined as agent", "alice claimed a"]
    assert summaries(kinds=frozenset({"lock_released"})) == ["bob released b"]
    assert len(summaries(since=later)) == 3
    assert summaries(after=4) == ["bob released b"]


def test_the_summary_counts_by_kind_and_agent(crew):
    crew.claim("alice", "a")
    crew.claim("bob", "a")

    summary = crew.ledger.summary()

    assert (summary.entries, summary.first_seq, summary.last_seq) == (4, 1, 4)
    assert summary.by_kind == {"agent_joined": 2, "lock_acquired": 1, "lock_denied": 1}
    assert summary.by_agent == {"alice": 2, "bob": 2}


def test_a_follower_misses_nothing(crew):
    crew.claim("alice", "a")
    follower = crew.ledger.follow(Query(), poll=0)
    first = next(follower)
    crew.claim("alice", "b")
    crew.release("alice", "b")

    assert [entry.seq for entry in first] == [1, 2]
    assert [entry.seq for entry in next(follower)] == [3, 4]
    assert next(follower) == []


def archived(folder):
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line)["seq"] for file in files for line in file.read_text().splitlines()]


def test_the_ledger_stays_within_its_limit_and_nothing_is_lost(tmp_path):
    crew = Crew(str(tmp_path / "ledger"), ledger_limit=100)
    for round_ in range(150):
        crew.claim("alice", "a")
        crew.release("alice", "a")
        if round_ % 50 == 0:
            crew.clock.advance(40 * 86_400)

    kept = [entry.seq for entry in crew.ledger.newest(Query(), 10_000)]

    assert 90 <= len(kept) <= 100
    assert archived(tmp_path / "ledger") + kept == list(range(1, kept[-1] + 1))
    assert len(list((tmp_path / "ledger").glob("*.jsonl"))) >= 3


class UncutEngine:
    """An engine whose process dies before the ledger is trimmed."""

    def __init__(self, engine):
        self.view = engine.view

    def transact(self, step):
        return 0


def test_a_crash_between_archiving_and_trimming_repeats_no_line(tmp_path):
    crew = Crew(str(tmp_path / "ledger"), ledger_limit=100)
    for n in range(60):
        crew.agents.report(caller("alice"), note=f"step {n}")
    crew.store.config = crew.store.config._replace(ledger_limit=20)
    crew.store.engine = UncutEngine(crew.engine)
    crew.ledger.trim()
    crew.store.engine = crew.engine

    crew.ledger.trim()

    seqs = archived(tmp_path / "ledger")
    assert seqs == sorted(set(seqs))
    assert len(seqs) > 30
    assert len(crew.ledger.newest(Query(), 1000)) <= 20


def test_an_incomplete_last_line_does_not_damage_the_next(tmp_path):
    folder = tmp_path / "ledger"
    crew = Crew(str(folder), ledger_limit=20)
    for n in range(30):
        crew.agents.report(caller("alice"), note=f"step {n}")
    file = next(folder.glob("*.jsonl"))
    with file.open("a") as tail:
        tail.write('{"seq": 99999')

    for n in range(30):
        crew.agents.report(caller("alice"), note=f"step {n}")

    lines = file.read_text().splitlines()
    whole = [json.loads(line)["seq"] for line in lines if line.endswith("}")]
    assert len(lines) == len(whole) + 1
    assert whole == list(range(1, len(whole) + 1))


def test_secrets_in_free_text_are_masked_before_they_are_stored(crew):
    secret = "ghp_" + "a1B2" * 9
    crew.claim("alice", "a", reason=f"push with {secret}")
    crew.ask("bob", "a", note=f"use {secret}")
    crew.agents.report(caller("alice"), note=f"token {secret}", task=f"rotate {secret}")
    crew.revoke("human", "a", reason=f"leak of {secret}")
    crew.agents.join(Agent("carol", name=secret, role=secret, model=secret, task=f"use {secret}"))

    entries = crew.ledger.newest(Query(), 100)

    assert secret not in repr(entries)
    assert secret not in repr(crew.rows())


def test_a_large_ledger_is_trimmed_in_short_transactions(tmp_path):
    crew = Crew(str(tmp_path), ledger_limit=100)
    entries = [Entry(n, 0.0, "alice", "agent", "x", str(n), {}) for n in range(1, 9_001)]
    crew.engine.transact(lambda txn: [txn.restore(entry) for entry in entries])
    dropped = []
    trim = crew.engine.transact

    def counted(step):
        dropped.append(trim(step))
        return dropped[-1]

    crew.engine.transact = counted

    assert crew.ledger.trim(patience=0.0) == dropped[0] == TRIM_BATCH  # a command does one batch
    assert crew.ledger.trim(patience=60.0) == 9_000 - TRIM_BATCH - 95

    assert max(dropped) == TRIM_BATCH
    assert [e.seq for e in crew.ledger.history()] == list(range(1, 9_001))


def test_entries_of_a_new_life_do_not_make_older_ones_disappear_early():
    crew = Crew(ledger_limit=100)
    numbers = [*range(1, 51), *range(1_000_001, 1_000_031)]
    entries = [Entry(n, 0.0, "alice", "agent", "x", "", {}) for n in numbers]
    crew.engine.transact(lambda txn: [txn.restore(entry) for entry in entries])

    assert crew.ledger.trim() == 0


def test_recent_entries_come_with_all_entries_of_some_kinds(crew):
    crew.claim("alice", "a")
    crew.claim("alice", "b")
    crew.claim("bob", "c")

    found = crew.ledger.recent(1, kinds=("agent_joined",))

    assert [e.summary for e in found] == [
        "alice joined as agent", "bob joined as agent", "bob claimed c",
    ]  # fmt: skip
