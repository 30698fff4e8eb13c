"""A PostgreSQL server with its own port and folder, and its standbys."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from contextlib import suppress
from itertools import count

from scripts.setup import postgres_folder
from tests.servers.accounts import AccountServer, give, private_folder, run
from tests.servers.certificates import certificate
from tests.servers.processes import ServerError, keep, let_go, until

#: The superuser.
USER = "dibs"
#: A server for tests: small, and without waiting for disks. Data survives a killed server, but not a power
#: failure. Shared memory is in the server's folder, so that a killed server leaves none behind.
SETTINGS = {
    "shared_buffers": "16MB",
    "max_connections": "100",
    "fsync": "off",
    "huge_pages": "off",
    "dynamic_shared_memory_type": "mmap",
    "timezone": "UTC",
}


class PostgresServer(AccountServer):
    """One PostgreSQL server.

    ``settings`` are those of postgresql.conf, such as ``{"fsync": "on"}``. Without a ``password``, clients
    on this machine need none. With ``tls``, connections over TCP must be encrypted.
    """

    ending = signal.SIGINT  # a fast shutdown: it does not wait for clients

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        settings: dict[str, str] | None = None,
        password: str = "",
        tls: bool = False,
    ) -> None:
        super().__init__(folder)
        self.settings = {**SETTINGS, **(settings or {})}
        self.password = password
        self.data = os.path.join(self.home, "data")
        #: The certificate that a client must trust, with TLS.
        self.certificate = certificate(self.home) if tls else ""
        if tls:
            give(self._key)
        self._numbers = count(1)
        self._synchronous: list[str] = []
        #: The shared memory segment that a killed server leaves behind.
        self._memory = ""

    @property
    def _key(self) -> str:
        return os.path.join(self.home, "server.key")

    @property
    def url(self) -> str:
        """The URL of the database ``postgres``."""
        return self.url_of("postgres")

    def url_of(self, database: str, port: int = 0) -> str:
        """Return the URL of a database, through a proxy's ``port`` if one is given."""
        login = f"{USER}:{self.password}" if self.password else USER
        trust = f"?sslmode=verify-full&sslrootcert={self.certificate}" if self.certificate else ""
        return f"postgresql://{login}@127.0.0.1:{port or self.port}/{database}{trust}"

    @property
    def unix_url(self) -> str:
        """The URL of the database ``postgres`` through the unix socket; it needs no password."""
        return f"postgresql://{USER}@/postgres?host={self.home}&port={self.port}"

    def command(self) -> list[str]:
        """Write the configuration files, and the data of a new server."""
        if not os.path.exists(self.data):
            subprocess.run(["cp", "-Rp", _template(), self.data], check=True)
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": self.home,
            **self.settings,
        }
        method, host = ("scram-sha-256" if self.password else "trust"), "host"
        if self.certificate:
            settings |= {"ssl": "on", "ssl_cert_file": self.certificate, "ssl_key_file": self._key}
            host = "hostssl"
        lines = [f"{name} = '{value}'" for name, value in settings.items()]
        self._write("postgresql.conf", lines)
        kinds = ("all", "replication")
        allowed = [f"local {kind} all trust" for kind in kinds]
        allowed += [f"{host} {kind} all 127.0.0.1/32 {method}" for kind in kinds]
        self._write("pg_hba.conf", allowed)
        return [_program("postgres"), "-D", self.data]

    def _write(self, name: str, lines: list[str], mode: str = "w") -> None:
        path = os.path.join(self.data, name)
        with open(path, mode, encoding="utf-8") as file:
            file.write("\n".join([*lines, ""]))
        give(path)

    def start(self) -> PostgresServer:
        """Start on the last port, or on an unused one, and wait until the server responds."""
        super().start()
        self._forget_memory()
        with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
            self._memory = file.read().splitlines()[6].split()[1]
        keep("memory", self._memory)
        if self.password and not self.in_recovery():
            self.sql(f"ALTER ROLE {USER} PASSWORD '{self.password}'")
        return self

    def answers(self) -> bool:
        """Return whether the server accepts queries."""
        import psycopg

        try:
            return self.sql("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def sql(self, text: str, url: str = "") -> list[tuple[object, ...]]:
        """Run a statement as the superuser; return its rows."""
        import psycopg

        with psycopg.connect(url or self.unix_url, autocommit=True, connect_timeout=5) as client:
            cursor = client.execute(text)
            return cursor.fetchall() if cursor.description else []

    def database(self) -> str:
        """Create an empty database; return its URL."""
        name = f"test_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url_of(name)

    def drop(self, url: str) -> None:
        """Remove a database, and disconnect its clients."""
        name = url.split("?", maxsplit=1)[0].rpartition("/")[2]
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def configure(self, **settings: str) -> None:
        """Change settings of the running server, and wait until all its processes use them."""
        loaded = "SELECT pg_conf_load_time()"
        before = self.sql(loaded)
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")
        until(lambda: self.sql(loaded) != before, "the settings are loaded")
        # The checkpointer decides whether commits wait for a standby. It first loads the settings.
        self.sql("CHECKPOINT")

    def in_recovery(self) -> bool:
        """Return whether this is a standby."""
        return self.sql("SELECT pg_is_in_recovery()") == [(True,)]

    def standby(
        self, folder: str | os.PathLike[str], *, synchronous: bool, through=None
    ) -> PostgresServer:
        """Start a standby that replicates this server, or a proxy in front of it; return when in sync."""
        name = f"standby_{next(self._numbers)}"
        other = PostgresServer(
            folder, settings=self.settings, password=self.password, tls=bool(self.certificate)
        )
        source = self.url_of("", (through or self).port)
        source += f"{'&' if '?' in source else '?'}application_name={name}"
        backup = [_program("pg_basebackup"), "--pgdata", other.data, "--dbname", source]
        backup += ["--checkpoint=fast", "--no-sync"]
        backup += ["--write-recovery-conf", "--create-slot", "--slot", name]
        run(*backup, folder=other.home)
        # The primary's standbys are not the standby's.
        other._write("postgresql.auto.conf", ["synchronous_standby_names = ''"], "a")
        other.start()
        self._await(name, "state", "streaming")
        if synchronous:
            self._synchronous.append(name)
            names = ", ".join(self._synchronous)
            every = f"FIRST {len(self._synchronous)} ({names})"
            self.configure(synchronous_standby_names=every)
            self._await(name, "sync_state", "sync")
        return other

    def _await(self, standby: str, column: str, value: str) -> None:
        query = f"SELECT {column} FROM pg_stat_replication WHERE application_name = '{standby}'"
        until(lambda: self.sql(query) == [(value,)], f"{standby} has the {column} {value}")

    def promote(self) -> None:
        """Make a standby a primary, and wait until it accepts writes."""
        self.sql("SELECT pg_promote()")
        until(lambda: not self.in_recovery(), "the standby is a primary")

    def close(self) -> None:
        """End it permanently, and remove its files and its shared memory."""
        if self.running:
            self.resume()
            self.process.send_signal(signal.SIGQUIT)  # an immediate shutdown
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        self.kill()
        self._forget_memory()
        super().close()

    def _forget_memory(self) -> None:
        if self._memory:  # a server that was not killed has removed it
            command = ["ipcrm", "-m", self._memory]
            subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
            let_go("memory", self._memory)
            self._memory = ""


@functools.cache
def _template() -> str:
    """Return the data folder of a new server, which is created once per process and then copied."""
    home = private_folder()
    data = os.path.join(home, "data")
    kind = ["--no-sync", "--no-locale", "--encoding=UTF8", "--auth=trust", "--no-instructions"]
    run(_program("initdb"), "-D", data, "-U", USER, *kind, folder=home)
    return data


def _program(name: str) -> str:
    folder = postgres_folder()
    if not folder:
        raise ServerError("PostgreSQL is missing; `make test` installs it")
    return os.path.join(folder, name)
