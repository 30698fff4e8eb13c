"""The identity behind a request: one caller, one scope, and perhaps only one project."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dibs.core.claims.agents import Caller

#: The key of the identity in an ASGI scope.
IDENTITY = "dibs.identity"
#: The key of the process at the other end of the Unix socket; absent over TCP.
PEER = "dibs.peer"


class TokenScope(IntEnum):
    """What an identity may do; each scope includes the ones before it."""

    READ = 0
    AGENT = 1
    HUMAN = 2
    ADMIN = 3


class RequestIdentity(NamedTuple):
    """Who sends a request."""

    caller: Caller
    scope: TokenScope
    #: The id of the only project it may use; empty for any.
    project: str = ""
    #: The id of its token, for logs and limits; empty over the Unix socket.
    token: str = ""
    #: The process at the Unix socket, if only a variable names its agent; else 0.
    named_by: int = 0


class Peer(NamedTuple):
    """The process at the other end of a Unix socket."""

    pid: int
    uid: int
