"""Check what a PostgreSQL store guarantees with its server's settings."""

from __future__ import annotations

from dibs.core.text.findings import Finding, Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.engines.postgres.connection import PostgresConnection

_FACTS = b"""
SELECT current_setting('server_version'), (SELECT count(*) FROM dibs.kv WHERE project = $1),
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'), dibs.replicated(),
    (SELECT count(*) FROM pg_stat_replication),
    -- A role that may not see the states counts all standbys.
    (SELECT count(*) FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')),
    (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()),
    coalesce(inet_client_addr() << '127.0.0.0/8' OR inet_client_addr() = '::1', true)
"""


def inspect(link: PostgresConnection, server: object, until: float) -> list[Finding]:
    """Return what the store is, and what it guarantees."""
    (((*words,),),) = link.wire.run((_FACTS, (link.project,)), until=until)
    version, rows, *facts = [(word or b"").decode() for word in words]
    fsync, pages, commit, names, replicated, standbys, synchronous, tls, local = facts
    found = [
        (Level.OK, "store", f"{server}, version {version.split()[0]}, {rows} rows"),
        _durability(fsync == pages == "on", commit),
        _failover(commit, names, replicated == "t", int(standbys), int(synchronous)),
    ]
    if tls == "t" or local == "t":
        found.append((Level.OK, "access", "encrypted" if tls == "t" else "this machine only"))
    else:
        text = "the connection is not encrypted (add ?sslmode=verify-full to the URL)"
        found.append((Level.WARN, "access", text))
    if link.wire.pooled:
        text = (
            "the pooler does not forward notifications, so waiting agents poll 50 times per second"
        )
        found.append((Level.OK, "pooler", text))
    return [Finding(*one) for one in found]


def _durability(safe: bool, commit: str) -> tuple[str, str, str]:
    if not safe:
        text = "a power failure can damage the database (set fsync and full_page_writes to on)"
        return Level.BAD, "durability", text
    text = "a confirmed change survives a power failure"
    if commit == "off":
        text += " (Dibs commits with synchronous_commit = on, although the server's default is off)"
    return Level.OK, "durability", text


def _failover(
    commit: str, names: str, replicated: bool, standbys: int, synchronous: int
) -> tuple[str, str, str]:
    level, loss = Level.WARN, "a failover can lose the newest changes, which voids all claims"
    if replicated:
        level = Level.OK if synchronous else Level.BAD
        text = f"no loss: a change is confirmed once a synchronous standby has it ({names})"
        if not synchronous:
            text += "; no synchronous standby is connected, so every change waits"
    elif names:
        text = f"{loss}: synchronous_commit is {commit} (to prevent that, set it to on)"
    elif standbys:
        text = (
            f"asynchronous standbys only: {loss} (to prevent that, set synchronous_standby_names)"
        )
    else:
        level, text = Level.OK, "no standby: while the server is down, no one can claim"
    return level, "failover", text
