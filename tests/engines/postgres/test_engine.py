"""The PostgreSQL engine: how it connects, what it refuses, and what people can read."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, closing

import psycopg
import pytest
from tests.engines.agents import Agent, reasons
from tests.servers import PgBouncer, PostgresServer
from tests.servers.certificates import certificate

from dibs.core.text.urls import shown
from dibs.engines.postgres.connection import high
from dibs.engines.postgres.engine import PostgresEngine
from dibs.engines.postgres.url import each_server, place
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.services.state.lifecycle import begin_life
from dibs.testing.steps import entries, event, everything, increment, put


@pytest.fixture
def open_engine(postgres_url):
    opened = []

    def open_engine(project="shop", url=postgres_url, **options):
        opened.append(PostgresEngine(url, project, **options))
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.close()


def refused(url, error=Misconfigured):
    with pytest.raises(error) as caught:
        PostgresEngine(url, "shop", timeout=2.0)
    told = f"{caught.value.message} {caught.value.hint}"
    assert "s3cret" not in told
    assert "\n" not in told
    return caught.value


# -- the URL


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://h/db", "h:5432/db"),
        ("postgres://u:s3cret@h:1/db?sslmode=require", "h:1/db"),
        ("postgresql://a,b:7/db", "a:5432,b:7/db"),
        ("postgresql://u@/db?host=/run/sock", "/run/sock:5432/db"),
        ("postgresql:///db", "localhost:5432/db"),
        ("postgresql://?service=team", "service team"),
    ],
)
def test_the_place_is_the_same_for_all_spellings_and_has_no_password(url, expected):
    assert place(url) == expected


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://u:s3cret@h:port/db", "a port is a number"),
        ("postgresql://u:s3cret@h:99999/db", "from 1 to 65535"),
        ("postgresql://u:s3cret@h/db?nonsense=1", "nonsense"),
        ("postgresql://u:s3cret@h/db?s3cret", "separator"),
        ("postgresql://u:s3cret%zz@h/db", "percent-encoded"),
        ('postgresql://u:a"s3cret%zz@h/db', "percent-encoded"),
        ('postgresql://u:a"b"s3cret s3cret@h/db', "spaces"),
        ('postgresql://u:a"s3cret@[::1]x/db', "unexpected character"),
        ('postgresql://u:a"s3cret@[::1/db', "IPv6"),
        ('postgresql://h/db?a"s3cret"=1', "parameter"),
        ("postgresql://u:s3cret s3cret@h/db", "spaces"),
        ("postgresql://u:s3cret@[::1/db", "IPv6"),
        ("postgresql://u:a@s3cret@h/db", "%40"),
        ("postgresql://u:s3cret/a@h/db", "%2F"),
        ("postgresql://u:7/s3cret@h/db", "%2F"),
        ("postgresql://u:s3cret@h/db?sslmode=bogus", "invalid sslmode"),
        ("postgresql://?service=missing&password=s3cret", "service"),
    ],
)
def test_an_invalid_url_is_reported_in_one_line_without_the_password(url, told, monkeypatch):
    monkeypatch.setenv("PGSERVICEFILE", "/not/there")
    started = time.monotonic()

    error = refused(url)

    assert error.code == "POSTGRES_URL"
    assert told in error.message
    assert time.monotonic() - started < 1  # a retry cannot help


def test_passwords_in_options_are_hidden():
    url = "postgresql://u:s3cret@h/db?sslpassword=s3cret&oauth_client_secret=s3cret&sslmode=require"

    assert "s3cret" not in shown(url)
    assert "sslmode=require" in shown(url)


def test_the_environment_completes_a_url_and_cannot_change_it(monkeypatch):
    monkeypatch.setenv("PGHOST", "completed")
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.9")
    monkeypatch.setenv("PGPORT", "7")

    (server,) = each_server("postgresql://named:5/db")

    assert "host=named" in server
    assert "hostaddr=''" in server
    assert place("postgresql:///db") == "completed:7/db"
    assert place("postgresql://named:5/db") == "named:5/db"


def test_of_several_servers_only_a_primary_is_used():
    one, two = each_server("postgresql://a,b:7/db")

    assert "host=a" in one
    assert "port=7" in two
    assert "target_session_attrs=read-write" in one


def test_a_server_that_does_not_respond_does_not_hide_the_next(postgres_server, postgres_url):
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        port, name = silent.getsockname()[1], postgres_url.rpartition("/")[2]
        hosts = f"127.0.0.1:{port},127.0.0.1:{postgres_server.port}"
        started = time.monotonic()

        engine = PostgresEngine(f"postgresql://dibs@{hosts}/{name}", "shop", timeout=6.0)

        assert time.monotonic() - started < 3.0
        assert engine.transact(increment)
        engine.close()


# -- what is refused


def test_a_wrong_password_is_reported_but_not_shown(tmp_path):
    with PostgresServer(tmp_path, password="right") as server:
        assert refused(server.url.replace(":right@", ":s3cret@")).code == "POSTGRES_AUTH"
        assert refused(server.url.replace(":right@", "@")).code == "POSTGRES_AUTH"
        PostgresEngine(server.url, "shop").close()


def test_a_missing_database_is_a_configuration_error(postgres_server):
    assert refused(postgres_server.url_of("missing")).code == "POSTGRES_AUTH"


def test_a_wrong_setting_in_the_url_is_a_configuration_error(
    postgres_server, postgres_url, tmp_path
):
    wrong = f"{postgres_url}?options=-c%20statement_timout%3D5s"
    assert refused(wrong).code == "POSTGRES_URL"

    with PgBouncer(tmp_path, postgres_server) as pooler:
        url = f"{pooler.url_of(postgres_url)}?options=-c%20extra_float_digits%3D1%20-c%20work_mem%3D1MB"
        assert refused(url).code == "POSTGRES_URL"


def test_an_untrusted_certificate_is_refused(tmp_path):
    with PostgresServer(tmp_path, tls=True) as server:
        plain = server.url.partition("?")[0]

        other = certificate(str(tmp_path))
        for trusted in ("/not/there", other):
            error = refused(f"{plain}?sslmode=verify-full&sslrootcert={trusted}")
            assert error.code == "POSTGRES_AUTH"
        refused(server.url.replace("127.0.0.1", "localhost"))
        engine = PostgresEngine(server.url, "shop")
        found = {finding.what: finding.text for finding in engine.inspect()}
        engine.close()

    assert found["access"] == "encrypted"


def test_an_unreachable_server_is_unavailable_within_the_timeout():
    started = time.monotonic()

    error = refused("postgresql://u:s3cret@127.0.0.1:1/db", Unavailable)

    assert error.code == "POSTGRES_UNREACHABLE"
    assert time.monotonic() - started < 5


def test_a_role_without_rights_is_refused_until_it_has_them(postgres_server, postgres_url):
    postgres_server.sql("DROP ROLE IF EXISTS guest")
    postgres_server.sql("CREATE ROLE guest LOGIN")
    guest = postgres_url.replace("dibs@", "guest@")

    assert refused(guest).code == "POSTGRES_AUTH"  # it cannot create the schema

    PostgresEngine(postgres_url, "shop").close()
    postgres_server.sql("GRANT USAGE ON SCHEMA dibs TO guest", postgres_url)
    tables = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dibs TO guest"
    postgres_server.sql(tables, postgres_url)
    for project in ("shop", "new"):
        engine = PostgresEngine(guest, project)
        assert engine.transact(increment)
        assert engine.inspect()
        engine.close()


@pytest.mark.parametrize("number", [2, 99])
def test_a_schema_of_another_format_is_refused(open_engine, postgres_server, postgres_url, number):
    open_engine()
    postgres_server.sql(f"UPDATE dibs.version SET number = {number}", postgres_url)

    assert refused(postgres_url).code == "STORE_FORMAT"


@pytest.mark.parametrize("rows", [0, 2])
def test_a_schema_without_a_clear_version_is_refused(
    open_engine, postgres_server, postgres_url, rows
):
    open_engine()
    second = "INSERT INTO dibs.version SELECT number FROM dibs.version"
    with pytest.raises(psycopg.errors.UniqueViolation):
        postgres_server.sql(second, postgres_url)
    postgres_server.sql(
        f"DROP INDEX dibs.one_version; {second}" if rows else "DELETE FROM dibs.version",
        postgres_url,
    )

    error = refused(postgres_url, Unavailable)

    assert error.code == "STORE_DAMAGED"
    assert f"dibs.version has {rows} rows" in error.message


def test_the_failure_of_several_servers_that_says_most_is_reported(postgres_server):
    url = postgres_server.url_of("missing").replace("/missing", ",127.0.0.1:9/missing")

    for one in (
        url,
        url.replace(
            f"127.0.0.1:{postgres_server.port},127.0.0.1:9",
            f"127.0.0.1:9,127.0.0.1:{postgres_server.port}",
        ),
    ):
        assert refused(one).code == "POSTGRES_AUTH"


def test_a_nul_character_is_refused_and_nothing_is_written(open_engine):
    engine = open_engine()

    with pytest.raises(Unavailable, match="NUL"):
        put(engine, a="b\0c")

    assert engine.view(lambda txn: txn.get("a")) is None


# -- time and settings


def test_text_is_the_same_whatever_encoding_a_client_has(open_engine, postgres_url, monkeypatch):
    put(open_engine(), **{"süd→": "höhe"})
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")

    for url in (postgres_url, f"{postgres_url}?client_encoding=latin1"):
        assert everything(open_engine(url=url)) == [("süd→", "höhe")]


@pytest.mark.parametrize(("encoding", "works"), [("SQL_ASCII", True), ("LATIN1", False)])
def test_a_database_that_lacks_characters_is_refused(postgres_server, open_engine, encoding, works):
    name = f"in_{encoding.lower()}"
    postgres_server.sql(
        f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
    )
    url = postgres_server.url_of(name)
    if works:
        put(open_engine(url=url), **{"süd→": "höhe"})
        assert everything(open_engine(url=url)) == [("süd→", "höhe")]
    else:
        assert refused(url).code == "POSTGRES_ENCODING"


def test_a_read_only_session_is_refused_and_not_unknown(open_engine, postgres_server, postgres_url):
    open_engine()
    database = postgres_url.rpartition("/")[2]
    postgres_server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")

    error = refused(postgres_url, Unavailable)

    assert error.code == "POSTGRES_STANDBY"
    assert "default_transaction_read_only" in error.message


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_stricter_isolation_level_does_not_break_concurrent_writers(
    postgres_server, postgres_url, tmp_path, level, pooled
):
    database, both, failed = postgres_url.rpartition("/")[2], threading.Barrier(6), []
    postgres_server.sql(f"ALTER DATABASE {database} SET default_transaction_isolation = '{level}'")

    def work(url):
        both.wait(20)
        try:  # the first one creates the schema
            with closing(PostgresEngine(url, "shop", timeout=20.0)) as engine:
                for number in range(20):
                    engine.transact(increment if number % 2 else lambda txn: txn.emit(event("x")))
        except DibsError as error:
            failed.append(error)

    with ExitStack() as stack:
        url = postgres_url
        if pooled:
            url = stack.enter_context(PgBouncer(tmp_path, postgres_server, size=6)).url_of(url)
        threads = [threading.Thread(target=work, args=(url,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert failed == []
    with closing(PostgresEngine(postgres_url, "shop")) as engine:
        assert engine.view(lambda txn: txn.get("count")) == "60"
        assert len(entries(engine)) == 120


#: Functions and operators that fit better than the built-in ones.
HIJACKS = [
    f"CREATE FUNCTION public.{function} LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$"
    for function in (
        "cardinality(text[]) RETURNS int",
        f"concat_ws(text, text, bigint, text{', bigint' * 5}, text, text, int) RETURNS text",
        "clock_timestamp() RETURNS timestamptz",
        "pg_backend_pid() RETURNS int",
        "pg_try_advisory_lock_shared(int, text) RETURNS bool",
        "same(text[], text[]) RETURNS bool",
        "times(numeric, int) RETURNS numeric",
    )
] + [
    "CREATE OPERATOR public.= (FUNCTION = public.same, LEFTARG = text[], RIGHTARG = text[])",
    "CREATE OPERATOR public.<> (FUNCTION = public.same, LEFTARG = text[], RIGHTARG = text[])",
    "CREATE OPERATOR public.* (FUNCTION = public.times, LEFTARG = numeric, RIGHTARG = int)",
]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("path", ["public", "public, pg_catalog"])
def test_functions_of_other_roles_are_not_used(
    postgres_server, postgres_url, tmp_path, path, pooled
):
    database = postgres_url.rpartition("/")[2]
    postgres_server.sql(";".join(HIJACKS), postgres_url)
    postgres_server.sql(f"ALTER DATABASE {database} SET search_path = {path}")
    with ExitStack() as stack:
        url = postgres_url
        if pooled:
            url = stack.enter_context(PgBouncer(tmp_path, postgres_server)).url_of(url)
        engine = stack.enter_context(closing(PostgresEngine(url, "shop")))
        alice = Agent("alice", engine)

        held = alice.claim()
        put(engine, kept="yes")
        link = engine._session.link(time.monotonic() + 5)
        link.lock((), (), time.monotonic() + 5)
        link.finish()
        assert engine.view(lambda txn: list(txn.events(agents=["alice"])))
        assert engine.wait(0, 0.1)
        assert alice.release(held.token)


@pytest.mark.parametrize("pooled", [False, True])
def test_times_in_the_ledger_are_exact_whatever_the_database_prints(
    postgres_server, postgres_url, tmp_path, pooled
):
    database = postgres_url.rpartition("/")[2]
    postgres_server.sql(f"ALTER DATABASE {database} SET extra_float_digits = -15")
    with ExitStack() as stack:
        url = postgres_url
        if pooled:
            url = stack.enter_context(PgBouncer(tmp_path, postgres_server)).url_of(url)
        engine = stack.enter_context(closing(PostgresEngine(url, "shop")))

        engine.transact(increment)

        (entry,) = entries(engine)
        same = f"SELECT at = '{entry.at!r}' FROM dibs.ledger"
        assert postgres_server.sql(same, postgres_url) == [(True,)]


@pytest.mark.parametrize("by_the_last_writer", [False, True])
@pytest.mark.parametrize("jump", [3600, -3600, 5])
def test_a_jump_of_the_servers_clock_ends_the_life_and_time_continues(
    postgres_server, postgres_url, jump, by_the_last_writer
):
    agents = [
        Agent(name, PostgresEngine(postgres_url, "shop", renew=begin_life))
        for name in ("alice", "bob")
    ]
    alice, bob = agents
    alice.claim()
    before = alice.engine.view(lambda txn: txn.now)

    postgres_server.sql(f"UPDATE dibs.project SET shift = shift + {jump}000000", postgres_url)
    first, second = (alice, bob) if by_the_last_writer else (bob, alice)
    first.claim("other")
    second.claim("third")

    assert any(f"jumped by {jump:+}" in why for why in reasons(bob))
    assert before <= alice.engine.view(lambda txn: txn.now) < before + 5
    for one in agents:
        one.engine.close()


def test_commits_wait_for_the_disk_although_the_server_does_not(
    open_engine, postgres_server, postgres_url
):
    database = postgres_url.rpartition("/")[2]
    postgres_server.sql(f"ALTER DATABASE {database} SET synchronous_commit = off")
    engine = open_engine()

    engine.transact(increment)

    unflushed = "SELECT pg_current_wal_insert_lsn() - pg_current_wal_flush_lsn()"
    assert postgres_server.sql(unflushed) == [(0,)]
    link = engine._session.link(time.monotonic() + 5)
    link.timeline = "00000009"  # as after a failover
    link.adopt(0.0, time.monotonic() + 5)
    assert postgres_server.sql(unflushed) == [(0,)]


def test_a_pooler_is_detected(tmp_path, postgres_server, postgres_url):
    with PgBouncer(tmp_path, postgres_server) as pooler:
        engine = PostgresEngine(pooler.url_of(postgres_url), "shop")
        found = [finding.what for finding in engine.inspect()]
        engine.close()

    assert "pooler" in found


def test_projects_in_one_database_do_not_see_each_other(open_engine):
    put(open_engine("one"), k="v")

    assert open_engine("two").view(lambda txn: txn.get("k")) is None


def test_long_ledgers_are_read_page_by_page_and_filtered_by_the_server(open_engine):
    engine = open_engine()
    engine.transact(lambda txn: [txn.emit(event(f"{n}")) for n in range(1203)])
    engine.transact(lambda txn: txn.emit(event("last")._replace(agent="other")))

    assert [int(entry.summary) for entry in entries(engine)[:-1]] == list(range(1203))
    found = engine.view(lambda txn: [e.summary for e in txn.events(agents=["other"])])
    assert found == ["last"]
    newest = engine.view(lambda txn: [e.summary for e in txn.events(newest_first=True)])
    assert newest[:2] == ["last", "1202"]
    assert newest[-1] == "0"


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [("a", "b"), ("a/", "a0"), ("\ud7ff", "\ue000"), ("a\U0010ffff", "b"), ("é", "ê")],
)
def test_the_end_of_a_range_is_the_next_prefix(prefix, expected):
    assert high(prefix) == expected
