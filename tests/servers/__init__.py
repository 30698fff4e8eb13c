"""Real servers for tests, and faults between them and their clients; all on loopback, all short-lived.

``RedisServer`` runs redis-server; ``PostgresServer`` runs postgres and
its standbys, and ``PgBouncer`` a pool in front of it; ``GitRemote`` serves a bare repository as a
path, through ``git daemon``, and over smart HTTP; ``FaultProxy`` runs in front of any of them. Each
is a context manager, and anything a test leaves running is killed with the test process.
"""

from __future__ import annotations

from tests.servers.git import GitRemote
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port
from tests.servers.proxy import BOTH, REPLIES, REQUESTS, FaultProxy
from tests.servers.redis import RedisServer

__all__ = [
    "BOTH",
    "REPLIES",
    "REQUESTS",
    "FaultProxy",
    "GitRemote",
    "PgBouncer",
    "PostgresServer",
    "RedisServer",
    "free_port",
]
