"""A migration loses nothing, duplicates nothing, and never leaves two stores open."""

from __future__ import annotations

import itertools
import subprocess

import pytest
from tests.servers import FaultProxy
from tests.services.several_agents import Crew, caller
from tests.services.wired import deciding, settle, wired

from dibs.config.load import Config, Loaded
from dibs.core.claims.agents import Agent
from dibs.core.claims.ledger import Event, Kind
from dibs.core.claims.rules import Denied, Granted
from dibs.core.patterns.filing import Range
from dibs.core.patterns.pattern import parse
from dibs.engines.git.engine import GitEngine
from dibs.engines.memory import MemoryEngine
from dibs.engines.postgres.engine import PostgresEngine
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.sqlite.engine import SqliteEngine
from dibs.errors import BadInput, DibsError, Misconfigured, NotAllowed, Unavailable
from dibs.services.claims.holdings import Holdings
from dibs.services.claims.service import Claims
from dibs.services.migration import service
from dibs.services.migration.service import Migration, StoreSide, cancel
from dibs.services.state.lifecycle import closure
from dibs.services.state.store import CLOSED
from dibs.services.talk.mail import Mail
from dibs.testing import ManualClock

KINDS = ("memory", "sqlite", "redis", "postgres", "git")

projects = itertools.count()


class Team:
    """Claims on any engine."""

    def __init__(self, engine):
        store = wired(engine, Config(ttl=300.0))
        self.claims = Claims(store)
        self.holdings = Holdings(store)

    def claim(self, agent, pattern, **options):
        return self.claims.claim(caller(agent), [parse(pattern)], **options)

    def release(self, agent, pattern, **options):
        return self.holdings.release(caller(agent), [parse(pattern)], **options)


@pytest.fixture(scope="module")
def database(postgres_server):
    """A database for all stores on PostgreSQL."""
    url = postgres_server.database()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def make(tmp_path, redis_server, database):
    """Open a new, empty store of a kind."""
    opened = []
    count = itertools.count()
    urls = []

    def build(kind):
        place = tmp_path / f"{kind}-{next(count)}"
        if kind == "memory":
            return MemoryEngine()
        if kind == "sqlite":
            return SqliteEngine(place / "dibs.db")
        if kind == "redis":
            urls.append(redis_server.url_of(next(redis_server.fresh)))
            return RedisEngine(urls[-1], "project")
        if kind == "postgres":
            return PostgresEngine(database, f"project-{next(projects)}")
        subprocess.run(["git", "init", "-q", "--bare", place], check=True)
        return GitEngine(str(place), state=tmp_path / f"{place.name}-state", poll=0.2)

    def make(kind):
        opened.append(build(kind))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()
    for url in urls:
        with redis_server.client(url) as client:
            client.flushdb()


def move(source, target, **options):
    return Migration(StoreSide(source, "old"), StoreSide(target, "new"), **options).run()


def rows(engine):
    return engine.view(lambda txn: dict(txn.scan(Range(""))))


def ledger(engine):
    return engine.view(lambda txn: list(txn.events()))


def why(engine):
    found = engine.view(closure)
    return None if found is None else found.why


def fill(engine):
    """Leave something of every kind, with no agent working."""
    team = Team(engine)
    team.claim("alice", "src/ü☃.py", reason='it\'s "so"\n', request_id="r-1")
    team.claim("alice", "docs/**")
    team.release("alice", "src/ü☃.py")
    team.release("alice", "docs/**")
    engine.transact(lambda txn: txn.put("queue/build.yml", "id: build\n"))


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_all_rows_and_entries_are_migrated_between_any_two_engines(make, old, new):
    source, target = make(old), make(new)
    fill(source)
    before, told = rows(source), ledger(source)

    moved = move(source, target)

    after = rows(target)
    assert set(after) == {*before, "origin"}
    assert {k: after[k] for k in before if not k.startswith("beat/")} == {
        k: v for k, v in before.items() if not k.startswith("beat/")
    }
    assert ledger(target)[: len(told)] == told
    assert (moved.rows, moved.entries) == (len(before), len(told) + 1)
    assert (why(source), why(target)) == ("moved", None)


@pytest.mark.parametrize("new", KINDS)
def test_numbers_continue_above_all_of_the_old_store(make, new):
    source, target = make("sqlite"), make(new)
    fill(source)

    moved = move(source, target)

    token = Team(target).claim("bob", "src/a.py").token
    assert token > moved.newest >= ledger(source)[-1].seq


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_a_migrated_claim_stays_exclusive_and_keeps_its_token(make, old, new):
    source, target = make(old), make(new)
    token = Team(source).claim("alice", "src/**").token

    moved = move(source, target, force=True)

    team = Team(target)
    assert moved.claims == 1
    assert isinstance(team.claim("bob", "src/a.py"), Denied)
    (released,) = team.release("alice", "src/**", token=token)
    assert released.token == token
    assert isinstance(team.claim("bob", "src/a.py"), Granted)


