"""A PgBouncer in front of a PostgreSQL server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scripts.setup import locate
from tests.servers.accounts import AccountServer, give
from tests.servers.postgres import USER, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Mapping


class PgBouncer(AccountServer):
    """A pool of ``size`` connections per database, which clients share one transaction at a time.

    ``settings`` are those of pgbouncer.ini, such as ``{"pool_mode": "session"}``.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        server: PostgresServer,
        *,
        size: int = 4,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(folder)
        self._server = server
        self.settings = {
            "pool_mode": "transaction",
            "default_pool_size": str(size),
            "max_client_conn": "200",
            **(settings or {}),
        }

    @property
    def url(self) -> str:
        """The URL of the database ``postgres``."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """Return the URL of a database, or of the same database as another URL's."""
        name = database.split("?", maxsplit=1)[0].rpartition("/")[2]
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{name}"

    def command(self) -> list[str]:
        """Write the configuration."""
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": self.home,
            "auth_type": "trust",
            "auth_file": self._write("users", [f'"{USER}" ""']),
            "admin_users": USER,
            **self.settings,
        }
        # The server's socket needs no password.
        target = f"* = host={self._server.home} port={self._server.port} user={USER}"
        settings = [f"{name} = {value}" for name, value in lines.items()]
        path = self._write("pgbouncer.ini", ["[databases]", target, "[pgbouncer]", *settings])
        return [locate("pgbouncer") or "pgbouncer", path]

    def _write(self, name: str, lines: list[str]) -> str:
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*lines, ""]))
        give(path)
        return path

    def answers(self) -> bool:
        """Return whether it accepts connections."""
        import psycopg

        try:
            return bool(self.admin("SHOW VERSION"))
        except psycopg.OperationalError:
            return False

    def admin(self, command: str) -> list[dict[str, object]]:
        """Run a command of the administration console, such as ``SHOW POOLS``; return its rows."""
        import psycopg
        from psycopg.rows import dict_row

        url = f"postgresql://{USER}@/pgbouncer?host={self.home}&port={self.port}"
        with psycopg.connect(
            url, autocommit=True, connect_timeout=5, row_factory=dict_row
        ) as client:
            cursor = client.execute(command)
            return cursor.fetchall() if cursor.description else []
