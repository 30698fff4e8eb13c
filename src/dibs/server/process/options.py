"""How a server was asked to run."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from typing import NamedTuple

from dibs.errors import Misconfigured
from dibs.local.server_files import server_folder

#: Where it listens by default; other machines cannot reach it there.
HOST, PORT = "127.0.0.1", 7341
PROGRAM = "server/run.py"


class ServeOptions(NamedTuple):
    """The options of ``dibs serve``."""

    #: The folder of the server's files.
    folder: str
    host: str = HOST
    #: 0 for any free port.
    port: int = PORT
    #: Other names that clients may use for this server in the header ``Host``.
    names: tuple[str, ...] = ()
    #: Whether other machines may connect.
    insecure: bool = False
    #: A project to serve from the start.
    repo: str = ""
    #: Whether a hook started it: it takes another port if this one is in use, and exits when unneeded.
    auto: bool = False
    #: Whether it runs in a terminal, which shows its warnings.
    attached: bool = False
    #: The open file with the server's lock, if this process started again; else -1.
    lock: int = -1

    def argv(self, package: str) -> list[str]:
        """Return the command of a server with these options."""
        return [sys.executable, "-I", f"{package}/{PROGRAM}", json.dumps(self._asdict())]


def options_from(text: str) -> ServeOptions:
    """Return the options in the last word of a server's command; hooks give none."""
    if not text:
        return ServeOptions(server_folder(), auto=True)
    found = json.loads(text)
    return ServeOptions(**{**found, "names": tuple(found["names"])})


def check_options(options: ServeOptions) -> ServeOptions:
    """Return the options; refuse an address that others could listen in on."""
    if not (is_loopback(options.host) or options.insecure):
        raise Misconfigured(
            f"other machines can reach {options.host}, and the server does not encrypt",
            code="TLS_NEEDED",
            hint="put a proxy with TLS in front of it, or use --insecure in a network that you trust",
        )
    return options


def start_process(package: str, options: ServeOptions) -> subprocess.Popen[bytes]:
    """Start a server that is independent of this process and its terminal."""
    silent = subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 - our own program
        options.argv(package), stdin=silent, stdout=silent, stderr=silent, start_new_session=True
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_package() -> str:
    """Return the folder of the Dibs that this process runs."""
    import dibs

    return os.path.dirname(os.path.abspath(str(dibs.__file__)))
