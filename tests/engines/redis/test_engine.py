"""The Redis engine: what it refuses, how it connects, and what people can read."""

from __future__ import annotations

import subprocess
import threading
import time

import pytest
from tests.servers import RedisServer

from dibs.config.load import Config
from dibs.core.claims.agents import Caller
from dibs.core.patterns.pattern import parse
from dibs.engines.redis import server as redis_server
from dibs.engines.redis.engine import RedisEngine
from dibs.engines.redis.url import RedisNode
from dibs.engines.redis.url import parse as parse_url
from dibs.errors import Misconfigured, Unavailable
from dibs.services.claims.service import Claims
from dibs.services.state.store import Store
from dibs.testing.steps import event, increment, put


@pytest.fixture
def open_engine(redis_url):
    opened = []

    def open_engine(project="shop", url=redis_url, **options):
        opened.append(RedisEngine(url, project, **options))
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.close()


def refused(url, **options):
    with pytest.raises(Misconfigured) as caught:
        RedisEngine(url, "shop", timeout=2.0, **options)
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"
    return caught.value


# -- the URL


@pytest.mark.parametrize(
    ("url", "node", "rest"),
    [
        ("redis://h", ("h", 6379), (False, "", "", 0)),
        ("redis://u:p%40ss@h:1/3", ("h", 1), (False, "u", "p@ss", 3)),
        ("redis://:pass@[::1]:7/0", ("::1", 7), (False, "", "pass", 0)),
        ("rediss://h/2?ca=/x", ("h", 6379), (True, "", "", 2)),
        ("redis://h?db=4", ("h", 6379), (False, "", "", 4)),
        ("redis://", ("127.0.0.1", 6379), (False, "", "", 0)),
    ],
)
def test_a_url_says_where_the_store_is_and_how_to_log_in(url, node, rest):
    target = parse_url(url)

    assert (target.node.host, target.node.port) == node
    assert target[1:-1] == rest


def test_a_socket_url_may_have_a_login_and_a_database():
    target = parse_url("unix://u:p@/run/redis.sock?db=3")

    assert (target.node, target.user, target.db) == (RedisNode("", 0, "/run/redis.sock"), "u", 3)


@pytest.mark.parametrize(
    "url",
    ["redis://h:port", "redis://h:70000", "redis://h/x", "redis://h/1/2", "redis://h/-1", "redis://h?a=b",
     "redis+sentinel://h/s", "redis+cluster://h", "redis://a:1,b:2", "unix://x", "redis:/h",
     "redis://-oX:1", "redis://a b", "redis://[::1:5"],
)  # fmt: skip
def test_an_invalid_url_is_reported_in_one_line_that_does_not_repeat_it(url):
    secret = url.replace("://", "://u:s3cret@")

    error = refused(secret)

    assert error.code == "REDIS_URL"
    assert "\n" not in error.message


def test_the_location_can_be_shown_without_the_password():
    assert str(parse_url("redis://u:s3cret@h:1/3")) == "h:1, db 3"


# -- what is refused at the start


def test_a_server_that_may_evict_keys_is_refused_with_the_setting(tmp_path):
    with RedisServer(tmp_path, "maxmemory-policy volatile-ttl") as server:
        error = refused(server.url)

    assert error.code == "REDIS_EVICTION"
    assert "volatile-ttl" in error.message


def test_a_replica_is_refused_because_it_is_read_only(tmp_path):
    with RedisServer(tmp_path / "one") as primary, RedisServer(tmp_path / "two") as replica:
        replica.replica_of(primary)

        assert refused(replica.url).code == "REDIS_REPLICA"


def test_a_node_of_a_cluster_is_refused(tmp_path):
    with RedisServer(tmp_path, "cluster-enabled yes") as server:
        error = refused(server.url)

    assert error.code == "REDIS_MODE"
    assert "PostgreSQL for failover" in error.hint


@pytest.mark.parametrize("version", ["6.0.16", "5.0", "", "x"])
def test_a_server_that_is_too_old_is_refused_with_its_version(version):
    found = redis_server.Facts({"redis_version": version, "role": "master"})

    with pytest.raises(Misconfigured) as caught:
        redis_server.check(found, RedisNode("h", 1))

    assert caught.value.code == "REDIS_VERSION"
    assert version in caught.value.message


def test_a_wrong_password_is_reported_but_not_shown(tmp_path):
    with RedisServer(tmp_path, password="right") as server:
        for login in ("", ":s3cret@", "nobody:s3cret@"):
            url = server.url.replace(":right@", login)

            assert refused(url).code == "REDIS_AUTH"


def test_a_missing_database_is_a_configuration_error(redis_server):
    assert refused(redis_server.url_of(999_999)).code == "REDIS_URL"


def test_an_untrusted_certificate_is_refused(tmp_path):
    with RedisServer(tmp_path, tls=True) as server:
        assert refused(server.url.partition("?")[0]).code == "REDIS_TLS"
        assert refused(server.url.partition("?")[0] + "?ca=/not/there").code == "REDIS_TLS"

        engine = RedisEngine(server.url.replace("ssl_ca_certs", "ca"), "shop")
        put(engine, k="v")
        assert engine.view(lambda txn: txn.get("k")) == "v"
        engine.close()


def test_an_unreachable_server_is_unavailable_within_the_timeout():
    started = time.monotonic()

    with pytest.raises(Unavailable) as caught:
        RedisEngine("redis://u:s3cret@127.0.0.1:1/0", "shop", timeout=0.5)

    assert caught.value.code == "REDIS_UNREACHABLE"
    assert "s3cret" not in caught.value.message
    assert time.monotonic() - started < 5


