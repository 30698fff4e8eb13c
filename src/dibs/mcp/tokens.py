"""Who may call over HTTP: bearer tokens, each maybe good for one agent only."""

from __future__ import annotations

import hmac
import os
import stat
from typing import TYPE_CHECKING

from dibs.core.text.names import check_agent_id, quote
from dibs.errors import Misconfigured

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The variable with the one token of a server.
VARIABLE = "DIBS_MCP_TOKEN"
#: A shorter token can be guessed.
SHORTEST = 16
_MOST_BYTES = 1 << 16
_SCHEME = "bearer "


class Tokens:
    """The tokens of a server; without any, everybody who reaches it may call."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = [(token.encode(), agent) for token, agent in known.items()]

    def __bool__(self) -> bool:
        return bool(self._known)

    def agent_of(self, header: str) -> str | None:
        """Return the agent that a token is bound to, empty for any; nothing for a wrong token.

        All are compared, each in constant time, so that an answer's delay tells nothing.
        """
        if not self._known:
            return ""
        given = header[len(_SCHEME) :] if header[: len(_SCHEME)].lower() == _SCHEME else ""
        found: str | None = None
        for token, agent in self._known:
            if hmac.compare_digest(token, given.strip().encode("utf-8", "replace")):
                found = agent
        return found


def load(path: str, environ: Mapping[str, str]) -> Tokens:
    """Return the tokens of a file, a line each: the token, and maybe the one agent that it is for.

    Without a file it is the variable's.
    """
    if not path:
        token = environ.get(VARIABLE, "")
        return Tokens({_long_enough(token, VARIABLE): ""} if token else {})
    known = {}
    for number, line in enumerate(_lines(path), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        token, agent = words[0], words[1] if words[1:] else ""
        known[_long_enough(token, f"{path}, line {number}")] = (
            check_agent_id(agent) if agent else ""
        )
    if not known:
        raise _wrong(f"{path} has no token", "write one into it: openssl rand -hex 32")
    return Tokens(known)


def _lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_IMODE(found.st_mode) & 0o077:
                raise _wrong(f"others can read {path}", f"chmod 600 {path}")
            return file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise _wrong(f"{quote(path)}: {error.strerror}", "name a file that you can read") from error


def _long_enough(token: str, where: str) -> str:
    if len(token) < SHORTEST:
        raise _wrong(
            f"{where}: a token has at least {SHORTEST} characters", "openssl rand -hex 32 makes one"
        )
    return token


def _wrong(message: str, hint: str) -> Misconfigured:
    return Misconfigured(message, code="TOKEN_FILE", hint=hint)