def test_a_migrated_store_refuses_everyone_even_if_it_was_open_before():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")
    move(crew.engine, target, force=True)

    for call in (
        lambda: crew.claim("bob", "b"),
        lambda: crew.renew("alice"),
        lambda: crew.release("alice", "a"),
        crew.held,
        lambda: crew.claims.check(caller("bob"), [parse("b")], "exclusive"),
    ):
        with pytest.raises(Misconfigured, match="migrated to new") as refused:
            call()
        assert refused.value.code == "STORE_MOVED"


def test_a_migration_is_refused_while_agents_work_and_names_them():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")
    crew.claim("bob", "a", queue=True)
    crew.clock.advance(2)

    with pytest.raises(NotAllowed) as refused:
        move(crew.engine, target)

    assert refused.value.code == "STORE_ACTIVE"
    assert (
        "alice (holds 1 claim, active 2s ago), bob (waits, active 2s ago)" in refused.value.message
    )
    assert (why(crew.engine), rows(target)) == (None, {})
    assert crew.held() == {("alice", "a")}


def test_agents_without_a_heartbeat_for_their_ttl_do_not_block_a_migration():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")
    crew.clock.advance(301)

    moved = move(crew.engine, target)

    assert moved.claims == 0
    assert isinstance(Team(target).claim("bob", "a"), Granted)


@pytest.mark.parametrize("off", [-5000.0, 0.0, 5000.0])
def test_a_claim_keeps_its_remaining_time_whatever_the_new_clock_shows(off):
    crew = Crew()
    crew.claim("alice", "a", ttl=100.0)
    crew.clock.advance(40)
    clock = ManualClock(crew.clock.now + off)
    target = MemoryEngine(clock)

    move(crew.engine, target, force=True)

    team = Team(target)
    clock.advance(59.9)
    assert isinstance(team.claim("bob", "a"), Denied)
    clock.advance(0.2)
    assert isinstance(team.claim("bob", "a"), Granted)


@pytest.mark.parametrize("off", [-5000.0, 0.0, 5000.0])
def test_deadlines_keep_their_remaining_time_whatever_the_new_clock_shows(off):
    crew = Crew(mail_rate=1)
    written = Loaded(Config(decide_deny=("general",)), {})
    mail, decisions = Mail(crew.store), deciding(crew.store, written)
    crew.claim("bob", "a")
    crew.ask("alice", "a")
    said = mail.say(caller("alice"), "bob", "look", within=100)
    asked = decisions.new(caller("alice"), "drop the table", confirm=True, deadline=100)
    crew.clock.advance(40)
    clock = ManualClock(crew.clock.now + off)
    target = MemoryEngine(clock)

    move(crew.engine, target, force=True)

    store = wired(target, crew.store.config)
    mail, decisions = Mail(store), deciding(store, written)
    (request, letter) = mail.inbox(caller("bob"))
    assert letter.message._replace(at=said.at, due=said.due) == said
    assert letter.message.due == clock.now + 60
    assert request.message.data["until"] == letter.message.at + 300
    with pytest.raises(Unavailable, match=r"in 2[01]s"):
        mail.say(caller("alice"), "bob", "more")
    clock.advance(59.9)
    assert settle(store) == 0
    assert decisions.show(asked.id).outcome == "pending"
    clock.advance(0.2)
    assert settle(store) == 2
    assert decisions.show(asked.id).outcome == "rejected"
    assert [letter.message.kind for letter in mail.inbox(caller("alice"))] == [
        "overdue", "decision",
    ]  # fmt: skip


def test_deadlines_of_a_migration_interrupted_at_its_end_exist_once(monkeypatch):
    crew, clock = Crew(), ManualClock(1_000_000.0)
    mail = Mail(crew.store)
    crew.agents.join(Agent("bob"))
    mail.say(caller("alice"), "bob", "look", within=100)
    target = MemoryEngine(clock)
    with monkeypatch.context() as broken:
        broken.setattr(Migration, "_open", lambda *_: (_ for _ in ()).throw(Unavailable("died")))
        with pytest.raises(Unavailable, match="died"):
            move(crew.engine, target)
    clock.advance(7)

    move(crew.engine, target)

    assert [key for key in rows(target) if key.startswith("due/")] == [
        f"due/{1_000_107:010d}.000000/mail/m3"
    ]
    assert Mail(wired(target, Config())).inbox(caller("bob"))[0].message.due == 1_000_107.0


