"""Translation of git's error messages into one clear line each, without credentials."""

from __future__ import annotations

import re

from dibs.core.text.names import printable
from dibs.core.text.secrets import mask
from dibs.errors import DibsError, Misconfigured, Unavailable
from dibs.startup.records import Record

#: How many characters of git's output a message repeats.
_SHOWN = 200
#: Shorter parts of a password occur in too many words to mask.
_LEAST = 2


class Meaning(Record):
    """What a phrase in git's output means."""

    #: One of these phrases is in git's output; lower case.
    words: tuple[str, ...]
    error: type[DibsError]
    code: str
    message: str
    hint: str


# Checked in this order. All of these occur before anything is sent.
_MEANINGS = (
    Meaning(
        ("dubious ownership",), Misconfigured, code="REMOTE_OWNER",
        message="git does not trust the owner of {}",
        hint="if you trust it, run `git config --global --add safe.directory {}`",
    ),
    Meaning(
        ("repository's hash algorithm", "mismatched algorithms", "unexpected capabilities^{}"),
        Misconfigured, code="REMOTE_HASH",
        message="{} names its objects by SHA-256, which Dibs does not support",
        hint="use a repository with the object format sha1",
    ),
    Meaning(
        ("host key verification failed",), Misconfigured, code="REMOTE_HOST",
        message="the host key of {} is unknown", hint="connect once with `ssh` and verify the key",
    ),
    Meaning(
        ("could not resolve host", "unable to look up"), Unavailable, code="REMOTE_HOST",
        message="cannot resolve the host of {}", hint="check the host name and the network",
    ),
    Meaning(
        ("could not read username", "could not read password"), Misconfigured, code="REMOTE_AUTH",
        message="{} asks for credentials", hint="store them with a git credential helper",
    ),
    Meaning(
        ("authentication failed", "permission denied", "returned error: 403",
         "access denied or repository not exported", "service not enabled"),
        Misconfigured, code="REMOTE_AUTH",
        message="{} refused access", hint="check keys and permissions with `git fetch` and `git push`",
    ),
    Meaning(
        ("does not appear to be a git repository", "does not exist", "not found"),
        Unavailable, code="REMOTE_GONE",
        message="no git repository at {}", hint="check the URL",
    ),
    Meaning(
        ("ssl", "tls", "certificate"), Unavailable, code="REMOTE_TLS",
        message="cannot establish a secure connection to {}", hint="check its certificate",
    ),
    Meaning(
        ("connection refused", "failed to connect", "couldn't connect", "unable to connect",
         "network is unreachable", "connection timed out"),
        Unavailable, code="REMOTE_DOWN", message="cannot reach {}", hint="try again",
    ),
    Meaning(
        ("not our ref", "bad object", "missing necessary objects", "repository corruption on the remote"),
        Unavailable, code="STORE_DAMAGED", message="{} lost objects of the branch",
        hint="push them again from a clone that has them, or start over: dibs init --new-store",
    ),
    Meaning(
        ("not allowed",), Misconfigured, code="REMOTE_URL",
        message="git does not allow {}", hint="use a file, ssh, https, or git URL",
    ),
)  # fmt: skip


def refused(text: str, url: str) -> DibsError | None:
    """Return the error that git's output describes, if it implies that nothing was sent."""
    said = text.lower()
    for meaning in _MEANINGS:
        if any(words in said for words in meaning.words):
            message = f"{meaning.message.format(shown(url))}{_git_output(text, url)}"
            folder = _shell_word(shown(url).removeprefix("file://"))
            return meaning.error(message, code=meaning.code, hint=meaning.hint.format(folder))
    return None


def start_again(folder: str) -> str:
    """Return how to replace this machine's copy of a branch, which can be fetched again."""
    place = _shell_word(folder)
    return (
        f"move this copy away, and Dibs fetches it again: mv {place} {_shell_word(folder + '.old')}"
    )


def lost_objects(text: str, url: str) -> DibsError | None:
    """Return the error for a remote that no longer has what its branch points to, if git says that."""
    error = refused(text, url)
    return error if error is not None and error.code == "STORE_DAMAGED" else None


def _shell_word(text: str) -> str:
    from shlex import quote

    return quote(text)


def unclear(text: str, url: str) -> Unavailable:
    """Return the error for an unrecognized failure."""
    return Unavailable(f"git cannot use {shown(url)}{_git_output(text, url)}", code="REMOTE_FAILED")


def too_slow(url: str) -> Unavailable:
    """Return the error for a remote that does not respond."""
    return Unavailable(f"{shown(url)} timed out", code="REMOTE_DOWN", hint="try again")


def declined(reason: str, text: str, url: str) -> DibsError:
    """Return the error for a push that the remote refused by its own rules."""
    return Misconfigured(
        f"{shown(url)} refused the push ({printable(mask(reason))}){_git_output(text, url)}",
        code="REMOTE_REFUSED",
        hint="allow this account to push to the branch, or set another branch under [git]",
    )


def shown(url: str) -> str:
    """Return a URL that is safe to show: no credentials, no control characters."""
    # A password may contain any character, so everything up to the last @ counts as the login.
    return printable(url if url.startswith("file:") else re.sub(r"(?<=://).*@", "", url))


def _git_output(text: str, url: str) -> str:
    """Return the relevant part of git's output, masked, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "ssh:"))]
    words = " ".join((chosen or lines)[:2])
    words = re.sub(r"(?<!file)://\S*@", "://", words.replace(url, shown(url)))
    for secret in _secrets(url):
        words = words.replace(secret, "***")
    return f": {printable(mask(words))[:_SHOWN]}" if words else ""


def _secrets(url: str) -> list[str]:
    """Return the parts of a password that git may mistake for a host or a port, and print."""
    login = re.search(r"(?<!file)://[^:]*:(.*)@", url)
    parts = re.split(r"[/@:?#\s]", login[1]) if login else []
    return sorted((part for part in parts if len(part) >= _LEAST), key=len, reverse=True)
