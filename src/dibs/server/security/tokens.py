"""The tokens of this machine's server, in one file that only its user can read.

The file has the hash of each token, never the token. Commands and the server change it under a lock; the
server reads it again as soon as it changes, so that a revoked token is refused at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from dibs.core.text.names import quote
from dibs.errors import BadInput, Misconfigured, NotFound
from dibs.local.files import read_file, write_file
from dibs.local.locks import FileLock
from dibs.server.security.identity import TokenScope

if TYPE_CHECKING:
    from collections.abc import Callable

#: What every token begins with; ``core.text.secrets`` masks it.
PREFIX = "dibs_"
_ID, _SECRET = 6, 20
#: How many characters a token has.
LENGTH = len(PREFIX) + 2 * (_ID + _SECRET)
#: A row for a program that sends the token in a header, and one for a browser that sends it as a cookie.
API, BROWSER = "api", "browser"
#: How many tokens there may be; expired ones do not count.
MOST_TOKENS = 1_000
FILE = "tokens.json"
#: Seconds between two writes of when tokens were last used.
_NOTED_EVERY = 60.0
_NOBODY = "0" * 64


class TokenRow(NamedTuple):
    """One token, without its secret."""

    id: str
    hash: str
    scope: TokenScope
    #: The only agent that it acts as; empty for a person.
    agent: str = ""
    #: The id and the folder of the only project that it is for; empty for any.
    project: str = ""
    folder: str = ""
    created: float = 0.0
    used: float | None = None
    expires: float | None = None
    kind: str = API

    def is_expired(self, now: float) -> bool:
        """Return whether its time has passed."""
        return self.expires is not None and now >= self.expires


class TokenStore:
    """Creates, checks, lists, and revokes tokens."""

    def __init__(self, folder: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._file = os.path.join(folder, FILE)
        self._clock = clock
        self._guard = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._rows: dict[str, TokenRow] = {}
        self._used: dict[str, float] = {}
        self._noted = clock()

    def new(
        self,
        scope: TokenScope,
        *,
        agent: str = "",
        project: str = "",
        folder: str = "",
        lifetime: float | None = None,
        kind: str = API,
    ) -> tuple[str, TokenRow]:
        """Return a new token and its row; the token is not stored and cannot be shown again."""
        now = self._clock()
        id_ = secrets.token_hex(_ID)
        token = f"{PREFIX}{id_}{secrets.token_hex(_SECRET)}"
        expires = None if lifetime is None else now + lifetime
        row = TokenRow(id_, _hash(token), scope, agent, project, folder, now, None, expires, kind)
        with self._changing() as rows:
            if len(rows) >= MOST_TOKENS:
                raise BadInput(
                    f"there are already {MOST_TOKENS} tokens",
                    code="LIMIT",
                    hint="run: dibs token ls, then dibs token revoke ID",
                )
            rows[id_] = row
        return token, row

    def revoke(self, id_: str) -> TokenRow:
        """Remove a token, by its id or an unambiguous beginning of it."""
        with self._changing() as rows:
            found = [row for row in rows.values() if id_ and row.id.startswith(id_)]
            if len(found) != 1:
                raise NotFound(
                    f"no token {quote(id_[:80])}"
                    if not found
                    else f"several tokens begin with {id_}",
                    code="NO_TOKEN",
                    hint="run: dibs token ls",
                )
            return rows.pop(found[0].id)

    def all(self) -> list[TokenRow]:
        """Return all tokens that are still valid, the oldest first."""
        now = self._clock()
        rows = [row for row in self._current().values() if not row.is_expired(now)]
        return sorted(rows, key=lambda row: (row.created, row.id))

    def verify(self, token: str, kind: str = API) -> TokenRow | None:
        """Return the row of a valid token; takes equally long for every wrong secret."""
        well_formed = len(token) == LENGTH and token.isascii() and token.startswith(PREFIX)
        row = self._current().get(token[len(PREFIX) :][: 2 * _ID]) if well_formed else None
        same = hmac.compare_digest(_hash(token), row.hash if row is not None else _NOBODY)
        now = self._clock()
        if row is None or not same or row.kind != kind or row.is_expired(now):
            return None
        self._used[row.id] = now
        if now - self._noted >= _NOTED_EVERY:
            self._noted = now
            threading.Thread(target=self.stop, name="tokens", daemon=True).start()
        return row

    def start(self) -> None:
        """Do nothing: there is no thread of its own."""

    def stop(self) -> None:
        """Write when tokens were last used."""
        used, self._used = self._used, {}
        if not used:
            return
        with self._changing() as rows:
            for id_, when in used.items():
                if id_ in rows:
                    rows[id_] = rows[id_]._replace(used=when)

    def _current(self) -> dict[str, TokenRow]:
        """Return the rows; read the file if it changed."""
        with self._guard:
            try:
                found = os.stat(self._file, follow_symlinks=False)
            except FileNotFoundError:
                self._seen, self._rows = None, {}
                return self._rows
            seen = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_uid)
            if seen != self._seen:
                self._rows = self._read()
                self._seen = seen
            return self._rows

    def _changing(self) -> _Changing:
        return _Changing(self._file, self._read, self._clock)

    def _read(self) -> dict[str, TokenRow]:
        check_private(self._folder, 0o700)
        try:
            check_private(self._file, 0o600)
            found = json.loads(read_file(self._file))
            return {row.id: row for row in map(_row, found["tokens"])}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Misconfigured(
                f"{quote(self._file)} is damaged",
                code="TOKEN_FILE",
                hint="delete it, and create new tokens: dibs token new",
            ) from None


class _Changing:
    """A change of the file, under its lock; nothing is written if it fails."""

    def __init__(
        self, file: str, read: Callable[[], dict[str, TokenRow]], clock: Callable[[], float]
    ) -> None:
        self._file, self._read, self._clock = file, read, clock
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        self._lock = FileLock(f"{file}.lock")
        self._rows: dict[str, TokenRow] = {}

    def __enter__(self) -> dict[str, TokenRow]:
        self._lock.take(None)
        try:
            now = self._clock()
            self._rows = {id_: row for id_, row in self._read().items() if not row.is_expired(now)}
        except BaseException:
            self._lock.release()
            raise
        return self._rows

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                whole = {"tokens": [_stored(row) for row in self._rows.values()]}
                write_file(self._file, json.dumps(whole, indent=1) + "\n", mode=0o600)
        finally:
            self._lock.release()


def check_private(path: str, mode: int) -> None:
    """Refuse a file or folder that other users can use or that belongs to another one."""
    found = os.stat(path, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        raise Misconfigured(
            f"{quote(path)} is a link or belongs to another user",
            code="TOKEN_FILE",
            hint="check who created it, and remove it",
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise Misconfigured(
            f"other users can access {quote(path)}",
            code="TOKEN_FILE",
            hint=f"run: chmod {mode:o} {quote(path)}",
        )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _row(found: Any) -> TokenRow:
    return TokenRow(**{**found, "scope": TokenScope[found["scope"].upper()]})


def shape(row: TokenRow) -> dict[str, Any]:
    """Return a token for people and programs, without its hash."""
    found = _stored(row)
    del found["hash"]
    return found


def _stored(row: TokenRow) -> dict[str, Any]:
    return {**row._asdict(), "scope": row.scope.name.lower()}
