"""URLs of engines and webhooks without their secrets, for display and storage. Pure."""

from __future__ import annotations

from dibs.core.text.names import printable

HIDDEN = "***"
#: Schemes of local paths, in which an @ is part of a name.
_PATHS = ("sqlite:", "file:", "git:file:")
#: Schemes of servers, whose URLs may contain a password.
_SERVERS = ("postgres:", "postgresql:", "redis:", "rediss:")
#: Schemes in which a user name without a password is usually a token.
_TOKENS = ("http", "https", "git:http", "git:https")
#: The name of the embedded engine, whose URL is empty.
EMBEDDED = "sqlite"


def shown(url: str) -> str:
    """Return an engine's URL without its secrets."""
    if not url:
        return EMBEDDED
    scheme, mark, rest = url.partition("://")
    if mark and not url.startswith(_PATHS):
        # A password may contain any character, so the login is everything up to the last @.
        login, at, place = rest.rpartition("@")
        user, colon, _ = login.partition(":")
        if at:
            hidden = colon or scheme in _TOKENS
            name = f"{user}:{HIDDEN}" if colon and user else HIDDEN if hidden else user
            rest = f"{name}@{place}"
        url = f"{scheme}://{_options(rest)}"
    elif url.startswith(_SERVERS) and "@" in url:  # a slash is missing
        url = f"{url.partition(':')[0]}:{HIDDEN}"
    return printable(url)


def site(url: str) -> str:
    """Return a webhook's URL without its login, path, and options: any of them may be a secret."""
    scheme, mark, rest = url.partition("://")
    if not mark or "@" in rest:
        return HIDDEN if url else ""
    place = min((rest.partition(end)[0] for end in "/?#\\"), key=len)
    return printable(f"{scheme}://{place}" + (f"/{HIDDEN}" if rest[len(place) + 1 :] else ""))


def without_secrets(url: str) -> str:
    """Return an engine's URL without its password; it works if the password comes from elsewhere."""
    hidden = shown(url)
    scheme, mark, rest = hidden.partition("://")
    login, at, place = rest.rpartition("@")
    if at and login.endswith(HIDDEN) and not url.startswith(_PATHS):
        user = login.removesuffix(HIDDEN).removesuffix(":")
        rest = f"{user}@{place}" if user else place
    place, query, options = rest.partition("?")
    kept = [pair for pair in options.split("&") if not pair.endswith(f"={HIDDEN}")]
    return f"{scheme}{mark}{place}{query if any(kept) else ''}{'&'.join(kept)}"


def setting(name: str) -> str:
    """Return the line of ``dibs.toml`` for the engine shown as ``name``."""
    from json import dumps

    return f"engine = {dumps('' if name == EMBEDDED else name, ensure_ascii=False)}"


def _options(rest: str) -> str:
    place, mark, query = rest.partition("?")
    if not mark:
        return rest
    pairs = [pair.partition("=") for pair in query.split("&")]
    kept = (f"{k}{eq}{HIDDEN if _is_hidden(k.lower()) else v}" for k, eq, v in pairs)
    return f"{place}?{'&'.join(kept)}"


def _is_hidden(option: str) -> bool:
    return "pass" in option or "secret" in option
