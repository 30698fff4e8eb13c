"""Bearer tokens for HTTP; a token can be limited to one agent."""

from __future__ import annotations

import hmac
import os
import stat
from typing import TYPE_CHECKING

from dibs.core.text.names import check_agent_id, quote
from dibs.errors import Misconfigured

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The variable that holds a server's only token.
VARIABLE = "DIBS_MCP_TOKEN"
#: A shorter token can be guessed.
SHORTEST = 16
_MOST_BYTES = 1 << 16
_SCHEME = "bearer "


class Tokens:
    """A server's tokens; without any, every caller is allowed."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = [(token.encode(), agent) for token, agent in known.items()]

    def __bool__(self) -> bool:
        return bool(self._known)

    def agent_of(self, header: str) -> str | None:
        """Return the agent that a token is bound to, empty for any agent, or None for a wrong token.

        Compares all tokens in constant time, so that the delay reveals nothing.
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
    """Return the tokens in a file, or the one in the variable without a file.

    Each line has a token, and optionally the only agent that it is for.
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
        raise _wrong(f"{path} contains no token", f"run: openssl rand -hex 32 > {path}")
    return Tokens(known)


def _lines(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_IMODE(found.st_mode) & 0o077:
                raise _wrong(f"other users can read {path}", f"run: chmod 600 {path}")
            return file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise _wrong(f"{quote(path)}: {error.strerror}", "use a file that you can read") from error


def _long_enough(token: str, where: str) -> str:
    if len(token) < SHORTEST:
        raise _wrong(
            f"{where}: a token needs at least {SHORTEST} characters", "run: openssl rand -hex 32"
        )
    return token


def _wrong(message: str, hint: str) -> Misconfigured:
    return Misconfigured(message, code="TOKEN_FILE", hint=hint)
