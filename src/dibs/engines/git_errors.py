"""What git's messages mean to a caller: one clear line each, without credentials."""

from __future__ import annotations

import re

from dibs.core.names import printable
from dibs.core.secrets import mask
from dibs.errors import DibsError, Misconfigured, Unavailable

#: How much of git's own words a message repeats.
_SHOWN = 200

# Looked for in this order in what git writes. These all come before anything is sent.
_KNOWN: tuple[tuple[str, type[DibsError], str, str, str], ...] = (
    ("dubious ownership", Misconfigured, "REMOTE_OWNER", "git does not trust the owner of {}",
     "git config --global --add safe.directory <that folder>, if you trust it"),
    ("host key verification failed", Misconfigured, "REMOTE_HOST",
     "the host key of {} is not known", "connect once with ssh, and check the key"),
    ("could not resolve host", Unavailable, "REMOTE_HOST", "the host of {} is not known",
     "check the name and the network"),
    ("unable to look up", Unavailable, "REMOTE_HOST", "the host of {} is not known",
     "check the name and the network"),
    ("authentication failed", Misconfigured, "REMOTE_AUTH", "{} refused the credentials",
     "check them with git fetch"),
    ("could not read username", Misconfigured, "REMOTE_AUTH", "{} asks for credentials",
     "store them in a git credential helper"),
    ("could not read password", Misconfigured, "REMOTE_AUTH", "{} asks for credentials",
     "store them in a git credential helper"),
    ("permission denied", Misconfigured, "REMOTE_AUTH", "{} refused access",
     "check keys and permissions with git fetch"),
    ("returned error: 403", Misconfigured, "REMOTE_AUTH", "{} refused access",
     "check the permissions of your account"),
    ("access denied or repository not exported", Misconfigured, "REMOTE_AUTH",
     "{} is not there, or refuses access", "check the address"),
    ("service not enabled", Misconfigured, "REMOTE_AUTH", "{} takes no pushes",
     "enable receive-pack there"),
    ("does not appear to be a git repository", Unavailable, "REMOTE_GONE",
     "there is no git repository at {}", "check the address"),
    ("does not exist", Unavailable, "REMOTE_GONE", "there is no git repository at {}",
     "check the address"),
    ("not found", Unavailable, "REMOTE_GONE", "there is no git repository at {}",
     "check the address"),
    ("ssl", Unavailable, "REMOTE_TLS", "no safe connection to {}", "check its certificate"),
    ("connection refused", Unavailable, "REMOTE_DOWN", "{} cannot be reached", "try again"),
    ("failed to connect", Unavailable, "REMOTE_DOWN", "{} cannot be reached", "try again"),
    ("couldn't connect", Unavailable, "REMOTE_DOWN", "{} cannot be reached", "try again"),
    ("unable to connect", Unavailable, "REMOTE_DOWN", "{} cannot be reached", "try again"),
    ("network is unreachable", Unavailable, "REMOTE_DOWN", "{} cannot be reached", "try again"),
    ("connection timed out", Unavailable, "REMOTE_DOWN", "{} cannot be reached", "try again"),
    ("not allowed", Misconfigured, "REMOTE_URL", "git does not use {}",
     "use a file, ssh, https or git URL"),
)  # fmt: skip


def refused(text: str, url: str) -> DibsError | None:
    """Return what ``text`` of git says, if it says that nothing can have been sent."""
    said = text.lower()
    for words, error, code, message, hint in _KNOWN:
        if words in said:
            return error(f"{message.format(shown(url))}{_own_words(text)}", code=code, hint=hint)
    return None


def unclear(text: str, url: str) -> Unavailable:
    """Return the error for a failure that we have no name for."""
    return Unavailable(f"git cannot use {shown(url)}{_own_words(text)}", code="REMOTE_FAILED")


def too_slow(url: str) -> Unavailable:
    """Return the error for a remote that does not answer."""
    return Unavailable(f"{shown(url)} did not answer in time", code="REMOTE_DOWN", hint="try again")


def declined(reason: str, text: str, url: str) -> DibsError:
    """Return the error for a push that the remote refused by its own rules."""
    return Misconfigured(
        f"{shown(url)} refused the push ({printable(mask(reason))}){_own_words(text)}",
        code="REMOTE_REFUSED",
        hint="let this account push to the branch, or name another branch",
    )


def shown(url: str) -> str:
    """Return an address fit for a message: no credentials, nothing that a terminal obeys."""
    return printable(re.sub(r"(?<=://)[^/@\s]*@", "", url))


def _own_words(text: str) -> str:
    """Return what matters of git's own words, masked, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "ssh:"))]
    words = " ".join((chosen or lines)[:2])
    words = re.sub(r"(?<=://)[^/@\s]*@", "", words)
    return f": {printable(mask(words))[:_SHOWN]}" if words else ""
