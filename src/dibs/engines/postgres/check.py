"""Check what a PostgreSQL store guarantees with its server's settings."""

from __future__ import annotations

import time

from dibs.core.text.findings import Finding, Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.postgres.connection import PostgresConnection

_FACTS = b"""
SELECT current_setting('server_version'), (SELECT count(*) FROM dibs.kv WHERE project = $1),
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'), dibs.replicated()::int,
    (SELECT count(*) FROM pg_stat_replication),
    -- A role that may not see the states counts all standbys.
    (SELECT count(*) FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')),
    (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())::int,
    coalesce(inet_client_addr() << '127.0.0.0/8' OR inet_client_addr() = '::1', true)::int
"""


def inspect(link: PostgresConnection, server: object, until: float) -> list[Finding]:
    """Return what the store guarantees."""
    started = time.perf_counter()
    link.look((), (), until)
    trip = (time.perf_counter() - started) * 1e3
    (((*words,),),) = link.wire.run((_FACTS, (link.project,)), until=until)
    version, rows, *facts = [(word or b"").decode() for word in words]
    fsync, pages, commit, names, replicated, standbys, synchronous, tls, local = facts
    return [
        Finding(Level.OK, "store", f"{server}, version {version.split()[0]}, {rows} rows"),
        Finding(Level.OK, "reach", "every machine that can reach this server"),
        Finding(Level.OK, "round trip", f"{trip:.2f} ms per transaction"),
        Finding(
            Level.OK, "clock", "the server's; if it jumps, Dibs detects this and voids all claims"
        ),
        _durability(fsync == "on" and pages == "on", commit),
        _replicated(names, int(synchronous))
        if replicated == "1"
        else _failover(commit, names, int(standbys)),
        _access(tls == "1", local == "1"),
        *([_POOLED] if link.wire.pooled else ()),
    ]


_POOLED = Finding(
    Level.OK,
    "pooler",
    "the pooler does not forward notifications, so waiting agents poll 50 times per second",
)


def _durability(safe: bool, commit: str) -> Finding:
    if not safe:
        text = "a power failure can damage the database (set fsync and full_page_writes to on)"
        return Finding(Level.BAD, "durability", text)
    text = "a confirmed change survives a power failure"
    if commit == "off":
        text += " (Dibs commits with synchronous_commit = on, although the server's default is off)"
    return Finding(Level.OK, "durability", text)


def _replicated(names: str, standbys: int) -> Finding:
    text = f"no loss: a change is confirmed once a synchronous standby has it ({names})"
    if standbys:
        return Finding(Level.OK, "failover", text)
    text += "; no synchronous standby is connected, so every change waits"
    return Finding(Level.BAD, "failover", text)


def _failover(commit: str, names: str, standbys: int) -> Finding:
    if names:
        text = (
            f"a failover can lose the newest changes, which voids all claims: synchronous_commit is {commit}"
            " (to prevent that, set it to on)"
        )
        return Finding(Level.WARN, "failover", text)
    if not standbys:
        return Finding(
            Level.OK, "failover", "no standby: while the server is down, no one can claim"
        )
    text = (
        "asynchronous standbys only: a failover can lose the newest changes, which voids all claims"
        " (to prevent that, set synchronous_standby_names)"
    )
    return Finding(Level.WARN, "failover", text)


def _access(tls: bool, local: bool) -> Finding:
    if tls or local:
        return Finding(Level.OK, "access", "encrypted" if tls else "this machine only")
    text = "the connection is not encrypted (add ?sslmode=verify-full to the URL)"
    return Finding(Level.WARN, "access", text)