def test_a_claim_gets_a_ttl_that_the_new_engine_supports():
    crew, target = Crew(), MemoryEngine(ManualClock(1_000_000.0))
    crew.claim("alice", "a", ttl=10.0)
    target.shortest_ttl = 60.0

    move(crew.engine, target, force=True)

    ((held,), _) = Team(target).claims.all()
    assert (held.claim.ttl, held.expires_in) == (60.0, 60.0)


def test_a_store_that_is_not_empty_is_not_touched():
    crew, other = Crew(), Crew()
    crew.claim("alice", "a")
    crew.release("alice", "a")
    other.claim("bob", "b")
    before = other.rows()

    for force in (False, True):
        with pytest.raises(NotAllowed, match="not empty") as refused:
            move(crew.engine, other.engine, force=force)
        assert refused.value.code == "STORE_NOT_EMPTY"

    assert other.rows() == before
    assert why(crew.engine) is None


def test_a_store_cannot_be_migrated_to_itself():
    crew = Crew()
    crew.claim("alice", "a")

    with pytest.raises(NotAllowed, match="not empty"):
        move(crew.engine, crew.engine.connect(), force=True)

    assert crew.held() == {("alice", "a")}


def test_an_empty_store_is_not_migrated():
    with pytest.raises(BadInput, match="old is empty: nothing to migrate"):
        move(MemoryEngine(), MemoryEngine())


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_can_be_migrated_back(make, kind):
    first, second = make("sqlite"), make(kind)
    fill(first)
    move(first, second)
    token = Team(second).claim("bob", "src/a.py").token

    move(second, first, force=True)

    assert (why(first), why(second)) == (None, "moved")
    team = Team(first)
    assert isinstance(team.claim("carol", "src/a.py"), Denied)
    assert team.release("bob", "src/a.py", token=token)[0].token == token
    numbers = [entry.seq for entry in ledger(first)]
    assert numbers == sorted(set(numbers))


def test_a_store_does_not_accept_back_a_state_that_it_never_had():
    first, other = Crew(), Crew()
    for crew in (first, other):
        crew.claim("alice", "a")
        crew.release("alice", "a")
    move(first.engine, MemoryEngine())

    with pytest.raises(NotAllowed, match="not empty"):
        move(other.engine, first.engine)

    assert why(first.engine) == "moved"


def test_a_ledger_is_not_trimmed_while_its_store_is_closed():
    crew = Crew(ledger_limit=100)
    crew.engine.transact(lambda txn: [txn.emit(event(n)) for n in range(200)])
    crew.engine.transact(lambda txn: txn.put(CLOSED, "{}"))

    assert crew.ledger.trim() == 0

    assert len(ledger(crew.engine)) == 200


def test_a_migration_whose_target_disappears_is_unavailable_and_continues_later(redis_server):
    crew = Crew()
    token = crew.claim("alice", "a").token
    db = next(redis_server.fresh)
    with FaultProxy(redis_server.port) as proxy:
        target = RedisEngine(redis_server.url_of(db, proxy.port), "project", timeout=0.5)

        def watch(what, done, _total):
            if what == "copying the ledger":
                proxy.refuse()
                proxy.reset()

        with pytest.raises(Unavailable):
            move(crew.engine, target, force=True, progress=watch)
        assert why(crew.engine) == "moving"
        proxy.heal()

        assert move(crew.engine, target, force=True).claims == 1

        assert Team(target).release("alice", "a", token=token)
        target.close()
    with redis_server.client(redis_server.url_of(db)) as client:
        client.flushdb()


def test_large_states_are_migrated_in_several_transactions(monkeypatch):
    monkeypatch.setattr(service, "BATCH", 7)
    source, target = MemoryEngine(), MemoryEngine()
    source.transact(lambda txn: [txn.put(f"req/a/{n:03}", "{}") for n in range(100)])
    source.transact(lambda txn: [txn.emit(event(n)) for n in range(50)])
    seen = []

    moved = move(source, target, progress=lambda *step: seen.append(step))

    assert (moved.rows, moved.entries) == (100, 51)
    assert len(ledger(target)) == 52
    assert ("copying rows", 98, 100) in seen


def event(n):
    return Event("alice", "agent", Kind.DECISION_MADE, f"decision {n}", {"n": n})


class Killed(BaseException):
    """The migrating process ends here."""


class Dying:
    """An engine whose user is killed at a given transaction, counted over both stores."""

    def __init__(self, engine, fuse):
        self._engine = engine
        self._fuse = fuse

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def transact(self, step):
        self._fuse.burn()
        answer = self._engine.transact(step)
        self._fuse.burn()
        return answer


