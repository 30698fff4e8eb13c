"""A bare repository on "another machine": as a path, through git daemon, and over smart HTTP."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.servers.processes import ServerProcess, clean_environment, listener

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "remote.git"


class GitRemote:
    """A bare repository, ``folder/remote.git``; its servers start when their URL is first needed."""

    def __init__(
        self, folder: str | os.PathLike[str], *, user: str = "", password: str = ""
    ) -> None:
        self.folder = os.path.realpath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.path = os.path.join(self.folder, NAME)
        #: The login that smart HTTP requires; none by default.
        self.login = f"{user}:{password}" if user else ""
        self.git("init", "--quiet", "--bare", "--initial-branch=main", self.path, bare=False)
        self.git("config", "http.receivepack", "true")
        self.daemon = GitDaemon(self.folder)
        self._http: SmartHttp | None = None

    def git_url(self, port: int = 0) -> str:
        """Return the URL at git daemon, through a proxy's ``port`` if one is given."""
        if not self.daemon.running:
            self.daemon.start()
        return f"git://127.0.0.1:{port or self.daemon.port}/{NAME}"

    @property
    def http(self) -> SmartHttp:
        """The HTTP server."""
        self._http = self._http or SmartHttp(self.folder, self.login)
        return self._http

    def http_url(self, port: int = 0) -> str:
        """Return the HTTP URL, through a proxy's ``port`` if one is given."""
        return f"http://127.0.0.1:{port or self.http.port}/{NAME}"

    def git(self, *words: str, bare: bool = True) -> str:
        """Run git on the repository, as on its own machine; return its output."""
        where = [f"--git-dir={self.path}"] if bare else []
        done = subprocess.run(
            ["git", *where, *words],
            check=True,
            capture_output=True,
            text=True,
            env=clean_environment(),
        )
        return done.stdout.strip()

    def refs(self) -> dict[str, str]:
        """Return the commit of each ref."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split() for line in lines)

    def close(self) -> None:
        """Stop the servers; the repository stays."""
        self.daemon.close()
        if self._http is not None:
            self._http.close()
            self._http = None

    def __enter__(self) -> GitRemote:
        """Return self; the servers start when needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the servers."""
        self.close()


class GitDaemon(ServerProcess):
    """``git daemon`` for all repositories in a folder, with push."""

    def command(self) -> list[str]:
        """Return the command that serves the folder."""
        options = ["--reuseaddr", "--export-all", "--enable=receive-pack", "--verbose"]
        place = ["--listen=127.0.0.1", f"--port={self.port}", f"--base-path={self.folder}"]
        return ["git", "daemon", *options, *place, self.folder]

    def answers(self) -> bool:
        """Return whether it accepts connections."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True


class SmartHttp:
    """``git http-backend`` behind a small HTTP server, in threads of this process."""

    def __init__(self, folder: str, login: str) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self._server.folder = folder
        self._server.expected = (
            "Basic " + base64.b64encode(login.encode()).decode() if login else ""
        )
        self._server.socket.close()
        self._server.socket = listener()
        self.port: int = self._server.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """Stop it once running requests are answered."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    folder = ""
    expected = ""

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: many tests disconnect clients."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.close_connection = True
        body = b"".join(self._body())
        if self.server.expected and self.headers.get("Authorization", "") != self.server.expected:
            self._send(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
            return
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            env=self._variables(len(body)),
            capture_output=True,
            timeout=60,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [
            tuple(line.split(": ", 1)) for line in head.decode("latin-1").splitlines() if line
        ]
        status = next((int(value.split()[0]) for name, value in fields if name == "Status"), 200)
        self._send(status, [field for field in fields if field[0] != "Status"], content)

    def _send(self, status: int, fields: list[tuple[str, ...]], content: bytes) -> None:
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> Iterator[bytes]:
        """Yield the request's body; git sends a large one in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            yield self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _variables(self, length: int) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        return {
            **clean_environment(),
            "GIT_PROJECT_ROOT": self.server.folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "REMOTE_ADDR": "127.0.0.1",
        }

    def log_message(self, *_: object) -> None:
        """Print nothing."""
