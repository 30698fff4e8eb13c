"""How a server was asked to run."""

from __future__ import annotations

import ipaddress
import os
from typing import Any, NamedTuple

from dibs.errors import Misconfigured
from dibs.local.server_files import server_folder

#: Where it listens by default; other machines cannot reach it there.
HOST, PORT = "127.0.0.1", 7341


class ServeOptions(NamedTuple):
    """The options of ``dibs serve``."""

    #: The folder of the server's files.
    folder: str
    host: str = HOST
    #: 0 for any free port.
    port: int = PORT
    #: Other names that clients may use for this server in the header ``Host``.
    names: tuple[str, ...] = ()
    tls_cert: str = ""
    tls_key: str = ""
    #: Whether other machines may connect without TLS.
    insecure: bool = False
    #: A project to serve from the start.
    repo: str = ""
    #: Whether a hook started it: it takes another port if this one is in use, and exits when unneeded.
    auto: bool = False
    #: Whether it runs in a terminal or under a service manager, which wait for its process.
    attached: bool = False

    @property
    def tls(self) -> bool:
        """Whether connections over TCP are encrypted."""
        return bool(self.tls_cert)


def options_from(found: dict[str, Any]) -> ServeOptions:
    """Return options that were sent as JSON; options of other versions are ignored."""
    known = {name: found[name] for name in ServeOptions._fields if name in found}
    known["names"] = tuple(known.get("names", ()))
    return ServeOptions(**{"folder": server_folder(), **known})


def check_options(options: ServeOptions) -> ServeOptions:
    """Return the options with absolute paths; refuse an address that others could listen in on."""
    if bool(options.tls_cert) != bool(options.tls_key):
        raise Misconfigured(
            "--tls-cert and --tls-key belong together",
            code="TLS_FILES",
            hint="give both files, or neither",
        )
    for file in (options.tls_cert, options.tls_key):
        if file and not os.access(file, os.R_OK):
            raise Misconfigured(f"cannot read {file}", code="TLS_FILES", hint="check the path")
    if not (is_loopback(options.host) or options.tls or options.insecure):
        raise Misconfigured(
            f"other machines can reach {options.host}, so TLS is required",
            code="TLS_NEEDED",
            hint="use --tls-cert and --tls-key, or --insecure in a network that you trust",
        )
    files = {name: os.path.abspath(getattr(options, name)) for name in ("tls_cert", "tls_key")}
    return options._replace(**files) if options.tls else options


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