class Fuse:
    def __init__(self, length):
        self.left = length

    def burn(self):
        self.left -= 1
        if self.left == 0:
            raise Killed


def killed_at(moment, source, target):
    fuse = Fuse(moment)
    try:
        move(Dying(source, fuse), Dying(target, fuse), force=True)
    except Killed:
        return True
    return False


def test_a_migration_killed_at_any_moment_leaves_at_most_one_store_open_and_can_run_again(
    monkeypatch,
):
    monkeypatch.setattr(service, "BATCH", 2)
    for moment in itertools.count(1):
        crew, target = Crew(), MemoryEngine()
        token = crew.claim("alice", "a").token
        crew.claim("bob", "b")

        killed = killed_at(moment, crew.engine, target)

        open_stores = [e for e in (crew.engine, target) if why(e) is None and rows(e)]
        assert len(open_stores) <= 1, moment
        assert move(crew.engine, target, force=True).claims == 2
        assert Team(target).release("alice", "a", token=token)
        assert [e.seq for e in ledger(target)] == sorted({e.seq for e in ledger(target)})
        assert why(crew.engine) == "moved"
        if not killed:
            break
    assert moment > 10


def test_a_migration_can_be_canceled_until_the_old_store_is_marked_as_migrated(monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    fates = set()
    for moment in itertools.count(1):
        crew, target = Crew(), MemoryEngine()
        crew.claim("alice", "a")
        if not killed_at(moment, crew.engine, target):
            break

        try:
            fates.add(cancel(StoreSide(crew.engine, "old")))
        except Misconfigured:
            fates.add("too late")
            assert why(crew.engine) == "moved"
        else:
            assert crew.held() == {("alice", "a")}
            assert why(target) is not None or not rows(target)
            assert move(crew.engine, target, force=True).claims == 1
    assert fates == {False, True, "too late"}


def test_a_canceled_migration_stops_before_the_new_store_opens():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")

    def watch(what, done, _total):
        if what == "comparing":
            cancel(StoreSide(crew.engine, "old"))

    with pytest.raises(Unavailable, match="canceled"):
        move(crew.engine, target, force=True, progress=watch)

    assert crew.held() == {("alice", "a")}
    assert why(target) == "arriving"


def test_of_two_concurrent_migrations_only_the_later_one_continues():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")
    second = []

    def watch(what, done, _total):
        if what == "comparing":
            second.append(move(crew.engine, target, force=True))

    with pytest.raises(Unavailable, match="another process is migrating"):
        move(crew.engine, target, force=True, progress=watch)

    assert len(second) == 1
    assert Team(target).claims.all()[0][0].claim.agent == "alice"


def test_a_migration_stops_when_another_one_has_started_to_clear_its_copy():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")
    fuse = Fuse(4)  # after the first rows are deleted

    def watch(what, done, _total):
        if what == "comparing":
            with pytest.raises(Killed):
                move(Dying(crew.engine, fuse), Dying(target, fuse), force=True)

    with pytest.raises(Unavailable, match="another process is migrating"):
        move(crew.engine, target, force=True, progress=watch)

    assert (why(crew.engine), why(target)) == ("moving", "arriving")
    assert move(crew.engine, target, force=True).claims == 1
    assert isinstance(Team(target).claim("bob", "a"), Denied)


def test_a_copy_that_differs_is_detected_and_the_old_store_is_not_closed():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")

    def watch(what, done, _total):
        if (what, done) == ("copying rows", 3):
            target.transact(lambda txn: txn.delete("agent/alice"))

    with pytest.raises(Unavailable, match="new differs from old") as refused:
        move(crew.engine, target, force=True, progress=watch)

    assert refused.value.code == "STORE_DIFFERS"
    assert (why(crew.engine), why(target)) == ("moving", "arriving")
    assert cancel(StoreSide(crew.engine, "old"))
    assert crew.held() == {("alice", "a")}


def test_repeating_a_finished_migration_changes_nothing():
    crew, target = Crew(), MemoryEngine()
    crew.claim("alice", "a")
    first = move(crew.engine, target, force=True)
    Team(target).claim("bob", "b")
    before = rows(target)

    assert move(crew.engine, target, force=True) == first

    assert rows(target) == before
    with pytest.raises(Misconfigured, match="migrated to new"):
        move(crew.engine, MemoryEngine())


@pytest.mark.parametrize("row", ["", "[]", "nonsense", '{"why": 3}', '{"at": "x"}'])
def test_an_unreadable_closed_row_still_closes_the_store(row):
    crew = Crew()
    crew.engine.transact(lambda txn: txn.put(CLOSED, row))

    with pytest.raises(DibsError):
        crew.claim("alice", "a")
