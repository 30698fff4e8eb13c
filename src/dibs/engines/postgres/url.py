"""PostgreSQL engine URLs, as libpq defines them.

The environment can complete a URL, but not change it: the address in a URL is used although ``PGHOSTADDR``
or ``PGSERVICE`` names another one.
"""

from __future__ import annotations

import os

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dibs.errors import Misconfigured

_LAST_PORT = 65_535
#: The parts of an address, with the variable that completes a URL, and the default.
_ADDRESS = {
    "host": ("PGHOST", ""),
    "hostaddr": ("", ""),
    "port": ("PGPORT", "5432"),
    "options": ("", ""),
}


def complete(url: str) -> dict[str, str]:
    """Return libpq's options for a URL."""
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except ProgrammingError as error:
        raise _invalid(_without_quotes(str(error))) from None
    hosts, ports = (found.get(name, "").split(",") for name in ("host", "port"))
    # In the wrong place, these are parts of a password. The socket of an abstract name starts with an @.
    if any("@" in name[1:] for name in (*hosts, found.get("dbname", ""))):
        raise _invalid("in a user name or password, @ is %40 and / is %2F")
    if not all(not port or (port.isdecimal() and 0 < int(port) <= _LAST_PORT) for port in ports):
        raise _invalid(f"a port is a number from 1 to {_LAST_PORT}, and a / in a password is %2F")
    if "service" not in found:
        for name, (variable, default) in _ADDRESS.items():
            found.setdefault(name, os.environ.get(variable) or default)
        found.setdefault("dbname", os.environ.get("PGDATABASE") or found.get("user") or "")
    return {"fallback_application_name": "dibs", **found, "client_encoding": "UTF8"}


def place(url: str) -> str:
    """Return the place of a store, without secrets: the same for all spellings of its URL."""
    found = complete(url)
    if "service" in found:
        return f"service {found['service']}"
    servers = ",".join(f"{host or 'localhost'}:{port}" for host, _, port in _servers(found))
    return f"{servers}/{found['dbname']}"


def each_server(url: str) -> list[str]:
    """Return libpq's notation for each server in a URL; only one that accepts writes is used."""
    found = {"target_session_attrs": "read-write", **complete(url)}
    if "service" in found:
        return [make_conninfo(**found)]
    return [
        make_conninfo(**{**found, "host": host, "hostaddr": address, "port": port})
        for host, address, port in _servers(found)
    ]


def _servers(found: dict[str, str]) -> list[tuple[str, str, str]]:
    hosts, addresses, ports = (found[name].split(",") for name in ("host", "hostaddr", "port"))
    count = max(len(hosts), len(addresses))
    return [
        (hosts[at % len(hosts)], addresses[at % len(addresses)], ports[at % len(ports)] or "5432")
        for at in range(count)
    ]


def _invalid(why: str) -> Misconfigured:
    return Misconfigured(
        f"invalid PostgreSQL URL: {why}", code="POSTGRES_URL", field="engine",
        hint="write it as postgresql://USER@HOST/DATABASE",
    )  # fmt: skip


def _without_quotes(text: str) -> str:
    """Return libpq's complaint about a URL up to what it quotes, which may be the password."""
    import re

    name = r'invalid URI query parameter: "[a-z_]+"\n*$'
    found = re.match(rf'{name}|[^"]*("]" in IPv6 host address in URI)?', text)
    return " ".join(found[0].split()).rstrip(":").removesuffix(" found in") if found else ""
