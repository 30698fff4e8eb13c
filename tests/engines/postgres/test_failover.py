"""Failover of a PostgreSQL store: to a synchronous standby without loss, to any other one with a new life."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import pytest
from tests.engines.agents import Agent, assert_fenced, reasons
from tests.servers import FaultProxy, PgBouncer, PostgresServer, postgres

from dibs.core.claims.rules import Granted
from dibs.engines.postgres.engine import PostgresEngine
from dibs.engines.shared.failures import Cut
from dibs.errors import Unavailable, Unknown
from dibs.services.state.lifecycle import begin_life
from dibs.services.state.measure import inspected
from dibs.testing.steps import entries, increment


class Pair:
    """A primary and its standby, which replicates through a proxy."""

    def __init__(self, folder, *, synchronous):
        self.primary = PostgresServer(folder / "one").start()
        self.proxy = FaultProxy(self.primary)
        self.standby = self.primary.standby(
            folder / "two", synchronous=synchronous, through=self.proxy
        )
        ports = (self.primary.port, self.standby.port)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"postgresql://dibs@{hosts}/postgres"

    def fail_over(self):
        self.primary.kill()
        self.standby.promote()

    def close(self):
        self.standby.close()
        self.primary.close()
        self.proxy.close()


@pytest.fixture
def pair(tmp_path):
    pairs = []

    def make(*, synchronous):
        pairs.append(Pair(tmp_path, synchronous=synchronous))
        return pairs[-1]

    yield make
    for one in pairs:
        one.close()


@pytest.fixture
def agent():
    agents = []

    def make(name, url, memory="", timeout=10.0):
        engine = PostgresEngine(url, "shop", timeout=timeout, memory=str(memory), renew=begin_life)
        agents.append(Agent(name, engine))
        return agents[-1]

    yield make
    for one in agents:
        one.engine.close()


def test_claims_survive_a_failover_to_a_synchronous_standby(pair, agent):
    servers = pair(synchronous=True)
    alice, bob = agent("alice", servers.url), agent("bob", servers.url)
    held = alice.claim().token

    servers.fail_over()

    assert not isinstance(bob.claim(), Granted)
    other = bob.claim("other")
    assert isinstance(other, Granted)
    assert other.token > held
    assert reasons(bob) == []
    assert alice.release(held)


def test_a_failover_under_load_loses_nothing_that_was_confirmed(pair):
    """Six clients write while the primary is killed; each repeats only what it knows did not happen."""
    servers = pair(synchronous=True)
    judge = PostgresEngine(servers.url, "shop", timeout=10.0)
    confirmed, unknown, stop = [], [], threading.Event()

    def work(name):
        engine = PostgresEngine(servers.url, "shop", timeout=2.0, renew=begin_life)
        mine = []
        while not stop.is_set():
            try:
                mine.append(engine.transact(increment))
            except Unknown:
                unknown.append(name)
            except Unavailable:
                time.sleep(0.02)
        confirmed.append(mine)
        engine.close()

    workers = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for worker in workers:
        worker.start()
    _until(lambda: servers.primary.sql("SELECT newest > base + 100 FROM dibs.project") == [(True,)])
    servers.fail_over()
    newest = servers.standby.sql("SELECT newest FROM dibs.project")[0][0]
    _until(
        lambda: (
            servers.standby.sql(f"SELECT newest > {newest} + 100 FROM dibs.project") == [(True,)]
        )
    )
    stop.set()
    for worker in workers:
        worker.join(30)

    written = [entry.seq for entry in entries(judge)]
    acknowledged = [number for mine in confirmed for number in mine]
    assert len(confirmed) == 6
    assert all(mine == sorted(set(mine)) for mine in confirmed)
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(written)
    assert len(written) - len(acknowledged) <= len(unknown)  # nothing happened twice
    assert judge.view(lambda txn: txn.get("count")) == str(len(written))
    assert min(acknowledged) <= newest < max(acknowledged)
    judge.close()


def test_a_commit_that_the_standby_does_not_confirm_is_unknown(pair, agent):
    servers = pair(synchronous=True)
    alice = agent("alice", servers.url, timeout=2.0)
    assert isinstance(alice.claim("before"), Granted)

    servers.proxy.swallow()

    with pytest.raises(Unknown):
        alice.claim()
    servers.proxy.heal()
    servers.proxy.reset()


@pytest.mark.parametrize(
    ("kind", "pooled"),
    [("write", False), ("write", True), ("locked write", True), ("adoption", False)],
)
def test_a_canceled_wait_for_the_standby_is_unknown_whatever_messages_a_client_gets(
    pair, agent, tmp_path, kind, pooled
):
    servers = pair(synchronous=True)
    servers.primary.configure(client_min_messages="error")
    with ExitStack() as stack:
        url = servers.primary.url
        if pooled:
            url = stack.enter_context(PgBouncer(tmp_path / "pool", servers.primary)).url_of(url)
        alice = agent("alice", url, timeout=3.0)
        alice.claim("before")
        link = alice.engine._session.link(time.monotonic() + 5)
        servers.proxy.swallow()
        canceling = threading.Thread(target=_cancel_waiting, args=(servers.primary,))
        canceling.start()

        until = time.monotonic() + 5
        if kind == "locked write":
            link.learn(link.lock((), (), until), (), ())
        if kind == "adoption":
            link.timeline = "00000009"
        with pytest.raises((Unknown, Cut)):
            link.adopt(0.0, until) if kind == "adoption" else alice.claim()

        canceling.join()
        servers.proxy.heal()
        servers.proxy.reset()


def _cancel_waiting(server):
    """Cancel every wait for a standby, for a while."""
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    _until(lambda: server.sql(cancel))
    for _ in range(10):
        server.sql(cancel)
        time.sleep(0.1)


def test_a_commit_found_after_a_restart_is_confirmed_by_the_standby_first(pair, agent):
    """A commit that a standby lacks is visible after a restart of the primary; that does not make it safe."""
    servers = pair(synchronous=True)
    alice = agent("alice", servers.url, timeout=3.0)
    alice.claim("before")
    servers.proxy.swallow()
    failures = []

    def claim():
        try:
            alice.claim()
        except (Unavailable, Unknown) as error:
            failures.append(error)

    claiming = threading.Thread(target=claim)
    claiming.start()
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    _until(lambda: servers.primary.sql(waiting))
    servers.primary.kill()
    servers.primary.start()
    claiming.join(30)

    assert [type(error) for error in failures] == [Unknown]


def test_a_failover_that_lost_the_newest_writes_fences_them(pair, agent):
    servers = pair(synchronous=False)
    alice = agent("alice", servers.url)
    before = alice.claim("before").token
    _replicated(servers)
    servers.proxy.swallow()
    lost = alice.claim()
    assert isinstance(lost, Granted)

    servers.fail_over()
    bob = agent("bob", servers.url)
    answer = bob.claim()

    assert isinstance(answer, Granted)
    assert answer.token > lost.token
    assert reasons(bob) == ["another server took over and may lack the newest writes"]
    assert_fenced(alice, lost.token)
    assert_fenced(alice, before, "before")


def test_a_failover_without_a_synchronous_standby_voids_claims_even_if_nothing_was_lost(
    pair, agent
):
    servers = pair(synchronous=False)
    alice = agent("alice", servers.url)
    held = alice.claim().token
    _replicated(servers)

    servers.fail_over()

    assert isinstance(alice.claim("other"), Granted)
    assert len(reasons(alice)) == 1
    assert_fenced(alice, held)


@pytest.mark.parametrize("synchronous", [True, False])
def test_an_old_primary_that_returns_is_not_used(pair, agent, synchronous):
    servers = pair(synchronous=synchronous)
    alice = agent("alice", servers.url)
    alice.claim("before")
    if not synchronous:
        _replicated(servers)
    servers.fail_over()
    held = alice.claim()
    servers.primary.start()
    started = time.monotonic()

    bob = agent("bob", servers.url)

    assert not isinstance(bob.claim(), Granted)
    assert isinstance(bob.claim("other"), Granted)
    assert alice.release(held.token)
    assert time.monotonic() - started < 10
    assert servers.primary.sql("SELECT timeline FROM dibs.project") == [("00000001",)]


@pytest.mark.parametrize("names_all", [True, False])
def test_an_old_primary_is_refused_by_a_machine_that_saw_its_successor(
    pair, agent, tmp_path, names_all
):
    servers = pair(synchronous=False)
    memory = tmp_path / "state" / "postgres.json"
    alice = agent("alice", servers.url, memory)
    alice.claim("before")
    _replicated(servers)
    servers.fail_over()
    held = alice.claim()
    alice.engine.close()
    servers.primary.start()
    servers.standby.stop()
    before = servers.primary.sql("SELECT * FROM dibs.project")

    with pytest.raises(Unavailable) as caught:
        agent("bob", servers.url if names_all else servers.primary.url, memory, timeout=3.0)

    assert caught.value.code == "POSTGRES_OUTDATED"
    assert "its timeline is 1, but this machine has seen 2" in caught.value.message
    assert servers.primary.sql("SELECT * FROM dibs.project") == before
    servers.standby.start()
    bob = agent("bob", servers.url, memory)
    assert not isinstance(bob.claim(), Granted)
    assert agent("alice", servers.url, memory).release(held.token)


def test_an_open_handle_refuses_an_old_primary_that_another_process_knows(pair, agent, tmp_path):
    servers = pair(synchronous=False)
    memory = tmp_path / "state" / "postgres.json"
    alice = agent("alice", servers.url, memory, timeout=4.0)
    alice.claim("before")
    _replicated(servers)
    servers.fail_over()
    bob = agent("bob", servers.url, memory)
    bob.claim()
    bob.engine.close()
    servers.primary.start()
    servers.standby.stop()

    with pytest.raises(Unavailable) as caught:
        alice.claim()

    assert caught.value.code == "POSTGRES_OUTDATED"
    servers.standby.start()
    assert not isinstance(alice.claim(), Granted)


def test_another_cluster_is_used_whatever_its_timeline(pair, agent, tmp_path):
    """A backup was restored to a new server."""
    servers = pair(synchronous=False)
    memory = tmp_path / "state" / "postgres.json"
    servers.fail_over()
    held = agent("alice", servers.standby.url, memory).claim()
    postgres._template.cache_clear()  # whose copies are one cluster
    with PostgresServer(tmp_path / "new") as new:
        bob = agent("bob", new.url, memory)

        assert bob.claim().token > held.token
        bob.engine.close()


def test_a_machine_that_saw_later_writes_detects_a_standby_that_lacks_them(pair, agent, tmp_path):
    """The settings were synchronous, then asynchronous; the standby cannot know that."""
    servers = pair(synchronous=True)
    memory = tmp_path / "state" / "postgres.json"
    alice = agent("alice", servers.url, memory)
    alice.claim("before")
    servers.primary.configure(synchronous_standby_names="")
    servers.proxy.swallow()
    lost = alice.claim().token
    alice.engine.close()

    servers.fail_over()
    bob = agent("bob", servers.url, memory)

    assert isinstance(bob.claim(), Granted)
    assert reasons(bob) == ["its newest writes are missing"]
    assert_fenced(agent("alice", servers.url), lost)


def test_many_clients_that_notice_a_failover_start_one_life(pair, agent):
    servers = pair(synchronous=False)
    agents = [agent(f"a{number}", servers.url) for number in range(6)]
    agents[0].claim()
    _replicated(servers)

    servers.fail_over()
    answers = []
    threads = [
        threading.Thread(target=lambda one=one: answers.append(one.claim())) for one in agents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sum(isinstance(answer, Granted) for answer in answers) == 1
    assert len(reasons(agents[0])) == 1


def test_a_standby_alone_is_refused_with_the_remedy(pair):
    servers = pair(synchronous=True)

    with pytest.raises(Unavailable) as caught:
        PostgresEngine(servers.standby.url, "shop", timeout=1.0)

    assert caught.value.code == "POSTGRES_STANDBY"
    assert "postgresql://one,two/database" in caught.value.hint


@pytest.mark.parametrize(
    ("synchronous", "settings", "level", "text"),
    [
        (True, {}, "ok", "no loss"),
        (True, {"synchronous_commit": "local"}, "warn", "synchronous_commit is local"),
        (False, {}, "warn", "asynchronous standbys only"),
    ],
)
def test_the_check_says_what_a_failover_means(pair, synchronous, settings, level, text):
    servers = pair(synchronous=synchronous)
    servers.primary.configure(**settings)
    engine = PostgresEngine(servers.url, "shop")

    found = {finding.what: finding for finding in engine.inspect()}
    engine.close()

    assert found["failover"].level == level
    assert text in found["failover"].text


def test_the_check_reports_that_no_synchronous_standby_is_connected(pair):
    servers = pair(synchronous=True)
    PostgresEngine(servers.url, "shop").close()
    servers.standby.stop()
    engine = PostgresEngine(servers.url, "shop", timeout=2.0)

    found, measured = inspected(engine)
    engine.close()

    bad = {finding.what: finding.text for finding in found if finding.level == "bad"}
    assert bad["failover"].startswith("no loss: ")
    assert bad["failover"].endswith("no synchronous standby is connected, so every change waits")
    assert "it is unknown whether" in bad["transaction"]
    assert measured.transaction is None


def _replicated(servers):
    """Wait until the standby has everything."""
    lag = "SELECT 1 FROM pg_stat_replication WHERE pg_current_wal_lsn() = flush_lsn"
    _until(lambda: servers.primary.sql(lag))


def _until(condition):
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)
