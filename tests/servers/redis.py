"""A redis-server with its own port and folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing

from tests.servers.certificates import certificate
from tests.servers.processes import ServerProcess, until


class RedisServer(ServerProcess):
    """One redis-server.

    ``options`` are lines of redis.conf, such as ``"maxmemory-policy noeviction"``. ``aof`` is "no",
    "everysec", or "always". With ``user``, only that user may connect; with only a ``password``, it
    is the default user's.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *options: str,
        aof: str = "no",
        user: str = "",
        password: str = "",
        unix: bool = False,
        tls: bool = False,
    ) -> None:
        super().__init__(folder)
        self.options = list(options)
        self.aof = aof
        self.user = user
        self.password = password
        # A socket's path is limited to about a hundred characters, fewer than a test's folder may need.
        self.socket = os.path.join(tempfile.mkdtemp(prefix="dibs-"), "s") if unix else ""
        #: The certificate that a client must trust, with TLS.
        self.certificate = certificate(self.folder) if tls else ""

    @property
    def url(self) -> str:
        """The URL of database 0."""
        return self.url_of(0)

    def url_of(self, db: int, port: int = 0) -> str:
        """Return the URL of a database, through a proxy's ``port`` if one is given."""
        login = f"{self.user}:{self.password}@" if self.password else ""
        if self.certificate:
            trust = f"?ssl_ca_certs={self.certificate}"
            return f"rediss://{login}127.0.0.1:{port or self.port}/{db}{trust}"
        return f"redis://{login}127.0.0.1:{port or self.port}/{db}"

    @property
    def unix_url(self) -> str:
        """The URL of database 0 through the unix socket."""
        login = f"{self.user}:{self.password}@" if self.password else ""
        return f"unix://{login}{self.socket}?db=0"

    def command(self) -> list[str]:
        """Write redis.conf, so that no password is on the command line."""
        path = os.path.join(self.folder, "redis.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*self._settings(), *self.options, ""]))
        return ["redis-server", path]

    def _settings(self) -> list[str]:
        lines = ["bind 127.0.0.1", "daemonize no", "save ''", f"dir {self.folder}"]
        lines += ["databases 1024", "repl-diskless-sync-delay 0"]
        lines += (
            ["appendonly no"] if self.aof == "no" else ["appendonly yes", f"appendfsync {self.aof}"]
        )
        if self.certificate:
            key = os.path.join(self.folder, "server.key")
            lines += [
                "port 0",
                f"tls-port {self.port}",
                "tls-auth-clients no",
                f"tls-key-file {key}",
            ]
            lines += [f"tls-cert-file {self.certificate}", f"tls-ca-cert-file {self.certificate}"]
        else:
            lines += [f"port {self.port}"]
        if self.socket:
            lines += [f"unixsocket {self.socket}", "unixsocketperm 700"]
        if self.user:
            lines += ["user default off", f"user {self.user} on >{self.password} ~* &* +@all"]
        elif self.password:
            lines += [f"requirepass {self.password}", f"masterauth {self.password}"]
        return lines

    def client(self, url: str = "", *, timeout: float = 5.0):
        """Return a new redis-py client that never retries; the caller closes it."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return redis.Redis.from_url(
            url or self.url,
            decode_responses=True,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
        )

    def call(self, *words: object):
        """Return the server's reply to one command."""
        with closing(self.client()) as client:
            return client.execute_command(*words)

    def answers(self) -> bool:
        """Return whether the server answers PING and has finished loading."""
        import redis

        try:
            return self.call("PING") is True
        except redis.RedisError:
            return False

    def info(self, section: str) -> dict[str, object]:
        """Return a section of INFO."""
        return self.call("INFO", section)

    def replica_of(self, primary) -> None:
        """Replicate ``primary``, a server or a proxy in front of one, and wait until in sync."""
        self.call("REPLICAOF", "127.0.0.1", primary.port)
        until(lambda: self.info("replication")["master_link_status"] == "up", "replica in step")

    def promote(self) -> None:
        """Become a primary, with the data received so far."""
        self.call("REPLICAOF", "NO", "ONE")

    def close(self) -> None:
        """End it permanently."""
        super().close()
        if self.socket:
            shutil.rmtree(os.path.dirname(self.socket), ignore_errors=True)