def test_something_other_than_a_redis_server_is_unavailable(git_remote):
    port = git_remote.http.port

    with pytest.raises(Unavailable):
        RedisEngine(f"redis://127.0.0.1:{port}/0", "shop", timeout=1.0)


def test_a_user_with_access_to_only_our_keys_is_enough(tmp_path):
    rights = "+@read +@write +@scripting +@connection +info +time +wait +config|get"
    with RedisServer(tmp_path, f"user dibs on >s3cret ~dibs:* {rights}") as server:
        url = server.url.replace("://", "://dibs:s3cret@")

        engine = RedisEngine(url, "shop")

        assert engine.transact(increment) > 0
        assert engine.wait(0, 0) > 0
        engine.close()


# -- what people can read


def test_projects_on_one_server_do_not_see_each_other(open_engine):
    put(open_engine("one"), k="v")

    assert open_engine("two").view(lambda txn: txn.get("k")) is None


def test_redis_cli_can_show_who_holds_what(open_engine, redis_server, redis_url):
    engine = open_engine()
    store = Store(engine, Config())
    Claims(store).claim(Caller("alice"), [parse("src/a.py")], reason="fix login")
    db = redis_url.rpartition("/")[2]

    def cli(*words):
        command = ["redis-cli", "-p", str(redis_server.port), "-n", db, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "at/src/a.py//alice/" in cli("ZRANGE", "dibs:{shop}:keys", "0", "-1")
    assert '"reason":"fix login"' in cli("--raw", "HVALS", "dibs:{shop}:values")
    assert "lock_acquired" in cli("XRANGE", "dibs:{shop}:ledger", "-", "+")


# -- round trips


def calls_of(server, kind="evalsha"):
    return server.info("commandstats").get(f"cmdstat_{kind}", {"calls": 0})["calls"]


def test_a_claim_on_a_new_path_is_one_round_trip(tmp_path):
    with RedisServer(tmp_path) as server:
        engine = RedisEngine(server.url, "shop")
        claims = Claims(Store(engine, Config()))
        claims.claim(Caller("alice"), [parse("src/first.py")])
        before = calls_of(server)

        claims.claim(Caller("alice"), [parse("src/second.py"), parse("docs/x/y.md")])

        assert calls_of(server) - before == 1
        engine.close()


def test_waiting_blocks_on_the_server_without_polling(tmp_path):
    with RedisServer(tmp_path) as server:
        engine = RedisEngine(server.url, "shop")
        newest = engine.transact(increment)
        waiter = threading.Thread(target=lambda: engine.wait(newest, 1.0))
        waiter.start()
        time.sleep(0.2)
        before = server.info("stats")["total_commands_processed"]
        time.sleep(0.5)
        after = server.info("stats")["total_commands_processed"]
        waiter.join()
        engine.close()

    # Our own commands have a cost: PING does not count, INFO does.
    assert after - before <= 3


def test_the_script_is_loaded_again_when_the_server_forgot_it(open_engine, redis_server):
    engine = open_engine()
    first = engine.transact(increment)

    redis_server.call("SCRIPT", "FLUSH")

    assert engine.transact(increment) == first + 1


def test_a_handle_that_falls_far_behind_reads_everything_again(open_engine):
    ours, theirs = open_engine(), open_engine()
    put(ours, k="old")
    assert ours.view(lambda txn: txn.get("k")) == "old"
    for number in range(1100):
        theirs.transact(lambda txn, number=number: txn.put("k", str(number)))

    assert ours.view(lambda txn: txn.get("k")) == "1099"


def test_a_write_of_thousands_of_keys_is_seen_by_handles_that_knew_some_of_them(open_engine):
    ours, theirs = open_engine(), open_engine()
    put(ours, k5="old")
    assert ours.view(lambda txn: txn.get("k5")) == "old"

    put(theirs, **{f"k{number}": "new" for number in range(9000)})

    assert ours.view(lambda txn: txn.get("k5")) == "new"
    assert ours.view(lambda txn: sum(1 for _ in txn.scan(("k", "")))) == 9000


def test_damaged_details_of_an_entry_do_not_end_a_listing(open_engine, redis_server, redis_url):
    engine = open_engine()
    engine.transact(lambda txn: txn.emit(event("first")))
    with redis_server.client(redis_url) as client:
        client.xadd("dibs:{shop}:ledger", {"details": "{broken"}, id="99999999999999-0")
        state = client.hget("dibs:{shop}:meta", "state").split("|")
        state[4] = "99999999999999"
        client.hset("dibs:{shop}:meta", "state", "|".join(state))

    found = open_engine().view(lambda txn: [entry.details for entry in txn.events()])

    assert found[-1] == {"unreadable": "{broken"}


# -- inspection


def test_a_store_without_persistence_says_what_a_restart_costs(open_engine):
    levels = {finding.what: finding.level for finding in open_engine().inspect()}

    assert levels["durability"] == "warn"
    assert set(levels.values()) == {"ok", "warn"}


def test_a_store_that_persists_every_write_says_so(tmp_path):
    with RedisServer(tmp_path, aof="always") as server:
        engine = RedisEngine(server.url, "shop")
        levels = {finding.what: finding.level for finding in engine.inspect()}
        engine.close()

    assert levels["durability"] == "ok"


def test_asynchronous_replicas_are_reported(tmp_path):
    with RedisServer(tmp_path / "one") as primary, RedisServer(tmp_path / "two") as replica:
        replica.replica_of(primary)
        engine = RedisEngine(primary.url, "shop")

        levels = {finding.what: finding.level for finding in engine.inspect()}

        assert levels["failover"] == "warn"
        engine.close()
