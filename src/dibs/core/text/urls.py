"""Addresses of engines, fit to be shown and stored: without passwords. Pure."""

from __future__ import annotations

from dibs.core.text.names import printable

HIDDEN = "***"
#: What is an address of a place on this machine: an @ in it is part of a name.
_PATHS = ("sqlite:", "file:", "git:file:")
#: Where a name without a password is a token more often than not.
_TOKENS = ("http", "https", "git:http", "git:https")
#: What the embedded store is called where its URL is empty.
EMBEDDED = "sqlite"


def shown(url: str) -> str:
    """Return the URL of an engine without what is secret in it."""
    if not url:
        return EMBEDDED
    scheme, mark, rest = url.partition("://")
    if mark and not url.startswith(_PATHS):
        # A password may hold every sign, so all up to the last @ is taken for the login.
        login, at, place = rest.rpartition("@")
        user, colon, _ = login.partition(":")
        if at:
            hidden = colon or scheme in _TOKENS
            name = f"{user}:{HIDDEN}" if colon and user else HIDDEN if hidden else user
            rest = f"{name}@{place}"
        url = f"{scheme}://{_options(rest)}"
    return printable(url)


def setting(name: str) -> str:
    """Return the line of ``dibs.toml`` that names the engine which is shown as ``name``."""
    from json import dumps

    return f"engine = {dumps('' if name == EMBEDDED else name, ensure_ascii=False)}"


def is_secret(url: str) -> bool:
    """Tell whether the URL holds something that is not shown."""
    return bool(url) and shown(url) != printable(url)


def _options(rest: str) -> str:
    place, mark, query = rest.partition("?")
    if not mark:
        return rest
    pairs = [pair.partition("=") for pair in query.split("&")]
    kept = (f"{k}{eq}{HIDDEN if 'pass' in k.lower() else v}" for k, eq, v in pairs)
    return f"{place}?{'&'.join(kept)}"
